"""Commands that die by SIGKILL at a chosen moment: the n-th call of a kind, counted by Python's own profiler.

    with ForkServer() as server:
        counts = server.run("eval", "run", folder=home).counts           # how many moments there are
        server.run("eval", "run", folder=home, kill=Moment("files", 7))  # dies before its 7th call that writes

One process imports everything; each command is forked from it, so that a run takes as long as its work. What is
killed is an ordinary process of `seqwright`: nothing in the package knows of it.
"""

import ctypes
import importlib
import io
import json
import os
import pkgutil
import posix
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self

from benchmarks.record import REPOSITORY

FILES = "files"
# Where each phase of a training is entered. What `validation` gives is called when a model is validated.
PHASES = {
    "tokenising": ("seqwright.cache:_kept",),
    "validation": ("seqwright.tasks.wired:validation",),
    "saving": ("seqwright.training.loop:Fitting._save", "seqwright.training.counting:write_only_step"),
    "training": ("seqwright.training.loop:Fitting.update", "seqwright.models.ngram:Ngram.observe"),
}
FACTORIES = {"validation"}
WRITING = {"write", "fsync", "replace", "rename", "mkdir", "unlink", "rmdir", "ftruncate", "tofile", "serialize_file"}
SUBREAPER = 36  # of prctl: orphans of what was killed become children of the server, which can wait for them


class Moment(NamedTuple):
    """Before the `number`-th call of a kind: of `files`, those that write one; of a phase, all in its `entry`-th time.

    Where a phase has fewer, its end is the moment.
    """

    kind: str
    number: int
    entry: int = 1


class Scarcity(NamedTuple):
    """What a command has little of; nothing where it has as much as there is."""

    open_files: int | None = None
    file_bytes: int | None = None  # of the largest file
    memory: int | None = None  # in bytes, beside what is taken already
    user: int | None = None  # who is not root

    def impose(self) -> None:
        """On this process, for ever."""
        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        limits = {
            resource.RLIMIT_NOFILE: self.open_files,
            resource.RLIMIT_FSIZE: self.file_bytes,
            resource.RLIMIT_AS: None if self.memory is None else taken + self.memory,
        }
        for kind, limit in limits.items():
            if limit is not None:
                resource.setrlimit(kind, (limit, limit))
        if self.user is not None:
            os.setgroups([])
            os.setgid(self.user)
            os.setuid(self.user)


class Ended(NamedTuple):
    """How a command ended."""

    code: int  # negative: by that signal
    said: str
    counts: dict[str, int]  # calls that write, and calls in the first time of each phase; none where it was killed

    @property
    def killed(self) -> bool:
        """Whether the moment came."""
        return self.code == -signal.SIGKILL


class ForkServer:
    """The process from which commands are forked."""

    def __enter__(self) -> Self:
        package = Path(str(importlib.import_module("seqwright").__file__)).parent.parent
        own = {"PYTHONPATH": str(package), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.killing"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env={**os.environ, **own},
        )
        self.jobs = 0
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.communicate()  # its input ends, and so does it

    def run(
        self,
        *words: str,
        folder: Path,
        kill: Moment | None = None,
        scarcity: Scarcity | None = None,
        **environment: str | None,
    ) -> Ended:
        """Type a command in a folder; it and what it started are over when this returns. A variable may be unset."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.jobs += 1
        limits = None if scarcity is None else scarcity._asdict()
        job = {"words": words, "folder": str(folder), "kill": kill, "limits": limits, "environment": environment}
        self.process.stdin.write(json.dumps([self.jobs, job]) + "\n")
        self.process.stdin.flush()
        while True:  # an earlier answer is of a command that nobody waited for
            number, found = json.loads(self.process.stdout.readline())
            if number == self.jobs:
                return Ended(**found)


# ------------------------------------------------------------------------------------------------ in the server


def serve() -> None:
    """Import everything, then fork a process for each line of standard input, and tell how it ended."""
    import seqwright

    for module in pkgutil.walk_packages(seqwright.__path__, "seqwright."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("seqwright.__main__", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"):
        importlib.import_module(name)
    with suppress(AttributeError):
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    for line in sys.stdin:
        number, job = json.loads(line)
        print(json.dumps([number, _done(job)]), flush=True)


def _done(job: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as aside:
        said, counts = Path(aside) / "said", Path(aside) / "counts.json"
        child = os.fork()
        if not child:
            _become(job, said, counts)
        _, status = os.waitpid(child, 0)
        with suppress(ChildProcessError):
            while True:
                os.wait()  # for the orphans
        return {
            "code": os.waitstatus_to_exitcode(status),
            "said": said.read_text(encoding="utf-8", errors="replace"),
            "counts": _heard_of(counts) if counts.exists() else {},
        }


def _heard_of(counts: Path) -> dict[str, int]:
    """What a command counted; what it had to import is imported here, so that the next does not wait for it."""
    told = json.loads(counts.read_text(encoding="utf-8"))
    for name in told["imported"]:
        with suppress(Exception):
            importlib.import_module(name)
    found: dict[str, int] = told["counts"]
    return found


def _become(job: dict[str, Any], said: Path, counts: Path) -> None:
    """Be the process of a command, to its end."""
    from seqwright.__main__ import main

    output = os.open(said, os.O_WRONLY | os.O_CREAT)
    for descriptor, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
        os.dup2(source, descriptor)
    os.chdir(job["folder"])
    for name, value in job["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    sys.argv = ["seqwright", *job["words"]]
    kill, watch, code = None if job["kill"] is None else Moment(*job["kill"]), Watch(), 0
    known = {*sys.modules}
    try:
        if job["limits"] is None:
            watch.attend(kill)
        else:
            Scarcity(**job["limits"]).impose()
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.setprofile(None)
        imported = [name for name in sys.modules if name not in known and not name.startswith("_")]
        with suppress(OSError):  # as somebody else, or on a full disk
            counts.write_text(json.dumps({"counts": watch.counts, "imported": imported}), encoding="utf-8")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Watch:
    """Counts calls, and ends the process at a moment."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.entries: Counter[str] = Counter()

    def attend(self, kill: Moment | None) -> None:
        """Begin to count: the calls that write, or where a phase is asked for the calls in it."""
        if kill is None or kill.kind == FILES:
            sys.setprofile(self._writes(kill))
        if kill is None or kill.kind != FILES:
            for phase, places in PHASES.items():
                for place in places:
                    self._wrap(phase, place, kill if kill and kill.kind == phase else None)

    def _writes(self, kill: Moment | None) -> Callable[[FrameType, str, Any], None]:
        def hear(frame: FrameType, event: str, arg: Any) -> None:
            if event == "c_call" and arg.__name__ in WRITING and _is_of_file(arg.__self__):
                self.counts[FILES] += 1
                if kill is not None and kill.number == self.counts[FILES]:
                    _die()

        return hear

    def _wrap(self, phase: str, place: str, kill: Moment | None) -> None:
        """Let a function of the package be heard, in this process alone."""
        module, _, path = place.partition(":")
        *owners, name = path.split(".")
        owner: Any = importlib.import_module(module)
        for each in owners:
            owner = getattr(owner, each)
        real = getattr(owner, name)
        if phase in FACTORIES:
            heard: Any = lambda *given, **named: self._heard(phase, real(*given, **named), kill)  # noqa: E731
        else:
            heard = self._heard(phase, real, kill)
        setattr(owner, name, heard)

    def _heard(self, phase: str, real: Callable[..., Any], kill: Moment | None) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            self.entries[phase] += 1
            if self.entries[phase] != (kill.entry if kill else 1) or (kill is None and phase == "training"):
                return real(*given, **named)
            before = sys.getprofile()
            sys.setprofile(self._calls(phase, kill))
            found = real(*given, **named)
            sys.setprofile(before)
            if kill is not None:
                _die()
            return found

        return called

    def _calls(self, phase: str, kill: Moment | None) -> Callable[[FrameType, str, Any], None]:
        def hear(frame: FrameType, event: str, arg: Any) -> None:
            self.counts[phase] += event in {"call", "c_call"}
            if kill is not None and kill.number == self.counts[phase]:
                _die()

        return hear


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _is_of_file(owner: Any) -> bool:
    """Whether a function is of the operating system, or of a file that is not what is printed."""
    if isinstance(owner, io.BytesIO | io.StringIO):
        return False
    is_file = isinstance(owner, io.IOBase) and getattr(owner, "name", None) not in {"<stdout>", "<stderr>"}
    return owner is posix or is_file or type(owner).__module__ == "numpy" or "safetensors" in str(owner)


if __name__ == "__main__":
    serve()
