"""Does any damaged or hostile file end in a traceback, a hang, memory without bound or a write outside of its folder?

Small valid files of every reader are damaged by chance (`benchmarks.damage`) and read: 10,000 cases for each reader
of text, 1,000 where a model is built. Each case either works or is refused by the package's own error, in one sentence.
The reader works in a process of its own, whose memory is limited; a case that takes over 20 seconds is a hang. A case
is made by its reader and number alone: `python -m benchmarks.fuzz --reader squad --case 4711` makes it again.
"""

import faulthandler
import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.damage import mutated
from benchmarks.fuzz_files import write_files
from benchmarks.fuzz_readers import every_reader, valid_files
from benchmarks.record import REPOSITORY, command, options, record, show

TEXT_CASES, MODEL_CASES, QUICK_CASES = 10_000, 1_000, 20
PATIENCE = 20.0  # seconds for a case
BEGINNING = 120.0  # seconds until the valid files are made
MEMORY = 2**30  # bytes
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate", "os.chmod"}
MISSING = 0.03  # how often a file is not damaged but gone


class Outcome(NamedTuple):
    """What became of a case: it was read, refused in a sentence, or else something that must not be."""

    kind: str
    told: str = ""

    @property
    def fine(self) -> bool:
        """Whether it may be."""
        return self.kind in {"read", "refused"}


def damaged(name: str, rng: Random) -> dict[str, bytes]:
    """The files of a reader, one of them damaged or gone."""
    files = dict(valid_files(name))
    chosen = rng.choice(sorted(files))
    if len(files) > 1 and rng.random() < MISSING:
        del files[chosen]
    else:
        files[chosen] = mutated(chosen, files[chosen], rng)
    return files


def outcome(name: str, rng: Random, folder: Path) -> Outcome:
    """Damage the files of a reader, and read them; everything happens in `folder`, which must not be there."""
    inside = folder / "inside"
    write_files(damaged(name, rng), inside)
    return outcome_of(name, inside)


def outcome_of(name: str, inside: Path) -> Outcome:
    """What comes of reading the files of a reader."""
    from seqwright.errors import UserError

    with watched(inside.parent) as written:
        try:
            every_reader()[name].read(inside)
            found = Outcome("read")
        except UserError as error:
            told = str(error)
            found = Outcome("refused" if told.strip() and "\n" not in told else "not one sentence", told)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            found = Outcome(
                "exception", f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {error}"[:300]
            )
    return Outcome("written outside", written[0]) if written else found


_watching: list[tuple[Path, list[str]]] = []


def _watch(event: str, given: tuple[Any, ...]) -> None:
    """An audit hook: which files are opened for writing, or changed otherwise."""
    if not _watching or (event != "open" and event not in CHANGES):
        return
    home, written = _watching[-1]
    if event == "open" and not (isinstance(given[2], int) and given[2] & WRITING):
        return
    # What stands after the paths says of some events below which open folder they are.
    below = next((each for each in given[1:] if isinstance(each, int) and each >= 0), None)
    root = f"/proc/self/fd/{below}" if below is not None and event in {"os.remove", "os.rmdir"} else ""
    for path in given[: 2 if event in {"os.rename", "os.link", "os.symlink"} else 1]:
        if isinstance(path, str | bytes | os.PathLike):
            whole = os.path.realpath(Path(root, os.fsdecode(path)))
            if not whole.startswith(f"{home}{os.sep}") and whole not in {str(home), os.devnull}:
                written.append(f"{event} {whole}")


@contextmanager
def watched(home: Path) -> Iterator[list[str]]:
    """Inside, what is written outside of a folder is put down; programs that are not Python's are not seen."""
    if not _watch_added:
        sys.addaudithook(_watch)
        _watch_added.append(True)
    written: list[str] = []
    _watching.append((home.resolve(), written))
    try:
        yield written
    finally:
        _watching.pop()


_watch_added: list[bool] = []


# ------------------------------------------------------------------------------------------------ many cases


class Tally(NamedTuple):
    """What became of the cases of a reader."""

    cases: int
    kinds: Counter[str]
    faults: list[dict[str, Any]]
    seconds: float
    slowest: float
    memory: int  # megabytes, at most

    @property
    def plain(self) -> dict[str, Any]:
        """As it is recorded."""
        refused, read = self.kinds["refused"], self.kinds["read"]
        rest = {"hangs": self.kinds["hang"], "outside": self.kinds["written outside"]}
        wrong = self.cases - read - refused - sum(rest.values())
        figures = {"seconds": round(self.seconds, 1), "slowest": round(self.slowest, 2), "megabytes": self.memory}
        return {"cases": self.cases, "read": read, "refused": refused, "unexpected": wrong, **rest, **figures}


def work(name: str, numbers: Iterable[int], pipe: Connection, home: str) -> None:
    """The process of a reader: a case after the other, the outcome of each is sent."""
    faulthandler.disable()
    warnings.simplefilter("ignore")
    os.environ |= {"SEQWRIGHT_CACHE": f"{home}/cache", "HOME": home, "TMPDIR": home}
    tempfile.tempdir = None
    os.chdir(home)
    sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - what libraries complain of, to the end
    import torch

    torch.set_num_threads(1)
    valid_files(name)
    _limit_memory()
    pipe.send(Outcome("ready"))
    for number in numbers:
        folder = Path(home) / f"case-{number}"
        os.environ["SEQWRIGHT_CACHE"] = str(folder / "cache")
        tempfile.tempdir = str(folder)
        began = time.perf_counter()
        found = outcome(name, Random(f"{name} {number}"), folder)
        peak = _peak()
        pipe.send((number, found, time.perf_counter() - began, peak))
        shutil.rmtree(folder, ignore_errors=True)


def _peak() -> int:
    """Megabytes that this process held at most; what getrusage says begins with those of the process that made it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    (held,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(held) // 1024


def _limit_memory() -> None:
    """From here on, so much more and no more: libraries that are loaded map far more than they use."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def tally(name: str, cases: int) -> Tally:
    """Every case of a reader; a process that hangs or dies is replaced, and the next case begins in a new one."""
    kinds, faults, next_case = Counter[str](), list[dict[str, Any]](), 0
    began, slowest, memory = time.perf_counter(), 0.0, 0
    context = multiprocessing.get_context("spawn")
    while next_case < cases:
        ours, theirs = context.Pipe()
        with tempfile.TemporaryDirectory() as home:
            process = context.Process(target=work, args=(name, range(next_case, cases), theirs, home), daemon=True)
            process.start()
            theirs.close()
            try:
                if not ours.poll(BEGINNING) or ours.recv().kind != "ready":
                    raise RuntimeError(f"{name}: its valid files could not be made")
                while next_case < cases:
                    if not ours.poll(PATIENCE):
                        found, seconds = Outcome("hang", f"over {PATIENCE:g} seconds"), PATIENCE
                    else:
                        _, found, seconds, peak = ours.recv()
                        memory = max(memory, peak)
                    slowest, next_case = max(slowest, seconds), next_case + 1
                    kinds[found.kind] += 1
                    if not found.fine:
                        faults.append({"reader": name, "case": next_case - 1, "what": found.kind, "told": found.told})
                    if found.kind == "hang":
                        break
            except EOFError:
                kinds["died"] += 1
                faults.append({"reader": name, "case": next_case, "what": "died", "told": "the process ended"})
                next_case += 1
            finally:
                process.kill()
                process.join()
    return Tally(cases, kinds, faults, time.perf_counter() - began, slowest, memory)


def main() -> None:
    parser = options("fuzz", __doc__)
    parser.add_argument("--reader", action="append", help="only this one; may be given several times")
    parser.add_argument("--case", type=int, help="make this case of the reader again, and show what happens")
    parser.add_argument("--cases", type=int, help="so many for each reader")
    given = parser.parse_args()
    readers = every_reader()
    names = given.reader or list(readers)
    if given.case is not None:
        again(names[0], given.case)
        return
    numbers, faults, made = earlier(given)
    for name in names:
        usual = QUICK_CASES if given.quick else MODEL_CASES if readers[name].builds else TEXT_CASES
        found = tally(name, given.cases or usual)
        numbers[name], made[name] = found.plain, command()
        faults = [fault for fault in faults if fault["reader"] != name] + found.faults
        print(name, found.plain, flush=True)
        for fault in found.faults[:9]:
            print(f"    case {fault['case']}: {fault['what']}: {fault['told']}"[:250], flush=True)
        record(
            "fuzz",
            __doc__,
            given,
            threads=1,
            libraries=("numpy", "openpyxl", "pyarrow", "safetensors", "tokenizers", "torch"),
            settings={"patience": PATIENCE, "memory": MEMORY, "seeds": "Random(f'{reader} {case}')"},
            numbers={
                "commands": {
                    each: [name for name in made if made[name] == each] for each in dict.fromkeys(made.values())
                },
                "readers": {each: numbers[each] for each in readers if each in numbers},
                "faults": faults,
            },
        )
    columns = list(next(iter(numbers.values())))
    show(["reader", *columns], [[name, *(f"{each[key]:,}" for key in columns)] for name, each in numbers.items()])
    if faults:
        sys.exit(f"{len(faults):,} cases ended as none may")


def earlier(given: Namespace) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, str]]:
    """The figures, the faults and the commands of readers that were run before: they stay where only some are asked."""
    path = (given.results or REPOSITORY / ("runs/quick" if given.quick else "results")) / "fuzz.json"
    if not given.reader or not path.is_file():
        return {}, [], {}
    numbers = json.loads(path.read_text(encoding="utf-8"))["numbers"]
    made = {name: each for each, names in numbers["commands"].items() for name in names}
    return numbers["readers"], numbers["faults"], made


def again(name: str, case: int) -> None:
    """A case, with its traceback if there is one; its files are kept and named."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    write_files(damaged(name, Random(f"{name} {case}")), folder)
    print(f"its files are in {folder}")
    every_reader()[name].read(folder)
    print("read")


if __name__ == "__main__":
    main()
