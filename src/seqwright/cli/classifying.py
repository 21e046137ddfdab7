"""`classify`: texts in, labels and probabilities out; and the picture of which label was taken for which."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import say
from seqwright.cli.translating import some_lines
from seqwright.data.files import require_file
from seqwright.errors import DataError, SettingError
from seqwright.inputs.labelled_text import LabelledText
from seqwright.metrics.labels import confusion
from seqwright.pictures import save
from seqwright.pictures.confusion import confusion_table
from seqwright.tasks import Evaluation
from seqwright.tasks.classifier import Classification, Classifier


def classify_texts(folder: Path, texts: list[str], file: Path | None, *, top: int, as_json: bool, which: str) -> None:
    """Print, for each text, its likeliest labels with their probabilities, a line each."""
    if texts and file is not None:
        raise DataError("there are both texts and --file; give one of them")
    if top < 1:
        raise SettingError(f"--top is {top}; ask for one label or more")
    if file is not None and file != Path("-"):
        require_file(file)
    run = opened_for("classify", folder, which)
    classifier = Classifier(run.model, run.inputs)
    unknown: Counter[str] = Counter()
    row = 0
    for some in _blocks([] if texts == ["-"] else texts, None if file == Path("-") else file):
        unknown += run.inputs.tokenizer.unknown_characters(some)
        _tell_of_long(run.inputs, some, row)
        for text, found in zip(some, classifier(some), strict=True):
            print(_line(text, found, top, as_json=as_json))
        sys.stdout.flush()
        row += len(some)
    if unknown:
        most = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(8))
        say(f"the vocabulary lacks {most}{' …' if len(unknown) > 8 else ''}: the model cannot read them")


def draw_confusion(result: Evaluation, inputs: LabelledText, stem: Path) -> list[Path]:
    """Which label was taken for which in an evaluation, as PNG and SVG."""
    labels, answers = inputs.labels, result.answers
    numbers = {label: number for number, label in enumerate(labels)}
    said, true = ([numbers[answer[key]] for answer in answers] for key in ("predicted", "label"))
    return save(confusion_table(confusion(said, true, classes=len(labels)), labels), stem)


def _blocks(texts: list[str], file: Path | None) -> Iterator[list[str]]:
    """The texts as they are, though they have several lines; of a file or of standard input each line is one."""
    return iter([texts]) if texts else some_lines([], file)


def _tell_of_long(inputs: LabelledText, some: list[str], row: int) -> None:
    for number, ids in enumerate(inputs.tokenizer.encode(some), start=row + 1):
        if len(ids) > inputs.longest:
            part = inputs.left_out
            say(f"text {number} has {len(ids):,} tokens; the model reads {inputs.longest:,}, the {part} is left out")


def _line(text: str, found: Classification, top: int, *, as_json: bool) -> str:
    best = list(found.probabilities.items())[:top]
    if as_json:
        fields: dict[str, Any] = {"text": text, "label": found.label or None, "probability": found.probability}
        return json.dumps({**fields, "probabilities": dict(best)}, ensure_ascii=False)
    return "\t".join(f"{label}\t{probability:.4f}" for label, probability in best)
