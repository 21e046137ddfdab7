"""A run folder on disk: one writer at a time, what is begun in it, and that a resumed run is the one that was begun."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from seqwright.data.files import whole_text
from seqwright.data.relative_paths import for_run
from seqwright.errors import RunError
from seqwright.recipe import SECTIONS, Recipe, flattened, parsed, written
from seqwright.training.checkpoint import STEP_FOLDER, steps_on_disk
from seqwright.training.journal import Journal
from seqwright.whole_file import appear, emptied, write_whole

NAMES = {"description", "name"}
PLACES = {"data.train", "data.valid", "data.test", "data.in_memory"}  # may change; what the data is may not (sha256)
PARTS = ("input", "output")  # the folders of what turns examples into tensors, and of what predictions are made with
OURS = {"recipe.toml", "resolved.toml", *PARTS, "journal.jsonl", "pace.jsonl", "card.md", "best", "last"}
OURS |= {"eval", "pictures", "tensorboard", "rate.jsonl"}
RATE_FOUND = "rate"  # the event of the journal that says which learning rate was found


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: one writer at a time. What was made for it and not written to goes with it."""
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock", timeout=0)
        lock.acquire()
    except Timeout as error:
        raise RunError(
            f"another training is writing to {folder}; wait for it or choose another folder with --run"
        ) from error
    except PermissionError as error:
        raise RunError(f"{folder} cannot be written to: {error.strerror}; choose another folder with --run") from error
    except (FileExistsError, NotADirectoryError) as error:
        raise RunError(f"{folder} cannot be a run folder: {error.strerror}; choose another with --run") from error
    try:
        yield
    finally:
        if made and [path.name for path in folder.glob("*")] == ["lock"]:
            shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def clear(folder: Path) -> None:
    """Remove what an earlier training left, and nothing else that may lie there."""
    for path in folder.iterdir():
        if is_of_training(path.name):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def is_of_training(name: str) -> bool:
    """Whether a file or folder of this name, in a run folder, is what a training left."""
    half_written = name.startswith(".") and name.endswith(".writing")
    return name in OURS or STEP_FOLDER.fullmatch(name) is not None or half_written


def write_beginning(recipe: Recipe, folder: Path, text: str, inputs: Any, sha256: Mapping[str, str]) -> None:
    """Write what using the run will need, and what resuming it will be held against: also the sums of the data."""
    resumed = bool(steps_on_disk(folder))
    if not resumed:
        with emptied(folder / ".parts.writing") as aside:
            for part in PARTS:
                (aside / part).mkdir()
            inputs.save(aside)
            for part in PARTS:  # in place of what a training left that died before its first checkpoint
                appear(aside / part, folder / part)
    resolved = recipe.resolved()
    resolved["data"] = for_run(resolved["data"], folder)
    resolved["sha256"] = {**(resolved_of(folder).get("sha256", {}) if resumed else {}), **sha256}
    write_whole(folder / "resolved.toml", written(resolved))
    if text and not resumed:
        write_whole(folder / "recipe.toml", text)


def refuse_old_layout(folder: Path) -> None:
    """A run folder in which all that was learnt from the data lies in one folder, or without all of its settings."""
    if not (folder / "output").is_dir():
        raise RunError(f"{folder} was written by an older Seqwright, it has no folder output: train it again")
    missing = [section for section in SECTIONS if section not in resolved_of(folder)]
    if missing:
        raise RunError(
            f"{folder / 'resolved.toml'} has no [{missing[0]}]: it is damaged, or of an older Seqwright; train it "
            "again with --fresh"
        )


def with_rate_of_run(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe with the learning rate that was found when the run was begun, where it says to find one."""
    if recipe.training.rate != "find" or not steps_on_disk(folder):
        return recipe
    lines = Journal(folder / "journal.jsonl").lines()
    found = next((line.get("rate") for line in lines if line.get("event") == RATE_FOUND), None)
    rate = "find" if found is None else found
    return recipe._replace(training=recipe.training.model_copy(update={"rate": rate}))


def refuse_changes(recipe: Recipe, folder: Path) -> None:
    """A run that is resumed must be the run that was begun."""
    if not steps_on_disk(folder):
        return
    refuse_old_layout(folder)
    changed = changed_settings(recipe, folder)
    if changed:
        raise RunError(
            f"{folder} was begun with other settings: {'; '.join(changed)}. Put them back, choose another folder "
            "with --run, or start over with --fresh"
        )
    before, steps = resolved_of(folder)["training"]["steps"], recipe.training.steps
    if steps < max(steps_on_disk(folder)) and steps != before:
        raise RunError(
            f"{folder} has already trained {max(steps_on_disk(folder)):,} steps; training.steps = {steps:,} cannot be "
            "fewer"
        )


def changed_settings(recipe: Recipe, folder: Path) -> list[str]:
    """What a recipe says otherwise than the run that was begun with it, of what may not change."""
    before, now = flattened(resolved_of(folder)), flattened(with_rate_of_run(recipe, folder).resolved())
    harmless = {f"{section}.{name}" for section in SECTIONS for name in getattr(recipe, section).may_change()}
    return [
        f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
        for name in sorted(before.keys() | now.keys())
        if not name.startswith("sha256") and name not in NAMES | PLACES | harmless and before.get(name) != now.get(name)
    ]


def refuse_other_data(folder: Path, sha256: Mapping[str, str]) -> None:
    """The data of a resumed run must be what it was: its place in it would mean nothing."""
    if not steps_on_disk(folder):
        return
    before = resolved_of(folder).get("sha256", {})
    changed = [part for part, found in sha256.items() if part in before and before[part] != found]
    if changed:
        raise RunError(
            f"the data of {folder} changed since it was begun ({', '.join(changed)}); put it back, choose another "
            "folder with --run, or start over with --fresh"
        )


def resolved_of(folder: Path) -> dict[str, Any]:
    """The settings a run was trained with."""
    try:
        return parsed(whole_text(folder / "resolved.toml"), str(folder / "resolved.toml"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RunError(f"{folder} is not a run folder: it has no resolved.toml; train one first") from error
    except OSError as error:
        raise RunError(
            f"{folder / 'resolved.toml'} cannot be read: {error.strerror or error}; see to that and try again"
        ) from error
    except UnicodeDecodeError as error:
        raise RunError(
            f"{folder / 'resolved.toml'} is damaged: it is not UTF-8; train it again with --fresh"
        ) from error
