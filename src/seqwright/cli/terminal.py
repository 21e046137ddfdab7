"""How the verbs speak: a bar on a terminal, plain lines elsewhere; results on standard output, the rest on error.

Nothing here imports torch: `doctor` must be able to say that it cannot be loaded.
"""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console, JustifyMethod
from rich.table import Column, Table
from rich.text import Text

from seqwright.commands import command as command  # noqa: PLC0414 - the verbs have both from here
from seqwright.commands import shown as shown  # noqa: PLC0414
from seqwright.errors import DataError, SettingError
from seqwright.escapes import visible
from seqwright.whole_file import write_whole

LONGEST_NAME = 32  # of what a table lists, that no narrow terminal breaks


def say(sentence: str) -> None:
    """A remark that is not a result."""
    print(sentence, file=sys.stderr, flush=True)


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON as every reader takes it: a number that is infinite or none is null."""
    return json.dumps(_finite(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
        case _:
            return value


def add_row(table: Table, *cells: str, style: str | None = None) -> None:
    """A row of a table whose cells are shown as they are: rich would take "[tensorboard]" for a colour."""
    table.add_row(*(Text(visible(cell)) for cell in cells), style=style)


def table_of(titles: Iterable[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> Table:
    """A table without lines, titles and cells as they are; where all but the first are `numbers`, they never break.

    What is wider than its column continues in the next line, names only if they are very long: nothing is cut off.
    """
    rows = list(rows)
    short = not numbers and max((len(name) for name, *_ in rows), default=0) <= LONGEST_NAME
    first, *others = (Text(visible(title)) for title in titles)
    justify: JustifyMethod = "right" if numbers else "left"
    right = (Column(title, justify=justify, no_wrap=numbers, overflow="fold") for title in others)
    table = Table(Column(first, overflow="fold", no_wrap=short), *right, box=None, pad_edge=False)
    for row in rows:
        add_row(table, *row)
    return table


def print_table(titles: Iterable[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> None:
    """The same on standard output."""
    Console().print(table_of(titles, rows, numbers=numbers))


def make_sure(path: Path, *, yes: bool) -> None:
    """Ask before a file, or a folder with something in it, is replaced; where nobody can answer, refuse it."""
    if yes or not (any(path.iterdir()) if path.is_dir() else path.exists()):
        return
    if not sys.stdin.isatty():
        raise DataError(f"{path} exists; choose another name, or say --yes to replace it")
    if not typer.confirm(f"Replace {path}?", err=True):
        raise typer.Exit(1)


def say_drawn(paths: Iterable[Path]) -> None:
    """Say where pictures are."""
    say(f"drawn: {', '.join(map(shown, paths))}")


def draw_picture(figure: Any, picture: Path) -> None:
    """Save what `--picture` asked for, and say where it is."""
    from seqwright.pictures import save

    say_drawn(save(figure, picture.with_suffix(""), picture_formats(picture)))


def draw_with_page(figure: Any, page: str, stem: Path) -> None:
    """Save a picture, and beside it the page that a browser shows."""
    from seqwright.pictures import save

    save(figure, stem)
    write_whole(stem.with_name(f"{stem.name}.html"), page)


def picture_formats(picture: Path) -> tuple[str, ...]:
    """What to save: the form of the ending of its name, or PNG and SVG where it has none."""
    from seqwright.pictures import UNDATED

    form = picture.suffix.lower()[1:]
    if not form:
        return ("png", "svg")
    if form not in UNDATED:
        known = " or ".join(f".{known}" for known in UNDATED)
        raise SettingError(f"--picture is '{picture}'; end it in {known}, or give no ending for PNG and SVG")
    return (form,)
