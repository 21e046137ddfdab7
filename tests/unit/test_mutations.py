"""The changes that `benchmarks.mutants` makes, and which of them it chooses."""

import ast
import fnmatch
import json
from pathlib import Path

import pytest

from benchmarks.mutants import CORE, core_files, directed, explanations, room, sample
from benchmarks.mutations import Mutation, mutations
from benchmarks.record import REPOSITORY

SOURCE = '''
"""Not 1 + 1."""

SIZES = {"a": 1, "b": 2, "c": 3}


def first(x: int | None, *, y: bool = True) -> int:
    """More than 2."""
    if x is None or not y:
        raise ValueError(f"{x + 1} is {'less' if y else 'more'}")
    return pow(x, 7) - 2


def second(found: list[int]) -> None:
    found.append(max(3, len(found)))
    found[0] = -4
    if found:
        del found[0]
'''


@pytest.fixture
def found(tmp_path: Path) -> list[Mutation]:
    path = tmp_path / "file.py"
    path.write_text(SOURCE, encoding="utf-8")
    return mutations(path, "file.py")


@pytest.mark.parametrize(
    ("operator", "was", "becomes"),
    [
        ("compare", "x is None", "(x is not None)"),
        ("arithmetic", "pow(x, 7) - 2", "(pow(x, 7) + 2)"),
        ("constant", "7", "8"),
        ("constant", "True", "False"),
        ("not", "not y", "(y)"),
        ("not", "-4", "(4)"),
        ("and-or", "x is None or not y", "(x is None and (not y))"),
        ("arguments", "pow(x, 7)", "pow(7, x)"),
        ("condition", "found", "(not found)"),
        ("entry", '{"a": 1, "b": 2, "c": 3}', "{'a': 1, 'c': 3}"),
        ("statement", "found.append(max(3, len(found)))", "pass"),
        ("statement", "found[0] = -4", "pass"),
        ("early", "found[0] = -4", "return"),
    ],
)
def test_each_operator_makes_its_change(operator: str, was: str, becomes: str, found: list[Mutation]) -> None:
    assert (operator, was, becomes) in {(each.operator, each.was, each.becomes) for each in found}


def test_a_check_that_refuses_is_dropped_but_its_sentence_stays(found: list[Mutation]) -> None:
    raised = [each for each in found if "ValueError" in each.was]
    assert [(each.operator, each.becomes) for each in raised] == [("statement", "pass")]
    assert not [each for each in found if each.was in {"x + 1", "y", "int | None"}]


def test_arguments_whose_order_means_nothing_keep_it(found: list[Mutation]) -> None:
    assert [each.becomes for each in found if each.operator == "arguments"] == ["pow(7, x)"]


def test_a_change_touches_its_place_alone(found: list[Mutation]) -> None:
    (each,) = [each for each in found if each.becomes == "(pow(x, 7) + 2)"]
    assert each.applied(SOURCE.encode()).decode() == SOURCE.replace("pow(x, 7) - 2", "(pow(x, 7) + 2)")
    assert (each.id, each.function) == ("file.py:11:arithmetic", "first")


def test_every_change_of_the_core_is_valid_and_has_a_name_of_its_own() -> None:
    package = Path(__file__).resolve().parents[2] / "src/seqwright"
    name = "decoding/beam.py"
    every = mutations(package / name, name)
    source = (package / name).read_bytes()
    assert len({each.id for each in every}) == len(every) > 100
    for each in every:
        assert ast.dump(ast.parse(each.applied(source))) != ast.dump(ast.parse(source)), each.id


def test_an_edit_elsewhere_leaves_the_choice(tmp_path: Path, found: list[Mutation]) -> None:
    path = tmp_path / "file.py"
    path.write_text("import os\n\n\n" + SOURCE, encoding="utf-8")
    chosen = [each.change for each in sample(found, 7)]
    assert [each.change for each in sample(mutations(path, "file.py"), 7)] == chosen
    assert len({each.operator for each in sample(found, 7)}) == 7


def test_every_part_of_the_core_has_files() -> None:
    assert {room(name) for name in core_files()} == set(CORE)


def test_every_explained_change_is_still_one_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.mutations._is_valid", lambda source: True)  # which takes long
    measured = json.loads((REPOSITORY / "results/mutants.json").read_text(encoding="utf-8"))["numbers"]["explained"]
    explained = [*explanations(), *(row["change"] for row in measured)]
    files = {change.partition(" ")[0] for change in explained} & set(core_files())
    changes = {each.change for name in files for each in mutations(REPOSITORY / "src/seqwright" / name, name)}
    assert [change for change in explained if change not in changes] == []


@pytest.mark.parametrize("part", CORE)
def test_every_pattern_of_the_core_is_that_of_a_file(part: str) -> None:
    assert [one for one in CORE[part] if not fnmatch.filter(core_files(), one)] == []


def test_what_was_once_unnoticed_is_tried_every_time() -> None:
    assert "2 * width - 1)." in {each.becomes for each in directed()}
