"""Films that a verb is asked about: paths that are typed, folders and archives of films, or the rows of a table."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seqwright.cli.given import given_blocks
from seqwright.cli.options import Things
from seqwright.cli.tables import GivenRow, GivenTable, given_table, is_table
from seqwright.data.files import expanded
from seqwright.data.film_sources import FILM_WORDS, film_at, films_below
from seqwright.data.image_stores import is_store
from seqwright.data.tables import Usual
from seqwright.errors import DataError
from seqwright.kinds import TASKS

EXAMPLES = "films"


def film_table(things: Things, run: Any) -> GivenTable | None:
    """The films that are meant, for a run that learnt films; None for any other run."""
    if TASKS[run.recipe.task].examples[0] != EXAMPLES:
        return None
    if things.file is not None and is_table(things.file):
        chosen = things.column or []
        table = given_table(things.file, {"film": Usual(FILM_WORDS)}, run.recipe.data, chosen)
        return table._replace(rows=(_beside(row, things.file) for row in table.rows))
    typed = (path for block in given_blocks("track", things.texts, things.file) for path in block)
    return GivenTable(["film"], _rows(typed))


def _beside(row: GivenRow, file: Path) -> GivenRow:
    """A row whose film is looked for from the table's folder."""
    if row.given is None:
        return row
    return row._replace(given=film_at(file.parent / Path(row.given).expanduser(), row.given))


def _rows(typed: Iterable[str]) -> Iterator[GivenRow]:
    """A row for each film; a folder or an archive without frames of its own is every film below it."""
    for number, name in enumerate(typed, start=1):
        path = expanded(name)
        if not name.strip():
            raise DataError(f"text {number} is blank, expected the path of a film")
        found = list(films_below(path)) if is_store(path) else []
        if len(found) == 1 and found[0].name == "":
            found = []  # a folder of frames is a film itself
        if is_store(path) and not found and not path.is_dir():
            raise DataError(
                f"{name} has no film, which is a folder of frames or a GIF; name another archive or a folder"
            )
        for example in found:
            below = example._replace(name=f"{name.rstrip('/')}/{example.name}")
            yield GivenRow(below.name, ["film"], [below.name], below)
        if not found:
            yield GivenRow(f"text {number}", ["film"], [name], name)
