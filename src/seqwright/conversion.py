"""A model that another program made becomes a run folder: one that the user names, or once for all in the cache."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from seqwright import __version__
from seqwright.cache import kept_folder
from seqwright.data.files import content_hash
from seqwright.interchange.pretrained import CONFIG, Found, read_pretrained
from seqwright.interchange.weight_files import weight_files
from seqwright.layers.undrawn import Undrawn, without_memory
from seqwright.recipe import recipe_from
from seqwright.runs import Run, model_of, write_run
from seqwright.training.weights import load_tensors, unique_tensors

FORMAT = 1


class Converted(NamedTuple):
    """The run, and what a user should know of it."""

    run: Run
    remarks: list[str]


def converted(found: Found, origin: str, folder: Path, card: Callable[[Run], str] = lambda run: "") -> Converted:
    """A run of what was read, in place of one that may be in the folder; `origin` is what the card calls its source."""
    recipe = recipe_from(found.recipe(origin), name=folder.name)
    inputs = found.inputs(recipe.input)
    with without_memory():  # shapes without memory: a config may say anything
        planned = model_of(recipe, inputs.sizes())
    shapes = {name: tensor.shape for name, tensor in unique_tensors(planned).items()}
    tensors = found.names.ours(found.tensors, shapes, origin)
    with Undrawn():
        model = model_of(recipe, inputs.sizes())
    load_tensors(model, tensors)
    return Converted(write_run(recipe, folder, inputs, model, card), found.remarks())


def is_hugging_face(folder: str | Path) -> bool:
    """Whether a folder is as `transformers` writes it, and no run."""
    return Path(folder, CONFIG).is_file() and not Path(folder, "resolved.toml").exists()


def cached_run(folder: Path, notice: Callable[[str], None]) -> Path:
    """The run folder in the cache for a folder of `transformers`, by its content; `notice` is told what is remarkable.

    It is written when it is first asked for, and appears whole or not at all.
    """
    files = sorted({*folder.glob("*.json"), *folder.glob("*.txt"), *weight_files(folder)})
    sums = {path.name: content_hash(path) for path in files}
    digest = hashlib.sha256(json.dumps(sums).encode()).hexdigest()

    def write(aside: Path) -> None:
        name = folder.resolve().name
        for remark in converted(read_pretrained(folder), name, aside / name).remarks:
            notice(f"{folder}: {remark}")

    kept = kept_folder(f"imported {FORMAT} {__version__} {digest}", write, "imported")
    (run,) = (path for path in kept.iterdir() if path.is_dir())
    return run
