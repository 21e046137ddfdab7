"""Who may import whom, read from the source itself, and that files and functions stay short enough to be read."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from seqwright.lineage import LINEAGE, MODELS

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "seqwright"
LONGEST_FILE, LONGEST_FUNCTION = 400, 60

# What each folder may import of the package beside itself: modules of the root, other folders, or modules in them.
MAY_IMPORT: dict[str, set[str]] = {
    "batches": set(),
    "layers": set(),
    "models": {"batches", "layers", "settings"},
    "objectives": {"batches", "errors", "layers", "settings"},
    "training": {"batches", "devices", "errors", "objectives.objective", "settings"},
    "data": {"__version__", "errors", "settings"},
    "inputs": {"batches", "errors", "settings"},
    "outputs": {"batches", "decoding", "devices", "errors", "inputs", "layers", "metrics", "settings"},
    "decoding": {"errors", "settings"},
    "metrics": {"errors", "settings"},
    "pictures": {"errors", "settings"},
    "interchange": {"data.files", "errors", "inputs"},
    "tasks": {
        "batches",
        "cache",
        "text_cache",
        "data",
        "decoding",
        "devices",
        "errors",
        "inputs",
        "layers",
        "lineage",
        "metrics",
        "objectives",
        "recipe",
        "settings",
    },
}
# Sits on `runs` as `cli` does, which alone imports it: rows are trained, judged and drawn.
MAY_IMPORT["comparison"] = MAY_IMPORT["tasks"] | {
    "__version__",
    "kinds",
    "pictures",
    "run_folders",
    "runs",
    "tasks",
    "training",
    "whole_file",
}
# These sit on top of everything: nothing but themselves and `__main__` imports them.
TOP = {"cli", "serving"}


class Import(NamedTuple):
    """`name` is inside the package (`layers.taps`) where `ours`, and whole otherwise (`torch.nn`)."""

    path: Path
    line: int
    name: str
    ours: bool

    def __str__(self) -> str:
        return f"{self.path.relative_to(PACKAGE)}:{self.line} imports {self.name}"


def source_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imports_of(path: Path) -> Iterator[Import]:
    """Every import of a file, also those inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield placed(path, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} has a relative import; write it out"
            for alias in node.names if node.module == "seqwright" else []:
                yield Import(path, node.lineno, alias.name, ours=True)
            if node.module != "seqwright":
                yield placed(path, node.lineno, str(node.module))


def placed(path: Path, line: int, name: str) -> Import:
    ours = name.split(".")[0] == "seqwright"
    return Import(path, line, name.removeprefix("seqwright").removeprefix(".") if ours else name, ours)


IMPORTS = [found for path in source_files() for found in imports_of(path)]


def folder_of(path: Path) -> str:
    """The folder of the package a file is in, or the name of the module where it is in none."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def within(name: str, allowed: set[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in allowed)


def test_the_imports_are_found() -> None:
    assert len(IMPORTS) > 100
    assert any(found.name == "layers.taps" and found.path.name == "attention.py" for found in IMPORTS)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_it_may(folder: str) -> None:
    allowed = MAY_IMPORT[folder] | {folder}
    mine = [found for found in IMPORTS if found.ours and folder_of(found.path) == folder]
    assert [str(found) for found in mine if not within(found.name, allowed)] == []


def test_every_folder_has_its_rule() -> None:
    folders = {folder_of(path) for path in source_files() if path.parent != PACKAGE}
    assert folders - TOP - MAY_IMPORT.keys() == set()


def test_layers_need_nothing_but_torch() -> None:
    foreign = {
        found.name.split(".")[0] for found in IMPORTS if folder_of(found.path) == "layers" and not found.ours
    } - set(sys.stdlib_module_names)
    assert foreign == {"torch"}


def test_models_import_only_older_models() -> None:
    """The order is that of the tree in `lineage.py`, and of its models where they are of one member.

    A module with several members is as old as its first.
    """
    age = {member.name: place for place, member in enumerate(LINEAGE)}
    order: dict[str, tuple[int, int]] = {}
    for place, model in enumerate(MODELS):
        module = model.module.removeprefix("seqwright.")
        order[module] = min((age[model.member], place), order.get(module, (len(age), 0)))
    mine = {path: f"models.{path.stem}" for path in source_files() if folder_of(path) == "models"}
    younger = [
        str(found)
        for found in IMPORTS
        if mine.get(found.path) in order
        and found.name.startswith("models.")
        and order.get(found.name, (-1, 0)) >= order[mine[found.path]]
    ]
    assert younger == []


def test_objectives_and_training_call_the_models_they_are_given() -> None:
    """Said twice, since it carries so much: also `tasks` and `runs` name no model, they ask `kinds.py`."""
    those = {"objectives", "training", "tasks", "runs", "decoding", "cli", "serving"}
    assert [str(found) for found in IMPORTS if folder_of(found.path) in those and within(found.name, {"models"})] == []


def test_nothing_imports_what_sits_on_top() -> None:
    above = TOP | {"__main__"}
    wrong = [found for found in IMPORTS if found.ours and within(found.name, TOP)]
    assert [str(found) for found in wrong if folder_of(found.path) not in above] == []


def test_only_the_command_line_imports_comparisons() -> None:
    wrong = [found for found in IMPORTS if found.ours and within(found.name, {"comparison"})]
    assert [str(found) for found in wrong if folder_of(found.path) not in {"comparison", "cli"}] == []


@pytest.mark.parametrize(
    "module", ["seqwright", "seqwright.errors", "seqwright.lineage", "seqwright.kinds", "seqwright.recipe"]
)
def test_asking_what_there_is_does_not_import_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


def test_no_function_is_too_long_to_be_seen_at_once() -> None:
    long = []
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                lines = node.end_lineno - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    long.append(f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name} has {lines} lines")
    assert long == []
