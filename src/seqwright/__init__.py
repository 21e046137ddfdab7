"""The whole family of sequence models, from the n-gram to the Transformer and its children.

The names below are loaded when they are first used, so that `import seqwright` does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqwright.batches.bucketed import Bucketed as Bucketed
    from seqwright.data.dates import Dates as Dates
    from seqwright.data.dates import DatesSettings as DatesSettings
    from seqwright.data.examples import Pair as Pair
    from seqwright.data.pairs import PairFiles as PairFiles
    from seqwright.data.pairs import PairFilesSettings as PairFilesSettings
    from seqwright.decoding.beam import beam_search as beam_search
    from seqwright.decoding.settings import DecodingSettings as DecodingSettings
    from seqwright.inputs.source_text import SourceTextInput as SourceTextInput
    from seqwright.inputs.source_text import SourceTextSettings as SourceTextSettings
    from seqwright.layers.taps import listen as listen
    from seqwright.models.transformer import TransformerSettings as TransformerSettings
    from seqwright.models.transformer import transformer as transformer
    from seqwright.objectives.next_token import NextToken as NextToken
    from seqwright.outputs.text import TextOutput as TextOutput
    from seqwright.recipe import read_recipe as read_recipe
    from seqwright.runs import load as load
    from seqwright.runs import open_run as open_run
    from seqwright.runs import train as train
    from seqwright.tasks.wired import Wires as Wires
    from seqwright.training.loop import fit as fit
    from seqwright.training.settings import TrainingSettings as TrainingSettings

__version__ = "0.1.0"

_HOMES = {
    "Bucketed": "batches.bucketed",
    "Dates": "data.dates",
    "DatesSettings": "data.dates",
    "PairFiles": "data.pairs",
    "PairFilesSettings": "data.pairs",
    "Pair": "data.examples",
    "beam_search": "decoding.beam",
    "DecodingSettings": "decoding.settings",
    "SourceTextInput": "inputs.source_text",
    "SourceTextSettings": "inputs.source_text",
    "listen": "layers.taps",
    "TransformerSettings": "models.transformer",
    "transformer": "models.transformer",
    "NextToken": "objectives.next_token",
    "read_recipe": "recipe",
    "load": "runs",
    "open_run": "runs",
    "train": "runs",
    "TextOutput": "outputs.text",
    "Wires": "tasks.wired",
    "fit": "training.loop",
    "TrainingSettings": "training.settings",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'seqwright' has no attribute '{name}'")
    return getattr(import_module(f"seqwright.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*_HOMES, "__version__"]
