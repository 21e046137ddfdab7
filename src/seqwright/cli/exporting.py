"""`export`: what a run has learnt, as a file or a folder that other programs read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.analysis.vectors import WordVectors
from seqwright.cli.opening import opened_run
from seqwright.cli.terminal import say, shown
from seqwright.data.files import extension_of
from seqwright.errors import DataError, RunError, SettingError, instead
from seqwright.inputs.text import reads_pairs
from seqwright.interchange.arpa import write_arpa
from seqwright.interchange.checkpoints import write_checkpoint
from seqwright.interchange.word2vec import write_word2vec
from seqwright.runs import Run
from seqwright.tasks.language import first_token
from seqwright.tasks.wired import Wires
from seqwright.training.weights import unique_tensors


def export_run(folder: Path, file: Path | None, to: str | None, side: str | None, which: str, *, yes: bool) -> None:
    """Write the file in the format asked for, or in that which its name tells; without a name it has the run's."""
    form = FORMATS[_format(file, to)]
    file = file or Path(folder.resolve().name + form.endings[0])
    if file.is_dir() and not form.folder:
        raise DataError(f"{file} is a folder; name a file in it")
    if file.is_file() and form.folder:
        raise DataError(f"{file} is a file; name a folder, since the model becomes several files")
    if (any(file.iterdir()) if file.is_dir() else file.exists()) and not yes:
        raise DataError(f"{file} exists; choose another name, or say --yes to replace it")
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
    if run.recipe.input.joined:
        say("input.rows is 'stream': the model has seen no text begin with <s>, as other programs let each begin")
    model: Any = run.model
    say("writing …")
    write_arpa(model, file, run.inputs.tokenizer.spellings())
    return f"{sum(order.ngrams for order in model.storage()):,} n-grams"


def _write_checkpoint(run: Run, folder: Path, side: str | None) -> str:
    inputs, task = run.inputs, run.recipe.task
    first = first_token(run.recipe, inputs) if task == "language-modeling" else inputs.tokenizer.begin
    task = "language-modeling" if task == "instruction" else task  # there it is a language model like any other
    labels = {"text-classification": lambda: inputs.output.labels, "token-classification": lambda: inputs.output.tags}
    names = list(labels[task]()) if task in labels else []
    settings, tensors = run.recipe.model.model_dump(mode="json"), unique_tensors(run.model)
    if task == "text-regression":  # the model says how far from the mean, and there what it says is the rating
        values = inputs.output
        tensors |= {name: tensors[name] * values.deviation for name in ("head.output.weight", "head.output.bias")}
        tensors["head.output.bias"] = tensors["head.output.bias"] + values.mean
    pairs = isinstance(inputs, Wires) and reads_pairs(inputs.input)
    return write_checkpoint(folder, task, settings, tensors, inputs.tokenizer, labels=names, pairs=pairs, first=first)


class Format(NamedTuple):
    """How a file of a format is called, what writes it and says what it wrote, and whether `--side` means something."""

    endings: tuple[str, ...]  # the first is what a file gets that has the name of its run
    write: Callable[[Run, Path, str | None], str]
    sides: bool
    folder: bool = False  # whether it is several files


FORMATS = {
    "word2vec": Format((".vec", ".txt"), _write_vectors, sides=True),
    "arpa": Format((".arpa",), _write_ngrams, sides=False),
    "hf": Format(("-hf",), _write_checkpoint, sides=False, folder=True),
}
