"""The tests that run through a line: which they are and how long they take, and what they say when it is changed.

Everything happens in a copy of the repository, each run of tests in a process that is forked from this one, where torch
and pytest are imported already.
"""

import contextlib
import fnmatch
import hashlib
import json
import os
import py_compile
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from benchmarks.mutations import Mutation
from benchmarks.record import REPOSITORY

TESTS = ("tests/oracle", "tests/unit", "tests/contract")
SLOW = (  # or of what the core has no part in
    *("test_notebooks.py", "test_known_bugs.py", "test_characterise.py", "test_tasks.py", "test_verbs_over_tables.py"),
    *("test_pages.py", "test_reference_pages.py", "test_estimators.py", "test_python.py", "test_mutations.py"),
    *("test_dependencies.py", "*/pictures/*", "*/comparison/*"),
)
IMPORTED = ("torch", "pytest", "numpy", "scipy.stats", "sklearn.linear_model", "hypothesis", "sacrebleu", "rouge_score")
# Imported once, before the processes fork: starting them costs nothing.
COPIED = ("src", "tests", "benchmarks", "tools", "docs", "pyproject.toml", "README.md", "Makefile", "CHANGELOG.md")
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # hypothesis was imported before pytest began
PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=ci", "-m", "not long", *QUIET)


BROKEN = 99  # exit code of a process that did not come to the tests


class Test(NamedTuple):
    """A test, how long it takes, and the lines of the core that it runs through, by file."""

    name: str
    seconds: float
    lines: dict[str, set[int]]


class Outcome(NamedTuple):
    """What the tests said of a mutant."""

    mutation: Mutation
    noticed: str  # "failed", "hung", or "" where it survived
    tests: int  # that run through the line
    seconds: float


@contextlib.contextmanager
def copied_repository() -> Iterator[Path]:
    """A copy in which lines may be changed, compiled so that only the changed file is compiled again."""
    with tempfile.TemporaryDirectory(prefix="seqwright-mutants-") as folder:
        copy = Path(folder) / REPOSITORY.name
        for name in COPIED:
            place = REPOSITORY / name
            if place.is_dir():
                shutil.copytree(place, copy / name, ignore=shutil.ignore_patterns("__pycache__", "_build", "runs"))
            elif place.exists():
                shutil.copy2(place, copy / name)
        for path in (copy / "src").rglob("*.py"):
            py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
        yield copy


def in_a_fork(copy: Path, work: Callable[[], int], limit: float, output: int | None = None) -> int | None:
    """Exit code of the work, done by a process of its own inside the copy; None where it took longer than the limit."""
    process = os.fork()
    if process == 0:
        try:
            os.setsid()
            sink = os.open(os.devnull, os.O_WRONLY) if output is None else output
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            os.chdir(copy)
            os.environ["PYTHONPATH"] = str(copy / "src")
            own = {str(REPOSITORY), str(REPOSITORY / "src")}
            sys.path[:] = [str(copy / "src"), *(place for place in sys.path if place not in own)]
            for name in [name for name in sys.modules if name.split(".")[0] in {"seqwright", "benchmarks"}]:
                del sys.modules[name]
            os._exit(work())
        except BaseException:
            traceback.print_exc()
            os._exit(BROKEN)
    until = time.monotonic() + limit
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def measured(copy: Path, given: Namespace, core: list[str]) -> list[Test]:
    """Every test of the core, with the lines it runs through; those of a file that has not changed are kept."""
    folder: Path = given.kept / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for path in sorted(path for place in TESTS for path in (copy / place).rglob("test_*.py")):
        name = path.relative_to(copy).as_posix()
        if any(fnmatch.fnmatch(name, f"*{one}") for one in SLOW):
            continue
        kept = folder / f"{hashlib.sha256(name.encode() + path.read_bytes()).hexdigest()[:16]}.json"
        if not kept.exists():
            code = in_a_fork(copy, lambda name=name, kept=kept: measure(copy, name, kept, core), limit=900)  # type: ignore[misc]
            print(f"measured {name}" if code in {0, 5} else f"{name} fails as it is, and is left out", flush=True)
        if not kept.exists():
            continue
        found += json.loads(kept.read_text(encoding="utf-8"))
    if not found:
        sys.exit("no test passes as it is: nothing can be said of changes")
    lines = [{file: set(numbers) for file, numbers in one["lines"].items()} for one in found]
    return [Test(one["name"], one["seconds"], its) for one, its in zip(found, lines, strict=True)]


class Measure:
    """A plugin of pytest: which lines of the core each test runs through."""

    def __init__(self, copy: Path, core: list[str]) -> None:
        self.files = {str(copy / "src/seqwright" / name): name for name in core}
        self.tests: dict[str, dict[str, Any]] = {}
        self.shared: dict[str, set[int]] = defaultdict(set)  # by fixtures, which later tests may share
        self.lines: dict[str, set[int]] = defaultdict(set)

    def trace(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        """Follows only the functions of the core."""
        name = self.files.get(frame.f_code.co_filename)
        if name is None:
            return None
        lines = self.lines[name]

        def inside(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
            lines.add(frame.f_lineno)
            return inside

        return inside(frame, event, _)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Before its fixtures are made."""
        self.lines.clear()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """After the fixtures, the test and the end of it."""
        test = self.tests.setdefault(report.nodeid, {"name": report.nodeid, "seconds": 0.0, "lines": {}})
        test["seconds"] += report.duration
        for name, lines in self.lines.items():
            if report.when == "setup":
                self.shared[name] |= lines
            else:
                test["lines"][name] = sorted(lines)
        if report.when == "setup":
            self.lines.clear()

    def found(self) -> list[dict[str, Any]]:
        """The tests, each with what the fixtures of its file run through."""
        for test in self.tests.values():
            for name, lines in self.shared.items():
                test["lines"][name] = sorted(lines | set(test["lines"].get(name, [])))
        return list(self.tests.values())


def measure(copy: Path, name: str, kept: Path, core: list[str]) -> int:
    """Run a file of tests under the trace and write what was found."""
    import pytest

    plugin = Measure(copy, core)
    threading.settrace(plugin.trace)
    sys.settrace(plugin.trace)
    code = pytest.main([*PYTEST, name], plugins=[plugin])
    sys.settrace(None)
    if code in {0, 5}:
        kept.write_text(json.dumps(plugin.found()), encoding="utf-8")
    return int(code)


def concerned(mutation: Mutation, tests: Iterable[Test], patience: float) -> list[Test]:
    """The tests that run through a line, quick ones first, as many as there is patience for."""
    span = range(mutation.line, mutation.line + mutation.was.count("\n") + 1)
    through = [test for test in tests if not test.lines.get(mutation.file, set()).isdisjoint(span)]
    order = sorted(through, key=lambda test: test.seconds)
    if all(0 in test.lines[mutation.file] for test in through):
        # The line runs when the file is imported, be it by a test: then the tests that have most to do with the file.
        order = [test for test in tests if mutation.file in test.lines]
        order.sort(key=lambda test: (-len(test.lines[mutation.file]), test.seconds))
        patience *= 10
    found, left = [], patience
    for test in order:
        left -= test.seconds
        if left > 0:
            found.append(test)
    return found


def in_turns(those: list[Test]) -> list[list[Test]]:
    """First the tests of the three quickest files, then the others: most mutants never get there."""
    files: dict[str, list[Test]] = defaultdict(list)
    for test in those:
        files[test.name.split("::")[0]].append(test)
    order = sorted(files, key=lambda file: ("contract" in file, sum(test.seconds for test in files[file])))
    near = [test for test in those if test.name.split("::")[0] in order[:3]]
    far = [test for test in those if test.name.split("::")[0] in order[3:]]
    return [part for part in (near, far) if part]


def tried(copy: Path, mutation: Mutation, those: list[Test], output: int | None = None) -> Outcome:
    """Change the line, run its tests, and set it right again."""
    path = copy / "src/seqwright" / mutation.file
    right = path.read_bytes()
    began = time.monotonic()
    path.write_bytes(mutation.applied(right))
    try:
        code: int | None = 0
        for part in in_turns(those):
            names = [test.name for test in part]
            limit = 60 + 5 * sum(test.seconds for test in part)
            code = in_a_fork(copy, lambda names=names: passed(names), limit, output)  # type: ignore[misc]
            if code != 0:
                break
    finally:
        path.write_bytes(right)
    if code in {4, 5, BROKEN}:
        raise RuntimeError(f"the tests of {mutation.id} did not run (exit code {code}); --only {mutation.id} shows why")
    return Outcome(mutation, {0: "", None: "hung"}.get(code, "failed"), len(those), time.monotonic() - began)


class Only:
    """A plugin of pytest: these tests alone, in this order."""

    def __init__(self, names: list[str]) -> None:
        self.places = {name: place for place, name in enumerate(names)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Called when the files have been read."""
        items[:] = sorted((one for one in items if one.nodeid in self.places), key=lambda one: self.places[one.nodeid])


def passed(names: list[str]) -> int:
    import pytest

    sys.dont_write_bytecode = True  # the compiled form of the changed file must not outlive it
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    return int(pytest.main([*PYTEST, *sorted({name.split("::")[0] for name in names})], plugins=[Only(names)]))
