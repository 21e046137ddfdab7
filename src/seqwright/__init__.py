"""The whole family of sequence models, from the n-gram to the Transformer and its children.

The names below are loaded when they are first used, so that `import seqwright` does not wait for torch.
"""

from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqwright.analysis.probe import probe_of
    from seqwright.api import train_and_open as train_and_open
    from seqwright.batches.bucketed import Bucketed as Bucketed
    from seqwright.catalogue import card_names, model_names, recipe_names, section_settings, task_names
    from seqwright.data.dates import Dates as Dates
    from seqwright.data.dates import DatesSettings as DatesSettings
    from seqwright.data.examples import Pair as Pair
    from seqwright.data.pairs import PairFiles as PairFiles
    from seqwright.data.pairs import PairFilesSettings as PairFilesSettings
    from seqwright.decoding.beam import beam_search as beam_search
    from seqwright.decoding.settings import DecodingSettings as DecodingSettings
    from seqwright.errors import UserError as UserError
    from seqwright.estimators import Forecaster as Forecaster
    from seqwright.estimators import TextClassifier as TextClassifier
    from seqwright.estimators import TextRegressor as TextRegressor
    from seqwright.estimators import sliding_windows as sliding_windows
    from seqwright.factories import BERT as BERT
    from seqwright.factories import GNMT as GNMT
    from seqwright.factories import GPT as GPT
    from seqwright.factories import GRU as GRU
    from seqwright.factories import LSTM as LSTM
    from seqwright.factories import RNN as RNN
    from seqwright.factories import Bahdanau as Bahdanau
    from seqwright.factories import ByteNet as ByteNet
    from seqwright.factories import ConvS2S as ConvS2S
    from seqwright.factories import DistilBERT as DistilBERT
    from seqwright.factories import Luong as Luong
    from seqwright.factories import RoBERTa as RoBERTa
    from seqwright.factories import Seq2seq as Seq2seq
    from seqwright.factories import Transformer as Transformer
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
    from seqwright.tasks.wired import Wires as Wires
    from seqwright.training.loop import fit as fit
    from seqwright.training.settings import TrainingSettings as TrainingSettings

    train, settings, probe = train_and_open, section_settings, probe_of
    list_cards, list_models, list_recipes, list_tasks = card_names, model_names, recipe_names, task_names

__version__ = "0.1.0"

FACTORIES = "RNN LSTM GRU GPT BERT RoBERTa DistilBERT Seq2seq Bahdanau Luong GNMT ByteNet ConvS2S Transformer"
_HOMES = {  # where each name lives, and what it is called there
    "train": "api.train_and_open",
    "probe": "analysis.probe.probe_of",
    "list_cards": "catalogue.card_names",
    "list_models": "catalogue.model_names",
    "list_recipes": "catalogue.recipe_names",
    "list_tasks": "catalogue.task_names",
    "settings": "catalogue.section_settings",
    "Bucketed": "batches.bucketed.Bucketed",
    "Dates": "data.dates.Dates",
    "DatesSettings": "data.dates.DatesSettings",
    "PairFiles": "data.pairs.PairFiles",
    "PairFilesSettings": "data.pairs.PairFilesSettings",
    "Pair": "data.examples.Pair",
    "beam_search": "decoding.beam.beam_search",
    "DecodingSettings": "decoding.settings.DecodingSettings",
    "SourceTextInput": "inputs.source_text.SourceTextInput",
    "SourceTextSettings": "inputs.source_text.SourceTextSettings",
    "UserError": "errors.UserError",
    "Forecaster": "estimators.Forecaster",
    "TextClassifier": "estimators.TextClassifier",
    "TextRegressor": "estimators.TextRegressor",
    "sliding_windows": "estimators.sliding_windows",
    **{name: f"factories.{name}" for name in FACTORIES.split()},
    "listen": "layers.taps.listen",
    "TransformerSettings": "models.transformer.TransformerSettings",
    "transformer": "models.transformer.transformer",
    "NextToken": "objectives.next_token.NextToken",
    "read_recipe": "recipe.read_recipe",
    "load": "runs.load",
    "open_run": "runs.open_run",
    "TextOutput": "outputs.text.TextOutput",
    "Wires": "tasks.wired.Wires",
    "fit": "training.loop.fit",
    "TrainingSettings": "training.settings.TrainingSettings",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'seqwright' has no attribute '{name}'")
    module, _, thing = _HOMES[name].rpartition(".")
    found = getattr(import_module(f"seqwright.{module}"), thing)
    if isinstance(found, FunctionType):  # the door: what it is given is checked here, and nowhere else
        found = import_module("seqwright.arguments").public(f"sw.{name}")(found)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*_HOMES, "__version__"]
