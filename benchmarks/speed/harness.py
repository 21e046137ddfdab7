"""How a question is answered: contestants take turns, medians and ratios are formed, and the limit stands beside them.

A round is a turn of each contestant for each measure, every other round in the opposite order, so that a machine that
slows down slows all alike. The machine's limits, the arithmetic of a large matrix product and the reading of memory,
are measured in the same rounds. The rate is work per CPU-second with one thread, which other programs on the machine
disturb least, and per second with several.
"""

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from benchmarks.record import REPOSITORY, commit, machine, show, today
from benchmarks.speed.environments import Environment, NotInstalledError, python_of

OURS = "Seqwright"
LIMITS = "benchmarks.speed.limits"
UNITS = {"matrix": "GFLOP/s", "memory": "GB/s"}  # of the limits

Settings = Mapping[str, Any]
Answers = Mapping[str, Mapping[str, Any]]
"""What came out of the first turn: by measure, by contestant."""
Answered = Mapping[str, Sequence[Any]]
"""What came out of all of our turns that count, by measure."""


class Table(NamedTuple):
    """What is shown."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Limit(NamedTuple):
    """What one unit of work needs at least: multiplications and additions ("matrix"), or bytes read ("memory")."""

    kind: str
    each: float


class Contestant(NamedTuple):
    """Ours or a peer: the function that makes it ready, and where its packages are.

    The function is given the settings and returns what it can be asked to do. `absent` says of the settings why it
    cannot take part, if it cannot.
    """

    name: str
    ready: Callable[[dict[str, Any]], Any]
    environment: Environment | None = None
    libraries: Sequence[str] = ("torch",)
    absent: Callable[[Settings], str | None] = lambda settings: None


@dataclass(frozen=True)
class Question:
    """What is asked, in which sizes, and who answers. The first contestant is ours, to whom the others are compared."""

    name: str
    about: str
    unit: str  # of the work
    contestants: Sequence[Contestant]
    full: Settings
    quick: Settings
    rounds: int = 5
    limit: Callable[[Settings, str], Limit | None] = lambda settings, measure: None
    marks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # by measure: at least these ratios
    compare: Callable[[Answers], dict[str, Any]] = lambda answers: {}
    conclude: Callable[[Settings, Answered], dict[str, Any]] = lambda settings, answered: {}
    table: Callable[[Mapping[str, Any]], Table] | None = None  # of what was concluded, in place of rates
    warm: bool = True  # whether a round before the others is not counted
    clock: str = "cpu"  # "wall", where what counts is how long somebody waits

    @property
    def line(self) -> str:
        """The question in one line."""
        return self.about.strip().split("\n", maxsplit=1)[0]


class Options(NamedTuple):
    """How the bench is run."""

    quick: bool = False
    threads: int = 1
    rounds: int | None = None
    nanogpt: str | None = None
    without: Sequence[str] = ()
    results: Path | None = None

    @property
    def folder(self) -> Path:
        """Where the numbers go; those of a quick run mean little, and never replace the others."""
        return self.results or REPOSITORY / ("runs/quick/bench" if self.quick else "results/bench")


class TurnError(Exception):
    """A contestant failed; one sentence."""


class Process:
    """A contestant's process."""

    def __init__(
        self, function: Callable[..., Any], settings: Settings, python: Path, threads: int, libraries: Sequence[str]
    ) -> None:
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        words = [function.__module__, function.__name__, json.dumps(dict(settings)), " ".join(libraries)]
        one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), str(threads))
        self.process = subprocess.Popen(
            [str(python), "-m", "benchmarks.speed.worker", *words],
            cwd=REPOSITORY,
            env={**os.environ, **one, "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self.measures: list[str] = []
        self.versions: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()  # the end of its requests
        if error is not None:
            self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def wait_ready(self) -> None:
        """Wait until it has made itself ready."""
        told = self._answer()
        self.measures, self.versions = told["measures"], told["versions"]

    def turn(self, measure: str) -> dict[str, Any]:
        """One turn, with its times."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(measure) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise TurnError(self._last_words()) from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise TurnError(self._last_words())
        told: dict[str, Any] = json.loads(line)
        if "error" in told:
            raise TurnError(told["error"])
        return told

    def _last_words(self) -> str:
        code = self.process.wait()
        self.log.seek(0)
        lines = [line.strip() for line in self.log if line.strip()]
        return lines[-1] if lines else f"its process ended with code {code}"


class Field(NamedTuple):
    """Those who take part, and why others do not."""

    there: dict[str, Process]
    absent: dict[str, str]

    def drop(self, name: str, why: str) -> None:
        """Leave one out from here on, and say why. Without ours there is no question."""
        if name == OURS:
            raise TurnError(f"{OURS} failed: {why}")
        self.there.pop(name, None)
        self.absent[name] = why


def answer(question: Question, options: Options) -> dict[str, Any]:
    """Measure a question; all that is known of it, as it is written down."""
    began, code = time.monotonic(), commit()
    settings = {**question.full, **(question.quick if options.quick else {}), "threads": options.threads}
    settings["nanogpt"] = options.nanogpt
    rounds = options.rounds or (1 if options.quick else question.rounds)
    with ExitStack() as stack:
        field = entered(question, settings, options, stack)
        limits = stack.enter_context(limits_process(options))
        limits.wait_ready()
        answers, turns = measured(field, limits, rounds, warm=question.warm)
        libraries = {name: version for each in field.there.values() for name, version in each.versions.items()}
    medians = {kind: statistics.median(rate_of(turn, options) for turn in turns[LIMITS][kind]) for kind in UNITS}
    measures = {
        measure: summary(question, measure, {n: t[measure] for n, t in turns.items() if measure in t}, medians, options)
        for measure in dict.fromkeys(m for name, by in turns.items() if name != LIMITS for m in by)
    }
    for each in measures.values():
        each["limit"] = limit_of(question.limit(settings, each["measure"]), medians)
        for one in each["rates"].values():
            if each["limit"] is not None:
                one["share_of_limit"] = round(one["median"] / each["limit"]["rate"], 3)
    settings.pop("nanogpt")
    return {
        "name": question.name,
        "question": question.line,
        "command": command_of(question, options),
        "date": today(),
        "commit": code,
        "quick": options.quick,
        "machine": machine(),
        "limits": {kind: {"median": round(value, 2), "unit": UNITS[kind]} for kind, value in medians.items()},
        "versions": {**limits.versions, **libraries},
        "threads": options.threads,
        "load": round(os.getloadavg()[0], 2),
        "settings": settings,
        "rounds": rounds,
        "seconds": round(time.monotonic() - began, 1),
        "measures": {} if question.table else measures,
        "absent": field.absent,
        "agreement": question.compare(answers),
        "conclusions": question.conclude(
            settings, {measure: [turn["answer"] for turn in several] for measure, several in turns[OURS].items()}
        ),
    }


def entered(question: Question, settings: Settings, options: Options, stack: ExitStack) -> Field:
    """Every contestant that can take part, ready for its first turn; they make themselves ready at once."""
    field = Field({}, {})
    for contestant in question.contestants:
        why = "left out by --without" if contestant.name in options.without else contestant.absent(settings)
        if why is not None:
            field.drop(contestant.name, why)
            continue
        try:
            python = python_of(contestant.environment)
        except NotInstalledError as error:
            field.drop(contestant.name, str(error))
            continue
        process = Process(contestant.ready, settings, python, options.threads, contestant.libraries)
        field.there[contestant.name] = stack.enter_context(process)
    for name, process in list(field.there.items()):
        try:
            process.wait_ready()
        except TurnError as error:
            field.drop(name, str(error))
    return field


def limits_process(options: Options) -> Process:
    """What the machine can do at most, measured like a contestant."""
    from benchmarks.speed import limits

    return Process(limits.ready, {"quick": options.quick}, Path(sys.executable), options.threads, ("torch", "numpy"))


def measured(
    field: Field, limits: Process, rounds: int, *, warm: bool
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, list[dict[str, Any]]]]]:
    """What the first turns answered, which also warm up, and the times of all that follow."""
    turns: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in (LIMITS, *field.there)}
    answers: dict[str, dict[str, Any]] = {}
    order = list(dict.fromkeys(measure for process in field.there.values() for measure in process.measures))
    for number in range(-1 if warm else 0, rounds):
        for kind in UNITS:
            turns[LIMITS].setdefault(kind, []).append(limits.turn(kind))
        for measure in order:
            names = [name for name, process in field.there.items() if measure in process.measures]
            for name in reversed(names) if number % 2 else names:
                try:
                    turn = field.there[name].turn(measure)
                except TurnError as error:
                    field.drop(name, str(error))
                    turns.pop(name)
                    continue
                answers.setdefault(measure, {}).setdefault(name, turn["answer"])
                if number >= 0:
                    turns[name].setdefault(measure, []).append(turn)
    return answers, turns


def rate_of(turn: Mapping[str, Any], options: Options, clock: str = "cpu") -> float:
    """Work per second: of the processor, where there is one thread."""
    seconds: float = turn["cpu" if options.threads == 1 and clock == "cpu" else "wall"]
    return float(turn["amount"]) / max(seconds, 1e-9)


def summary(
    question: Question,
    measure: str,
    turns: Mapping[str, Sequence[Mapping[str, Any]]],
    limits: Mapping[str, float],
    options: Options,
) -> dict[str, Any]:
    """Medians of a measure, and the median over the rounds of ours ÷ theirs, in each of which both had their turn."""
    rates = {name: [rate_of(turn, options, question.clock) for turn in several] for name, several in turns.items()}
    per = "CPU-second" if options.threads == 1 and question.clock == "cpu" else "second"
    found: dict[str, Any] = {
        "measure": measure,
        "unit": f"{question.unit} per {per}",
        "rates": {
            name: {
                "median": significant(statistics.median(each)),
                "each": [significant(value) for value in each],
                "wall_seconds": significant(statistics.median(turn["wall"] for turn in turns[name])),
                "memory_mb": round(max(turn["memory"] for turn in turns[name]) / 1e6),
            }
            for name, each in rates.items()
        },
        "ratios": {
            name: round(statistics.median(a / b for a, b in zip(rates[OURS], each, strict=True)), 3)
            for name, each in rates.items()
            if name != OURS and OURS in rates
        },
    }
    marks = question.marks.get(measure, {})
    found["marks"] = {
        name: {"ratio": mark, "reached": found["ratios"][name] >= mark}
        for name, mark in marks.items()
        if name in found["ratios"]
    }
    return found


def limit_of(limit: Limit | None, medians: Mapping[str, float]) -> dict[str, Any] | None:
    """The rate at which the machine could work at most, if nothing but this one thing took time."""
    if limit is None:
        return None
    return {"kind": limit.kind, "rate": significant(medians[limit.kind] * 1e9 / limit.each), "each": limit.each}


def significant(value: float) -> float:
    """Four digits of a number."""
    return float(f"{value:.4g}")


def command_of(question: Question, options: Options) -> str:
    """What makes the same numbers again."""
    words = ["python", "-m", "benchmarks", question.name]
    words += ["--quick"] if options.quick else []
    words += ["--threads", str(options.threads)] if options.threads != 1 else []
    words += ["--rounds", str(options.rounds)] if options.rounds else []
    words += ["--nanogpt", "FOLDER"] if options.nanogpt else []
    words += [word for name in options.without for word in ("--without", name)]
    return shlex.join(words)


def report(question: Question, found: Mapping[str, Any]) -> None:
    """The table of a question, and what else should be known."""
    print(f"\n{found['question']}")
    show(*(question.table or rates_table)(found))
    for name, why in found["absent"].items():
        print(f"{name} is left out: {why}")
    for name, value in found["agreement"].items():
        print(f"{name}: {value}")


def rates_table(found: Mapping[str, Any]) -> Table:
    """Every contestant at every measure, beside ours and the limit."""
    rows = []
    for measure, each in found["measures"].items():
        for name, rate in each["rates"].items():
            ratio = each["ratios"].get(name)
            mark = each["marks"].get(name)
            rows.append(
                [
                    f"{measure}, {name}",
                    f"{rate['median']:,.5g}",
                    "" if ratio is None else f"{ratio:.2f}",
                    "" if mark is None else f"{mark['ratio']:g}",
                    f"{rate['share_of_limit']:.0%}" if "share_of_limit" in rate else "",
                ]
            )
    units = {each["unit"] for each in found["measures"].values()}
    return Table([" / ".join(sorted(units)), "median", "ours ÷ this", "at least", "of the limit"], rows)


def write(found: Mapping[str, Any], options: Options) -> Path:
    """Write down what was found."""
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / f"{found['name']}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
