"""Every reader over files that chance has damaged: it works, or is refused in one sentence; nothing else, nowhere else.

`python -m benchmarks.fuzz` is the same over many more cases.
"""

import shutil
import time
import warnings
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.damage import mutated
from benchmarks.fuzz import Outcome, outcome, outcome_of, tally
from benchmarks.fuzz_files import write_files
from benchmarks.fuzz_readers import READERS, FileReader, every_reader, valid_files
from benchmarks.fuzz_runs import MODELS

CHANCE = st.randoms(use_true_random=False)
QUIET = (
    HealthCheck.function_scoped_fixture,
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
)


def bounded(examples: int) -> settings:
    """The same examples on every machine, and no more."""
    return settings(max_examples=examples, derandomize=True, database=None, deadline=None, suppress_health_check=QUIET)


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that everything happens in."""
    (tmp_path / "case").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "case"))
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "case" / "cache"))
    return tmp_path


def read(name: str, rng: Random, box: Path) -> None:
    """A case, in a folder of its own."""
    valid_files(name)
    shutil.rmtree(box / "case")
    (box / "case").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = outcome(name, rng, box / "case")
    assert found.fine, f"{found.kind}: {found.told}"


@pytest.mark.parametrize("name", READERS)
@given(rng=CHANCE)
@bounded(20)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(name: str, box: Path, rng: Random) -> None:
    read(name, rng, box)


@pytest.mark.parametrize("name", MODELS)
@given(rng=CHANCE)
@bounded(8)
def test_a_damaged_folder_of_a_model_is_read_or_refused_in_a_sentence(name: str, box: Path, rng: Random) -> None:
    read(name, rng, box)


@pytest.mark.parametrize("name", every_reader())
def test_what_is_damaged_was_valid_before(name: str, box: Path) -> None:
    inside = box / "case" / "inside"
    write_files(valid_files(name), inside)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert outcome_of(name, inside) == Outcome("read")


def test_the_same_chance_gives_the_same_damage_and_mostly_some() -> None:
    data = valid_files("squad")["a.json"]
    every = [mutated("a.json", data, Random(number)) for number in range(50)]
    assert every == [mutated("a.json", data, Random(number)) for number in range(50)]
    assert sum(each != data for each in every) > 40


@pytest.mark.parametrize("name", ["labelled-xlsx", "labelled-zip", "run-ngram", "run-tags"])
def test_a_case_is_the_same_whenever_and_wherever_it_is_made(
    name: str, box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = valid_files(name)
    cases = [mutated(path, files[path], Random(number)) for number, path in enumerate(sorted(files) * 7)]
    (box / "elsewhere").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(box / "elsewhere"))
    later = time.time() + 12345
    monkeypatch.setattr("time.time", lambda: later)
    assert every_reader()[name].files() == files
    assert cases == [mutated(path, files[path], Random(number)) for number, path in enumerate(sorted(files) * 7)]


def leave(folder: Path) -> None:
    (folder.parent.parent / "outside.txt").write_text("x")


def fail(folder: Path) -> None:
    raise KeyError("x")


def refuse_in_two(folder: Path) -> None:
    from seqwright.errors import DataError

    class TwoLinesError(DataError):
        def __str__(self) -> str:
            return "one\ntwo"

    raise TwoLinesError


@pytest.mark.parametrize(
    ("harm", "kind"), [(leave, "written outside"), (fail, "exception"), (refuse_in_two, "not one sentence")]
)
def test_what_must_not_be_is_noticed(harm, kind: str, box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, "harmful", FileReader(lambda: {"a.txt": b"x"}, harm))
    found = outcome("harmful", Random(1), box / "case")
    assert found.kind == kind
    assert not found.fine


def test_a_reader_works_in_a_process_of_its_own() -> None:
    found = tally("alignments", 7)
    assert found.cases == 7
    assert found.kinds["read"] + found.kinds["refused"] == 7
    assert found.faults == []
    assert 0 < found.memory < 1024
