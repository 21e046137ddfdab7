"""`new`: a commented recipe for the user's own file."""

from itertools import islice
from pathlib import Path

from seqwright.cli.terminal import say
from seqwright.data.pairs import PairFiles, PairFilesSettings
from seqwright.errors import DataError, SettingError, nearest
from seqwright.lineage import TASKS

SMALL = 20_000  # pairs: below, a small model learns more from them

TEMPLATE = """\
# Translation of {names}. Try it: seqwright check {output}, then seqwright train {output}
description = "Translation learnt from {names}"

[data]
kind = "files"
train = {train}
valid = "5%"               # a share of the same file, or a file of its own
test = "5%"                # held out until `seqwright eval`

[inputs]
kind = "bpe"               # or unigram, wordpiece, words, characters
vocabulary = {vocabulary}          # at most; shared by both languages
bpe_dropout = 0.1          # segments words anew each epoch: helps small data

[model]
kind = "transformer"
size = "tiny"              # or base, big; every size setting can be given here
dropout = 0.2              # less if there is much data

[training]
steps = {steps}
tokens = 2048              # a batch; halve it if memory is short
schedule = "inverse-sqrt"
rate = 0.002
warmup = 400
"""


def write_new_recipe(task: str, data: list[Path], output: Path | None) -> None:
    """Look at the data, write a recipe that fits it."""
    if task not in TASKS:
        raise SettingError(f"there is no task '{task}'; there are {', '.join(TASKS)}.{nearest(task, list(TASKS))}")
    if len(data) > 2:
        raise DataError(f"--data was given {len(data)} times; give one file, or two line-aligned ones")
    where = output or Path(f"{data[0].name.split('.')[0]}.toml")
    if where.exists():
        raise SettingError(f"{where} exists; choose another name with --output")
    paths = tuple(path.as_posix() for path in data)
    files = PairFiles(PairFilesSettings(train=paths[0] if len(paths) == 1 else (paths[0], paths[1])))
    some = list(islice(files.pairs("train"), SMALL))
    text = TEMPLATE.format(
        names=" and ".join(path.name for path in data),
        output=where,
        train=_toml(paths),
        vocabulary=4000 if len(some) < SMALL else 8000,
        steps=max(1000, len(some) // 2),
    )
    try:
        where.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingError(
            f"{where} cannot be written: {error.strerror}; choose another place with --output"
        ) from error
    say(f"wrote {where}; the first pair reads:\n  {some[0].source}\n  {some[0].target}")
    say(f"next: seqwright check {where}")


def _toml(paths: tuple[str, ...]) -> str:
    quoted = ['"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"' for path in paths]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"
