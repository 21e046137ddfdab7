"""The recipes that `new` writes: a commented text, and what of it depends on the user's data.

Which of them a task has stands in its row of `kinds.TASKS`.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.cli.fine_tuned_recipes import MODEL, SHARE, fitting_body, tuned_lines, tuned_values
from seqwright.data.cards import opened_data
from seqwright.data.first_look import text_and_label, time_and_values
from seqwright.data.labelled import with_labels
from seqwright.data.labelled_folders import LabelFolders
from seqwright.data.labels import class_counts, number_of
from seqwright.errors import DataError, UserError
from seqwright.kinds import TASKS
from seqwright.metrics.forecasts import season
from seqwright.recipe import validated

SMALL = 20_000  # pairs or texts: below, a small model or a small batch learns more from them
MOST_STEPS = 3000  # of a language model
STEP = 8192  # characters that a step of 2,048 pieces reads
WINDOWS = 64  # in a batch of a forecaster


class FirstLook(NamedTuple):
    """What was seen of the data: what stands in braces in a text, a sentence for the user, and warnings."""

    values: dict[str, Any]
    told: str
    remarks: list[str]


class RecipeTemplate(NamedTuple):
    """The recipe of a task, and how its data is looked at."""

    learnt: str  # the description, without the names of the files
    share: str  # of the data, to validate on and to test on
    text: str  # what stands below the first lines of [data]
    look: Callable[[Any, dict[str, Any]], FirstLook]  # given the data, opened, and its settings
    found: Callable[[Path, dict[str, Any]], dict[str, Any]] | None = (
        None  # settings of the data that a file itself tells
    )
    opened: Mapping[str, Any] = {}  # settings of the data to look at it with
    most: int = 1  # files
    tuned: str = ""  # in place of `text`, up to [model], where the model begins from another run
    metric: str = ""  # the last line: what chooses the best checkpoint


class FirstRecipe(NamedTuple):
    """The text of a recipe, the data settings to put into it, and what was seen of the data."""

    text: str
    data: dict[str, Any]
    seen: FirstLook
    lines: Mapping[str, str] = {}  # whole lines that stand in braces too
    reading: Mapping[str, Any] = {}  # settings of [input] that a run had which the model begins from


HEAD = """\
# Try it: {check}, then {train}
description = {description}
task = {task}

[data]
train = {files}{columns}
valid = {share:<19}# a share of the same data, or a file of its own
test = {share:<20}# held out until `seqwright eval`
"""


def first_recipe(task: str, files: list[Path], asked: dict[str, Any], begun: Path | None = None) -> FirstRecipe:
    """The recipe of a task for some files, of whose settings some are asked for; its model may begin from a run."""
    template = TEMPLATES[TASKS[task].new]
    if len(files) > template.most:
        most = "one file, or two line-aligned ones" if template.most == 2 else "it once"
        raise DataError(f"--data was given {len(files)} times; for {task} give {most}")
    found = template.found(files[0], asked) if template.found and files[0].exists() else {}
    paths = [path.as_posix() for path in files]
    data = {"train": paths[0] if len(paths) == 1 else paths, **found, **asked}
    share = template.share if begun is None else SHARE
    plain = {**dict.fromkeys(("valid", "test"), share), **data, **template.opened}
    try:
        opened = opened_data(validated("data", plain, task), TASKS[task].examples[0])
        seen = template.look(opened, data)
    except UserError as error:  # said by the names of our options
        said = str(error).replace("data.source", "--source").replace("data.target", "--target")
        raise type(error)(said) from error
    description = template.learnt + " and ".join(path.name for path in files)
    values = {"task": task, "description": description, "files": data["train"], "share": share, **seen.values}
    if begun is None:
        return FirstRecipe(HEAD + template.text + template.metric, data, seen._replace(values=values))
    body = fitting_body(task, plain, begun)
    values |= tuned_values(body, opened.examples("train"), begun)
    text = HEAD + template.tuned + MODEL + template.metric
    return FirstRecipe(text, data, seen._replace(values=values), tuned_lines(body), body.reading)


def _pairs(pairs: Any, data: dict[str, Any]) -> FirstLook:
    some = list(islice(pairs.examples("train"), SMALL))
    values = {"vocabulary": 4000 if len(some) < SMALL else 8000, "steps": max(1000, len(some) // 2)}
    return FirstLook(values, f"the first pair reads:\n  {some[0].source}\n  {some[0].target}", pairs.remarks())


PAIRS = """
[input]
tokenizer = "bpe"          # or unigram, wordpiece, words, characters
vocabulary = {vocabulary}          # at most; shared by both sides
bpe_dropout = 0.1          # resamples the segmentation each epoch: helps small data

[model]
size = "tiny"              # or base, big; every size setting can be given here
dropout = 0.2              # less if there is much data

[training]
steps = {steps}
tokens = 2048              # a batch; halve it if memory is short
schedule = "inverse-sqrt"
rate = 0.002
warmup = 400
"""


def _running_text(data: Any, asked: dict[str, Any]) -> FirstLook:
    texts = data.examples("train")
    first, size = next(texts), 0
    for text in texts:
        size += len(text)
        if size > MOST_STEPS * STEP:
            break
    steps = min(MOST_STEPS, max(200, 20 * size // STEP))  # some twenty epochs of a small text
    return FirstLook({"steps": steps, "validate_every": steps // 10}, f"the first line reads:\n  {first}", [])


DOCUMENTS = 'documents = "lines"        # or paragraphs, files\n'
RUNNING_TEXT = """
[input]
tokenizer = "bpe"          # or unigram, wordpiece, words, characters
vocabulary = 4000          # at most
rows = "stream"            # or documents: every document is read on its own
[model]
kind = "lstm"              # or gru, ugrnn, rnn, mlp, ngram
width = 256
[objective]
label_smoothing = 0.0
[training]
steps = {steps:<19}# updates
validate_every = {validate_every}
tokens = 2048              # a batch; halve it if memory is short
schedule = "cosine"
rate = 0.003
"""


def _columns(path: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """The columns of a table with a text and a label; a folder for each label has none."""
    return {} if LabelFolders.fits(path) else dict(text_and_label(path))


def _few(count: int) -> dict[str, Any]:
    """How long so many texts are learnt from, and how many of them at once."""
    return {"epochs": min(40, max(4, 40_000 // count)), "tokens": 512 if count < SMALL else 4096}


def _labelled(labelled: Any, data: dict[str, Any]) -> FirstLook:
    labels = class_counts(example.label for example in with_labels(labelled.examples("train")))
    first = next(with_labels(labelled.examples("train")))
    told = f"{sum(labels.values()):,} texts to train on ({_counts(labels)}), the first is '{first.label}'"
    return FirstLook(_few(sum(labels.values())), f"{_named(data)}{told}:\n  {_short(first.text)}", labelled.remarks())


def _with_values(labelled: Any, data: dict[str, Any]) -> FirstLook:
    examples = list(with_labels(labelled.examples("train")))
    if not examples:
        raise DataError(
            f"no row of {data['train']} has both a text and a value; name its columns with data.text and data.label"
        )
    values = [number_of(example.label, where=f"'{_short(example.text)}'") for example in examples]
    told = f"{len(values):,} texts to train on with values from {min(values):g} to {max(values):g}, the first has"
    first = f"{values[0]:g}:\n  {_short(examples[0].text)}"
    return FirstLook(_few(len(values)), f"{_named(data)}{told} {first}", labelled.remarks())


TEXTS = """
[input]
tokenizer = "words"        # or characters; bpe where words have many forms or no spaces between them
vocabulary = 10000         # at most
lowercase = true
longest = 400              # tokens of a text that are read, half of them from its end

[model]
kind = "lstm"              # or gru, ugrnn, rnn; it reads in both directions
width = 64
embedding = 64

[training]
epochs = {epochs}
tokens = {tokens:<18}# a batch; small ones learn more from few texts
schedule = "cosine"
rate = 0.003
validate_every = 100
"""
BY_LABEL = 'metric = "accuracy"        # chooses the best checkpoint; macro_f1 where a label is rare\n'
BY_NUMBER = 'metric = "pearson"         # chooses the best checkpoint; or spearman, mse\n'


def _labelled_series(series: Any, data: dict[str, Any]) -> FirstLook:
    examples = [example for example in series.examples("train") if len(example.values_TC)]
    labels = class_counts(example.label for example in examples if example.label)
    length = max(len(example.values_TC) for example in examples)
    batch = 16 if len(examples) < SMALL else 64
    values = {"epochs": min(200, max(4, 20_000 // len(examples))), "tokens": batch * length}
    channels = examples[0].values_TC.shape[1]
    several = f"{channels} channel{'s' if channels > 1 else ''}, up to {length:,} steps long"
    return FirstLook(values, f"{len(examples):,} series to train on ({_counts(labels)}), {several}", series.remarks())


LABELLED_SERIES = """
[model]
kind = "gru"               # or lstm, ugrnn, rnn; it reads in both directions
width = 64
embedding = 32
dropout = 0.2
embedding_dropout = 0.0
word_dropout = 0.0
pooling = "mean"           # or max, last

[training]
epochs = {epochs}
tokens = {tokens:<18}# steps of all series of a batch; small ones learn more from few series
schedule = "cosine"
rate = 0.003
validate_every = 50
"""


def _questions(table: Any, data: dict[str, Any]) -> FirstLook:
    some = list(table.examples("train"))
    silent, lost = sum(not each.answers for each in some), sum(each.lost for each in some)
    told = f"{len(some):,} questions to train on, {silent:,} without an answer; the first is:\n  "
    told += f"{_short(some[0].question)}\n  {_short(' / '.join(some[0].texts)) or '(no answer)'}"
    remark = f"of {lost:,} questions no answer stands in the context: they count in evaluation, not in training"
    return FirstLook({"epochs": min(20, max(2, 20_000 // len(some)))}, told, [remark] if lost else [])


WINDOWED = """
[input]
longest = 256              # tokens that are read at once: the question and a window of its context
stride = 160               # so much further on begins the next window of a longer context

[output]
longest_answer = 30        # most tokens of an answer
"""
QUESTIONS = """
[model]
kind = "bert"
# weights = "runs/BERT"    # a pretrained one, as `seqwright import` makes it: without it little is learnt from a few
                           # thousand questions

[training]
epochs = {epochs}
tokens = 4096              # a batch; halve it if memory is short
optimizer = "adamw"
schedule = "linear"
rate = 1e-4
clip = 1.0
validate_every = 200
"""
BY_F1 = 'metric = "f1"              # chooses the best checkpoint\n'


def _measured(path: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """The column that says when, and those with numbers."""
    found = time_and_values(path)
    if "columns" in found:
        found["columns"] = [column for column in found["columns"] if column != asked.get("time")]
    return found


def _series(table: Any, data: dict[str, Any]) -> FirstLook:
    series, ending = table.series("train"), table.ending()
    rows = sum(map(len, series))
    period = season(series, min(168, rows // 4))  # a week of hours at most
    period = period if 20 * period <= rows else 1  # seen too seldom, or nothing repeats itself
    history = data.get("history", max(min(96, max(8, rows // 20)), 2 * period))
    values = {
        "history": history,
        "horizon": period if period > 1 else min(24, max(1, rows // 100)),
        "epochs": min(100, max(10, 100_000 // rows)),
        "tokens": WINDOWS * history * len(ending.columns),
    }
    step = f", {ending.rhythm.step} apart by '{ending.time}'" if ending.rhythm else ""
    step += f", much the same every {period} rows" if period > 1 else ""
    return FirstLook(
        values, f"{rows:,} rows to train on{step}; to forecast: {', '.join(ending.columns)}", table.remarks()
    )


SERIES = """\
history = {history:<17}# steps a forecast looks back; let them cover what repeats itself, as a day of hours
horizon = {horizon:<17}# steps it predicts at once

[input]
scaling = "standard"       # each column less its mean, over its deviation; or none

[model]
kind = "dense"             # one linear layer, quick and a strong baseline; or least-squares, mlp, rnn, ugrnn, gru, lstm

[training]
epochs = {epochs}
tokens = {tokens:<18}# a batch, in values of the past
schedule = "cosine"
rate = 0.003
validate_every = 100
patience = 10              # validations without a better one, and it stops
"""

TEMPLATES = {
    "pairs": RecipeTemplate("Learnt from ", "5%", PAIRS, _pairs, most=2),
    "text": RecipeTemplate("A language model of ", "5%", DOCUMENTS + RUNNING_TEXT, _running_text, tuned=DOCUMENTS),
    "labels": RecipeTemplate("Labels learnt from ", "10%", TEXTS, _labelled, _columns, metric=BY_LABEL),
    "values": RecipeTemplate("Values learnt from ", "10%", TEXTS, _with_values, _columns, metric=BY_NUMBER),
    "series labels": RecipeTemplate(
        "Labels of series learnt from ", "20%", LABELLED_SERIES, _labelled_series, metric=BY_LABEL
    ),
    "questions": RecipeTemplate(
        "Questions learnt from ", "10%", WINDOWED + QUESTIONS, _questions, tuned=WINDOWED, metric=BY_F1
    ),
    "series": RecipeTemplate(
        "A forecast of ", "10%", SERIES, _series, _measured, {"history": 2, "horizon": 1}, most=99
    ),
}


def _counts(labels: dict[str, int]) -> str:
    some = ", ".join(f"{label} {count:,}" for label, count in islice(labels.items(), 10))
    return f"{some}, …" if len(labels) > 10 else some


def _named(data: dict[str, Any]) -> str:
    """The columns that were found."""
    return "".join(f"{name}: {data[name]}; " for name in ("text", "text_pair", "label") if name in data)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:99]}…"
