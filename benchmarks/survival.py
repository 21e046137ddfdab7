"""Does a training that is killed again and again end in the same bytes as one that was left alone?

A small Transformer learns to reverse sequences through the command line, with dropout, accumulation, a moving average,
validations and epoch borders: once undisturbed, then with SIGKILLs. Each falls some moment after a new checkpoint has
appeared, or inside a save; the same command then goes on. After each kill the work that is done again is at most
one checkpoint interval, and at the end the weights, averages, optimizer and journal must be those of the first run.
"""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.record import options, record, show

PATIENCE = 300.0  # seconds without a checkpoint after which something is wrong
GLANCE = 0.0005  # seconds between two looks at the run folder: a save takes far longer
STEP_FOLDER = re.compile(r"step-(\d+)")


class Plan(NamedTuple):
    """What is trained, and how often it is killed."""

    kills: int = 20
    inside: int = 5  # of them at least so many inside a save
    width: int = 128
    tokens: int = 512
    examples: int = 2000
    save_every: int = 8
    seed: int = 1  # of the moments

    @property
    def steps(self) -> int:
        """Enough: from one kill to the next training saves at most twice."""
        return (2 * self.kills + 4) * self.save_every

    def command(self, run: Path) -> list[str]:
        """The training, for the first time and after every kill."""
        settings = {
            "data.examples": self.examples,
            "data.valid": 20,
            "data.test": 0,
            "model.width": self.width,
            "model.feed_forward": 2 * self.width,
            "model.dropout": 0.1,
            "training.steps": self.steps,
            "training.tokens": self.tokens,
            "training.accumulate": 2,
            "training.average": "ema",
            "training.save_every": self.save_every,
            "training.validate_every": 3 * self.save_every,
            "training.log_every": 1,
            "training.threads": 1,
        }
        overrides = [f"{name}={value}" for name, value in settings.items()]
        return [sys.executable, "-m", "seqwright", "train", "reverse", "--run", str(run), *overrides]


class Kill(NamedTuple):
    """What a kill met and what it cost."""

    inside: bool  # a save was under way and did not come to its end
    files: list[str]  # that the unfinished save had begun to write
    reached: int  # the last step in the journal
    whole: int  # the step of the newest checkpoint whose every file has its sha256; 0: none
    resumed: int  # the step from which the next run went on, once it has told

    @property
    def repeated(self) -> int:
        """Steps that had to be done again."""
        return self.reached - self.resumed


class Outcome(NamedTuple):
    """How it went."""

    kills: list[Kill]
    differences: list[str]  # files that are not those of the undisturbed run
    sha256: dict[str, str]  # of the compared files of the killed run
    epochs: int
    validations: int
    undisturbed_seconds: float
    killed_seconds: float

    @property
    def inside(self) -> int:
        """Kills inside a save."""
        return sum(kill.inside for kill in self.kills)


def main() -> None:
    parser = options("survival", __doc__)
    parser.add_argument("--kills", type=int, default=20, help="how often the training is killed")
    parser.add_argument("--inside", type=int, default=5, help="how many of the kills at least fall inside a save")
    parser.add_argument("--folder", type=Path, help="where the two runs are kept (default: nowhere)")
    given = parser.parse_args()
    plan = QUICK if given.quick else Plan(kills=given.kills, inside=given.inside)
    with tempfile.TemporaryDirectory() as temporary:
        outcome = survived(plan, given.folder or Path(temporary))
    report(plan, outcome, given)
    faults = shortcomings(plan, outcome)
    if faults:
        sys.exit("; ".join(faults))


QUICK = Plan(kills=3, inside=1, width=32, tokens=256, examples=300, save_every=5)


def survived(plan: Plan, folder: Path) -> Outcome:
    """Train twice into `folder`, the second time under fire."""
    reference, victim = folder / "undisturbed", folder / "killed"
    if reference.exists() or victim.exists():
        raise RuntimeError(f"{folder} already holds runs, which would be gone on with; choose another folder")
    began = time.monotonic()
    with training(plan, reference) as (process, log):
        if process.wait():
            raise RuntimeError(f"the undisturbed training failed: {log.read_text(encoding='utf-8')}")
    between = time.monotonic()
    kills = killed_again_and_again(plan, victim, interval=interval_seconds(plan, reference))
    ended = time.monotonic()
    lines = journal(reference)
    return Outcome(
        kills,
        differences(reference, victim),
        {name: digest(path) for name, path in results(victim).items()},
        epochs=lines[-1]["epoch"],
        validations=sum(line["event"] == "valid" for line in lines),
        undisturbed_seconds=between - began,
        killed_seconds=ended - between,
    )


def shortcomings(plan: Plan, outcome: Outcome) -> list[str]:
    """What was promised and is not so, a sentence each."""
    told = [f"{name} differs from the undisturbed run's" for name in outcome.differences]
    for number, kill in enumerate(outcome.kills, start=1):
        if kill.resumed != kill.whole:
            told.append(f"after kill {number} step {kill.whole} was whole, but training went on from {kill.resumed}")
        if kill.repeated > plan.save_every:
            told.append(f"after kill {number} {kill.repeated} steps were repeated, more than {plan.save_every}")
    if outcome.epochs < 1 or outcome.validations < 2:
        told.append(f"the run had {outcome.epochs} epoch borders and {outcome.validations} validations: too few")
    return told


# ------------------------------------------------------------------------------------------------ killing


def killed_again_and_again(plan: Plan, run: Path, *, interval: float) -> list[Kill]:
    """Kill and go on until the plan is fulfilled, then let the training end."""
    chance, kills = Random(plan.seed), list[Kill]()
    while True:
        missing = max(0, plan.inside - sum(kill.inside for kill in kills))
        left = max(plan.kills - len(kills), missing)
        with training(plan, run) as (process, log):
            if left:
                # The number of files to wait for goes round, so that every part of a save is hit.
                files = len(kills) % 5 if chance.random() < missing / left else None
                kill = killed(run, process, log, files=files, pause=chance.random() * interval)
            elif process.wait():
                raise RuntimeError(f"the training failed after its last kill: {log.read_text(encoding='utf-8')}")
            if kills:
                kills[-1] = kills[-1]._replace(resumed=resumed_from(log))
        if not left:
            return kills
        kills.append(kill)


def killed(run: Path, process: subprocess.Popen[bytes], log: Path, *, files: int | None, pause: float) -> Kill:
    """Kill a training: inside a save that has so many files, or `pause` seconds after a new checkpoint.

    The process may be faster than the signal, so what was hit is read from what is left.
    """
    launched, before = time.time_ns(), newest(run)
    if files is not None:
        wait_until(lambda: saving(run, launched, files), process, log)
    else:
        wait_until(lambda: newest(run) > before, process, log)
        time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    if process.wait() != -signal.SIGKILL:
        raise RuntimeError(f"the training ended before it could be killed: {log.read_text(encoding='utf-8')}")
    inside = saving(run, launched)
    begun = sorted({path.name for aside in asides(run) for path in aside.iterdir()}) if inside else []
    reached = max((line["step"] for line in journal(run)), default=0)
    return Kill(inside, begun, reached, newest_whole(run), resumed=0)


@contextmanager
def training(plan: Plan, run: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """The training as a process of its own, and the file that holds what it says."""
    run.parent.mkdir(parents=True, exist_ok=True)
    log = run.with_suffix(".log")
    environment = {**os.environ, "SEQWRIGHT_CACHE": str(run.parent / "cache"), "OMP_NUM_THREADS": "1"}
    with log.open("wb") as said:
        process = subprocess.Popen(plan.command(run), stdout=said, stderr=subprocess.STDOUT, env=environment)
    try:
        yield process, log
    finally:
        process.kill()
        process.wait()


def wait_until(happened: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Look again and again, as long as the training runs."""
    began = time.monotonic()
    while not happened():
        if process.poll() is not None:
            raise RuntimeError(f"the training ended before it could be killed: {log.read_text(encoding='utf-8')}")
        if time.monotonic() - began > PATIENCE:
            raise RuntimeError(f"no checkpoint for {PATIENCE:.0f} s: {log.read_text(encoding='utf-8')}")
        time.sleep(GLANCE)


# ------------------------------------------------------------------------------------------------ looking


def saving(run: Path, launched: int, files: int = 0) -> bool:
    """Whether a save has begun since `launched` (clock, in nanoseconds), has so many files, and has not ended.

    What an earlier kill left half-written is older than `launched`, and so is every file in it.
    """
    for aside in asides(run):
        try:
            new = [path for path in aside.iterdir() if path.stat().st_mtime_ns > launched]
            if aside.stat().st_mtime_ns > launched and len(new) >= files:
                return True
        except FileNotFoundError:  # it has just got its final name
            continue
    return False


def asides(run: Path) -> list[Path]:
    """The folders in which checkpoints are written before they appear."""
    return list(run.glob(".step-*.writing"))


def steps(run: Path) -> list[int]:
    """The steps that have a checkpoint, oldest first."""
    return sorted(int(found[1]) for path in run.glob("step-*") if (found := STEP_FOLDER.fullmatch(path.name)))


def newest(run: Path) -> int:
    """The newest step that has a checkpoint; 0 where there is none."""
    return max(steps(run), default=0)


def newest_whole(run: Path) -> int:
    """The newest step whose every file has the sha256 that its state.json tells; 0 where there is none."""
    for step in reversed(steps(run)):
        folder = run / f"step-{step:06d}"
        try:
            wanted = json.loads((folder / "state.json").read_text(encoding="utf-8"))["sha256"]
            if all(digest(folder / name) == sha256 for name, sha256 in wanted.items()):
                return step
        except (OSError, ValueError):
            continue
    return 0


def resumed_from(log: Path) -> int:
    """The step from which a training said that it went on; 0 where it began anew."""
    return max(
        (int(step) for step in re.findall(r"resuming from step (\d+)", log.read_text(encoding="utf-8"))), default=0
    )


def journal(run: Path) -> list[dict[str, Any]]:
    """The whole lines of a run's journal; the kill may have cut the last one short."""
    path = run / "journal.jsonl"
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def interval_seconds(plan: Plan, run: Path) -> float:
    """How long a checkpoint interval took in a run that has ended."""
    last = json.loads((run / "pace.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    return float(last["seconds"]) / int(last["step"]) * plan.save_every


def results(run: Path) -> dict[str, Path]:
    """What must not depend on kills: every tensor of the last step, the journal, and the marks."""
    files = [*sorted((run / f"step-{newest(run):06d}").glob("*.safetensors")), run / "journal.jsonl"]
    return {str(path.relative_to(run)): path for path in [*files, run / "best", run / "last"]}


def differences(reference: Path, victim: Path) -> list[str]:
    """The files that only one of two runs has, or that are not the same to the byte."""
    one, other = results(reference), results(victim)
    alone = one.keys() ^ other.keys()
    return sorted(alone | {name for name in one.keys() - alone if one[name].read_bytes() != other[name].read_bytes()})


def digest(path: Path) -> str:
    """The sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def report(plan: Plan, outcome: Outcome, given: Namespace) -> None:
    kills = outcome.kills
    show(
        ["kill", "where", "reached", "whole", "resumed", "repeated"],
        [
            [str(n), f"in a save, {len(k.files)} files" if k.inside else "between", *map(str, (*k[2:], k.repeated))]
            for n, k in enumerate(kills, start=1)
        ],
    )
    differs = ", ".join(outcome.differences) or "none"
    print(f"\n{len(kills)} kills, {outcome.inside} inside a save; {plan.steps} steps, saved every {plan.save_every}")
    print(f"most steps repeated {max(kill.repeated for kill in kills)}; files that differ: {differs}")
    print(f"undisturbed {outcome.undisturbed_seconds:.0f} s, killed {outcome.killed_seconds:.0f} s")
    command = ["python", *plan.command(Path("runs/killed"))[1:]]
    record(
        "survival",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "safetensors"],
        settings={"training": " ".join(command), "steps": plan.steps, "checkpoint_interval": plan.save_every},
        numbers={
            "kills": len(kills),
            "inside_a_save": outcome.inside,
            "most_steps_repeated": max(kill.repeated for kill in kills),
            "identical": not outcome.differences,
            "differences": outcome.differences,
            "compared_sha256": outcome.sha256,
            "epoch_borders": outcome.epochs,
            "validations": outcome.validations,
            "undisturbed_seconds": round(outcome.undisturbed_seconds, 1),
            "killed_seconds": round(outcome.killed_seconds, 1),
            "each": [{**kill._asdict(), "repeated": kill.repeated} for kill in kills],
        },
    )


if __name__ == "__main__":
    main()
