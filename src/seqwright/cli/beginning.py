"""`new`: a commented recipe for the user's own file."""

from itertools import islice
from pathlib import Path

import tomlkit

from seqwright.cli.terminal import command, say
from seqwright.data.examples import Pair
from seqwright.data.pairs import PairFiles, PairFilesSettings
from seqwright.data.text import TextFiles, TextFilesSettings
from seqwright.errors import DataError, SettingError, instead

SMALL = 20_000  # pairs: below, a small model learns more from them

TEMPLATE = """\
# Try it: {check}, then {train}
description = {description}

[data]
train = {files}
{columns}valid = "5%"               # a share of the same file, or a file of its own
test = "5%"                # held out until `seqwright eval`

[inputs]
kind = "bpe"               # or unigram, wordpiece, words, characters
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


LANGUAGE = """\
# Try it: {check}, then {train}
description = {description}

[data]
kind = "text"
train = {files}
valid = "5%"               # a share of the same text, or a file of its own
test = "5%"                # held out until `seqwright eval`
documents = "lines"        # or paragraphs, files

[inputs]
kind = "bpe"               # or unigram, wordpiece, words, characters
vocabulary = 4000          # at most
joined = true              # false: every document is read on its own
[model]
kind = "lstm"              # or gru, ugrnn, rnn, mlp, ngram
width = 256
[objective]
label_smoothing = 0.0
[training]
steps = 3000
tokens = 2048              # a batch; halve it if memory is short
schedule = "cosine"
rate = 0.003
"""
TEMPLATES = {"translation": TEMPLATE, "language": LANGUAGE}


def write_new_recipe(
    task: str, data: list[Path], output: Path | None, source: str | None = None, target: str | None = None
) -> None:
    """Look at the data, write a recipe that fits it."""
    if task not in TEMPLATES:
        raise SettingError(f"there is no task '{task}'{instead(task, TEMPLATES)}")
    where = output or Path(f"{data[0].name.split('.')[0] or 'mine'}.toml")
    if task == "language":
        if len(data) > 1 or source or target:
            raise SettingError("a language model reads one text; give --data once, without --source and --target")
        _write_language_recipe(data[0], where)
    else:
        _write_translation_recipe(data, where, source, target)
    say(f"next: {command('check', str(where))}")


def _require_free(where: Path) -> None:
    if where.exists():
        raise SettingError(f"{where} exists; choose another name with --output")


def _write_language_recipe(data: Path, where: Path) -> None:
    _require_free(where)
    first = next(TextFiles(TextFilesSettings(train=data.as_posix())).texts("train"))
    text = LANGUAGE.format(
        check=_on_one_line(command("check", str(where))),
        train=_on_one_line(command("train", str(where))),
        description=_toml(f"A language model of {data.name}"),
        files=_toml(data.as_posix()),
    )
    _write(where, text)
    say(f"wrote {where}; the first line reads:\n  {first}")


def _write_translation_recipe(data: list[Path], where: Path, source: str | None, target: str | None) -> None:
    if len(data) > 2:
        raise DataError(f"--data was given {len(data)} times; give one file, or two line-aligned ones")
    columns = {name: _column(asked) for name, asked in (("source", source), ("target", target)) if asked is not None}
    if columns and len(data) == 2:
        raise SettingError("--source and --target choose columns, but line-aligned files have none; leave them out")
    _require_free(where)
    paths = tuple(path.as_posix() for path in data)
    train = paths[0] if len(paths) == 1 else (paths[0], paths[1])
    files = PairFiles(PairFilesSettings(train=train, source=columns.get("source"), target=columns.get("target")))
    some = _some_pairs(files)
    text = TEMPLATE.format(
        check=_on_one_line(command("check", str(where))),
        train=_on_one_line(command("train", str(where))),
        description=_toml("Translation learnt from " + " and ".join(path.name for path in data)),
        files=_toml(paths[0]) if len(paths) == 1 else f"[{', '.join(map(_toml, paths))}]",
        columns="".join(f"{name} = {_toml(column)}\n" for name, column in columns.items()),
        vocabulary=4000 if len(some) < SMALL else 8000,
        steps=max(1000, len(some) // 2),
    )
    _write(where, text)
    say(f"wrote {where}; the first pair reads:\n  {some[0].source}\n  {some[0].target}")
    for remark in files.remarks():
        say(remark)


def _write(where: Path, text: str) -> None:
    try:
        where.write_bytes(text.encode())
    except UnicodeEncodeError as error:
        raise DataError("the name of the data is not UTF-8, so no recipe can hold it; rename the file") from error
    except OSError as error:
        raise SettingError(
            f"{where} cannot be written: {error.strerror}; choose another place with --output"
        ) from error


def _some_pairs(files: PairFiles) -> list[Pair]:
    """The first pairs; what is wrong with their columns is said by the names of our options."""
    try:
        return list(islice(files.pairs("train"), SMALL))
    except (DataError, SettingError) as error:
        said = str(error).replace("data.source", "--source").replace("data.target", "--target")
        raise type(error)(said) from error


def _column(asked: str) -> str | int:
    """A column by its name, or by its number from 1."""
    return int(asked) if asked.isdecimal() and int(asked) else asked


def _toml(value: str | int) -> str:
    return tomlkit.item(value).as_string()


def _on_one_line(text: str) -> str:
    """What may stand in a comment, even if a file has a line feed in its name."""
    return "".join(character if character.isprintable() else "?" for character in text)
