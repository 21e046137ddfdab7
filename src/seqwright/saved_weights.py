"""Which of a run's checkpoints is opened, and what to do where none is whole."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from torch import Tensor, nn

from seqwright.data.imported import ImportedSettings
from seqwright.errors import RunError
from seqwright.inputs.text import reads_pairs
from seqwright.layers.undrawn import without_memory
from seqwright.recipe import Recipe
from seqwright.training.checkpoint import newest_whole, read_checkpoint, read_mark, steps_on_disk

WIDTHS = {
    "width",
    "embedding",
    "feed_forward",
    "expert_width",
    "channels",
    "experts",
    "patch",
    "grid",
    "registers",
    "kernel",
}
DEPTHS = {"layers", "convolutions", "transition", "encoder_layers", "decoder_layers", "encoder_sets", "decoder_sets"}
# So wide or deep a setting may be though no tensor is: some kinds do not use each, and a model of these can be built.
ANY_WIDTH, ANY_DEPTH = 16_384, 256


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


def refuse_larger_sizes(settings: BaseModel, tensors: Mapping[str, Tensor]) -> None:
    """Refuse settings of a model far larger than its checkpoint, before the memory for it is asked for."""
    widest = max((size for tensor in tensors.values() for size in tensor.shape), default=0)
    bounds = dict.fromkeys(WIDTHS, max(widest, ANY_WIDTH)) | dict.fromkeys(DEPTHS, max(len(tensors), ANY_DEPTH))
    for name, size in settings.model_dump(include={*bounds}).items():
        if isinstance(size, int) and size > bounds[name]:
            raise ValueError(f"model.{name} is far larger than anything in its checkpoint")


def refuse_larger_model(settings: BaseModel, build: Callable[[], nn.Module], tensors: Mapping[str, Tensor]) -> None:
    """Refuse a model that learns more numbers than its checkpoint has; it is built without memory.

    What of its size comes from the input, such as positions of a huge image, no setting tells.
    """
    refuse_larger_sizes(settings, tensors)
    with without_memory():
        planned = sum(parameter.numel() for parameter in build().parameters())
    if planned > sum(tensor.numel() for tensor in tensors.values()):
        raise ValueError(f"a model of {planned:,} numbers is larger than its checkpoint")


@contextmanager
def damage_told(folder: Path) -> Iterator[None]:
    """Inside, a model is made as the files of a run say; sizes that no model can have are damage of the run."""
    try:
        yield
    except (ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join((str(error).splitlines() or [type(error).__name__])[0].split())[:200]
        raise RunError(
            f"{folder} is damaged: no model can be built as its files say ({reason}); restore its resolved.toml, input "
            "and output from a copy, or train it again with --fresh"
        ) from error
