"""Which of a run's checkpoints is opened, and what to do where none is whole."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seqwright.data.imported import ImportedSettings
from seqwright.errors import RunError
from seqwright.inputs.text import reads_pairs
from seqwright.recipe import Recipe
from seqwright.training.checkpoint import newest_whole, read_checkpoint, read_mark, steps_on_disk


def chosen_weights(
    folder: Path, which: str, imported: str | None, notice: Callable[[str], None]
) -> tuple[int, dict[str, Any]]:
    """The step and its tensors; `imported` says how to make the run again if it was not trained here."""
    step = read_mark(folder, which) or read_mark(folder, "last")
    none = "yet; train it first" if imported is None else f"any more; restore it from a copy, or {imported}"
    complaint = RunError(f"{folder} has no checkpoint {'that `last` names' if steps_on_disk(folder) else none}")
    if step is not None:
        try:
            return step, read_checkpoint(folder, step, ("model", "averages")).files
        except RunError as error:
            complaint = error
    found = newest_whole(folder, remedy=imported or "train with --fresh")
    if found is None:
        raise complaint
    notice(f"{complaint}; using step {found[0]} instead")
    return found[0], found[1].files


def imported_again(recipe: Recipe, folder: Path, inputs: Any) -> str | None:
    """How to make a run again that was imported, and not trained here."""
    if not isinstance(recipe.data, ImportedSettings):
        return None
    pairs = ["--pairs"] if reads_pairs(inputs.input) else []
    words = ["seqwright", "import", recipe.data.imported, "--run", str(folder), *pairs, "--yes"]
    return f"import it again: {shlex.join(words)}"
