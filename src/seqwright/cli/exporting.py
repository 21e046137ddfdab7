"""`export`: what a run has learnt, as a file or a folder that other programs read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqwright.analysis.reading import context_of, joined_row, row_batch
from seqwright.analysis.vectors import WordVectors
from seqwright.cli.opening import opened_run
from seqwright.cli.terminal import make_sure, say, shown
from seqwright.data.files import extension_of
from seqwright.engines import tokenizers_of
from seqwright.errors import DataError, RunError, SettingError, instead
from seqwright.inputs.running_text import RunningTextInput
from seqwright.inputs.spelling import Spelled, TokenInput
from seqwright.interchange.arpa import write_arpa
from seqwright.interchange.ctranslate2 import write_ctranslate2
from seqwright.interchange.onnx import Surroundings, onnx_library, write_onnx
from seqwright.interchange.pretrained import write_pretrained
from seqwright.interchange.word2vec import write_word2vec
from seqwright.lineage import model_row
from seqwright.outputs.classes import ClassesOutput
from seqwright.runs import Run
from seqwright.training.weights import unique_tensors
from seqwright.whole_file import folder_whole

WRITTEN = {"translator": "a translator", "generator": "a language model", "encoder": "an encoder"}


def export_run(folder: Path, file: Path | None, to: str | None, side: str | None, which: str, *, yes: bool) -> None:
    """Write the file in the format asked for, or in that which its name tells; without a name it has the run's."""
    form = FORMATS[_format(file, to)]
    file = file or Path(folder.resolve().name + form.endings[0])
    if file.is_dir() and not form.folder:
        raise DataError(f"{file} is a folder; name a file in it")
    if file.is_file() and form.folder:
        raise DataError(f"{file} is a file; name a folder, since the model becomes several files")
    make_sure(file, yes=yes)
    if side is not None and not form.sides:
        raise SettingError("--side chooses between the vectors of two vocabularies; leave it out")
    wrote = form.write(opened_run(folder, which), file, side)
    say(f"wrote {wrote} to {shown(file)}")


def _format(file: Path | None, to: str | None) -> str:
    if to is not None:
        if to not in FORMATS:
            raise SettingError(f"there is no format '{to}'{instead(to, FORMATS)}")
        return to
    files = {name: form for name, form in FORMATS.items() if not form.folder}
    known = ", ".join(f"{' or '.join(form.endings)} for {name}" for name, form in files.items())
    if file is None:
        raise SettingError(f"what shall be written is not said; name a file that ends in {known}, or say it with --to")
    ending = extension_of(file)
    for name, form in files.items():
        if ending in form.endings:
            return name
    raise SettingError(f"what {file} shall hold cannot be told by its name; end it in {known}, or say it with --to")


def _write_vectors(run: Run, file: Path, side: str | None) -> str:
    vectors = WordVectors(run.model, run.inputs, side=side)
    say("writing …")
    write_word2vec(file, vectors.spellings, vectors.embedding_VD)
    count, width = vectors.embedding_VD.shape
    return f"{count:,} vectors of width {width}"


def _write_ngrams(run: Run, file: Path, side: str | None) -> str:
    if run.recipe.model.kind != "ngram":
        raise RunError(f"{run.folder} is of kind {run.recipe.model.kind}, and an ARPA file holds n-grams; use word2vec")
    if run.inputs.input.joins:
        say("input.rows is 'stream': the model has seen no text begin with <s>, as other programs let each begin")
    model: Any = run.model
    say("writing …")
    write_arpa(model, file, run.inputs.tokenizer.spellings())
    return f"{sum(order.ngrams for order in model.storage()):,} n-grams"


def _write_pretrained(run: Run, folder: Path, side: str | None) -> str:
    recipe, inputs = run.recipe, run.inputs
    first = inputs.input.first if isinstance(inputs.input, RunningTextInput) else None
    row, settings = model_row(recipe.model.kind, recipe.family), recipe.model.model_dump(mode="json")
    return write_pretrained(folder, row, settings, unique_tensors(run.model), inputs, first=first)


def _write_ctranslate2(run: Run, folder: Path, side: str | None) -> str:
    with folder_whole(folder) as aside:
        form, whole = write_ctranslate2(aside, run.model, *tokenizers_of(run))
    if not whole:
        say("CTranslate2 has no output for what it learnt: the folder has the body, which gives vectors")
    return f"{WRITTEN[form]}, which ctranslate2.{form.capitalize()} loads,"


def _write_onnx(run: Run, folder: Path, side: str | None) -> str:
    onnx_library()
    kind, task = run.recipe.model.kind, run.recipe.task
    if not isinstance(run.input, TokenInput):
        raise RunError(
            f"{run.folder} learnt {task} and reads numbers, and ONNX export has models that read tokens: use it from "
            "Python"
        )
    about: dict[str, Any] = {"task": task, "kind": kind}
    about |= {"labels": run.output.labels} if isinstance(run.output, ClassesOutput) else {}
    say("writing …")
    with folder_whole(folder) as aside:
        written = write_onnx(
            aside, run.model, *tokenizers_of(run), around=_surroundings(run), context=context_of(run), about=about
        )
    checked = "checked against onnxruntime" if written.checked else "not checked, since onnxruntime is not installed"
    return f"{' and '.join(written.files)}, {checked},"


def _surroundings(run: Run) -> Surroundings:
    """What stands around a text that is read, and between two: of one that is a single ordinary token."""
    reads = run.inputs.reads_tokens
    special = set(reads.tokenizer.special.values())
    ordinary = next(number for number in range(reads.tokenizer.size) if number not in special)
    text = Spelled(np.array([ordinary]), [], [], [])
    batch, _ = row_batch(run.inputs, [joined_row(reads, [text] * max(reads.texts))])
    row = batch.input[0].tolist()
    first, last = row.index(ordinary), len(row) - 1 - row[::-1].index(ordinary)
    return Surroundings(row[:first], row[first + 1 : last], row[last + 1 :])


class Format(NamedTuple):
    """How a file of a format is called, what writes it and says what it wrote, and whether `--side` means something."""

    endings: tuple[str, ...]  # the first is what a file gets that has the name of its run
    write: Callable[[Run, Path, str | None], str]
    sides: bool
    folder: bool = False  # whether it is several files


FORMATS = {
    "word2vec": Format((".vec", ".txt"), _write_vectors, sides=True),
    "arpa": Format((".arpa",), _write_ngrams, sides=False),
    "hf": Format(("-hf",), _write_pretrained, sides=False, folder=True),
    "onnx": Format(("-onnx",), _write_onnx, sides=False, folder=True),
    "ctranslate2": Format(("-ctranslate2",), _write_ctranslate2, sides=False, folder=True),
}
