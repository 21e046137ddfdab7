"""The recipes that `new` writes: a commented text, and what of it depends on the user's data.

Which of them a task has stands in its row of `kinds.TASKS`.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.cli.film_recipes import seen_of_films
from seqwright.cli.fine_tuned_recipes import MODEL, SHARE, fitting_body, tuned_lines, tuned_values
from seqwright.cli.recipe_texts import (
    ANSWERS,
    BY_CIDER,
    BY_F1,
    BY_LABEL,
    BY_NUMBER,
    BY_PLACE,
    BY_TAGS,
    CAPTIONS,
    DESCRIBED,
    DOCUMENTS,
    FILMS,
    FRAMES,
    HEAD,
    IMAGES,
    LABELLED_SERIES,
    MASKED,
    PAIRS,
    PIXELS,
    PROMPTS,
    PRONUNCIATIONS,
    QUESTIONS,
    RUNNING_TEXT,
    SEEN,
    SERIES,
    STEPS,
    TAGS,
    TEXTS,
    WINDOWED,
)
from seqwright.data.cards import opened_data
from seqwright.data.decimals import is_missing
from seqwright.data.decoded_images import UnreadableImageError
from seqwright.data.first_look import (
    LOOKED_AT,
    NOTHING,
    Guess,
    text_and_given,
    text_and_label,
    time_and_values,
    two_sides,
)
from seqwright.data.labelled import with_labels
from seqwright.data.labelled_folders import LabelFolders
from seqwright.data.labels import class_counts, numbers_of
from seqwright.errors import DataError, UserError
from seqwright.kinds import TASKS
from seqwright.metrics.forecasts import season
from seqwright.recipe import validated
from seqwright.runs import open_run
from seqwright.setting_classes import Settings

SMALL = 20_000  # pairs or texts: below, a small model or a small batch learns more from them
MOST_STEPS = 3000  # of a language model
STEP = 8192  # characters that a step of 2,048 pieces reads
WINDOWS = 64  # in a batch of a forecaster
LARGEST_SIZE = 64  # of images that a first model reads
IMAGES_AT_ONCE = 64  # in a batch
WORDS_AT_ONCE = 1024  # of captions
NAME = 40  # characters: shorter texts are written letter by letter


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
    found: Callable[[Path, dict[str, Any]], Guess] | None = None  # settings of the data that a file itself tells
    opened: Mapping[str, Any] = {}  # settings of the data to look at it with; a model keeps those of its run
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


def first_recipe(task: str, files: list[Path], asked: dict[str, Any], begun: Path | None = None) -> FirstRecipe:
    """The recipe of a task for some files, of whose settings some are asked for; its model may begin from a run."""
    template = TEMPLATES[TASKS[task].new]
    if len(files) > template.most:
        most = "one file, or two line-aligned ones" if template.most == 2 else "it once"
        raise DataError(f"--data was given {len(files)} times; for {task} give {most}")
    guess = template.found(files[0], asked) if template.found and files[0].exists() else NOTHING
    paths = [path.as_posix() for path in files]
    run = None if begun is None else open_run(begun)
    theirs = None if run is None else run.recipe.data
    kept = template.opened.keys() & type(theirs).model_fields if isinstance(theirs, Settings) else ()
    known = {name: getattr(theirs, name) for name in kept}
    data = {"train": paths[0] if len(paths) == 1 else paths, **guess.settings, **known, **asked}
    data = {name: value for name, value in data.items() if value is not None}  # None: not to be guessed
    share = template.share if begun is None else SHARE
    plain = {**dict.fromkeys(("valid", "test"), share), **data, **template.opened}
    try:
        opened = opened_data(validated("data", plain, task), TASKS[task].examples[0])
        seen = template.look(opened, data)
        seen = seen._replace(remarks=[*guess.remarks, *seen.remarks])
    except UserError as error:  # said by the names of our options
        said = str(error).replace("data.source", "--source").replace("data.target", "--target")
        raise type(error)(said) from error
    description = template.learnt + " and ".join(path.name for path in files)
    values = {"task": task, "description": description, "files": data["train"], "share": share, **seen.values}
    if run is None or begun is None:
        return FirstRecipe(HEAD + template.text + template.metric, data, seen._replace(values=values))
    body = fitting_body(task, {**plain, **data}, run, begun)
    values |= tuned_values(body, opened.examples("train"), begun)
    text = HEAD + template.tuned + MODEL + template.metric
    return FirstRecipe(text, data, seen._replace(values=values), tuned_lines(body), body.reading)


def _pairs(pairs: Any, data: dict[str, Any]) -> FirstLook:
    some = list(islice(pairs.examples("train"), SMALL))
    values = {"vocabulary": 4000 if len(some) < SMALL else 8000, "steps": max(1000, len(some) // 2)}
    return FirstLook(values, f"the first pair reads:\n  {some[0].source}\n  {some[0].target}", pairs.remarks())


def _running_text(data: Any, asked: dict[str, Any]) -> FirstLook:
    texts = data.examples("train")
    first, size = next(texts), 0
    for text in texts:
        size += len(text)
        if size > MOST_STEPS * STEP:
            break
    steps = min(MOST_STEPS, max(200, 20 * size // STEP))  # some twenty epochs of a small text
    return FirstLook({"steps": steps, "validate_every": steps // 10}, f"the first line reads:\n  {first}", [])


def _columns(path: Path, asked: dict[str, Any], *, numbers: bool = False) -> Guess:
    """The columns of a table with a text and a label; a folder for each label has none."""
    return NOTHING if LabelFolders.fits(path) else text_and_label(path, asked, numbers=numbers)


def _few(count: int) -> dict[str, Any]:
    """How long so many texts are learnt from, and how many of them at once."""
    return {"epochs": min(40, max(4, 40_000 // count)), "tokens": 512 if count < SMALL else 4096}


def _labelled(labelled: Any, data: dict[str, Any]) -> FirstLook:
    labels = class_counts(example.label for example in with_labels(labelled.examples("train")))
    first = next(with_labels(labelled.examples("train")))
    told = f"{sum(labels.values()):,} texts to train on ({_counts(labels)}), the first is '{first.label}'"
    return FirstLook(_few(sum(labels.values())), f"{_named(data)}{told}:\n  {_short(first.text)}", labelled.remarks())


def _with_values(labelled: Any, data: dict[str, Any]) -> FirstLook:
    examples = [each for each in with_labels(labelled.examples("train")) if not is_missing(each.label)]
    if not examples:
        raise DataError(
            f"no row of {data['train']} has both a text and a value; name its columns with data.text and data.label"
        )
    values = numbers_of((f"'{_short(example.text)}'", example.label) for example in examples)
    told = f"{len(values):,} texts to train on with values from {min(values):g} to {max(values):g}, the first has"
    first = f"{values[0]:g}:\n  {_short(examples[0].text)}"
    return FirstLook(_few(len(values)), f"{_named(data)}{told} {first}", labelled.remarks())


def _labelled_series(series: Any, data: dict[str, Any]) -> FirstLook:
    examples = [example for example in series.examples("train") if len(example.values_TC)]
    labels = class_counts(example.label for example in examples if example.label)
    length = max(len(example.values_TC) for example in examples)
    batch = 16 if len(examples) < SMALL else 64
    values = {"epochs": min(200, max(4, 20_000 // len(examples))), "tokens": batch * length}
    channels = examples[0].values_TC.shape[1]
    several = f"{channels} channel{'s' if channels > 1 else ''}, up to {length:,} steps long"
    return FirstLook(values, f"{len(examples):,} series to train on ({_counts(labels)}), {several}", series.remarks())


def _labelled_images(images: Any, data: dict[str, Any]) -> FirstLook:
    labels = class_counts(example.label for example in images.examples("train") if example.label)
    count = sum(labels.values())
    size, each, remarks = _sizes(images, count)
    values = {
        "size": size,
        "stages": 3 if size <= 32 else 4,
        "epochs": min(100, max(5, 100_000 // count)),
        "tokens": IMAGES_AT_ONCE,
    }
    told = f"{count:,} images to train on ({_counts(labels)}), of {each} pixels"
    return FirstLook(values, told, [*images.remarks(), *remarks])


def _sizes(images: Any, count: int) -> tuple[int, str, list[str]]:
    """A size for a first model, the sizes of some of so many images in words, and the first that cannot be read."""
    sides, unread = [], list[str]()
    for example in islice(images.examples("train"), 0, None, -(-count // LOOKED_AT)):  # those of a label lie together
        try:
            sides.append(example.pixels_YXC.shape[:2])
        except UnreadableImageError as error:
            unread.append(str(error))
    if not sides:
        raise DataError(f"none of {len(unread):,} images can be read; the first: {unread[0]}")
    few, many = min(sides), max(sides)
    size = min(LARGEST_SIZE, max(8, 8 * round(sorted(map(min, sides))[len(sides) // 2] / 8)))
    each = f"{few[0]} × {few[1]}" if few == many else f"{few[0]} × {few[1]} to {many[0]} × {many[1]}"
    return size, each, unread[:1]


def _captioned(images: Any, data: dict[str, Any]) -> FirstLook:
    captions = [example.captions for example in images.examples("train")]
    known = [each for each in captions if each]
    if not known:
        raise DataError(f"no image of {data['train']} has a caption; name the column with data.caption")
    size, each, remarks = _sizes(images, len(captions))
    count = sum(map(len, known))
    values = {
        "size": size,
        "stages": 3 if size <= 32 else 4,
        "min_frequency": min(5, 1 + count // 5_000),
        "epochs": min(60, max(8, 100_000 // len(captions))),
        "tokens": WORDS_AT_ONCE,
    }
    told = f"{len(captions):,} images to train on, of {each} pixels, with {count:,} captions; the first is:\n  "
    remarks += [f"images without a caption: {len(captions) - len(known):,}"] if len(known) < len(captions) else []
    return FirstLook(values, told + _short(known[0][0]), [*images.remarks(), *remarks])


def _labelled_films(films: Any, data: dict[str, Any]) -> FirstLook:
    labels = class_counts(example.label for example in films.examples("train") if example.label)
    return FirstLook(*seen_of_films(films, sum(labels.values()), f"({_counts(labels)})"))


def _tracked_films(films: Any, data: dict[str, Any]) -> FirstLook:
    count = sum(1 for example in films.examples("train") if example.places)
    if not count:
        raise DataError(f"no film of {data['train']} has places; name their column with data.places")
    return FirstLook(*seen_of_films(films, count, "with places"))


def _questions(table: Any, data: dict[str, Any]) -> FirstLook:
    some = list(table.examples("train"))
    silent, lost = sum(not each.answers for each in some), sum(each.lost for each in some)
    told = f"{len(some):,} questions to train on, {silent:,} without an answer; the first is:\n  "
    told += f"{_short(some[0].question)}\n  {_short(' / '.join(some[0].texts)) or '(no answer)'}"
    remark = f"of {lost:,} questions no answer stands in the context: they count in evaluation, not in training"
    return FirstLook({"epochs": min(20, max(2, 20_000 // len(some)))}, told, [remark] if lost else [])


def _measured(path: Path, asked: dict[str, Any]) -> Guess:
    """The column that says when, and those with numbers."""
    settings, remarks = time_and_values(path, asked)
    if "columns" in settings:
        settings["columns"] = [column for column in settings["columns"] if column != asked.get("time")]
    return Guess(settings, remarks)


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


def _tagged(tagged: Any, data: dict[str, Any]) -> FirstLook:
    sentences = list(islice(tagged.examples("train"), SMALL))
    tags = Counter(tag for sentence in sentences for tag in sentence.tags)
    marks = any(tag.startswith(("B-", "S-")) for tag in tags)
    values = {**_few(len(sentences)), "metric": "f1" if marks else "accuracy"}
    first = " ".join(f"{word}/{tag}" for word, tag in zip(sentences[0].words, sentences[0].tags, strict=True))
    told = f"{len(sentences):,} sentences to train on, tags {_counts(dict(tags.most_common()))}; the first is:\n  "
    return FirstLook(values, told + _short(first), tagged.remarks())


def _pronunciations(words: Any, data: dict[str, Any]) -> FirstLook:
    some = list(islice(words.examples("train"), SMALL))
    epochs = min(60, max(8, 200_000 // len(some)))
    return FirstLook({"epochs": epochs}, f"the first word is:\n  {some[0].source}  {some[0].target}", words.remarks())


def _prompts(pairs: Any, data: dict[str, Any]) -> FirstLook:
    some = list(islice(pairs.examples("train"), SMALL))
    told = (
        f"{_named(data)}the first prompt and its answer read:\n  {_short(some[0].source)}\n  {_short(some[0].target)}"
    )
    values = {"vocabulary": 4000 if len(some) < SMALL else 8000, "epochs": min(20, max(3, 20_000 // len(some)))}
    return FirstLook(values, told, pairs.remarks())


def _described(described: Any, data: dict[str, Any]) -> FirstLook:
    some = list(islice(described.examples("train"), SMALL))
    length = sum(len(each.target) for each in some) / len(some)
    values = {"tokenizer": "characters" if length < NAME else "bpe", "epochs": min(60, max(4, 40_000 // len(some)))}
    told = f"{_named(data)}from '{_short(some[0].source)}' the first text is to be written:\n  {_short(some[0].target)}"
    return FirstLook(values, told, described.remarks())


TEMPLATES = {
    "pairs": RecipeTemplate("Learnt from ", "5%", PAIRS, _pairs, most=2),
    "summaries": RecipeTemplate("Learnt from ", "5%", PAIRS, _pairs, two_sides, most=2),
    "prompts": RecipeTemplate(
        "Answers learnt from ", "5%", PROMPTS + ANSWERS, _prompts, two_sides, most=2, tuned=PROMPTS
    ),
    "pronunciations": RecipeTemplate("Pronunciations learnt from ", "5%", PRONUNCIATIONS, _pronunciations),
    "masked text": RecipeTemplate("A BERT of ", "5%", DOCUMENTS + MASKED, _running_text, tuned=DOCUMENTS),
    "tags": RecipeTemplate("Tags learnt from ", "10%", TAGS, _tagged, metric=BY_TAGS),
    "described": RecipeTemplate("Texts learnt from ", "10%", DESCRIBED, _described, text_and_given),
    "text": RecipeTemplate("A language model of ", "5%", DOCUMENTS + RUNNING_TEXT, _running_text, tuned=DOCUMENTS),
    "labels": RecipeTemplate("Labels learnt from ", "10%", TEXTS, _labelled, _columns, metric=BY_LABEL),
    "values": RecipeTemplate(
        "Values learnt from ", "10%", TEXTS, _with_values, partial(_columns, numbers=True), metric=BY_NUMBER
    ),
    "series labels": RecipeTemplate(
        "Labels of series learnt from ", "20%", LABELLED_SERIES, _labelled_series, metric=BY_LABEL
    ),
    "image labels": RecipeTemplate(
        "Labels of images learnt from ", "10%", PIXELS + IMAGES, _labelled_images, tuned=PIXELS, metric=BY_LABEL
    ),
    "film labels": RecipeTemplate(
        "Labels of films learnt from ", "10%", FRAMES + FILMS, _labelled_films, metric=BY_LABEL
    ),
    "film places": RecipeTemplate(
        "Places in films learnt from ", "10%", FRAMES + FILMS, _tracked_films, metric=BY_PLACE
    ),
    "captions": RecipeTemplate(
        "Captions learnt from ", "10%", SEEN + CAPTIONS, _captioned, tuned=SEEN, metric=BY_CIDER
    ),
    "questions": RecipeTemplate(
        "Questions learnt from ", "10%", WINDOWED + QUESTIONS, _questions, tuned=WINDOWED, metric=BY_F1
    ),
    "series": RecipeTemplate(
        "A forecast of ",
        "10%",
        STEPS + SERIES,
        _series,
        _measured,
        {"history": 2, "horizon": 1},
        most=99,
        tuned=STEPS,
    ),
}


def _counts(labels: dict[str, int]) -> str:
    some = ", ".join(f"{label} {count:,}" for label, count in islice(labels.items(), 10))
    return f"{some}, …" if len(labels) > 10 else some


def _named(data: dict[str, Any]) -> str:
    """The columns that were found."""
    return "".join(
        f"{name}: {data[name]}; "
        for name in ("source", "target", "text", "text_pair", "label", "columns")
        if name in data
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:99]}…"
