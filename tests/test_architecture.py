"""Who may import whom and what a name means, read from the source itself, and that it stays short enough to be read."""

import ast
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from seqwright.kinds import TASKS
from seqwright.lineage import LINEAGE, MODELS

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "seqwright"
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
TABLES = {"kinds.py", "lineage.py"}  # where the names of tasks are defined
SLOW = {"torch", "sklearn", "scipy", "matplotlib"}  # to import

# What each room (a folder) may import of the package beside itself: modules of the root, other rooms, or their modules.
MAY_IMPORT: dict[str, set[str]] = {
    "data": {"__version__", "errors", "setting_classes"},
    "batches": set(),
    "inputs": {"batches", "cache", "data", "errors", "progress", "setting_classes", "text_cache", "whole_file"},
    "outputs": {"batches", "data", "decoding", "devices", "errors", "inputs", "layers", "metrics", "setting_classes"}
    | {"whole_file"},
    "layers": set(),
    "models": {"batches", "layers", "setting_classes"},
    "objectives": {"batches", "errors", "layers", "setting_classes"},
    "training": {"batches", "devices", "errors", "objectives.objective", "setting_classes", "whole_file"},
    "decoding": {"errors", "setting_classes"},
    "metrics": {"errors"},
    "pictures": {"errors", "whole_file"},
    "interchange": {"data", "errors", "inputs", "kinds", "layers", "lineage", "models", "outputs", "tasks.wired"}
    | {"whole_file"},
    "tasks": {
        "arguments",
        "batches",
        "cache",
        "data",
        "decoding",
        "devices",
        "errors",
        "inputs",
        "kinds",
        "lineage",
        "objectives",
        "outputs",
        "pictures",
        "recipe",
        "setting_classes",
    },
    # Sits on `runs`: what happens inside one, as the plain data that `pictures` draws.
    "analysis": {
        "arguments",
        "batches",
        "calls",
        "data",
        "decoding",
        "devices",
        "errors",
        "inputs",
        "kinds",
        "layers",
        "metrics",
        "models",
        "objectives",
        "outputs",
        "pictures",
        "runs",
        "tasks",
    },
    # Sits on `runs` as `cli` does, which alone imports it: rows are trained, judged and drawn.
    "comparison": {
        "__version__",
        "batches",
        "data",
        "decoding",
        "devices",
        "errors",
        "escapes",
        "inputs",
        "kinds",
        "layers",
        "metrics",
        "outputs",
        "pictures",
        "progress",
        "recipe",
        "run_folders",
        "runs",
        "setting_classes",
        "tasks",
        "training",
        "whole_file",
    },
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


def statements_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a file is imported: everything but the inside of functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from statements_at_import(child)


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


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_may_import_no_more_than_it_does(folder: str) -> None:
    mine = [found.name for found in IMPORTS if found.ours and folder_of(found.path) == folder]
    assert {one for one in MAY_IMPORT[folder] if not any(within(name, {one}) for name in mine)} == set()


def test_every_folder_has_its_rule() -> None:
    folders = {folder_of(path) for path in source_files() if path.parent != PACKAGE}
    assert folders - TOP == MAY_IMPORT.keys()


def test_layers_need_nothing_but_torch() -> None:
    foreign = {
        found.name.split(".")[0] for found in IMPORTS if folder_of(found.path) == "layers" and not found.ours
    } - set(sys.stdlib_module_names)
    assert foreign == {"torch"}


def test_models_import_only_older_models() -> None:
    """The order is that of the tree in `lineage.py`, and of its models where they are of one member.

    A module with several members is as young as its last: one that puts a head on any body may import all of them.
    """
    age = {member.name: place for place, member in enumerate(LINEAGE)}
    order: dict[str, tuple[int, int]] = {}
    for place, model in enumerate(MODELS):
        module = model.module.removeprefix("seqwright.")
        order[module] = max((age[model.member], place), order.get(module, (-1, 0)))
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


def kinds_asked_of_inputs(source: str) -> list[str]:
    """Where it is asked what an input or its rows are, or which of several things an input is set to."""
    asked = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id="input" | "rows"), _]):
                asked.append(ast.unparse(node))
            case ast.Match(subject=ast.Attribute(value=ast.Name(id="input")) as subject):
                asked.append(ast.unparse(subject))
    return asked


def test_outputs_do_not_ask_what_an_input_is() -> None:
    """Where a pair of both needs something of its own, one of them overrides a method."""
    files = [path for path in source_files() if folder_of(path) == "outputs"]
    asked = {named(path): kinds_asked_of_inputs(path.read_text(encoding="utf-8")) for path in files}
    assert {file: each for file, each in asked.items() if each} == {}
    assert kinds_asked_of_inputs("isinstance(input, A)\nisinstance(rows, B)\nmatch input.rows:\n case _: pass") == [
        "input.rows",
        "isinstance(input, A)",
        "isinstance(rows, B)",
    ]


def test_what_is_asked_of_a_run_beyond_its_verb_names_no_output() -> None:
    """How candidates are ranked, and how a forecast goes on, is asked of the output."""
    named_ones = [found.name for found in IMPORTS if found.path.name == "calls.py" and found.ours]
    assert [name for name in named_ones if within(name, {"outputs"})] == []


def test_one_place_knows_what_the_body_of_a_model_is() -> None:
    texts = {named(path): path.read_text(encoding="utf-8") for path in source_files()}
    assert {file for file, text in texts.items() if '.get("body"' in text} == {"layers/embeddings.py"}


def test_verbs_take_one_path() -> None:
    """Whoever opens a run for a verb asks it through `Asking`; only `align` is given nothing to answer."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in (PACKAGE / "cli").rglob("*.py")}
    opening = {name for name, text in texts.items() if "= opened_for(" in text}
    assert {name for name in opening if "Asking(" in texts[name]} == opening - {"aligning.py"}
    assert len(opening) > 4


def test_only_the_command_line_imports_comparisons() -> None:
    wrong = [found for found in IMPORTS if found.ours and within(found.name, {"comparison"})]
    assert [str(found) for found in wrong if folder_of(found.path) not in {"comparison", "cli"}] == []


@pytest.mark.parametrize(
    "module", ["seqwright", "seqwright.errors", "seqwright.lineage", "seqwright.kinds", "seqwright.recipe"]
)
def test_asking_what_there_is_does_not_import_what_is_slow(module: str) -> None:
    code = f"import sys, {module}; print(*{SLOW} & sys.modules.keys())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "\n"


def test_scikit_learn_is_imported_inside_functions_only() -> None:
    """Also of what is imported for training: it takes a second and is seldom needed.

    Estimators are classes of scikit-learn; no other module may import theirs.
    """
    assert [str(found) for found in IMPORTS if found.name == "estimators" and found.path.name != "__init__.py"] == []
    above = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in source_files()
        if path.name != "estimators.py"
        for node in statements_at_import(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)])
        if name.split(".")[0] in {"sklearn", "scipy"}
    ]
    assert above == []


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


# ------------------------------------------------------------------------------- what is left to do, and only shrinks


def homonyms() -> dict[str, int]:
    """The public functions and classes that several modules define, and how many do."""
    modules: dict[str, set[Path]] = defaultdict(set)
    for path in source_files():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name[0] != "_":
                modules[node.name].add(path)
    return {name: len(paths) for name, paths in modules.items() if len(paths) > 1}


def private_imports() -> dict[str, int]:
    """How many names with an underscore each file imports from other modules of the package."""
    counts = {named(path): len(private_names(path.read_text(encoding="utf-8"))) for path in source_files()}
    return {file: count for file, count in counts.items() if count}


def task_names() -> dict[str, int]:
    """How often each file but the tables compares with the name of a task, or looks something up by it.

    What reads data knows no task, since it may not import them: a `translation` there is the name of a column.
    """
    files = [path for path in source_files() if named(path) not in TABLES and folder_of(path) != "data"]
    counts = {named(path): len(names_asked(path.read_text(encoding="utf-8"), TASKS)) for path in files}
    return {file: count for file, count in counts.items() if count}


def named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def private_names(source: str) -> list[str]:
    """`_x` of `from seqwright.… import _x`, and every name of a module `seqwright._x`; `__version__` is public."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "seqwright":
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] == "seqwright"]
    return [name for name in found if any(part[0] == "_" and part[:2] != "__" for part in name.split("."))]


def names_asked(source: str, names: Collection[str]) -> list[str]:
    """Those of the names that are compared with, are cases of a `match`, or stand in a literal set or a dict's keys."""
    found: dict[tuple[int, int], str] = {}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=left, comparators=others):
                asked = [left, *others]
            case ast.Dict(keys=keys):
                asked = [key for key in keys if key is not None]
            case ast.Set(elts=asked):
                pass
            case ast.Call(func=ast.Name(id="set" | "frozenset"), args=asked):
                pass
            case ast.MatchValue(value=value):
                asked = [value]
            case _:
                continue
        for literal in (each for one in asked for each in literals(one)):
            if literal.value in names:
                found[literal.lineno, literal.col_offset] = str(literal.value)
    return list(found.values())


def literals(node: ast.expr) -> list[ast.Constant]:
    """The strings that an expression writes out: itself, or the elements of a tuple, a list or a set."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return [each for element in node.elts for each in literals(element)]
    return [node] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


@pytest.mark.parametrize("count", [homonyms, private_imports, task_names], ids=lambda count: count.__name__)
def test_what_the_design_forbids_only_shrinks(count: Callable[[], dict[str, int]]) -> None:
    """What there is today stands in architecture.toml; what is gone is taken out of it, so that it never comes back."""
    text = Path(__file__).with_name("architecture.toml").read_text(encoding="utf-8")
    found, held = count(), tomllib.loads(text)[count.__name__]
    new = {name: number for name, number in found.items() if number > held.get(name, 0)}
    gone = {name: found.get(name, 0) for name, number in held.items() if number > found.get(name, 0)}
    assert new == {}, "one public name means one thing, private ones stay at home, and a kind is asked of the object"
    assert gone == {}, (
        "well done: write these numbers into tests/architecture.toml, or strike them out where they are 0"
    )


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("task == 'a'", 1),
        ("'a' != task", 1),
        ("task in ('a', 'b', 'c')", 2),
        ("task not in {'a'}", 1),
        ("{'a': 1, **other, 'c': 2}", 1),
        ("{'b', 'c'}", 1),
        ("frozenset(['a', 'b'])", 2),
        ("match task:\n case 'a' | 'b': pass\n case _: pass", 2),
        ("'a'", 0),
        ("call('a', b='b')", 0),
        ("{'c': 'a'}", 0),
    ],
)
def test_names_that_are_asked_for_are_found(source: str, count: int) -> None:
    assert len(names_asked(source, {"a", "b"})) == count


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("from seqwright.data.tables import _key, Table", 1),
        ("import seqwright._hidden", 1),
        ("from seqwright._hidden import one, two", 2),
        ("from seqwright import __version__", 0),
        ("from seqwright.__main__ import main", 0),
        ("from torch import _C", 0),
    ],
)
def test_private_imports_are_found(source: str, count: int) -> None:
    assert len(private_names(source)) == count
