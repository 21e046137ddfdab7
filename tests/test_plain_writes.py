"""Only `whole_file.py` writes, read from the source: everything else that a verb leaves appears whole or not at all."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "seqwright"
ASIDE = "into a folder that `whole_file` lets appear whole"
MEMORY = "into memory"
OUR_OWN = "a method of ours, which is held to this where it stands"

# What writes without `whole_file`, how often, and why it may.
ALLOWED: dict[str, tuple[dict[str, int], str]] = {
    "training/journal.py": (
        {"open": 1},
        "the journal is appended line by line, and a last line that is cut is dropped",
    ),
    "data/fetch.py": ({"open": 1, "replace": 1}, "a download is resumed, and renamed once its sha256 is right"),
    "cache.py": ({"open": 1, "save": 1, "write_text": 2, "TemporaryFile": 2}, f"{ASIDE}, or without a name"),
    "text_cache.py": ({"save": 1, "write_text": 1}, ASIDE),
    "inputs/token_rows.py": ({"save": 1}, ASIDE),
    "inputs/fitted_images.py": ({"open": 1, "save": 1, "write_text": 1}, ASIDE),
    "inputs/fitted_films.py": ({"open": 1, "save": 1, "write_text": 1}, ASIDE),
    "tasks/distillation.py": ({"open_memmap": 1, "save": 1}, ASIDE),
    "training/checkpoint.py": ({"write_bytes": 2}, ASIDE),
    "interchange/weight_files.py": ({"save_file": 1}, ASIDE),
    "cli/embedding.py": ({"save": 1}, "into a file of `whole_file`"),
    "pictures/__init__.py": ({"savefig": 3}, f"into a file of `whole_file`, or {MEMORY}"),
    "pictures/image_page.py": ({"save": 1}, MEMORY),
    "pictures/caption_maps.py": ({"save": 1}, MEMORY),
    "comparison/page.py": ({"savefig": 1}, MEMORY),
    "cli/table_writing.py": (
        {"TemporaryFile": 1, "save": 1, "GzipFile": 1, "write_table": 1},
        "without a name, copied into a file of `whole_file`, or into such a file",
    ),
    "inputs/saved.py": ({"TemporaryDirectory": 1, "save": 1}, "for a checksum, gone at once"),
    "inputs/spelling.py": ({"save": 1}, OUR_OWN),
    "outputs/text.py": ({"save": 1}, OUR_OWN),
    "tasks/wired.py": ({"save": 2}, OUR_OWN),
    "run_folders.py": ({"save": 1}, OUR_OWN),
    "interchange/ctranslate2.py": ({"save": 1}, ASIDE),
    "interchange/onnx.py": ({"save": 1}, ASIDE),
    "comparison/pace.py": ({"TemporaryDirectory": 1}, "for a training that is only timed, gone at once"),
    "comparison/stages.py": ({"TemporaryDirectory": 1}, "for what a process tells its parent, gone at once"),
}

METHODS = {
    "write_text",
    "write_bytes",
    "touch",
    "rename",
    "hardlink_to",
    "symlink_to",
    "savefig",
    "save_file",
    "tofile",
}
METHODS |= {"open_memmap", "savez", "savetxt", "to_csv", "copy", "copy2", "copyfile", "copytree", "move", "link"}
METHODS |= {"write_table", "to_parquet", "to_excel", "to_json", "FileHandler", "extractall"}
METHODS |= {"NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "mkstemp"}
OPENING = {"open", "ZipFile", "TarFile", "GzipFile", "BZ2File", "LZMAFile", "memmap"}  # what has a mode
MODE = re.compile(r"(?=.*[wax+])[rwaxbt+]{1,3}([:|]\w*)?")  # of those that write
OF_MODULES = {"copy": {"shutil"}, "move": {"shutil"}, "link": {"os"}}  # names that mean something else elsewhere


def plain_writes(source: str) -> Counter[str]:
    """How often each way to write a file is called."""
    found: Counter[str] = Counter()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (name := _name(node.func)):
            found[name] += _writes(name, node)
    return +found


def _writes(name: str, call: ast.Call) -> bool:
    module = (
        call.func.value.id if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else ""
    )
    match name:
        case _ if (
            name in OPENING
        ):  # `path.open("w")`, `open(path, "w")`, `tarfile.open(path, "w:gz")`, `os.open(path, flags)`
            modes = [
                each for each in (*call.args[:2], *(k.value for k in call.keywords)) if isinstance(each, ast.Constant)
            ]
            literal = any(isinstance(mode.value, str) and MODE.fullmatch(mode.value) for mode in modes)
            chosen = any(isinstance(each, ast.IfExp) for each in call.args[:2])
            return literal or chosen or (name, module) == ("open", "os")
        case "replace":  # of a path: that of a string has two arguments, that of a dataclass keywords
            return module == "os" or (len(call.args) == 1 and not call.keywords)
        case "save":  # of NumPy, of a library's object or of our own; a function of that name gives bytes
            return isinstance(call.func, ast.Attribute)
        case _ if name in OF_MODULES:
            return module in OF_MODULES[name]
    return name in METHODS


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def files() -> dict[str, str]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_nothing_else_writes_files() -> None:
    found = {name: dict(plain_writes(source)) for name, source in files().items() if name != "whole_file.py"}
    allowed = {name: calls for name, (calls, _) in ALLOWED.items()}
    assert {name: calls for name, calls in found.items() if calls} == allowed, (
        "what is written goes through seqwright.whole_file, or has its reason here"
    )


def test_the_one_module_that_writes_is_seen_to_write() -> None:
    assert plain_writes(files()["whole_file.py"]).keys() >= {"open", "replace", "rename"}


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("path.write_text('x')", 1),
        ("path.open('w')", 1),
        ("path.open(mode='xb')", 1),
        ("path.open('ab' if here else 'wb')", 1),
        ("open(path, 'w')", 1),
        ("gzip.open(path, 'wt')", 1),
        ("os.open(path, flags)", 1),
        ("os.replace(one, other)", 1),
        ("one.replace(other)", 1),
        ("one.rename(other)", 1),
        ("np.save(path, x)", 1),
        ("shutil.copy(one, other)", 1),
        ("figure.savefig(path)", 1),
        ("tarfile.open(path, 'w:gz')", 1),
        ("zipfile.ZipFile(path, 'a')", 1),
        ("gzip.GzipFile(path, mode='wb')", 1),
        ("np.memmap(path, mode='r+')", 1),
        ("parquet.write_table(table, path)", 1),
        ("archive.extractall(folder)", 1),
        ("zipfile.ZipFile(path)", 0),
        ("tarfile.open(path, 'r:*')", 0),
        ("np.memmap(path, mode='r')", 0),
        ("Image.open(path)", 0),
        ("path.open('rb')", 0),
        ("path.open()", 0),
        ("gzip.open(path)", 0),
        ("card.open(**chosen)", 0),
        ("text.replace('a', 'b')", 0),
        ("replace(options, yes=True)", 0),
        ("thing.copy()", 0),
        ("program.save(str(folder))", 1),
        ("save(tensors)", 0),
    ],
)
def test_a_plain_write_is_found(source: str, count: int) -> None:
    assert plain_writes(source).total() == count
