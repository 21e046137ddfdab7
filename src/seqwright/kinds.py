"""Which class each `kind` of a recipe means, for each task.

Nothing here imports torch: classes are named and only loaded when asked for.
"""

from importlib import import_module
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from seqwright.errors import SettingError, nearest
from seqwright.lineage import MODELS


class Kind(NamedTuple):
    """A class that a recipe's section can choose, its settings, and the task it is for; no task: for every one."""

    module: str
    thing: str
    settings: str
    task: str = ""
    teachers: Literal["", "one", "several"] = ""  # of an objective: whom it can learn from

    def load(self, name: str) -> Any:
        """Something from the module."""
        return attrgetter(name)(import_module(self.module))


class TaskKind(NamedTuple):
    """Everything that is known of a task beside its code."""

    files: str  # the kind of data that is a user's own files
    usual: dict[str, str]  # what a recipe means that names no kind in the other sections
    verbs: tuple[str, ...]  # the commands that use a run, the usual one first
    input: str  # what is read and what is said, as `file.Class` of their rooms
    output: str
    method: str = "predict"  # of the output, behind the first verb
    like: str = ""  # the task whose wiring, models and objectives it shares
    searched: bool = False  # whether decoding decides what a model says
    shown: tuple[str, ...] = ()  # the scores that a comparison shows, the one that decides first


TASKS = {
    "translation": TaskKind(
        "files",
        {"input": "bpe", "model": "transformer", "objective": "next-token"},
        verbs=("translate", "align", "summarize", "pronounce"),
        input="source_text.SourceTextInput",
        output="text.TextOutput",
        searched=True,
        shown=("bleu", "chrf", "word_perplexity"),
    ),
    "language-modeling": TaskKind(
        "text",
        {"input": "bpe", "model": "lstm", "objective": "next-token"},
        verbs=("generate", "score", "prompt"),
        input="running_text.RunningTextInput",
        output="next_token.NextTokenOutput",
        method="write",
        shown=("bits_per_byte", "word_perplexity", "perplexity"),
    ),
    "instruction": TaskKind(
        "files",
        {"input": "bpe", "model": "gpt", "objective": "answer-only"},
        verbs=("reply", "prompt"),
        input="prompt.PromptInput",
        output="answer.AnswerOutput",
        searched=True,
    ),
    "masked-language-modeling": TaskKind(
        "text",
        {"input": "wordpiece", "model": "bert", "objective": "masked-token"},
        verbs=("fill",),
        input="sentences.SentencesInput",
        output="masked.MaskedOutput",
    ),
    "text-classification": TaskKind(
        "labelled",
        {"input": "bpe", "model": "lstm", "objective": "labels"},
        verbs=("classify",),
        input="text.TextInput",
        output="label.LabelOutput",
        shown=("accuracy", "macro_f1", "loss"),
    ),
    "text-regression": TaskKind(
        "labelled",
        {"input": "bpe", "model": "lstm", "objective": "regression"},
        verbs=("predict",),
        input="text.TextInput",
        output="number.NumberOutput",
    ),
    "token-classification": TaskKind(
        "tagged",
        {"input": "bpe", "model": "lstm", "objective": "labels"},
        verbs=("tag",),
        input="words.WordsInput",
        output="tags.TagsOutput",
    ),
    "question-answering": TaskKind(
        "questions",
        {"input": "wordpiece", "model": "bert", "objective": "span"},
        verbs=("answer",),
        input="question.QuestionInput",
        output="span.SpanOutput",
    ),
    "series-classification": TaskKind(
        "labelled-series",
        {"input": "standard", "model": "lstm", "objective": "labels"},
        verbs=("classify",),
        input="series.SeriesInput",
        output="label.LabelOutput",
        shown=("accuracy", "macro_f1", "loss"),
    ),
    "forecasting": TaskKind(
        "series",
        {"input": "standard", "model": "lstm", "objective": "forecast"},
        verbs=("forecast",),
        input="series.SeriesInput",
        output="values.ValuesOutput",
        shown=("mse", "mae", "mase"),
    ),
    "vector-to-text": TaskKind(
        "described",
        {"model": "lstm", "objective": "next-token"},
        verbs=("describe",),
        input="vector.VectorInput",
        output="description.DescriptionOutput",
        searched=True,
    ),
}
USUAL_DATA = "files"
CARDS = "seqwright.data.cards"
CHECKPOINT = ("seqwright.data.imported", "Checkpoint", "CheckpointSettings")
TOKENIZERS = ("bpe", "unigram", "wordpiece", "words", "whitespace", "characters")
SCALINGS = ("standard", "none")
SOURCE_TEXT = Kind("seqwright.inputs.source_text", "SourceTextInput", "SourceTextSettings", "translation")
PROMPT_TEXT = Kind("seqwright.inputs.prompt", "PromptInput", "PromptSettings", "instruction")
RUNNING_TEXT = Kind("seqwright.inputs.running_text", "RunningTextInput", "RunningTextSettings", "language-modeling")
MASKED_TEXT = Kind("seqwright.inputs.sentences", "SentencesInput", "SentencesSettings", "masked-language-modeling")
LABELLED_TEXT = Kind("seqwright.inputs.text", "TextInput", "TextSettings", "text-classification")
RATED_TEXT = Kind("seqwright.inputs.text", "TextInput", "TextSettings", "text-regression")
BALANCED = "seqwright.objectives.balanced_next_token"
LABELS_AND_WORDS = "seqwright.objectives.labels_and_words"
TAGGED_TEXT = Kind("seqwright.inputs.words", "WordsInput", "WordsSettings", "token-classification")
QUESTION_TEXT = Kind("seqwright.inputs.question", "QuestionInput", "QuestionSettings", "question-answering")
SERIES = Kind("seqwright.inputs.series", "SeriesInput", "SeriesSettings", "forecasting")
LABELLED_SERIES = Kind("seqwright.inputs.series", "SeriesInput", "SeriesSettings", "series-classification")
VECTOR = Kind("seqwright.settings", "", "Settings", "vector-to-text")  # nothing can be set of it


def _pairs(module: str, thing: str, settings: str) -> tuple[Kind, ...]:
    """Texts with what is to be said to them, which teach an encoder and a decoder, or a language model."""
    return Kind(module, thing, settings, "translation"), Kind(module, thing, settings, "instruction")


def _said(task: str, row: TaskKind) -> Kind:
    """What is said, by the class that says how it is set."""
    file, thing = row.output.split(".")
    return Kind(f"seqwright.outputs.{file}", thing, f"{thing}.settings", task)


TOYS = _pairs("seqwright.data.toys", "Toy", "ToySettings")


def _running_text(module: str, thing: str, settings: str) -> tuple[Kind, ...]:
    """Text that teaches to say the next word, or words that were hidden."""
    return Kind(module, thing, settings, "language-modeling"), Kind(module, thing, settings, "masked-language-modeling")


def _labelled_text(module: str, thing: str, settings: str) -> tuple[Kind, ...]:
    """Texts with labels, which may be numbers."""
    return Kind(module, thing, settings, "text-classification"), Kind(module, thing, settings, "text-regression")


KINDS: dict[str, dict[str, tuple[Kind, ...]]] = {
    "data": {
        "files": _pairs("seqwright.data.pairs", "PairFiles", "PairFilesSettings"),
        "card": _pairs(CARDS, "open_card", "PairCardSettings"),
        "dates": _pairs("seqwright.data.dates", "Dates", "DatesSettings"),
        "copy": TOYS,
        "reverse": TOYS,
        "sort": TOYS,
        "mappings": (Kind("seqwright.data.mappings", "Mappings", "MappingsSettings", "instruction"),),
        "summaries": _pairs("seqwright.data.pairs", "PairFiles", "PairFilesSettings"),
        "summaries-card": _pairs(CARDS, "open_card", "CardSettings"),
        "pronunciations": _pairs("seqwright.data.pairs", "PairFiles", "PairFilesSettings"),
        "pronunciations-card": _pairs(CARDS, "open_card", "CardSettings"),
        "text": _running_text("seqwright.data.text", "TextFiles", "TextFilesSettings"),
        "arpa": (Kind("seqwright.data.imported", "ArpaFile", "ArpaFileSettings", "language-modeling"),),
        "text-card": _running_text(CARDS, "open_card", "TextCardSettings"),
        "python": _running_text("seqwright.data.embedded_text", "PythonSource", "PythonSourceSettings"),
        "reference": _running_text("seqwright.data.embedded_text", "Reference", "ReferenceSettings"),
        "labelled": _labelled_text("seqwright.data.labelled", "LabelledFiles", "LabelledFilesSettings"),
        "labelled-card": _labelled_text(CARDS, "open_card", "CardSettings"),
        "tagged": (Kind("seqwright.data.tagged", "TaggedFiles", "TaggedFilesSettings", "token-classification"),),
        "tagged-card": (Kind(CARDS, "open_card", "CardSettings", "token-classification"),),
        "python-tokens": (
            Kind("seqwright.data.python_tokens", "PythonTokens", "PythonTokensSettings", "token-classification"),
        ),
        "questions": (
            Kind("seqwright.data.questions", "QuestionFiles", "QuestionFilesSettings", "question-answering"),
        ),
        "questions-card": (Kind(CARDS, "open_card", "QuestionCardSettings", "question-answering"),),
        "guests": (Kind("seqwright.data.guests", "Guests", "GuestsSettings", "question-answering"),),
        "text-checkpoint": _running_text(*CHECKPOINT),
        "labelled-checkpoint": (Kind(*CHECKPOINT, "text-classification"), Kind(*CHECKPOINT, "text-regression")),
        "tagged-checkpoint": (Kind(*CHECKPOINT, "token-classification"),),
        "questions-checkpoint": (Kind(*CHECKPOINT, "question-answering"),),
        "series": (Kind("seqwright.data.series", "SeriesFiles", "SeriesFilesSettings", "forecasting"),),
        "labelled-series": (
            Kind(
                "seqwright.data.labelled_series",
                "LabelledSeriesFiles",
                "LabelledSeriesSettings",
                "series-classification",
            ),
        ),
        "waveforms": (Kind("seqwright.data.waveforms", "Waveforms", "WaveformsSettings", "series-classification"),),
        "waves": (Kind("seqwright.data.waves", "Waves", "WavesSettings", "forecasting"),),
        "described": (Kind("seqwright.data.described", "DescribedFiles", "DescribedFilesSettings", "vector-to-text"),),
        "numbers": (Kind("seqwright.data.numbers", "Numbers", "NumbersSettings", "vector-to-text"),),
    },
    "input": {
        **dict.fromkeys(
            TOKENIZERS,
            (
                *(SOURCE_TEXT, PROMPT_TEXT, RUNNING_TEXT, MASKED_TEXT, LABELLED_TEXT, RATED_TEXT, TAGGED_TEXT),
                QUESTION_TEXT,
            ),
        ),
        **dict.fromkeys(SCALINGS, (SERIES, LABELLED_SERIES)),
        "": (VECTOR,),
    },
    "output": {"": tuple(_said(task, row) for task, row in TASKS.items() if not row.like)},
    "model": {
        kind: tuple(Kind(m.module, m.thing, m.settings, m.task) for m in MODELS if m.kind == kind)
        for kind in dict.fromkeys(model.kind for model in MODELS)
    },
    "objective": {
        "next-token": (
            Kind("seqwright.objectives.next_token", "NextToken", "NextTokenSettings", "translation"),
            Kind("seqwright.objectives.next_token", "NextToken", "NextTokenSettings", "language-modeling"),
            Kind("seqwright.objectives.next_token", "NextToken", "NextTokenSettings", "vector-to-text"),
        ),
        "balanced-next-token": (
            Kind(BALANCED, "BalancedNextToken", "BalancedNextTokenSettings", "translation"),
            Kind(BALANCED, "BalancedNextToken", "BalancedNextTokenSettings", "language-modeling"),
        ),
        "answer-only": (Kind("seqwright.objectives.answer", "AnswerOnly", "AnswerOnlySettings", "instruction"),),
        "labels": (
            Kind("seqwright.objectives.labels", "Labels", "LabelsSettings", "text-classification"),
            Kind("seqwright.objectives.labels", "Labels", "LabelsSettings", "token-classification"),
            Kind("seqwright.objectives.labels", "Labels", "LabelsSettings", "series-classification"),
        ),
        "r-drop": (
            Kind("seqwright.objectives.r_drop", "RDrop", "RDropSettings", "text-classification"),
            Kind("seqwright.objectives.r_drop", "RDrop", "RDropSettings", "token-classification"),
            Kind("seqwright.objectives.r_drop", "RDrop", "RDropSettings", "series-classification"),
        ),
        "labels-and-next-token": (
            Kind(LABELS_AND_WORDS, "LabelsAndWords", "LabelsAndWordsSettings", "text-classification"),
        ),
        "regression": (Kind("seqwright.objectives.rating", "Rating", "RatingSettings", "text-regression"),),
        "regression-and-next-token": (
            Kind(LABELS_AND_WORDS, "LabelsAndWords", "RatingAndWordsSettings", "text-regression"),
        ),
        "masked-token": (
            Kind("seqwright.objectives.masked_token", "MaskedToken", "MaskedTokenSettings", "masked-language-modeling"),
        ),
        "label-distillation": (
            Kind(
                "seqwright.objectives.distilled_labels",
                "DistilledLabels",
                "DistilledLabelsSettings",
                "text-classification",
                teachers="several",
            ),
        ),
        "masked-token-distillation": (
            Kind(
                "seqwright.objectives.distilled_tokens",
                "DistilledTokens",
                "DistilledTokensSettings",
                "masked-language-modeling",
                teachers="one",
            ),
        ),
        "span": (Kind("seqwright.objectives.span", "Span", "SpanSettings", "question-answering"),),
        "forecast": (Kind("seqwright.objectives.forecast", "Forecast", "ForecastSettings", "forecasting"),),
    },
    "training": {"": (Kind("seqwright.training.settings", "", "TrainingSettings"),)},
    "decoding": {"": (Kind("seqwright.decoding.settings", "", "DecodingSettings"),)},
}

# The objective of each task by which it is learnt from a teacher.
DISTILLED = {kind.task: name for name, rows in KINDS["objective"].items() for kind in rows if kind.teachers}

# What a kind of data suggests for settings of [input] and [output] that are left out; {…} are settings of the data.
SUGGESTED: dict[str, dict[str, str]] = {
    "summaries": {"scores": "rouge", "task_token": "<summarize>"},
    "summaries-card": {"scores": "rouge", "task_token": "<summarize>"},
    "pronunciations": {"scores": "word-error-rate", "task_token": "<pronounce>"},
    "pronunciations-card": {"scores": "word-error-rate", "task_token": "<pronounce>"},
    "mappings": {"scores": "exact", "task_token": "<becomes>"},
    "card": {"task_token": "<to-{target}>"},
    "dates": {"task_token": "<to-{target}>"},
    "files": {"task_token": "<answer>"},
    **{toy: {"task_token": f"<{toy}>"} for toy in ("copy", "reverse", "sort")},
}


def task_name(data_kind: Any, objective_kind: Any = None) -> str:
    """What a kind of data is for; where it serves several tasks the objective decides, and without one it is the first.

    The same text teaches a model to say the next word, or words that were hidden.
    """
    chosen("data", data_kind)
    tasks = [kind.task for kind in KINDS["data"][USUAL_DATA if data_kind is None else data_kind]]
    return next((task for task in tasks if objective_kind in kinds_of("objective", task)), tasks[0])


def family_of(task: str) -> str:
    """The task whose wiring a task shares; usually itself."""
    return TASKS[task].like or task


def task_of(task: str) -> Any:
    """The wiring of a task."""
    row = TASKS[family_of(task)]
    wired = import_module("seqwright.tasks.wired").Wired
    return wired(_named("inputs", row.input), _named("outputs", row.output), row.method)


def task_between(input: type, output: type) -> str:
    """The task that reads this and predicts that, by their classes."""
    names = [f"{each.__module__.rpartition('.')[2]}.{each.__name__}" for each in (input, output)]
    return next(task for task, row in TASKS.items() if [row.input, row.output] == names)


def imported_kind(task: str) -> str:
    """The kind of data that stands for a model of a task that another program made."""
    return next(name for name, kind in kinds_of("data", task).items() if kind[: len(CHECKPOINT)] == CHECKPOINT)


def _named(room: str, name: str) -> Any:
    file, thing = name.split(".")
    return getattr(import_module(f"seqwright.{room}.{file}"), thing)


def kinds_of(section: str, task: str = "") -> dict[str, Kind]:
    """The kinds that a section of a recipe can choose from: all, or those for a task."""
    found: dict[str, Kind] = {}
    for name, several in KINDS[section].items():
        fitting = [kind for kind in several if not task or kind.task in {"", family_of(task)}]
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
        setting = f"{section}.{selector(section, task)}"
        raise SettingError(f"there is no {setting} '{name}'{purpose}; {known}.{nearest(str(name), list(kinds))}")
    return kinds[name]


def selector(section: str, task: str) -> str:
    """The key of a section that says which class is meant."""
    if section != "input":
        return "kind"
    return "scaling" if usual_kind(section, task) in SCALINGS else "tokenizer"


def usual_kind(section: str, task: str) -> str | None:
    """The kind where a recipe names none."""
    return USUAL_DATA if section == "data" else TASKS[task].usual.get(section)
