"""Does a test notice when a line of the core is wrong?

    python -m benchmarks.mutants                                    about 200 changes, an hour on one core
    python -m benchmarks.mutants --only decoding/beam.py:61:compare shows what the tests say of one
    python -m benchmarks.mutants --list

Small changes (`benchmarks/mutations.py`) are made in a copy of the repository, one at a time, and the tests that run
through the changed line are run until one fails. Which tests those are, and how long each takes, is measured first. A
change that no test notices is a survivor: it gets a test, or it changes nothing that can be seen, and then the reason
stands in `benchmarks/mutants.toml`. What was found is kept in `runs/mutants`, so that an interrupted benchmark resumes;
survivors without a reason are tried again.
"""

import contextlib
import fnmatch
import hashlib
import importlib
import json
import os
import py_compile
import shutil
import signal
import sys
import tempfile
import threading
import time
import tomllib
import traceback
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from benchmarks.mutations import Mutation, mutations
from benchmarks.record import REPOSITORY, options, record, show

MUTANTS, SEED = 200, 17
CORE = {  # what is changed, and the patterns of its files in the package
    "decoding": ("decoding/[bcers]*.py", "decoding/stopping.py", "decoding/stepper.py"),
    "attention": ("layers/attention.py", "layers/scores.py", "layers/alignment.py", "layers/positions.py"),
    "losses": ("objectives/*.py",),
    "schedules and averages": ("training/schedule.py", "training/averages.py", "training/sums.py"),
    "metrics": ("metrics/*.py",),
    "n-gram estimates": ("models/ngram*.py",),
    "splits": ("data/pieces.py", "data/numbers.py", "data/dates_values.py", "batches/shuffled.py"),
    "checkpoints": ("training/checkpoint.py", "training/weights.py", "training/journal.py", "whole_file.py"),
    "tokenizers": ("inputs/*tokenizers.py", "inputs/vocabularies.py", "inputs/spelling.py", "inputs/bpe_dropout.py"),
    "interchange tables": ("interchange/names.py", "interchange/families.py", "interchange/heads.py"),
}
TESTS = ("tests/oracle", "tests/unit", "tests/contract")
SLOW = (  # or of what the core has no part in
    *("test_notebooks.py", "test_known_bugs.py", "test_characterise.py", "test_tasks.py", "test_verbs_over_tables.py"),
    *("test_pages.py", "test_reference_pages.py", "test_estimators.py", "test_python.py", "test_mutations.py"),
    *("test_dependencies.py", "*/pictures/*", "*/comparison/*"),
)
IMPORTED = ("torch", "pytest", "numpy", "scipy.stats", "sklearn.linear_model", "hypothesis", "sacrebleu", "rouge_score")
# Imported once, before the processes fork: starting them costs nothing.
PATIENCE = 60.0  # seconds of tests for one mutant at most, by the times measured before
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


def main() -> None:
    parser = options("mutants", __doc__)
    parser.add_argument("--only", metavar="ID", help="one mutant, with the output of its tests")
    parser.add_argument("--list", action="store_true", help="the mutants, without running them")
    parser.add_argument("--count", type=int, default=MUTANTS, help="how many mutants")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds of tests for one mutant at most")
    parser.add_argument("--kept", type=Path, default=REPOSITORY / "runs/mutants", help="where it resumes from")
    given = parser.parse_args()
    core = core_files()
    every = {each.id: each for name in core for each in mutations(REPOSITORY / "src/seqwright" / name, name)}
    chosen = [*directed(), *sample(list(every.values()), given.count)][: 3 if given.quick else None]
    if given.only:
        chosen = [each for each in [*directed(), *every.values()] if each.id == given.only]
        if not chosen:
            sys.exit(f"there is no mutant {given.only}; --list shows those that are chosen")
    if given.list:
        print("\n".join(f"{each.id:44} {each.change}" for each in chosen))
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in IMPORTED:
        importlib.import_module(name)
    with copied_repository() as copy:
        tests = measured(copy, given, core)
        if given.only:
            print(tried(copy, chosen[0], concerned(chosen[0], tests, given.patience), sys.stdout.fileno()))
            return
        report(chosen, list(outcomes(copy, chosen, tests, given)), given)


def core_files() -> list[str]:
    package = REPOSITORY / "src/seqwright"
    names = sorted(path.relative_to(package).as_posix() for path in package.rglob("*.py"))
    return [name for name in names if room(name) and not name.endswith("__init__.py")]


def room(name: str) -> str:
    """What of the core a file belongs to, or nothing."""
    rooms = (room for room, patterns in CORE.items() if any(fnmatch.fnmatch(name, one) for one in patterns))
    return next(rooms, "")


TABLE: dict[str, Any] = tomllib.loads((REPOSITORY / "benchmarks/mutants.toml").read_text(encoding="utf-8"))


def directed() -> list[Mutation]:
    """The changes of the table that are always tried."""
    found = []
    for row in TABLE["directed"]:
        source = (REPOSITORY / "src/seqwright" / row["file"]).read_bytes()
        start = source.find(row["was"].encode())
        if start < 0:
            sys.exit(f"benchmarks/mutants.toml: {row['file']} has no {row['was']} any more; correct or remove the row")
        line, end = source.count(b"\n", 0, start) + 1, start + len(row["was"].encode())
        found.append(Mutation(row["file"], line, "directed", 1, "", row["was"], row["becomes"], start, end))
    return found


def sample(every: list[Mutation], count: int) -> list[Mutation]:
    """Some of each file, more of larger files, and of each file as many of each operator as there are.

    A mutant's place in the order depends on its own line alone: an edit elsewhere in the file leaves the others.
    """
    turns: dict[str, list[tuple[float, str, Mutation]]] = defaultdict(list)
    files = Counter(each.file for each in every)
    by_kind = defaultdict(list)
    for each in sorted(every, key=lambda each: each.rank(SEED)):
        by_kind[each.file, each.operator].append(each)
    for (file, _), several in by_kind.items():
        turns[file] += [(turn, each.rank(SEED), each) for turn, each in enumerate(several)]
    order = [
        (place / files[file] ** 0.5, rank, each)  # a file of four times the changes has twice the mutants
        for file, several in turns.items()
        for place, (_, rank, each) in enumerate(sorted(several, key=lambda one: one[:2]), start=1)
    ]
    return [each for *_, each in sorted(order, key=lambda one: one[:2])[:count]]


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


def outcomes(copy: Path, chosen: list[Mutation], tests: list[Test], given: Namespace) -> Iterator[Outcome]:
    """One for each mutant; those that are known already are not made again."""
    journal: Path = given.kept / "outcomes.jsonl"
    known = {}
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []:
        one = json.loads(line)
        known[one["change"], one["operator"]] = one
    for number, mutation in enumerate(chosen, start=1):
        those = concerned(mutation, tests, given.patience)
        names = hashlib.sha256("\n".join(test.name for test in those).encode()).hexdigest()[:16]
        one = known.get((mutation.change, mutation.operator))
        if one and (one["noticed"] or (one["tested"] == names and mutation.change in explanations())):
            yield Outcome(mutation, one["noticed"], one["tests"], one["seconds"])
            continue
        outcome = tried(copy, mutation, those)
        said = {"change": mutation.change, "operator": mutation.operator, **outcome._asdict(), "tested": names}
        with journal.open("a", encoding="utf-8") as out:
            out.write(json.dumps(said | {"mutation": mutation.id}, ensure_ascii=False) + "\n")
        print(f"{number:4} {outcome.noticed or 'SURVIVED':9} {outcome.seconds:5.1f} s  {mutation.id}", flush=True)
        yield outcome


def explanations() -> dict[str, str]:
    """Why a change that no test notices is none, by the change."""
    return {row["change"]: row["reason"] for row in TABLE.get("explained", [])}


def report(chosen: list[Mutation], found: list[Outcome], given: Namespace) -> None:
    why = explanations()
    survivors = [outcome for outcome in found if not outcome.noticed]
    unexplained = [outcome.mutation for outcome in survivors if outcome.mutation.change not in why]
    rooms = {name: [outcome for outcome in found if room(outcome.mutation.file) == name] for name in CORE}
    counted = {
        name: {
            "mutants": len(those),
            "noticed": sum(bool(outcome.noticed) for outcome in those),
            "explained": sum(not outcome.noticed and outcome.mutation.change in why for outcome in those),
        }
        for name, those in rooms.items()
        if those
    }
    show(["", *next(iter(counted.values()))], [[name, *map(str, row.values())] for name, row in counted.items()])
    record(
        "mutants",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "pytest"],
        settings={"seed": SEED, "count": len(chosen)},
        numbers={
            "mutants": len(found),
            "noticed": len(found) - len(survivors),
            "minutes": round(sum(outcome.seconds for outcome in found) / 60, 1),
            "operators": dict(Counter(each.operator for each in chosen)),
            "parts": counted,
            "explained": [
                {"id": one.mutation.id, "change": one.mutation.change, "reason": why[one.mutation.change]}
                for one in survivors
                if one.mutation.change in why
            ],
            "unexplained": [{"id": each.id, "change": each.change} for each in unexplained],
        },
    )
    if unexplained:
        sys.exit("no test notices " + ", ".join(each.id for each in unexplained))


if __name__ == "__main__":
    main()
