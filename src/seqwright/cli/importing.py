"""`import`: a run folder from a model that another program made: n-grams as ARPA, a checkpoint of `transformers`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from seqwright.cli.cards import verb_of, write_card
from seqwright.cli.storage import storage_table
from seqwright.cli.terminal import command, say, shown
from seqwright.data.files import content_hash, extension_of, require_file
from seqwright.errors import DataError, RunError, SettingError, nearest
from seqwright.inputs.plain_text import PlainText
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.vocabularies import RESERVED, SPACE
from seqwright.interchange.arpa import read_arpa, read_words
from seqwright.interchange.checkpoints import is_rounded_up, read_checkpoint
from seqwright.interchange.recipes import inputs_of, recipe_of
from seqwright.interchange.weight_files import refuse_pickle
from seqwright.recipe import recipe_from
from seqwright.runs import model_of, open_run, parameters, write_run
from seqwright.training.weights import load_tensors, unique_tensors


def import_model(file: Path, run: Path | None, inputs: Path | None, *, pairs: bool = False, yes: bool) -> None:
    """Read the file or folder, and write a run folder that is like one that was trained.

    `pairs` says that a classifier or a rater reads two texts.
    """
    if not file.exists() and extension_of(file) not in READERS:
        beside = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
        raise DataError(
            f"there is no file or folder {file}, expected a folder or {_endings()}.{nearest(file.name, beside)}"
        )
    refuse_pickle(file)
    reader = _import_checkpoint if file.is_dir() else READERS.get(extension_of(file))
    if reader is None:
        raise SettingError(f"what {file} holds cannot be told by its name, expected a folder or {_endings()}")
    if not file.is_dir():
        require_file(file)
    folder = run or Path("runs") / _name(file)
    if (folder / "resolved.toml").exists() and not yes:
        raise RunError(f"{folder} is a run already; choose another folder with --run, or say --yes to replace it")
    reader(file, folder, inputs, pairs)


def _import_arpa(file: Path, folder: Path, inputs: Path | None, pairs: bool) -> None:
    _refuse_pairs(pairs, "n-grams")
    say(f"reading {shown(file)} …")
    text, spellings, settings = _inputs_of_words(file) if inputs is None else _inputs_of_run(inputs)
    model, left_out = read_arpa(file, spellings)
    plain = {
        "description": f"n-grams that came from {file.name}, with the probabilities they have there",
        "task": "language-modeling",
        "data": {"imported": file.name, "sha256": content_hash(file)},
        "input": settings,
        "model": {"kind": "ngram", "order": model.settings.order},
    }
    made = write_run(recipe_from(plain, name=folder.name), folder, text, model)
    write_card(made)
    if left_out:
        say(f"left out {left_out:,} n-grams with words that the vocabulary of {inputs} lacks")
    Console(stderr=True).print(storage_table(model))
    say(f"imported: {shown(folder)}")
    say(f'next: {command("score", shown(folder))} "…"')


def _import_checkpoint(path: Path, folder: Path, inputs: Path | None, pairs: bool) -> None:
    if inputs is not None:
        raise SettingError("--inputs is for ARPA files; a checkpoint brings its own tokenizer, so leave it out")
    say(f"reading {shown(path)} …")
    checkpoint = read_checkpoint(path)
    if checkpoint.task not in {"text-classification", "text-regression"}:
        _refuse_pairs(pairs, f"a {checkpoint.family.kind} for {checkpoint.task}")
    checkpoint = checkpoint._replace(pairs=checkpoint.pairs or pairs)
    origin = _name(path) if path.is_dir() else f"{_name(path)}/{path.name}"
    recipe = recipe_from(recipe_of(checkpoint, origin), name=folder.name)
    text = inputs_of(checkpoint, recipe.input)
    model = model_of(recipe, text.sizes())
    shapes = {name: tensor.shape for name, tensor in unique_tensors(model).items()}
    names = checkpoint.family.names(checkpoint.task)
    load_tensors(model, names.ours(checkpoint.tensors, shapes, str(path)))
    made = write_run(recipe, folder, text, model)
    write_card(made)
    if constants := names.left_out(checkpoint.tensors):
        say(f"left out, since every model computes them anew: {constants}")
    if checkpoint.unused:
        vectors = text.tokenizer.size
        tokens = vectors - checkpoint.unused
        told = f"{checkpoint.unused:,} of {vectors:,}, from <unused-{tokens}> on"
        if not is_rounded_up(tokens, vectors):
            told += "; rounding explains fewer: unless the model was published so, the tokenizer may be another model's"
        say(f"vectors that belong to no token of the tokenizer: {told}")
    if checkpoint.idle:
        say(f"left out, since nothing reads them under this head: {', '.join(checkpoint.idle)}")
    sizes = f"{parameters(model):,} parameters, {text.tokenizer.size:,} tokens"
    say(f"a {recipe.model.kind} for {checkpoint.task}: {sizes}")
    say(f"imported: {shown(folder)}")
    say(f'next: {command(verb_of(made), shown(folder))} "…"')


def _refuse_pairs(pairs: bool, what: str) -> None:
    if pairs:
        raise SettingError(f"--pairs is for classifiers and raters, and this is {what}; leave it out")


def _name(path: Path) -> str:
    """What a run is called after the file, or after its folder where all such files have one name."""
    whole = path.resolve()
    if whole.is_dir():
        return whole.name
    return whole.parent.name if whole.suffix == ".safetensors" else whole.name.split(".")[0]


class Vocabulary(NamedTuple):
    """A tokenizer, its tokens as a file spells them, and the settings that a recipe has for it."""

    text: PlainText
    spellings: list[str]
    settings: dict[str, Any]


def _inputs_of_words(file: Path) -> Vocabulary:
    """Words as other programs have them: whatever stands between spaces, each line a text of its own."""
    words = read_words(file)
    pieces = [word for word in words if SPACE in word and word.removeprefix(SPACE) not in {"", *RESERVED}]
    if pieces:
        raise DataError(
            f"{file} has words with '{SPACE}' in them, such as '{pieces[0]}', as tokenizers cut them; say with "
            "--inputs which run has the tokenizer"
        )
    if not words:
        raise DataError(f"{file} has no words beside <s> and its like")
    tokenizer = Tokenizer.of_words(words)
    settings = {"tokenizer": "whitespace", "vocabulary": tokenizer.size, "normalise": "none", "rows": "documents"}
    settings |= {"longest": 1_000_000}  # no line that is evaluated is left out for its length
    return Vocabulary(PlainText(tokenizer), [*RESERVED, *words], settings)


def _inputs_of_run(folder: Path) -> Vocabulary:
    """The tokenizer of another run."""
    other = open_run(folder, notice=say)
    if other.recipe.task != "language-modeling":
        raise RunError(f"{folder} is no language model; --inputs takes the tokenizer of one")
    settings = other.recipe.input.model_dump(mode="json", exclude_none=True)
    return Vocabulary(other.inputs, other.inputs.tokenizer.spellings(), settings)


def _endings() -> str:
    return f"a file that ends in {', '.join(READERS)}"


READERS: dict[str, Callable[[Path, Path, Path | None, bool], None]] = {
    ".arpa": _import_arpa,
    ".lm": _import_arpa,
    ".safetensors": _import_checkpoint,
}
