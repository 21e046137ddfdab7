"""Does a training that is killed again and again end in the same bytes as one that was left alone?

One small recipe of each family is trained through the command line: once undisturbed, then with SIGKILLs, half of them
inside tokenising, validation or saving, at a call that is drawn. The same command then resumes. After each kill
nothing is half-written under a final name, training resumes from the newest checkpoint, and at most one checkpoint
interval is done again; in the end every file must be that of the first run, but for those that tell the time.
"""

import hashlib
import json
import re
import shutil
import sys
import tempfile
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.killing import Ended, ForkServer, Moment
from benchmarks.record import options, record, show
from benchmarks.small_recipes import FAMILIES, Family

INSIDE = ("tokenising", "validation", "saving")
BETWEEN = "training"
NEVER = Moment(BETWEEN, 1, entry=10**9)
CALLS_IN_STEP = 2000  # at least so many are in none of the steps
TIMED = {"pace.jsonl", "lock"}
STEP_FOLDER = re.compile(r"step-(\d+)")
MEMORY = Path("/dev/shm")  # where a sync costs nothing: what the kernel has got outlives a killed process anyway


class Plan(NamedTuple):
    """How often each family is killed."""

    kills: dict[str, int]
    save_every: int = 4
    seed: int = 1  # of the moments

    def steps(self, family: str) -> int:
        """Enough: from one kill to the next training saves about twice."""
        return (2 * self.kills[family] + 6) * self.save_every


class Kill(NamedTuple):
    """What a kill met and what it cost."""

    phase: str
    reached: int  # the last step in the journal
    whole: int  # the step of the newest checkpoint whose every file has its sha256; 0: none
    damaged: list[str]  # files under final names that are not whole
    resumed: int | None = None  # the step from which the next command went on; none where it did not come so far

    @property
    def repeated(self) -> int:
        """Steps that had to be done again."""
        return 0 if self.resumed is None else max(0, self.reached - self.resumed)


class Outcome(NamedTuple):
    """How it went with one family."""

    kills: list[Kill]
    differences: list[str]  # files that are not those of the undisturbed run
    ends: int  # how often a killed training came to its end
    files: int  # that were compared
    sha256: str  # of all of them
    undisturbed_seconds: float
    killed_seconds: float

    @property
    def phases(self) -> Counter[str]:
        """How many kills fell into each phase."""
        return Counter(kill.phase for kill in self.kills)


QUICK = Plan({"classification": 3, "counted": 3})


def main() -> None:
    parser = options("survival", __doc__)
    parser.add_argument("--kills", type=int, default=20, help="how often each family is killed")
    parser.add_argument("--many", type=int, default=100, help="how often the language model is killed")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="only this one; may be said again")
    given = parser.parse_args()
    chosen = given.family or [*FAMILIES]
    plan = QUICK if given.quick else Plan({n: given.many if n == "language" else given.kills for n in chosen})
    outcomes: dict[str, Outcome] = {}
    with ForkServer() as server, tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        for name in plan.kills:
            outcomes[name] = survived(server, plan, name, Path(folder) / name)
            print(f"{name}: {len(outcomes[name].kills)} kills, {outcomes[name].killed_seconds:.0f} s", flush=True)
    report(plan, outcomes, given)
    faults = [f"{name}: {fault}" for name, outcome in outcomes.items() for fault in shortcomings(plan, outcome)]
    if faults:
        sys.exit("; ".join(faults))


def survived(server: ForkServer, plan: Plan, name: str, folder: Path) -> Outcome:
    """Train a family twice, the second time under fire."""
    family, home, victim = FAMILIES[name], folder / "undisturbed", folder / "killed"
    family.write(home)
    for before in family.first:
        _require(server.run(*before, folder=home, SEQWRIGHT_CACHE=str(folder / "cache")))
    shutil.copytree(home, victim)
    words = family.command(steps=plan.steps(name), save_every=plan.save_every)
    began = time.monotonic()
    calm = server.run(*words, folder=home, kill=NEVER, SEQWRIGHT_CACHE=str(home / "cache"))
    _require(calm)
    between = time.monotonic()
    reference = contents(home / "run")
    hunt = Hunt(server, words, victim, reference, descends=family.descends)
    for moment in moments(plan, name, family, calm.counts):
        hunt.kill(moment)
    hunt.end()
    return Outcome(
        hunt.kills,
        sorted(hunt.differences),
        hunt.ends,
        files=len(reference),
        sha256=hashlib.sha256(json.dumps(sorted(reference.items())).encode()).hexdigest(),
        undisturbed_seconds=between - began,
        killed_seconds=time.monotonic() - between,
    )


def moments(plan: Plan, name: str, family: Family, counts: dict[str, int]) -> Iterator[Moment]:
    """Where it is killed: half of the times inside one of the phases that it has, which take turns."""
    rng, inside = Random(f"{plan.seed} {name}"), [phase for phase in INSIDE if phase in counts]
    for number in range(plan.kills[name]):
        phase = inside[number // 2 % len(inside)] if number % 2 else BETWEEN
        calls = counts.get(phase, CALLS_IN_STEP)
        if phase == BETWEEN and family.descends:
            yield Moment(phase, rng.randint(1, calls), rng.randint(1, 2 * plan.save_every))
        else:
            yield Moment(
                phase, rng.randint(1, calls), rng.randint(1, 2) if phase == "saving" and family.descends else 1
            )


class Hunt:
    """A training that is killed again and again, and what was found each time."""

    def __init__(
        self, server: ForkServer, words: list[str], home: Path, reference: dict[str, str], *, descends: bool
    ) -> None:
        self.server, self.words, self.home = server, words, home
        self.reference, self.descends = reference, descends
        self.kills: list[Kill] = []
        self.differences: set[str] = set()
        self.ends = 0

    def kill(self, moment: Moment) -> None:
        """Kill it at a moment. One that comes to its end before is compared, and begun again."""
        if moment.kind == "tokenising":
            shutil.rmtree(self.home / "cache", ignore_errors=True)
        while not self._run(moment).killed:
            self._compare()
            shutil.rmtree(self.home / "run")
        run = self.home / "run"
        # What counts has but one step, which it never resumes from.
        reached = max((line["step"] for line in journal(run)), default=0) if self.descends else 0
        whole = newest(run) if self.descends else 0
        self.kills.append(Kill(moment.kind, reached, whole, damaged(run)))

    def end(self) -> None:
        """Let it come to its end."""
        self._run(None)
        self._compare()

    def _run(self, moment: Moment | None) -> Ended:
        ended = self.server.run(
            *self.words, folder=self.home, kill=moment or NEVER, SEQWRIGHT_CACHE=str(self.home / "cache")
        )
        if not ended.killed:
            _require(ended)
        before_training = moment is not None and moment.kind == "tokenising" and ended.killed
        if self.kills and not before_training:
            self.kills[-1] = self.kills[-1]._replace(resumed=resumed_from(ended.said))
        return ended

    def _compare(self) -> None:
        found = contents(self.home / "run")
        self.ends += 1
        self.differences |= {name for name, _ in self.reference.items() ^ found.items()}


def _require(ended: Ended) -> None:
    if ended.code:
        raise RuntimeError(f"the command ended with {ended.code}: {ended.said}")


def shortcomings(plan: Plan, outcome: Outcome) -> list[str]:
    """What was promised and is not so, a sentence each."""
    told = [f"{name} differs from the undisturbed run's" for name in outcome.differences]
    for number, kill in enumerate(outcome.kills, start=1):
        told += [f"after kill {number} {name} was not whole" for name in kill.damaged]
        if kill.resumed not in {kill.whole, None}:
            told.append(f"after kill {number} step {kill.whole} was whole, but training went on from {kill.resumed}")
        if kill.repeated > plan.save_every:
            told.append(f"after kill {number} {kill.repeated} steps were repeated, more than {plan.save_every}")
    return told


# ------------------------------------------------------------------------------------------------ looking


def newest(run: Path) -> int:
    """The newest step that has a checkpoint; 0 where there is none, or where it is all that is ever written."""
    return max((int(found[1]) for path in run.glob("step-*") if (found := STEP_FOLDER.fullmatch(path.name))), default=0)


def damaged(run: Path) -> list[str]:
    """The files under final names that are not whole: checkpoints against their sha256, everything else by its form."""
    found = []
    for path in sorted(path for path in run.rglob("*") if path.is_file() and path.name not in TIMED):
        name = path.relative_to(run)
        if not any(part.startswith(".") for part in name.parts) and not _is_whole(path):
            found.append(str(name))
    return found


def _is_whole(path: Path) -> bool:
    data = path.read_bytes()
    try:
        match path.suffix:
            case ".json":
                json.loads(data)
            case ".safetensors" if STEP_FOLDER.fullmatch(path.parent.name):
                sums = json.loads((path.parent / "state.json").read_text(encoding="utf-8"))["sha256"]
                return bool(sums[path.name] == hashlib.sha256(data).hexdigest())
            case ".png" | ".svg":
                return data.rstrip().endswith((b"IEND\xaeB`\x82", b"</svg>"))
            case _ if path.name != "journal.jsonl":  # whose last line may be cut: it is dropped
                return data.endswith(b"\n") or path.suffix == ".safetensors"
    except (OSError, ValueError, KeyError):
        return False
    return True


def resumed_from(said: str) -> int:
    """The step from which a training said that it went on; 0 where it began anew."""
    return max((int(step) for step in re.findall(r"resuming from step (\d+)", said)), default=0)


def journal(run: Path) -> list[dict[str, Any]]:
    """The whole lines of a run's journal; the kill may have cut the last one short."""
    path = run / "journal.jsonl"
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def contents(run: Path) -> dict[str, str]:
    """The sha256 of everything in a run folder, but for what tells the time; also of what is left beside it."""
    found = {}
    for path in sorted(path for path in run.rglob("*") if path.name not in TIMED and path.is_file()):
        data = path.read_bytes()
        if path.name == "state.json":
            data = json.dumps({**json.loads(data), "seconds": 0, "state_sha256": ""}).encode()
        found[str(path.relative_to(run))] = hashlib.sha256(data).hexdigest()
    return found


def report(plan: Plan, outcomes: dict[str, Outcome], given: Namespace) -> None:
    columns = ["family", "kills", *INSIDE, "between", "most repeated", "files that differ", "undisturbed", "killed"]
    rows = []
    for name, outcome in outcomes.items():
        phases = [str(outcome.phases[phase]) for phase in (*INSIDE, BETWEEN)]
        most = max(kill.repeated for kill in outcome.kills)
        seconds = f"{outcome.undisturbed_seconds:.0f} s", f"{outcome.killed_seconds:.0f} s"
        rows.append([name, str(len(outcome.kills)), *phases, str(most), str(len(outcome.differences)), *seconds])
    show(columns, rows)
    steps = {name: plan.steps(name) for name in outcomes if FAMILIES[name].descends}
    record(
        "survival",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "safetensors"],
        settings={"checkpoint_interval": plan.save_every, "steps": steps},
        numbers={name: _numbers(outcome) for name, outcome in outcomes.items()},
    )


def _numbers(outcome: Outcome) -> dict[str, Any]:
    return {
        "kills": len(outcome.kills),
        **{f"inside_{phase}": outcome.phases[phase] for phase in INSIDE},
        "between": outcome.phases[BETWEEN],
        "half_written_files": sum(len(kill.damaged) for kill in outcome.kills),
        "most_steps_repeated": max(kill.repeated for kill in outcome.kills),
        "ends": outcome.ends,
        "identical": not outcome.differences,
        "differences": outcome.differences,
        "files_compared": outcome.files,
        "compared_sha256": outcome.sha256,
        "undisturbed_seconds": round(outcome.undisturbed_seconds, 1),
        "killed_seconds": round(outcome.killed_seconds, 1),
    }


if __name__ == "__main__":
    main()
