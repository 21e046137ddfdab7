"""`runs`: the run folders there are, what each is and how good, and what of them can go."""

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import typer

from seqwright.cli.terminal import json_text, say, shown
from seqwright.errors import RunError, UserError
from seqwright.run_folders import clear, locked, resolved_of
from seqwright.training.checkpoint import read_mark, step_folder, steps_on_disk
from seqwright.training.journal import Journal

AGES = ((86400, "day"), (3600, "hour"), (60, "minute"))
SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class RunSummary(NamedTuple):
    """What a run folder says of itself without being opened."""

    folder: Path
    state: str  # empty where it can be used
    task: str
    model: str
    step: int
    metric: str
    score: float | None  # of the best checkpoint in validation
    seconds: float  # since it was last written
    bytes: int


class Removal(NamedTuple):
    """What can go, why, and how much that is."""

    run: Path
    path: Path  # the run itself, where all of it can go
    reason: str
    bytes: int


def list_runs(folder: Path, *, prune: bool, yes: bool, as_json: bool) -> None:
    """Print a row for each run in a folder, or what can go of them; that is removed once somebody says so."""
    found = [summary_of(run) for run in run_folders(folder)]
    if not found:
        raise RunError(f"there is no run in {folder}; train one, or name another folder")
    if prune:
        _prune([removal for each in found for removal in removals(each)], yes=yes)
        return
    if as_json:
        for each in found:
            print(json_text({**each._asdict(), "folder": str(each.folder), "seconds": round(each.seconds)}))
        return
    for each in found:
        _print(each)
    superfluous = sum(removal.bytes for each in found for removal in removals(each))
    told = f"{len(found):,} run{'' if len(found) == 1 else 's'}"
    say(f"{told}, {_size(sum(each.bytes for each in found))}" + _advice(superfluous))


def run_folders(folder: Path) -> Iterator[Path]:
    """The runs in a folder, and those of comparisons in its folders, each before its successors in the alphabet."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if (path / "resolved.toml").is_file():  # step folders alone may be another program's
            yield path
        elif path.is_dir():
            yield from (run.parent for run in sorted(path.glob("*/resolved.toml")))


def summary_of(run: Path) -> RunSummary:
    """What a run is; of one that cannot be used, why."""
    steps, state, plain = steps_on_disk(run), "", dict[str, Any]()
    try:
        plain = resolved_of(run)
    except UserError:
        state = "broken: its resolved.toml cannot be read"
    best = read_mark(run, "best") or read_mark(run, "last")
    if not steps:
        state = state or "incomplete: it has no checkpoint"
    metric = plain.get("training", {}).get("metric", "")
    files = [path for path in run.rglob("*") if path.is_file() and path.name != "lock"]
    written = max((path.stat().st_mtime for path in files), default=run.stat().st_mtime)
    task, model = plain.get("task", ""), plain.get("model", {}).get("kind", "")
    step = best or (steps[-1] if steps else 0)
    age, size = time.time() - written, sum(path.stat().st_size for path in files)
    return RunSummary(run, state, task, model, step, metric, _score(run, step, metric), age, size)


def _score(run: Path, step: int, metric: str) -> float | None:
    with suppress(OSError, UserError, ValueError, KeyError, TypeError):
        lines = Journal(run / "journal.jsonl").lines()
        found = (line.get(metric) for line in lines if line["event"] == "valid" and line["step"] == step)
        score = next(found, None)
        return score if isinstance(score, int | float) else None
    return None


def _print(run: RunSummary) -> None:
    """Two lines: what it is, and how good, how old and how large."""
    print(shown(run.folder) + (f"  {run.task} · {run.model}" if run.task else ""))
    score = "" if run.score is None else f"{run.metric} {run.score:.4g} in validation"
    steps = f"{run.step:,} step{'' if run.step == 1 else 's'}"
    facts = [run.state or score, steps, f"{_age(run.seconds)} old", _size(run.bytes)]
    print(f"    {' · '.join(filter(None, facts))}")


# ---------------------------------------------------------------------------------------------------- what can go


def removals(run: RunSummary) -> Iterator[Removal]:
    """A run without a checkpoint; of any other the checkpoints that are neither the best nor the last.

    Settings that cannot be read may be mended, and only they say which checkpoints are needed: such a run stays whole.
    """
    steps = steps_on_disk(run.folder)
    if not steps:
        yield Removal(run.folder, run.folder, run.state, run.bytes)
    if run.state:
        return
    spared = {read_mark(run.folder, name) for name in ("best", "last")} | {steps[-1]}
    if resolved_of(run.folder).get("training", {}).get("average") == "last":  # are averaged when training resumes
        spared |= {*steps}
    for step in steps:
        if step not in spared:
            path = step_folder(run.folder, step)
            size = sum(file.stat().st_size for file in path.iterdir())
            yield Removal(run.folder, path, "superseded: neither the best nor the last checkpoint", size)


def _prune(found: Sequence[Removal], *, yes: bool) -> None:
    if not found:
        say("there is nothing to remove")
        return
    for each in found:
        print(f"{shown(each.path)}  {_size(each.bytes)}  {each.reason}")
    told = _count(found)
    if not yes and not sys.stdin.isatty():
        raise RunError(f"{told} would be removed; say --yes to confirm")
    if not yes and not typer.confirm(f"Remove {told}?", err=True):
        raise typer.Exit(1)
    say(f"removed {_count([each for each in found if _is_removed(each)])}")


def _count(found: Sequence[Removal]) -> str:
    return f"{len(found):,} folder{'' if len(found) == 1 else 's'}, {_size(sum(each.bytes for each in found))}"


def _is_removed(each: Removal) -> bool:
    """Remove something, or say why it stays: what cannot go holds up nothing else."""
    try:
        _remove(each)
    except (RunError, OSError) as error:
        say(f"{shown(each.path)} is left as it is: {str(error).partition(';')[0]}")
        return False
    return True


def _remove(each: Removal) -> None:
    """Nothing is removed while a training writes to the run, nor what was put there by somebody else."""
    with locked(each.run):
        if each.path != each.run:
            shutil.rmtree(each.path)
            return
        clear(each.run)
    (each.run / "lock").unlink(missing_ok=True)
    with suppress(OSError):  # something else lies in it
        each.run.rmdir()


def _advice(superfluous: int) -> str:
    return f"; seqwright runs --prune frees {_size(superfluous)} of them" if superfluous else ""


def _age(seconds: float) -> str:
    unit, word = next(((unit, word) for unit, word in AGES if seconds >= unit), (1, "second"))
    count = max(0, int(seconds // unit))
    return f"{count} {word}{'' if count == 1 else 's'}"


def _size(count: int) -> str:
    return next((f"{count / unit:.1f} {word}" for unit, word in SIZES if count >= unit), f"{count} B")
