"""`import`: a run folder from a model that another program made: n-grams as ARPA, a checkpoint of `transformers`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from seqwright.cli.storage import storage_table
from seqwright.cli.terminal import command, say, shown
from seqwright.commands import article
from seqwright.conversion import converted
from seqwright.data.files import content_hash, extension_of, require_file
from seqwright.errors import DataError, RunError, SettingError, nearest
from seqwright.inputs.own_tokenizers import OwnTokenizer
from seqwright.inputs.running_text import RunningTextInput, RunningTextSettings
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.vocabularies import RESERVED, SPACE
from seqwright.interchange.arpa import read_arpa, read_words
from seqwright.interchange.pretrained import read_pretrained
from seqwright.interchange.weight_files import refuse_pickle
from seqwright.model_card import card_text, verb_of
from seqwright.outputs.next_token import NextTokenOutput
from seqwright.recipe import recipe_from
from seqwright.runs import open_run, parameters, write_run
from seqwright.tasks.wired import Wires, room_of
from seqwright.training.checkpoint import steps_on_disk
from seqwright.whole_file import restored


def import_model(file: Path, run: Path | None, like: Path | None, *, pairs: bool = False, yes: bool) -> None:
    """Read the file or folder, and write a run folder that is like one that was trained.

    `pairs` says that what is classified, or predicted a number for, are two texts.
    """
    if not restored(file).exists() and extension_of(file) not in READERS:
        beside = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
        raise DataError(
            f"there is no file or folder {file}, expected a folder or {_endings()}.{nearest(file.name, beside)}"
        )
    refuse_pickle(file)
    reader = _import_pretrained if file.is_dir() else READERS.get(extension_of(file))
    if reader is None:
        raise SettingError(f"what {file} holds cannot be told by its name, expected a folder or {_endings()}")
    if not file.is_dir():
        require_file(file)
    folder = run or Path("runs") / _name(file)
    if (folder / "resolved.toml").exists() and steps_on_disk(folder) and not yes:
        raise RunError(f"{folder} is a run already; choose another folder with --run, or say --yes to replace it")
    reader(file, folder, like, pairs)


def _import_arpa(file: Path, folder: Path, like: Path | None, pairs: bool) -> None:
    _refuse_pairs(pairs, "n-grams")
    say(f"reading {shown(file)} …")
    tokenizer, spellings, settings = _words_of_file(file) if like is None else _words_of_run(like)
    model, left_out = read_arpa(file, spellings)
    plain = {
        "description": f"n-grams that came from {file.name}, with the probabilities they have there",
        "task": "language-modeling",
        "data": {"imported": file.name, "sha256": content_hash(file)},
        "input": settings,
        "model": {"kind": "ngram", "order": model.settings.order},
    }
    recipe = recipe_from(plain, name=folder.name)
    wires = Wires.learn(RunningTextInput, NextTokenOutput, (), recipe.input, room=room_of(recipe), like=tokenizer)
    write_run(recipe, folder, wires, model, card_text)
    if left_out:
        say(f"left out {left_out:,} n-grams with words that the vocabulary of {like} lacks")
    Console(stderr=True).print(storage_table(model))
    say(f"imported: {shown(folder)}")
    say(f'next: {command("score", shown(folder))} "…"')


def _import_pretrained(path: Path, folder: Path, like: Path | None, pairs: bool) -> None:
    if like is not None:
        raise SettingError("--like is for ARPA files; a checkpoint has its own tokenizer, so leave it out")
    say(f"reading {shown(path)} …")
    found = read_pretrained(path)
    if not found.reads_pairs:
        _refuse_pairs(pairs, f"{article(found.settings['kind'])} {found.settings['kind']} for {found.task}")
    origin = _name(path) if path.is_dir() else f"{_name(path)}/{path.name}"
    run, remarks = converted(found._replace(pairs=found.pairs or pairs), origin, folder, card_text)
    for remark in remarks:
        say(remark)
    sizes = f"{parameters(run.model):,} parameters, {found.told}"
    kind = run.recipe.model.kind
    say(f"{article(kind)} {kind} for {run.recipe.task}: {sizes}")
    say(f"imported: {shown(folder)}")
    say(f'next: {command(verb_of(run), shown(folder))} "…"')


def _refuse_pairs(pairs: bool, what: str) -> None:
    if pairs:
        raise SettingError(f"--pairs is for text classification and regression, and this is {what}; leave it out")


def _name(path: Path) -> str:
    """What a run is called after the file, or after its folder where all such files have one name."""
    whole = path.resolve()
    if whole.is_dir():
        return whole.name
    return whole.parent.name if whole.suffix == ".safetensors" else whole.name.split(".")[0]


class Vocabulary(NamedTuple):
    """A tokenizer, its tokens as a file spells them, and the settings that a recipe has for it."""

    tokenizer: Tokenizer
    spellings: list[str]
    settings: dict[str, Any]


def _words_of_file(file: Path) -> Vocabulary:
    """Words as other programs have them: whatever stands between spaces, each line a text of its own."""
    words = read_words(file)
    pieces = [word for word in words if SPACE in word and word.removeprefix(SPACE) not in {"", *RESERVED}]
    if pieces:
        raise DataError(
            f"{file} has words with '{SPACE}' in them, such as '{pieces[0]}', as tokenizers cut them; say with "
            "--like which run has the tokenizer"
        )
    if not words:
        raise DataError(f"{file} has no words beside <s> and its like")
    tokenizer = OwnTokenizer.of_words(words)
    settings = {"tokenizer": "whitespace", "vocabulary": tokenizer.size, "normalise": "none", "rows": "documents"}
    settings |= {"longest": 1_000_000}  # no line that is evaluated is left out for its length
    return Vocabulary(tokenizer, [*RESERVED, *words], settings)


def _words_of_run(folder: Path) -> Vocabulary:
    """The tokenizer of another run."""
    other = open_run(folder, notice=say)
    if not isinstance(other.recipe.input, RunningTextSettings):
        raise RunError(f"{folder} is no language model; --like takes the tokenizer of one")
    settings = other.recipe.input.model_dump(mode="json", exclude_none=True)
    settings |= {"rows": "stream" if other.inputs.input.joins else "documents"}  # as n-grams are counted
    return Vocabulary(other.inputs.tokenizer, other.inputs.tokenizer.spellings(), settings)


def _endings() -> str:
    return f"a file that ends in {', '.join(READERS)}"


READERS: dict[str, Callable[[Path, Path, Path | None, bool], None]] = {
    ".arpa": _import_arpa,
    ".lm": _import_arpa,
    ".safetensors": _import_pretrained,
}
