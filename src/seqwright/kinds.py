"""The tasks, a row each, and which class each `kind` of a recipe means for a task.

Nothing here imports torch: classes are named and only loaded when asked for.
"""

from collections.abc import Mapping
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

from seqwright.data.cards import READERS, card, cards, settings_of
from seqwright.errors import SettingError
from seqwright.lineage import MODELS
from seqwright.older_names import meant
from seqwright.setting_classes import Settings


class Kind(NamedTuple):
    """A class that a recipe's section can choose, its settings, and the task it is for; no task: for every one."""

    module: str
    thing: str
    settings: str
    task: str = ""
    teaches: bool = False  # of an objective: whether it learns from a teacher

    def load(self, name: str) -> Any:
        """Something from the module."""
        return attrgetter(name)(import_module(self.module))


class TaskKind(NamedTuple):
    """Everything that is known of a task beside its code."""

    examples: tuple[str, ...]  # the kinds of examples that it reads, that of the user's own files first
    usual: dict[str, str]  # what a recipe means that names no kind in the other sections
    verbs: tuple[str, ...]  # the commands that use a run, the usual one first
    input: str = ""  # what is read and what is predicted, as `file.Class` of their rooms
    output: str = ""
    method: str = "predict"  # of the output, behind the first verb
    like: str = ""  # the task whose wiring, models and objectives it shares
    shown: tuple[str, ...] = ()  # the scores that a comparison shows, the one that decides first
    suggests: Mapping[str, str] = {}  # settings of input and output, where neither the recipe nor the card has them
    new: str = ""  # the template that `seqwright new` writes a recipe by


TASKS = {
    "translation": TaskKind(
        ("pairs",),
        {"input": "bpe", "model": "transformer", "objective": "next-token"},
        verbs=("translate", "align"),
        input="source_text.SourceTextInput",
        output="text.TextOutput",
        shown=("bleu", "chrf", "word_perplexity"),
        new="pairs",
    ),
    "summarization": TaskKind(
        ("summaries",),
        {"input": "bpe", "model": "transformer", "objective": "next-token"},
        verbs=("summarize",),
        like="translation",
        suggests={"scores": "rouge"},
        new="summaries",
    ),
    "grapheme-to-phoneme": TaskKind(
        ("pronunciations",),
        {"input": "bpe", "model": "transformer", "objective": "next-token"},
        verbs=("pronounce",),
        like="translation",
        suggests={"scores": "word-error-rate"},
        new="pronunciations",
    ),
    "language-modeling": TaskKind(
        ("text",),
        {"input": "bpe", "model": "lstm", "objective": "next-token"},
        verbs=("generate", "score", "prompt"),
        input="running_text.RunningTextInput",
        output="next_token.NextTokenOutput",
        method="write",
        shown=("bits_per_byte", "word_perplexity", "perplexity"),
        new="text",
    ),
    "instruction": TaskKind(
        ("pairs", "prompts", "summaries", "pronunciations"),
        {"input": "bpe", "model": "gpt", "objective": "answer-only"},
        verbs=("reply", "prompt"),
        input="prompt.PromptInput",
        output="answer.AnswerOutput",
        suggests={"task_token": "<answer>"},
        new="prompts",
    ),
    "masked-language-modeling": TaskKind(
        ("text",),
        {"input": "wordpiece", "model": "bert", "objective": "masked-token"},
        verbs=("fill",),
        input="sentences.SentencesInput",
        output="masked.MaskedOutput",
        method="fill",
        new="masked text",
    ),
    "text-classification": TaskKind(
        ("labelled",),
        {"input": "bpe", "model": "lstm", "objective": "labels"},
        verbs=("classify",),
        input="text.TextInput",
        output="label.LabelOutput",
        shown=("accuracy", "macro_f1", "loss"),
        new="labels",
    ),
    "text-regression": TaskKind(
        ("labelled",),
        {"input": "bpe", "model": "lstm", "objective": "regression"},
        verbs=("predict",),
        input="text.TextInput",
        output="number.NumberOutput",
        new="values",
    ),
    "token-classification": TaskKind(
        ("tagged",),
        {"input": "bpe", "model": "lstm", "objective": "labels"},
        verbs=("tag",),
        input="words.WordsInput",
        output="tags.TagsOutput",
        new="tags",
    ),
    "question-answering": TaskKind(
        ("questions",),
        {"input": "wordpiece", "model": "bert", "objective": "span"},
        verbs=("answer",),
        input="question.QuestionInput",
        output="span.SpanOutput",
        new="questions",
    ),
    "series-classification": TaskKind(
        ("labelled-series",),
        {"input": "standard", "model": "lstm", "objective": "labels"},
        verbs=("classify",),
        input="series.SeriesInput",
        output="label.LabelOutput",
        shown=("accuracy", "macro_f1", "loss"),
        new="series labels",
    ),
    "image-classification": TaskKind(
        ("labelled-images", "scenes"),
        {"model": "vit", "objective": "labels"},
        verbs=("classify",),
        input="image.ImageInput",
        output="label.LabelOutput",
        shown=("accuracy", "macro_f1", "loss"),
        new="image labels",
    ),
    "film-classification": TaskKind(
        ("films",),
        {"model": "lstm", "objective": "labels"},
        verbs=("classify",),
        input="film.FilmInput",
        output="label.LabelOutput",
        shown=("accuracy", "macro_f1", "loss"),
        new="film labels",
    ),
    "film-tracking": TaskKind(
        ("films",),
        {"model": "lstm", "objective": "places"},
        verbs=("track",),
        input="film.FilmInput",
        output="places.PlacesOutput",
        shown=("place_error", "within_half", "loss"),
        new="film places",
    ),
    "image-captioning": TaskKind(
        ("captioned-images", "scenes"),
        {"model": "captioner", "objective": "next-token"},
        verbs=("caption",),
        input="captioned_image.CaptionedImageInput",
        output="caption.CaptionOutput",
        shown=("cider", "bleu_4", "rouge_l", "exact"),
        new="captions",
    ),
    "forecasting": TaskKind(
        ("series",),
        {"input": "standard", "model": "lstm", "objective": "forecast"},
        verbs=("forecast",),
        input="series.SeriesInput",
        output="values.ValuesOutput",
        shown=("mse", "mae", "mase"),
        new="series",
    ),
    "vector-to-text": TaskKind(
        ("described",),
        {"model": "lstm", "objective": "next-token"},
        verbs=("describe",),
        input="vector.VectorInput",
        output="description.DescriptionOutput",
        new="described",
    ),
}
TOKENIZERS = ("bpe", "unigram", "wordpiece", "words", "whitespace", "characters")
SCALINGS = ("standard", "none")


def _part(room: str, name: str, task: str) -> Kind:
    """An input or an output, by the class that says how it is set."""
    file, thing = name.split(".")
    return Kind(f"seqwright.{room}.{file}", thing, f"{thing}.settings", task)


def _inputs(kinds: tuple[str, ...]) -> tuple[Kind, ...]:
    """The inputs of those tasks whose usual kind of input is one of these."""
    rows = ((task, row) for task, row in TASKS.items() if not row.like and row.usual.get("input", "") in kinds)
    return tuple(_part("inputs", row.input, task) for task, row in rows)


def _for(tasks: str, module: str, thing: str, settings: str = "", *, teaches: bool = False) -> tuple[Kind, ...]:
    """A class of the room of objectives for each of some tasks; its settings are called like it, if nothing is said."""
    place = f"seqwright.objectives.{module}"
    return tuple(Kind(place, thing, settings or f"{thing}Settings", task, teaches) for task in tasks.split())


LABELS = "text-classification token-classification series-classification image-classification film-classification"
KINDS: dict[str, dict[str, tuple[Kind, ...]]] = {
    "input": {name: _inputs(kinds) for kinds in (TOKENIZERS, SCALINGS, ("",)) for name in kinds},
    "output": {"": tuple(_part("outputs", row.output, task) for task, row in TASKS.items() if not row.like)},
    "model": {
        kind: tuple(Kind(m.module, m.thing, m.settings, m.task) for m in MODELS if m.kind == kind)
        for kind in dict.fromkeys(model.kind for model in MODELS)
    },
    "objective": {
        "next-token": _for("translation language-modeling vector-to-text image-captioning", "next_token", "NextToken"),
        "balanced-next-token": _for("translation language-modeling", "balanced_next_token", "BalancedNextToken"),
        "doubly-stochastic": _for("image-captioning", "doubly_stochastic", "DoublyStochastic"),
        "reinforce": _for("image-captioning", "reinforce", "Reinforce"),
        "answer-only": _for("instruction", "answer", "AnswerOnly"),
        "labels": _for(LABELS, "labels", "Labels"),
        "r-drop": _for(LABELS, "r_drop", "RDrop"),
        "labels-and-next-token": _for("text-classification", "labels_and_next_token", "LabelsAndNextToken"),
        "regression": _for("text-regression", "regression", "Regression"),
        "regression-and-next-token": _for(
            "text-regression", "labels_and_next_token", "LabelsAndNextToken", "RegressionAndNextTokenSettings"
        ),
        "masked-token": _for("masked-language-modeling", "masked_token", "MaskedToken"),
        "label-distillation": _for("text-classification", "distilled_labels", "DistilledLabels", teaches=True),
        "masked-token-distillation": _for(
            "masked-language-modeling", "distilled_tokens", "DistilledTokens", teaches=True
        ),
        "span": _for("question-answering", "span", "Span"),
        "forecast": _for("forecasting", "forecast", "Forecast"),
        "places": _for("film-tracking", "places", "Places"),
    },
    "training": {"": (Kind("seqwright.training.settings", "", "TrainingSettings"),)},
    "decoding": {"": (Kind("seqwright.decoding.settings", "", "DecodingSettings"),)},
}


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


def labelled_kinds(task: str) -> tuple[str, ...]:
    """The labelled examples that the model of a task reads, that of a user's files first: those that its input, or what
    that derives from, is classified with; otherwise texts.
    """
    read = _named("inputs", TASKS[family_of(task)].input)
    rows = (row for row in TASKS.values() if row.output == "label.LabelOutput")
    return next((row.examples for row in rows if issubclass(read, _named("inputs", row.input))), ("labelled",))


def distillation_of(task: str) -> str | None:
    """The objective by which a task is learnt from a teacher, if there is one."""
    return next((name for name, kind in kinds_of("objective", task).items() if kind.teaches), None)


def _named(room: str, name: str) -> Any:
    file, thing = name.split(".")
    return getattr(import_module(f"seqwright.{room}.{file}"), thing)


def tasks_for(examples: str) -> list[str]:
    """The tasks that read a kind of examples."""
    return [task for task, row in TASKS.items() if examples in row.examples]


def kinds_of(section: str, task: str) -> dict[str, Kind]:
    """The kinds that a section of a recipe for a task can choose from."""
    fitting = {"", family_of(task)}
    every = KINDS[section].items()
    return {name: kind for name, several in every for kind in several if kind.task in fitting}


def chosen(section: str, kind: Any, task: str) -> Kind:
    """The class that `kind` means in a section of a recipe for a task."""
    kinds = kinds_of(section, task)
    if "" in kinds:  # a section without kinds
        return kinds[""]
    name = kind if kind is not None else usual_kind(section, task)
    if not isinstance(name, str) or name not in kinds:
        known = f"there {'is' if len(kinds) == 1 else 'are'} {', '.join(kinds)}"
        purpose = f" for {task}" if isinstance(name, str) and name in KINDS[section] else ""
        setting = f"{section}.{selector(section, task)}"
        raise SettingError(f"there is no {setting} '{name}'{purpose}; {known}.{meant(str(name), kinds)}")
    return kinds[name]


def selector(section: str, task: str) -> str:
    """The key of a section that says which class is meant."""
    if section != "input":
        return "kind"
    return "scaling" if usual_kind(section, task) in SCALINGS else "tokenizer"


def usual_kind(section: str, task: str) -> str | None:
    """The kind where a recipe names none."""
    return TASKS[task].usual.get(section)


def settings_class(section: str, given: Mapping[str, Any], task: str) -> type[Settings]:
    """The class of the settings of a section of which something is given."""
    if section == "data":
        return _data_settings(given, task)
    kind = chosen(section, given.get(selector(section, task)), task)
    found: type[Settings] = kind.load(kind.settings)
    return found


def _data_settings(given: Mapping[str, Any], task: str) -> type[Settings]:
    """The class of the settings of data; a card must have examples that the task reads."""
    row = TASKS[task]
    if "card" in given and card(given["card"]).kind not in row.examples:
        kind = card(given["card"]).kind
        fitting = ", ".join(each.name for each in cards().values() if each.kind in row.examples)
        raise SettingError(
            f"{given['card']} has {READERS[kind].examples}, and {task} reads {READERS[row.examples[0]].examples}: "
            f"choose another card ({fitting}), or the task {' or '.join(tasks_for(kind))}"
        )
    return settings_of(given, row.examples[0])


def data_with(key: str, task: str) -> list[str]:
    """Which data for a task has a setting."""
    row = TASKS[task]
    owners = ["files of your own"] if key in READERS[row.examples[0]].settings.model_fields else []
    readable = [each for each in cards().values() if each.kind in row.examples]
    fitting = [each.name for each in readable if key in each.settings.model_fields]
    return [*owners, f"data.card {' or '.join(fitting)}"] if fitting else owners
