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
    Member(2018, "ULMFiT", "Howard & Ruder 2018", "LSTM"),
    Member(2019, "BERT", "Devlin et al. 2019", "Transformer"),
    Member(2019, "RoBERTa", "Liu et al. 2019", "BERT"),
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
      windows    has no state to carry: of a joined text it reads shuffled windows, each on its own
      packs      reads several documents in a row without letting one see another
      begins     reads a first token before each text: BERT's [CLS]
    The module also offers, by the names given here, `small` (an instance of a few parameters) and `example`, a batch
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
    example: str = "example"

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
GPT = ("seqwright.models.gpt", "GPT", "GPTSettings")
BERT_HEADS = "seqwright.models.bert_heads"
MASKED_BERT = (BERT_HEADS, "MaskedBert", "MaskedBertSettings", READING)
BERT_CLASSIFIER = (BERT_HEADS, "BertClassifier", "BertTextSettings", READING | {"begins"})
LM_CLASSIFIER = ("seqwright.models.lm_classifier", "LanguageModelClassifier")
GPT_CLASSIFIER = (*LM_CLASSIFIER, "GPTClassifierSettings", READING | {"begins"})
RNN_LM_CLASSIFIER = (*LM_CLASSIFIER, "RecurrentLMClassifierSettings", READING | {"begins"})
BERT_RATER = (BERT_HEADS, "BertRater", "BertTextSettings", READING | {"begins"})
BERT_TAGGER = (BERT_HEADS, "BertTagger", "BertHeadSettings", READING | {"begins"})
BERT_ANSWERER = (BERT_HEADS, "BertAnswerer", "BertHeadSettings", READING)
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
    Model("RNN", "rnn", "rating", *CLASSIFIER, READING, "small_rater"),
    Model("LSTM", "lstm", "rating", *CLASSIFIER, READING, "small_rater"),
    Model("GRU", "gru", "rating", *CLASSIFIER, READING, "small_rater"),
    Model("UGRNN", "ugrnn", "rating", *CLASSIFIER, READING, "small_rater"),
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
    Model("GPT-2", "gpt", "language", *GPT, LEARNT | {"windows", "packs"}),
    Model("GPT-2", "gpt", "prompting", *GPT, LEARNT),
    Model("BERT", "bert", "masking", *MASKED_BERT, "small_masked_bert", "masked_example"),
    Model("RoBERTa", "roberta", "masking", *MASKED_BERT, "small_masked_roberta", "sentences_example"),
    Model("DistilBERT", "distilbert", "masking", *MASKED_BERT, "small_masked_distilbert", "sentences_example"),
    Model("BERT", "bert", "classification", *BERT_CLASSIFIER, "small_bert_classifier", "text_example"),
    Model("RoBERTa", "roberta", "classification", *BERT_CLASSIFIER, "small_roberta_classifier", "text_example"),
    Model(
        "DistilBERT", "distilbert", "classification", *BERT_CLASSIFIER, "small_distilbert_classifier", "text_example"
    ),
    Model("GPT-2", "gpt", "classification", *GPT_CLASSIFIER, "small_gpt"),
    Model("GPT-2", "gpt", "rating", *GPT_CLASSIFIER, "small_gpt_rater"),
    Model("ULMFiT", "lstm-lm", "classification", *RNN_LM_CLASSIFIER, "small_lstm"),
    Model("ULMFiT", "lstm-lm", "rating", *RNN_LM_CLASSIFIER, "small_lstm_rater"),
    Model("BERT", "bert", "rating", *BERT_RATER, "small_bert_rater", "text_example"),
    Model("RoBERTa", "roberta", "rating", *BERT_RATER, "small_roberta_rater", "text_example"),
    Model("DistilBERT", "distilbert", "rating", *BERT_RATER, "small_distilbert_rater", "text_example"),
    Model("BERT", "bert", "tagging", *BERT_TAGGER, "small_bert_tagger", "tagged_example"),
    Model("RoBERTa", "roberta", "tagging", *BERT_TAGGER, "small_roberta_tagger", "tagged_example"),
    Model("DistilBERT", "distilbert", "tagging", *BERT_TAGGER, "small_distilbert_tagger", "tagged_example"),
    Model("BERT", "bert", "questions", *BERT_ANSWERER, "small_bert_answerer", "asked_example"),
    Model("RoBERTa", "roberta", "questions", *BERT_ANSWERER, "small_roberta_answerer", "asked_example"),
    Model("DistilBERT", "distilbert", "questions", *BERT_ANSWERER, "small_distilbert_answerer", "asked_example"),
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
    """The kind of data that is a user's own files, and what a recipe means that names no kind in the other sections.

    Where the wiring of a task is, its name says: `tasks/rating.py` has the class RatingTask.
    """

    files: str
    usual: dict[str, str]


TASKS = {
    "translation": TaskKind("files", {"inputs": "bpe", "model": "transformer", "objective": "next-token"}),
    "language": TaskKind("text", {"inputs": "bpe", "model": "lstm", "objective": "next-token"}),
    "prompting": TaskKind("files", {"inputs": "bpe", "model": "gpt", "objective": "answer"}),
    "masking": TaskKind("text", {"inputs": "wordpiece", "model": "bert", "objective": "masked-token"}),
    "classification": TaskKind("labelled", {"inputs": "bpe", "model": "lstm", "objective": "labels"}),
    "rating": TaskKind("labelled", {"inputs": "bpe", "model": "lstm", "objective": "rating"}),
    "tagging": TaskKind("tagged", {"inputs": "bpe", "model": "lstm", "objective": "labels"}),
    "questions": TaskKind("questions", {"inputs": "wordpiece", "model": "bert", "objective": "span"}),
    "forecasting": TaskKind("series", {"inputs": "standard", "model": "lstm", "objective": "forecast"}),
    "description": TaskKind("described", {"inputs": "characters", "model": "lstm", "objective": "next-token"}),
}
USUAL_DATA = "files"
DISTILLED = {"classification": "distilled-labels", "masking": "distilled-tokens"}  # what is learnt from a teacher
CHECKPOINT = ("seqwright.data.imported", "Checkpoint", "CheckpointSettings")
TOKENIZERS = ("bpe", "unigram", "wordpiece", "words", "spaced", "characters")
PAIR_TEXT = Kind("seqwright.inputs.pair_text", "PairText", "PairTextSettings", "translation")
PROMPT_TEXT = Kind("seqwright.inputs.prompt_text", "PromptText", "PromptTextSettings", "prompting")
PLAIN_TEXT = Kind("seqwright.inputs.plain_text", "PlainText", "PlainTextSettings", "language")
MASKED_TEXT = Kind("seqwright.inputs.masked_text", "MaskedText", "MaskedTextSettings", "masking")
LABELLED_TEXT = Kind("seqwright.inputs.labelled_text", "LabelledText", "LabelledTextSettings", "classification")
RATED_TEXT = Kind("seqwright.inputs.rated_text", "RatedText", "LabelledTextSettings", "rating")
LABELS_AND_WORDS = "seqwright.objectives.labels_and_words"
TAGGED_TEXT = Kind("seqwright.inputs.tagged_text", "TaggedText", "TaggedTextSettings", "tagging")
QUESTION_TEXT = Kind("seqwright.inputs.question_text", "QuestionText", "QuestionTextSettings", "questions")
SCALED_SERIES = Kind("seqwright.inputs.scaled_series", "ScaledSeries", "ScaledSeriesSettings", "forecasting")
VECTOR_TEXT = Kind("seqwright.inputs.vector_text", "VectorText", "VectorTextSettings", "description")


def _pairs(module: str, thing: str, settings: str) -> tuple[Kind, ...]:
    """Texts with what is to be said to them, which teach an encoder and a decoder, or a language model."""
    return Kind(module, thing, settings, "translation"), Kind(module, thing, settings, "prompting")


TOYS = _pairs("seqwright.data.toys", "Toy", "ToySettings")


def _running_text(module: str, thing: str, settings: str) -> tuple[Kind, ...]:
    """Text that teaches to say the next word, or words that were hidden."""
    return Kind(module, thing, settings, "language"), Kind(module, thing, settings, "masking")


def _labelled_text(module: str, thing: str, settings: str) -> tuple[Kind, ...]:
    """Texts with labels, which may be numbers."""
    return Kind(module, thing, settings, "classification"), Kind(module, thing, settings, "rating")


KINDS: dict[str, dict[str, tuple[Kind, ...]]] = {
    "data": {
        "files": _pairs("seqwright.data.pairs", "PairFiles", "PairFilesSettings"),
        "card": _pairs("seqwright.data.catalog", "CardPairs", "CardPairsSettings"),
        "dates": _pairs("seqwright.data.dates", "Dates", "DatesSettings"),
        "copy": TOYS,
        "reverse": TOYS,
        "sort": TOYS,
        "mappings": (Kind("seqwright.data.mappings", "Mappings", "MappingsSettings", "prompting"),),
        "summaries": _pairs("seqwright.data.pairs", "PairFiles", "PairFilesSettings"),
        "summaries-card": _pairs("seqwright.data.summary_cards", "CardSummaries", "SummaryCardSettings"),
        "text": _running_text("seqwright.data.text", "TextFiles", "TextFilesSettings"),
        "arpa": (Kind("seqwright.data.imported", "ArpaFile", "ArpaFileSettings", "language"),),
        "text-card": _running_text("seqwright.data.text_cards", "CardText", "TextCardSettings"),
        "python": _running_text("seqwright.data.embedded_text", "PythonSource", "PythonSourceSettings"),
        "reference": _running_text("seqwright.data.embedded_text", "Reference", "ReferenceSettings"),
        "labelled": _labelled_text("seqwright.data.labelled", "LabelledFiles", "LabelledFilesSettings"),
        "labelled-card": _labelled_text("seqwright.data.labelled_cards", "CardLabelled", "LabelledCardSettings"),
        "tagged": (Kind("seqwright.data.tagged", "TaggedFiles", "TaggedFilesSettings", "tagging"),),
        "tagged-card": (Kind("seqwright.data.tagged_cards", "CardTagged", "TaggedCardSettings", "tagging"),),
        "python-tokens": (Kind("seqwright.data.python_tokens", "PythonTokens", "PythonTokensSettings", "tagging"),),
        "questions": (Kind("seqwright.data.questions", "QuestionFiles", "QuestionFilesSettings", "questions"),),
        "questions-card": (
            Kind("seqwright.data.question_cards", "CardQuestions", "QuestionCardSettings", "questions"),
        ),
        "guests": (Kind("seqwright.data.guests", "Guests", "GuestsSettings", "questions"),),
        "text-checkpoint": _running_text(*CHECKPOINT),
        "labelled-checkpoint": (Kind(*CHECKPOINT, "classification"), Kind(*CHECKPOINT, "rating")),
        "tagged-checkpoint": (Kind(*CHECKPOINT, "tagging"),),
        "questions-checkpoint": (Kind(*CHECKPOINT, "questions"),),
        "series": (Kind("seqwright.data.series", "SeriesFiles", "SeriesFilesSettings", "forecasting"),),
        "waves": (Kind("seqwright.data.waves", "Waves", "WavesSettings", "forecasting"),),
        "described": (Kind("seqwright.data.described", "DescribedFiles", "DescribedFilesSettings", "description"),),
        "numbers": (Kind("seqwright.data.numbers", "Numbers", "NumbersSettings", "description"),),
    },
    "inputs": {
        **dict.fromkeys(
            TOKENIZERS,
            (
                *(PAIR_TEXT, PROMPT_TEXT, PLAIN_TEXT, MASKED_TEXT, LABELLED_TEXT, RATED_TEXT, TAGGED_TEXT),
                *(QUESTION_TEXT, VECTOR_TEXT),
            ),
        ),
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
        "answer": (Kind("seqwright.objectives.answer", "Answer", "AnswerSettings", "prompting"),),
        "labels": (
            Kind("seqwright.objectives.labels", "Labels", "LabelsSettings", "classification"),
            Kind("seqwright.objectives.labels", "Labels", "LabelsSettings", "tagging"),
        ),
        "labels-and-words": (Kind(LABELS_AND_WORDS, "LabelsAndWords", "LabelsAndWordsSettings", "classification"),),
        "rating": (Kind("seqwright.objectives.rating", "Rating", "RatingSettings", "rating"),),
        "rating-and-words": (Kind(LABELS_AND_WORDS, "LabelsAndWords", "RatingAndWordsSettings", "rating"),),
        "masked-token": (Kind("seqwright.objectives.masked_token", "MaskedToken", "MaskedTokenSettings", "masking"),),
        "distilled-labels": (
            Kind(
                "seqwright.objectives.distilled_labels", "DistilledLabels", "DistilledLabelsSettings", "classification"
            ),
        ),
        "distilled-tokens": (
            Kind("seqwright.objectives.distilled_tokens", "DistilledTokens", "DistilledTokensSettings", "masking"),
        ),
        "span": (Kind("seqwright.objectives.span", "Span", "SpanSettings", "questions"),),
        "forecast": (Kind("seqwright.objectives.forecast", "Forecast", "ForecastSettings", "forecasting"),),
    },
    "training": {"": (Kind("seqwright.training.settings", "", "TrainingSettings"),)},
    "decoding": {"": (Kind("seqwright.decoding.settings", "", "DecodingSettings"),)},
}


def task_name(data_kind: Any, objective_kind: Any = None) -> str:
    """What a kind of data is for; where it serves several tasks the objective decides, and without one it is the first.

    The same text teaches a model to say the next word, or words that were hidden.
    """
    chosen("data", data_kind)
    tasks = [kind.task for kind in KINDS["data"][USUAL_DATA if data_kind is None else data_kind]]
    return next((task for task in tasks if objective_kind in kinds_of("objective", task)), tasks[0])


def task_of(task: str) -> Any:
    """The wiring of a task."""
    return getattr(import_module(f"seqwright.tasks.{task}"), f"{task.capitalize()}Task")()


def kinds_of(section: str, task: str = "") -> dict[str, Kind]:
    """The kinds that a section of a recipe can choose from: all, or those for a task."""
    found: dict[str, Kind] = {}
    for name, several in KINDS[section].items():
        fitting = [kind for kind in several if not task or kind.task in {"", task}]
        found |= {name: fitting[0]} if fitting else {}
    return found


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
