"""The recipes that `new` writes, task by task: a commented text, and what of it depends on the user's data."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.data.examples import Pair
from seqwright.data.first_look import text_and_label, time_and_values
from seqwright.data.labelled import LabelledFiles, usable
from seqwright.data.labelled_folders import LabelFolders
from seqwright.data.labelled_series import LabelledSeriesFiles
from seqwright.data.labels import class_counts, number_of
from seqwright.data.pairs import PairFiles
from seqwright.data.questions import QuestionFiles
from seqwright.data.series import SeriesFiles
from seqwright.data.text import TextFiles
from seqwright.errors import DataError, SettingError
from seqwright.metrics.forecasts import season
from seqwright.recipe import validated

SMALL = 20_000  # pairs or texts: below, a small model or a small batch learns more from them
WINDOWS = 64  # in a batch of a forecaster


class FirstRecipe(NamedTuple):
    """The text of a recipe, the data settings to put into it, and what the user should see of the data."""

    text: str
    values: dict[str, Any]  # what stands in the text in braces
    data: dict[str, Any]
    seen: str
    remarks: list[str]


TRANSLATION = """\
# Try it: {check}, then {train}
description = {description}

[data]
train = {files}{columns}
valid = "5%"               # a share of the same file, or a file of its own
test = "5%"                # held out until `seqwright eval`

[input]
tokenizer = "bpe"          # or unigram, wordpiece, words, characters
vocabulary = {vocabulary}          # at most; shared by both languages
bpe_dropout = 0.1          # segments words anew each epoch: helps small data

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


def translation(files: list[Path], asked: dict[str, Any]) -> FirstRecipe:
    """A Transformer for one table of pairs, or for two line-aligned files."""
    if len(files) > 2:
        raise DataError(f"--data was given {len(files)} times; give one file, or two line-aligned ones")
    paths = [path.as_posix() for path in files]
    data = {"train": paths[0] if len(paths) == 1 else paths, **asked}
    try:
        pairs = PairFiles(validated("data", data, "translation"))
        some: list[Pair] = list(islice(pairs.examples("train"), SMALL))
    except (DataError, SettingError) as error:  # said by the names of our options
        said = str(error).replace("data.source", "--source").replace("data.target", "--target")
        raise type(error)(said) from error
    values = {
        "description": "Translation learnt from " + " and ".join(path.name for path in files),
        "vocabulary": 4000 if len(some) < SMALL else 8000,
        "steps": max(1000, len(some) // 2),
    }
    seen = f"the first pair reads:\n  {some[0].source}\n  {some[0].target}"
    return FirstRecipe(TRANSLATION, values, data, seen, pairs.remarks())


MOST_STEPS = 3000
STEP = 8192  # characters that a step of 2,048 pieces reads

LANGUAGE = """\
# Try it: {check}, then {train}
description = {description}

[data]
kind = "text"
train = {files}{columns}
valid = "5%"               # a share of the same text, or a file of its own
test = "5%"                # held out until `seqwright eval`
documents = "lines"        # or paragraphs, files

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


def language(files: list[Path], asked: dict[str, Any]) -> FirstRecipe:
    """A recurrent language model of a text."""
    data = {"kind": "text", "train": _one(files, "a language model reads one text").as_posix(), **asked}
    texts = TextFiles(validated("data", data, "language-modeling")).examples("train")
    first = next(texts)
    size = 0
    for text in texts:
        size += len(text)
        if size > MOST_STEPS * STEP:
            break
    steps = min(MOST_STEPS, max(200, 20 * size // STEP))  # some twenty epochs of a small text
    values = {"description": f"A language model of {files[0].name}", "steps": steps, "validate_every": steps // 10}
    return FirstRecipe(LANGUAGE, values, data, f"the first line reads:\n  {first}", [])


CLASSIFICATION = """\
# Try it: {check}, then {train}
description = {description}

[data]
kind = "labelled"
train = {files}{columns}
valid = "10%"              # a share of the same data, or a file of its own
test = "10%"               # held out until `seqwright eval`

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
warmup = 50
validate_every = 100
metric = "accuracy"        # chooses the best checkpoint; macro_f1 where a label is rare
"""


def classification(files: list[Path], asked: dict[str, Any]) -> FirstRecipe:
    """A recurrent classifier for a table, or a folder for each label."""
    path = _one(files, "a classifier learns from one table or folder")
    found = {} if LabelFolders.fits(path) or not path.is_file() else text_and_label(path)
    data = {"kind": "labelled", "train": path.as_posix(), **found, **asked}
    held_out = dict.fromkeys(("valid", "test"), "10%")  # as the recipe below has it
    labelled = LabelledFiles(validated("data", {**held_out, **data}, "text-classification"))
    labels = class_counts(example.label for example in usable(labelled.examples("train")))
    texts, first = sum(labels.values()), next(usable(labelled.examples("train")))
    values = {
        "description": f"Labels learnt from {path.name}",
        "epochs": min(40, max(4, 40_000 // texts)),
        "tokens": 512 if texts < SMALL else 4096,
    }
    told = ", ".join(f"{label} {count:,}" for label, count in islice(labels.items(), 10))
    columns = "".join(f"{name}: {data[name]}; " for name in ("text", "second", "label") if name in data)
    seen = f"{texts:,} texts to train on ({told}{', …' if len(labels) > 10 else ''})"
    first_one = f"the first is '{first.label}':\n  {_short(first.text)}"
    return FirstRecipe(CLASSIFICATION, values, data, f"{columns}{seen}, {first_one}", labelled.remarks())


RATING = CLASSIFICATION.replace(
    "[training]", '[objective]\nkind = "regression"        # numbers in place of classes\n\n[training]'
).replace(
    'metric = "accuracy"        # chooses the best checkpoint; macro_f1 where a label is rare',
    'metric = "pearson"         # chooses the best checkpoint; or spearman, mse',
)


def rating(files: list[Path], asked: dict[str, Any]) -> FirstRecipe:
    """A recurrent network that rates the texts of a table."""
    path = _one(files, "ratings are learnt from one table")
    found = text_and_label(path) if path.is_file() else {}
    data = {"kind": "labelled", "train": path.as_posix(), **found, **asked}
    held_out = dict.fromkeys(("valid", "test"), "10%")  # as the recipe has it
    labelled = LabelledFiles(validated("data", {**held_out, **data}, "text-regression"))
    examples = list(usable(labelled.examples("train")))
    if not examples:
        raise DataError(f"no row of {path} has both a text and a value; name its columns with data.text and data.label")
    rated = [number_of(example.label, where=f"'{_short(example.text)}'") for example in examples]
    first = examples[0]
    values = {
        "description": f"Ratings learnt from {path.name}",
        "epochs": min(40, max(4, 40_000 // len(rated))),
        "tokens": 512 if len(rated) < SMALL else 4096,
    }
    columns = "".join(f"{name}: {data[name]}; " for name in ("text", "second", "label") if name in data)
    seen = f"{len(rated):,} texts to train on, rated from {min(rated):g} to {max(rated):g}"
    first_one = f"the first is rated {rated[0]:g}:\n  {_short(first.text)}"
    return FirstRecipe(RATING, values, data, f"{columns}{seen}, {first_one}", labelled.remarks())


SERIES_CLASSIFICATION = """\
# Try it: {check}, then {train}
description = {description}

[data]
kind = "labelled-series"
train = {files}{columns}
valid = "20%"              # a share of the same data, or a file of its own
test = "20%"               # held out until `seqwright eval`

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
warmup = 20
validate_every = 50
metric = "accuracy"        # chooses the best checkpoint; macro_f1 where a label is rare
"""


def series_classification(files: list[Path], asked: dict[str, Any]) -> FirstRecipe:
    """A recurrent classifier for a file of labelled series."""
    path = _one(files, "a classifier of series learns from one file")
    data = {"kind": "labelled-series", "train": path.as_posix(), **asked}
    held_out = dict.fromkeys(("valid", "test"), "20%")  # as the recipe has it
    series = LabelledSeriesFiles(validated("data", {**held_out, **data}, "series-classification"))
    examples = [example for example in series.examples("train") if len(example.values_TC)]
    labels = class_counts(example.label for example in examples if example.label)
    length = max(len(example.values_TC) for example in examples)
    values = {
        "description": f"Labels of series learnt from {path.name}",
        "epochs": min(200, max(4, 20_000 // len(examples))),
        "tokens": 16 * length if len(examples) < SMALL else 64 * length,
    }
    told = ", ".join(f"{label} {count:,}" for label, count in islice(labels.items(), 10))
    channels = examples[0].values_TC.shape[1]
    several = f"{channels} channel{'s' if channels > 1 else ''}"
    seen = f"{len(examples):,} series to train on ({told}{', …' if len(labels) > 10 else ''}), {several}"
    return FirstRecipe(SERIES_CLASSIFICATION, values, data, f"{seen}, up to {length:,} steps long", series.remarks())


QUESTIONS = """\
# Try it: {check}, then {train}
description = {description}

[data]
kind = "questions"
train = {files}{columns}
valid = "10%"              # a share of the contexts, or a file of its own
test = "10%"               # held out until `seqwright eval`

[input]
longest = 256              # tokens that are read at once: the question and a window of its context
stride = 160               # so much further on begins the next window of a longer context

[output]
longest_answer = 30        # most tokens of an answer

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
warmup = 50
clip = 1.0
validate_every = 200
metric = "f1"              # chooses the best checkpoint
"""


def questions(files: list[Path], asked: dict[str, Any]) -> FirstRecipe:
    """A BERT that finds answers in the contexts of a table, or of SQuAD's JSON."""
    path = _one(files, "questions are read from one file")
    data = {"kind": "questions", "train": path.as_posix(), **asked}
    held_out = dict.fromkeys(("valid", "test"), "10%")  # as the recipe has it
    table = QuestionFiles(validated("data", {**held_out, **data}, "question-answering"))
    some = list(table.examples("train"))
    values = {"description": f"Questions learnt from {path.name}", "epochs": min(20, max(2, 20_000 // len(some)))}
    silent, lost = sum(not each.answers for each in some), sum(each.lost for each in some)
    seen = f"{len(some):,} questions to train on, {silent:,} without an answer; the first is:\n  "
    seen += f"{_short(some[0].question)}\n  {_short(' / '.join(some[0].texts)) or '(no answer)'}"
    told = f"of {lost:,} questions no answer stands in the context: they are judged, not learnt from"
    return FirstRecipe(QUESTIONS, values, data, seen, [told] if lost else [])


FORECASTING = """\
# Try it: {check}, then {train}
description = {description}

[data]
kind = "series"
train = {files}{columns}
history = {history:<17}# steps a forecast looks back; let them cover what repeats itself, as a day of hours
horizon = {horizon:<17}# steps it says at once
valid = "10%"              # the rows before the test part
test = "10%"               # the last rows, held out until `seqwright eval`

[input]
scaling = "standard"       # each column less its mean, over its deviation; or none

[model]
kind = "dense"             # one linear layer, quick and hard to beat; or mlp, rnn, ugrnn, gru, lstm

[training]
epochs = {epochs}
tokens = {tokens:<18}# a batch, in values of the past
schedule = "cosine"
rate = 0.003
warmup = 50
validate_every = 100
patience = 10              # validations without a better one, and it stops
"""


def forecasting(files: list[Path], asked: dict[str, Any]) -> FirstRecipe:
    """A forecaster for a table of measurements, or for several with the same columns."""
    found = time_and_values(files[0]) if files[0].is_file() else {}
    if "columns" in found:
        found["columns"] = [column for column in found["columns"] if column != asked.get("time")]
    paths = [path.as_posix() for path in files]
    data = {"kind": "series", "train": paths[0] if len(paths) == 1 else paths, **found, **asked}
    table = SeriesFiles(validated("data", {**data, "history": 2, "horizon": 1}, "forecasting"))
    series, ending = table.series("train"), table.ending()
    rows = sum(map(len, series))
    period = season(series, min(168, rows // 4))  # a week of hours at most
    period = period if 20 * period <= rows else 1  # seen too seldom, or nothing repeats itself
    history = asked.get("history", max(min(96, max(8, rows // 20)), 2 * period))
    values = {
        "description": "A forecast of " + " and ".join(path.name for path in files),
        "history": history,
        "horizon": period if period > 1 else min(24, max(1, rows // 100)),
        "epochs": min(100, max(10, 100_000 // rows)),
        "tokens": WINDOWS * history * len(ending.columns),
    }
    step = f", {ending.rhythm.step} apart by '{ending.time}'" if ending.rhythm else ""
    step += f", much the same every {period} rows" if period > 1 else ""
    seen = f"{rows:,} rows to train on{step}; to forecast: {', '.join(ending.columns)}"
    return FirstRecipe(FORECASTING, values, data, seen, table.remarks())


FIRST_RECIPES: dict[str, Callable[[list[Path], dict[str, Any]], FirstRecipe]] = {
    "translation": translation,
    "language-modeling": language,
    "text-classification": classification,
    "text-regression": rating,
    "series-classification": series_classification,
    "question-answering": questions,
    "forecasting": forecasting,
}


def _one(files: list[Path], why: str) -> Path:
    if len(files) > 1:
        raise SettingError(f"{why}; give --data once")
    return files[0]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:99]}…"
