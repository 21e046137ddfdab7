"""`classify`: texts or pairs of them in, labels and probabilities or ratings out; and pictures of how good they are."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import say, shown
from seqwright.cli.translating import some_lines
from seqwright.data.files import require_file
from seqwright.errors import DataError, SettingError
from seqwright.inputs.labelled_text import LabelledText
from seqwright.inputs.rated_text import RatedText
from seqwright.metrics.labels import confusion
from seqwright.pictures import save
from seqwright.pictures.confusion import confusion_table
from seqwright.pictures.ratings import rating_cloud
from seqwright.runs import Run
from seqwright.tasks import Evaluation
from seqwright.tasks.classifier import Classification, Classifier
from seqwright.tasks.labelled_rows import read_texts
from seqwright.tasks.rater import Rater


def classify_texts(
    folder: Path, texts: list[str], seconds: list[str], file: Path | None, *, top: int, as_json: bool, which: str
) -> None:
    """Print, for each text or pair of texts, its likeliest labels with their probabilities, or its rating."""
    if texts and file is not None:
        raise DataError("there are both texts and --file; give one of them")
    if top < 1:
        raise SettingError(f"--top is {top}; ask for one label or more")
    if file is not None and file != Path("-"):
        require_file(file)
    run = opened_for("classify", folder, which)
    texts = _with_seconds(run, texts, seconds, file)
    said = _rater(run, top, as_json=as_json) if run.recipe.task == "rating" else _classifier(run, top, as_json=as_json)
    unknown: Counter[str] = Counter()
    row = 0
    for block in _blocks([] if texts == ["-"] else texts, None if file == Path("-") else file):
        some, others = parted(block, row) if run.inputs.pairs else (block, None)
        unknown += run.inputs.tokenizer.unknown_characters([*some, *(others or [])])
        _tell_of_long(run.inputs, some, others, row)
        for line in said(some, others):
            print(line)
        sys.stdout.flush()
        row += len(some)
    if unknown:
        most = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(8))
        say(f"the vocabulary lacks {most}{' …' if len(unknown) > 8 else ''}: the model cannot read them")


Said = Callable[[list[str], list[str] | None], Iterator[str]]


def _classifier(run: Run, top: int, *, as_json: bool) -> Said:
    classifier = Classifier(run.model, run.inputs)

    def said(some: list[str], others: list[str] | None) -> Iterator[str]:
        for read, found in zip(read_texts(some, others), classifier(some, others), strict=True):
            yield _line(read, found, top, as_json=as_json)

    return said


def _rater(run: Run, top: int, *, as_json: bool) -> Said:
    if top > 1:
        raise SettingError(f"--top is {top}, but {shown(run.folder)} says one number of each text; leave it out")
    rater = Rater(run.model, run.inputs)

    def said(some: list[str], others: list[str] | None) -> Iterator[str]:
        for read, rating in zip(read_texts(some, others), rater(some, others), strict=True):
            number = None if rating is None else round(rating, 4)
            plain = "" if number is None else f"{number:.4f}"
            yield json.dumps({**read, "rating": number}, ensure_ascii=False) if as_json else plain

    return said


def parted(block: list[str], row: int = 0) -> tuple[list[str], list[str]]:
    """The two texts of each line, which a tab stands between; an empty line is two blank texts."""
    some, others = [], []
    for number, line in enumerate(block, start=row + 1):
        first, tab, second = line.partition("\t")
        if not tab and line.strip():
            raise DataError(
                f"text {number} is a single one, '{_short(line)}', but the run learnt pairs: put a tab between its two "
                "texts, or give the second with --second"
            )
        some.append(first)
        others.append(second)
    return some, others


def _with_seconds(run: Run, texts: list[str], seconds: list[str], file: Path | None) -> list[str]:
    """The texts, each with its second one behind a tab."""
    if not seconds:
        return texts
    if not run.inputs.pairs:
        raise SettingError(f"{shown(run.folder)} learnt single texts; leave --second out")
    if file is not None or len(seconds) != len(texts):
        raise DataError(
            f"there are {len(texts)} texts and {len(seconds)} times --second; give one for each text, or pairs in a "
            "file with a tab between the two"
        )
    return [f"{text}\t{second}" for text, second in zip(texts, seconds, strict=True)]


def draw_confusion(result: Evaluation, inputs: LabelledText, stem: Path) -> list[Path]:
    """Which label was taken for which in an evaluation, as PNG and SVG."""
    labels, answers = inputs.labels, result.answers
    numbers = {label: number for number, label in enumerate(labels)}
    said, true = ([numbers[answer[key]] for answer in answers] for key in ("predicted", "label"))
    return save(confusion_table(confusion(said, true, classes=len(labels)), labels), stem)


def draw_ratings(result: Evaluation, stem: Path) -> list[Path]:
    """What was said of each text beside its rating, as PNG and SVG."""
    said, true = ([answer[key] for answer in result.answers] for key in ("predicted", "rating"))
    return save(rating_cloud(said, true), stem)


def _blocks(texts: list[str], file: Path | None) -> Iterator[list[str]]:
    """The texts as they are, though they have several lines; of a file or of standard input each line is one."""
    return iter([texts]) if texts else some_lines([], file)


def _tell_of_long(inputs: LabelledText | RatedText, some: list[str], others: list[str] | None, row: int) -> None:
    lengths = [len(ids) for ids in inputs.tokenizer.encode(some)]
    if others is not None:
        lengths = [one + len(ids) for one, ids in zip(lengths, inputs.tokenizer.encode(others), strict=True)]
    for number, length in enumerate(lengths, start=row + 1):
        if length > inputs.longest:
            part = inputs.left_out
            say(f"text {number} has {length:,} tokens; the model reads {inputs.longest:,}, the {part} is left out")


def _line(read: dict[str, str], found: Classification, top: int, *, as_json: bool) -> str:
    best = list(found.probabilities.items())[:top]
    if as_json:
        fields: dict[str, Any] = {**read, "label": found.label or None, "probability": found.probability}
        return json.dumps({**fields, "probabilities": dict(best)}, ensure_ascii=False)
    return "\t".join(f"{label}\t{probability:.4f}" for label, probability in best)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
