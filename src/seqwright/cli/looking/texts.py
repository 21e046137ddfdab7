"""What `look` reads: the texts it is given, one that the model writes itself, or the windows of a series."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqwright.cli.terminal import say
from seqwright.data.files import lines, require_file
from seqwright.decoding.settings import DecodingSettings
from seqwright.devices import device_of
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Given
from seqwright.inputs.text import reads_pairs
from seqwright.runs import Run, data_of
from seqwright.tasks.wired import Part, Wires

MOST_LETTERS = 1_000_000  # of a file
FURTHEST = 100  # steps back that a gradient is followed
ROWS = 8  # places that it is followed from
WRITTEN = 150  # tokens that a model writes where it is given none
LONGEST = 600  # tokens of a text that a gradient is followed through


def given_texts(texts: Sequence[str], file: Path | None) -> list[str]:
    """What the user gave: texts, the lines of a file, or nothing."""
    if texts and file is not None:
        raise DataError("there are both a text and --file; give one of them")
    found = _first_lines(file) if file is not None else list(texts)
    if found and not any(line.strip() for line in found):
        raise DataError(f"there is nothing to look at: {file or 'the text'} is blank")
    return found


def _first_lines(file: Path) -> list[str]:
    """The lines of a file, as many as could be read in reasonable time."""
    require_file(file)
    found, letters = list[str](), 0
    for line in lines(file):
        if letters > MOST_LETTERS:
            say(f"{file}: the first {len(found):,} lines are looked at, no more")
            break
        found.append(line)
        letters += len(line)
    return found


def documents(run: Run, found: Sequence[str]) -> list[str]:
    """The lines as the model reads them: as one text where it learnt from running text, otherwise each by itself."""
    if run.recipe.task == "language-modeling" and run.inputs.input.joins:
        return ["\n".join(found)] if found else []
    return [text for text in found if text.strip()]


def picture_folder(run: Run, output: Path | None, about: str) -> Path:
    """Where the pictures of a text go: a folder whose name still says which text it is."""
    name = re.sub(r"\W+", "-", about.lower()).strip("-")[:40] or "text"
    return output or run.folder / "pictures" / name


def warn_of_unknown(run: Run, texts: Sequence[str]) -> None:
    """Name the characters that the model cannot read."""
    unknown: Counter[str] = run.inputs.tokenizer.unknown_characters(texts)
    if unknown:
        some = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(8))
        say(f"the vocabulary of {run.folder} lacks {some}{' …' if len(unknown) > 8 else ''}: it cannot read them")


def written(run: Run) -> str:
    """A text that a language model draws itself; it may not end it, so that there is something to look back on."""
    settings = DecodingSettings(temperature=1.0, seed=1, shortest=WRITTEN, longest=WRITTEN)
    text: str = run.inputs.predict(run.model, "", settings, method="write").text
    return text


class Passage(NamedTuple):
    """What a model reads without padding, and the steps from which its gradient is followed back."""

    batch: Any
    last: Callable[[int], Sequence[int]]  # of the number of steps
    told: str  # what it is, in a few words


def last_steps(steps: int) -> list[int]:
    """The last step of a text, and some before it that have nearly as much behind them."""
    reach = min(FURTHEST, max(1, 3 * steps // 4))
    return [int(step) for step in np.unique(np.linspace(reach, steps, ROWS).round())]


def passage_of(run: Run, found: Sequence[str]) -> Passage:
    """What a run reads while its gradients are followed or its weights begun anew: one text, or windows of a series."""
    task, texts = run.recipe.task, documents(run, found)
    if task == "forecasting":
        wires: Wires = run.inputs
        rows = wires.input.encode(Part(data_of(run.recipe), "valid"))
        chosen = np.unique(np.linspace(0, len(rows.example_N) - 1, ROWS).round().astype(np.int64))
        batch: Any = wires.output.collate(wires.input.stack(rows.take(chosen, None)), None).to(device_of(run.model))
        return Passage(batch, lambda steps: [steps], f"{len(chosen)} windows of its validation part")
    if task not in {"language-modeling", "text-classification"}:
        raise RunError(f"{run.folder} learnt {task}; this is drawn for language models, classifiers and forecasters")
    if not texts:
        raise SettingError(f"{run.folder} learnt {task}: give a text that it shall read")
    pair = reads_pairs(run.inputs.input) and "\t" not in texts[0]
    text = "\t".join(texts[:2]) if pair else max(texts, key=len)
    if len(texts) > 1 and not pair:
        say(f"{run.folder} reads each line by itself; the longest of {len(texts):,} is looked at")
    warn_of_unknown(run, [text])
    rows = run.inputs.input.encode(Given([run.inputs.input.parse(text)]))
    (ids,) = rows.take(np.array([0]), None)
    batch = run.inputs.output.collate(run.inputs.input.stack([ids[:LONGEST]]), None)
    return Passage(batch.to(device_of(run.model)), last_steps, f"a text of {min(len(ids), LONGEST):,} tokens")
