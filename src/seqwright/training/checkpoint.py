"""Checkpoints: safetensors and JSON in a folder that appears whole or not at all.

    runs/NAME/step-002000/model.safetensors … state.json

The folder is written aside, flushed to disk and renamed. `state.json` holds the sha256 of its companions and of the
rest of itself, so a damaged file is noticed and the newest whole checkpoint serves instead.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from seqwright.errors import RunError
from seqwright.whole_file import appear, aside_of, emptied, replacing

Tensors = dict[str, Tensor]
STATE: dict[str, type | tuple[type, ...]] = {"step": int, "place": list, "sums": dict, "best": dict}
STATE |= {"seconds": (int, float), "sha256": dict}  # what `state.json` holds
BEST = ("score", "waited")  # and the step, of the best validation
ITSELF = "state_sha256"  # of the rest of it; the version before had none
STEP_FOLDER = re.compile(r"step-(\d{6,18})")


class Checkpoint(NamedTuple):
    """The tensors of each file by its stem (`model`, `optimizer`, …) and the state beside them."""

    files: dict[str, Tensors]
    state: dict[str, Any]


def step_folder(run: Path, step: int) -> Path:
    """Where the checkpoint of a step lies."""
    return run / f"step-{step:06d}"


def steps_on_disk(run: Path) -> list[int]:
    """The steps that have a checkpoint folder, oldest first."""
    if not run.is_dir():
        return []
    return sorted(int(found[1]) for path in run.iterdir() if (found := STEP_FOLDER.fullmatch(path.name)))


def write_checkpoint(run: Path, step: int, checkpoint: Checkpoint, metadata: Mapping[str, str]) -> Path:
    """Write a checkpoint aside, then let it appear. A full disk leaves everything older as it was."""
    final = step_folder(run, step)
    try:
        with emptied(aside_of(final)) as aside:
            sums = {}
            for stem, tensors in checkpoint.files.items():
                # One key: the library writes several in no fixed order, and equal checkpoints must be equal bytes.
                about = {"seqwright": json.dumps(dict(metadata), sort_keys=True)}
                data = save({name: t.detach().cpu().contiguous() for name, t in tensors.items()}, about)
                sums[f"{stem}.safetensors"] = hashlib.sha256(data).hexdigest()
                (aside / f"{stem}.safetensors").write_bytes(data)
            state = {**checkpoint.state, "step": step, "sha256": sums}
            state[ITSELF] = _sum_of(state)
            (aside / "state.json").write_bytes(json.dumps(state, indent=1).encode())
            appear(aside, final)
    except OSError as error:
        raise RunError(
            f"the checkpoint of step {step} could not be written to {run}: {error.strerror or error}; "
            "earlier checkpoints are untouched: make room or choose another folder and run the same command again"
        ) from error
    return final


def read_checkpoint(run: Path, step: int, only: tuple[str, ...] | None = None) -> Checkpoint:
    """The checkpoint of a step, every file checked against its sha256; `only` names the files to read."""
    folder = step_folder(run, step)
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        _refuse_incomplete(state, folder)
        files = {}
        for name, expected in state["sha256"].items():
            stem = name.removesuffix(".safetensors")
            if only is not None and stem not in only:
                continue
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != expected:
                raise RunError(f"{folder / name} is damaged: its sha256 is {found[:12]}…, not {expected[:12]}…")
            files[stem] = load_file(folder / name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, SafetensorError) as error:
        raise RunError(f"the checkpoint {folder} is damaged: {error}") from error
    return Checkpoint(files, state)


def _sum_of(state: Mapping[str, Any]) -> str:
    """The sha256 of a state as it is written, but for that sum itself."""
    rest = {name: value for name, value in state.items() if name != ITSELF}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _refuse_incomplete(state: dict[str, Any], folder: Path) -> None:
    """What resuming needs must be there, of its kind and as it was written."""
    wrong = [name for name, kind in STATE.items() if not isinstance(state.get(name), kind)]
    wrong += [] if wrong or _is_place(state["place"]) else ["place"]
    wrong += [] if wrong or _is_best(state["best"]) else ["best"]
    wrong += [] if wrong or all(isinstance(each, int | float) for each in state["sums"].values()) else ["sums"]
    outside = [name for name in ([] if wrong else state["sha256"]) if Path(name).name != name]
    if outside:
        raise RunError(f"the checkpoint {folder} is damaged: state.json names {outside[0]!r}, no file of that folder")
    if wrong or "model.safetensors" not in state["sha256"]:
        lacking = wrong[0] if wrong else "the sha256 of model.safetensors"
        raise RunError(f"the checkpoint {folder} is damaged: state.json lacks {lacking}")
    if state.get(ITSELF, _sum_of(state)) != _sum_of(state):
        raise RunError(f"the checkpoint {folder} is damaged: state.json is not as it was written")


def _is_place(parts: list[Any]) -> bool:
    return len(parts) == 2 and all(type(part) is int and part >= 0 for part in parts)


def _is_best(best: dict[str, Any]) -> bool:
    """Whether it says which validation was the best, or that there was none."""
    numbers = isinstance(best.get("step"), int) and all(isinstance(best.get(name), int | float) for name in BEST)
    return numbers or not best


def newest_whole(run: Path, *, remedy: str = "train with --fresh") -> tuple[int, Checkpoint, list[str]] | None:
    """The newest checkpoint that can be read, and a sentence for each newer one that cannot.

    `remedy` says how to make the run again, where none can be read.
    """
    complaints: list[str] = []
    for step in reversed(steps_on_disk(run)):
        try:
            return step, read_checkpoint(run, step), complaints
        except RunError as error:
            complaints.append(str(error))
    if complaints:
        raise RunError(
            f"no checkpoint in {run} is whole ({'; '.join(complaints)}); restore it from a copy, or {remedy}"
        )
    return None


def write_mark(run: Path, name: str, step: int) -> None:
    """Let the small file `best` or `last` name a checkpoint folder."""
    try:
        with replacing(run / name) as file:
            file.write(f"{step_folder(run, step).name}\n".encode())
    except OSError as error:
        raise RunError(
            f"{run / name} could not be written: {error.strerror or error}; "
            "earlier checkpoints are untouched: make room and run the same command again"
        ) from error


def read_mark(run: Path, name: str) -> int | None:
    """The step that `best` or `last` names, if it does and the folder is there."""
    try:
        found = STEP_FOLDER.fullmatch((run / name).read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return None
    return int(found[1]) if found and step_folder(run, int(found[1])).is_dir() else None


def prune(run: Path, *, keep: int, spared: set[int]) -> None:
    """Remove all but the `keep` newest checkpoints, sparing some, and what a crash left half-written."""
    for step in steps_on_disk(run)[:-keep]:
        if step not in spared:
            shutil.rmtree(step_folder(run, step))
    for path in run.glob(".step-*.writing"):
        shutil.rmtree(path)


def drop_after(run: Path, step: int) -> None:
    """Remove the checkpoints after a step: they are damaged, and will be made again."""
    for later in steps_on_disk(run):
        if later > step:
            shutil.rmtree(step_folder(run, later))
