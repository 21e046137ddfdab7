"""The family tree as data, and which class each `kind` of a recipe means.

Nothing here imports torch: classes are named and only loaded when asked for.
"""

from importlib import import_module
from typing import Any, NamedTuple

from seqwright.errors import SettingError, nearest


class Member(NamedTuple):
    """A member of the family: when, who, from whom."""

    year: int
    name: str
    paper: str
    parent: str = ""

    @property
    def here(self) -> bool:
        """Whether it can be trained."""
        return any(model.member == self.name for model in MODELS)


LINEAGE = (
    Member(1958, "Perceptron", "Rosenblatt 1958"),
    Member(1986, "MLP", "Rumelhart et al. 1986", "Perceptron"),
    Member(1948, "n-gram", "Shannon 1948"),
    Member(2003, "MLP language model", "Bengio et al. 2003", "n-gram"),
    Member(1990, "RNN", "Elman 1990"),
    Member(1997, "LSTM", "Hochreiter & Schmidhuber 1997", "RNN"),
    Member(2014, "GRU", "Cho et al. 2014", "LSTM"),
    Member(2017, "UGRNN", "Collins et al. 2017", "GRU"),
    Member(2014, "Seq2seq", "Sutskever et al. 2014", "LSTM"),
    Member(2015, "Attentional RNN", "Bahdanau et al. 2015", "Seq2seq"),
    Member(2016, "GNMT", "Wu et al. 2016", "Attentional RNN"),
    Member(2016, "Deep-Att", "Zhou et al. 2016", "Attentional RNN"),
    Member(2016, "ByteNet", "Kalchbrenner et al. 2016", "Seq2seq"),
    Member(2017, "ConvS2S", "Gehring et al. 2017", "ByteNet"),
    Member(2017, "Mixture of experts", "Shazeer et al. 2017", "Attentional RNN"),
    Member(2017, "Transformer", "Vaswani et al. 2017", "Attentional RNN"),
    Member(2018, "GPT", "Radford et al. 2018", "Transformer"),
    Member(2019, "GPT-2", "Radford et al. 2019", "GPT"),
    Member(2019, "BERT", "Devlin et al. 2019", "Transformer"),
    Member(2019, "DistilBERT", "Sanh et al. 2019", "BERT"),
    Member(2021, "ViT", "Dosovitskiy et al. 2021", "BERT"),
    Member(2021, "SiT", "Atito et al. 2021", "ViT"),
    Member(2021, "DINO", "Caron et al. 2021", "ViT"),
)


class Model(NamedTuple):
    """Where a member of the family lives, for one task; a recipe names it by `kind`.

    `promises` decides which tests of the contract suite run:
      steps      reads left to right, is a Stepper, and stepping equals reading at once
      pads       padding changes nothing
      gradient   learns by descending a loss (the others learn by counting)
    The module also offers `small` (an instance of a few parameters, by the name given here) and `example()`, a batch
    for it.
    """

    member: str
    kind: str
    task: str
    module: str
    thing: str
    settings: str
    promises: frozenset[str]
    small: str = "small"

    def load(self, name: str) -> Any:
        """Something from the model's module: its class, its settings, `small` or `example`."""
        return getattr(import_module(self.module), name)


COUNTED = frozenset({"steps", "pads"})
GRADIENT = frozenset({"gradient"})
READING = GRADIENT | {"pads"}
LEARNT = READING | {"steps"}
TRANSFORMER = ("seqwright.models.transformer", "Transformer", "TransformerSettings")
NGRAM = ("seqwright.models.ngram", "Ngram", "NgramSettings")
MLP_LM = ("seqwright.models.mlp_lm", "MLPLM", "MLPLMSettings")
RNN_LM = ("seqwright.models.rnn_lm", "RecurrentLM", "RecurrentLMSettings")
CLASSIFIER = ("seqwright.models.classifier", "RecurrentClassifier", "RecurrentClassifierSettings")
VECTOR_TO_SEQUENCE = ("seqwright.models.vector_to_sequence", "VectorToSequence", "VectorToSequenceSettings")
TAGGER = ("seqwright.models.tagger", "RecurrentTagger", "RecurrentTaggerSettings")
FORECASTERS = "seqwright.models.forecasters"
RNN_FORECASTER = (FORECASTERS, "RecurrentForecaster", "RecurrentForecasterSettings")
MODELS = (
    Model("n-gram", "ngram", "language", *NGRAM, COUNTED),
    Model("MLP language model", "mlp", "language", *MLP_LM, LEARNT),
    Model("RNN", "rnn", "language", *RNN_LM, LEARNT, "small_rnn"),
    Model("LSTM", "lstm", "language", *RNN_LM, LEARNT, "small_lstm"),
    Model("GRU", "gru", "language", *RNN_LM, LEARNT, "small_gru"),
    Model("UGRNN", "ugrnn", "language", *RNN_LM, LEARNT, "small_ugrnn"),
    Model("RNN", "rnn", "description", *VECTOR_TO_SEQUENCE, LEARNT, "small_rnn"),
    Model("LSTM", "lstm", "description", *VECTOR_TO_SEQUENCE, LEARNT, "small_lstm"),
    Model("GRU", "gru", "description", *VECTOR_TO_SEQUENCE, LEARNT, "small_gru"),
    Model("UGRNN", "ugrnn", "description", *VECTOR_TO_SEQUENCE, LEARNT, "small_ugrnn"),
    Model("RNN", "rnn", "classification", *CLASSIFIER, READING, "small_rnn"),
    Model("LSTM", "lstm", "classification", *CLASSIFIER, READING, "small_lstm"),
    Model("GRU", "gru", "classification", *CLASSIFIER, READING, "small_gru"),
    Model("UGRNN", "ugrnn", "classification", *CLASSIFIER, READING, "small_ugrnn"),
    Model("RNN", "rnn", "tagging", *TAGGER, READING, "small_rnn"),
    Model("LSTM", "lstm", "tagging", *TAGGER, READING, "small_lstm"),
    Model("GRU", "gru", "tagging", *TAGGER, READING, "small_gru"),
    Model("UGRNN", "ugrnn", "tagging", *TAGGER, READING, "small_ugrnn"),
    Model(
        "Perceptron", "dense", "forecasting", FORECASTERS, "DenseForecaster", "DenseSettings", GRADIENT, "small_dense"
    ),
    Model("MLP", "mlp", "forecasting", FORECASTERS, "MLPForecaster", "MLPSettings", GRADIENT, "small_mlp"),
    Model("RNN", "rnn", "forecasting", *RNN_FORECASTER, GRADIENT, "small_rnn"),
    Model("LSTM", "lstm", "forecasting", *RNN_FORECASTER, GRADIENT, "small_lstm"),
    Model("GRU", "gru", "forecasting", *RNN_FORECASTER, GRADIENT, "small_gru"),
    Model("UGRNN", "ugrnn", "forecasting", *RNN_FORECASTER, GRADIENT, "small_ugrnn"),
    Model("Transformer", "transformer", "translation", *TRANSFORMER, LEARNT),
)


class Kind(NamedTuple):
    """A class that a recipe's section can choose, its settings, and the task it is for; no task: for every one."""

    module: str
    thing: str
    settings: str
    task: str = ""

    def load(self, name: str) -> Any:
        """Something from the module."""
        return getattr(import_module(self.module), name)


class TaskKind(NamedTuple):
    """What a kind of data is for: where its wiring is, the kind of data that is a user's own files, and what a recipe
    means that names no kind in the other sections.
    """

    module: str
    thing: str
    files: str
    usual: dict[str, str]


TASKS = {
    "translation": TaskKind(
        "seqwright.tasks.translation",
        "TranslationTask",
        "files",
        {"inputs": "bpe", "model": "transformer", "objective": "next-token"},
    ),
    "language": TaskKind(
        "seqwright.tasks.language",
        "LanguageTask",
        "text",
        {"inputs": "bpe", "model": "lstm", "objective": "next-token"},
    ),
    "classification": TaskKind(
        "seqwright.tasks.classification",
        "ClassificationTask",
        "labelled",
        {"inputs": "bpe", "model": "lstm", "objective": "labels"},
    ),
    "tagging": TaskKind(
        "seqwright.tasks.tagging",
        "TaggingTask",
        "tagged",
        {"inputs": "bpe", "model": "lstm", "objective": "labels"},
    ),
    "forecasting": TaskKind(
        "seqwright.tasks.forecasting",
        "ForecastingTask",
        "series",
        {"inputs": "standard", "model": "lstm", "objective": "forecast"},
    ),
    "description": TaskKind(
        "seqwright.tasks.description",
        "DescriptionTask",
        "described",
        {"inputs": "characters", "model": "lstm", "objective": "next-token"},
    ),
}
USUAL_DATA = "files"
TOKENIZERS = ("bpe", "unigram", "wordpiece", "words", "spaced", "characters")
PAIR_TEXT = Kind("seqwright.inputs.pair_text", "PairText", "PairTextSettings", "translation")
PLAIN_TEXT = Kind("seqwright.inputs.plain_text", "PlainText", "PlainTextSettings", "language")
LABELLED_TEXT = Kind("seqwright.inputs.labelled_text", "LabelledText", "LabelledTextSettings", "classification")
TAGGED_TEXT = Kind("seqwright.inputs.tagged_text", "TaggedText", "TaggedTextSettings", "tagging")
SCALED_SERIES = Kind("seqwright.inputs.scaled_series", "ScaledSeries", "ScaledSeriesSettings", "forecasting")
VECTOR_TEXT = Kind("seqwright.inputs.vector_text", "VectorText", "VectorTextSettings", "description")
TOYS = Kind("seqwright.data.toys", "Toy", "ToySettings", "translation")
KINDS: dict[str, dict[str, tuple[Kind, ...]]] = {
    "data": {
        "files": (Kind("seqwright.data.pairs", "PairFiles", "PairFilesSettings", "translation"),),
        "card": (Kind("seqwright.data.catalog", "CardPairs", "CardPairsSettings", "translation"),),
        "dates": (Kind("seqwright.data.dates", "Dates", "DatesSettings", "translation"),),
        "copy": (TOYS,),
        "reverse": (TOYS,),
        "sort": (TOYS,),
        "text": (Kind("seqwright.data.text", "TextFiles", "TextFilesSettings", "language"),),
        "arpa": (Kind("seqwright.data.imported", "ArpaFile", "ArpaFileSettings", "language"),),
        "text-card": (Kind("seqwright.data.text_cards", "CardText", "TextCardSettings", "language"),),
        "python": (Kind("seqwright.data.embedded_text", "PythonSource", "PythonSourceSettings", "language"),),
        "reference": (Kind("seqwright.data.embedded_text", "Reference", "ReferenceSettings", "language"),),
        "labelled": (Kind("seqwright.data.labelled", "LabelledFiles", "LabelledFilesSettings", "classification"),),
        "labelled-card": (
            Kind("seqwright.data.labelled_cards", "CardLabelled", "LabelledCardSettings", "classification"),
        ),
        "tagged": (Kind("seqwright.data.tagged", "TaggedFiles", "TaggedFilesSettings", "tagging"),),
        "tagged-card": (Kind("seqwright.data.tagged_cards", "CardTagged", "TaggedCardSettings", "tagging"),),
        "python-tokens": (Kind("seqwright.data.python_tokens", "PythonTokens", "PythonTokensSettings", "tagging"),),
        "series": (Kind("seqwright.data.series", "SeriesFiles", "SeriesFilesSettings", "forecasting"),),
        "waves": (Kind("seqwright.data.waves", "Waves", "WavesSettings", "forecasting"),),
        "described": (Kind("seqwright.data.described", "DescribedFiles", "DescribedFilesSettings", "description"),),
        "numbers": (Kind("seqwright.data.numbers", "Numbers", "NumbersSettings", "description"),),
    },
    "inputs": {
        **dict.fromkeys(TOKENIZERS, (PAIR_TEXT, PLAIN_TEXT, LABELLED_TEXT, TAGGED_TEXT, VECTOR_TEXT)),
        **dict.fromkeys(("standard", "none"), (SCALED_SERIES,)),
    },
    "model": {
        kind: tuple(Kind(m.module, m.thing, m.settings, m.task) for m in MODELS if m.kind == kind)
        for kind in dict.fromkeys(model.kind for model in MODELS)
    },
    "objective": {
        "next-token": (
            Kind("seqwright.objectives.next_token", "NextToken", "NextTokenSettings", "translation"),
            Kind("seqwright.objectives.next_token", "NextToken", "NextTokenSettings", "language"),
            Kind("seqwright.objectives.next_token", "NextToken", "NextTokenSettings", "description"),
        ),
        "labels": (
            Kind("seqwright.objectives.labels", "Labels", "LabelsSettings", "classification"),
            Kind("seqwright.objectives.labels", "Labels", "LabelsSettings", "tagging"),
        ),
        "forecast": (Kind("seqwright.objectives.forecast", "Forecast", "ForecastSettings", "forecasting"),),
    },
    "training": {"": (Kind("seqwright.training.settings", "", "TrainingSettings"),)},
    "decoding": {"": (Kind("seqwright.decoding.settings", "", "DecodingSettings"),)},
}


def task_name(data_kind: str | None) -> str:
    """What a kind of data is for."""
    return chosen("data", data_kind).task


def task_of(data_kind: str) -> Any:
    """The wiring of what a kind of data is for."""
    row = TASKS[task_name(data_kind)]
    return getattr(import_module(row.module), row.thing)()


def kinds_of(section: str, task: str = "") -> dict[str, Kind]:
    """The kinds that a section of a recipe can choose from: all, or those for a task."""
    return {
        name: kind
        for name, several in KINDS[section].items()
        for kind in several
        if not task or kind.task in {"", task}
    }


def chosen(section: str, kind: Any, task: str = "") -> Kind:
    """The class that `kind` means in a section of a recipe for a task; for data, which decides the task, say none."""
    kinds = kinds_of(section, task)
    if "" in kinds:  # a section without kinds
        return kinds[""]
    name = kind if kind is not None else usual_kind(section, task)
    if not isinstance(name, str) or name not in kinds:
        known = f"there {'is' if len(kinds) == 1 else 'are'} {', '.join(kinds)}"
        purpose = f" for {task}" if isinstance(name, str) and name in KINDS[section] else ""
        raise SettingError(f"there is no {section}.kind '{name}'{purpose}; {known}.{nearest(str(name), list(kinds))}")
    return kinds[name]


def usual_kind(section: str, task: str) -> str | None:
    """The kind where a recipe names none."""
    return USUAL_DATA if section == "data" else TASKS[task].usual.get(section)


def model_row(kind: str, task: str) -> Model:
    """Where the model lives that a recipe names."""
    return next(model for model in MODELS if model.kind == kind and model.task == task)
