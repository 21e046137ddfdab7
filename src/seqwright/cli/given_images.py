"""Images that a verb is asked about: paths, folders and archives that are typed, or the rows of a table."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from seqwright.cli.given import given_blocks
from seqwright.cli.options import Things
from seqwright.cli.tables import GivenRow, GivenTable, given_table, is_table
from seqwright.data.decoded_images import Undecoded
from seqwright.data.files import existing, expanded
from seqwright.data.image_sources import IMAGE_WORDS, named_like_an_image
from seqwright.data.image_stores import content_of, is_store, store_of
from seqwright.data.images import ImageExample
from seqwright.data.tables import Usual
from seqwright.errors import DataError
from seqwright.kinds import TASKS

EXAMPLES = ("labelled-images", "captioned-images")


def image_table(things: Things, run: Any) -> GivenTable | None:
    """The images that are meant, for a run that learnt from images; None for any other run."""
    row = TASKS[run.recipe.task]
    if row.examples[0] not in EXAMPLES:
        return None
    if things.file is not None and is_table(things.file):
        chosen = things.column or []
        table = given_table(things.file, {"image": Usual(IMAGE_WORDS)}, run.recipe.data, chosen)
        return table._replace(rows=(_beside(row, things.file) for row in table.rows))
    typed = (path for block in given_blocks(row.verbs[0], things.texts, things.file) for path in block)
    return GivenTable(["image"], _rows(typed))


def _beside(row: GivenRow, file: Path) -> GivenRow:
    """A row whose image is looked for from the table's folder."""
    if row.given is None:
        return row
    path = file.parent / Path(row.given).expanduser()
    return row._replace(given=_example(existing(str(path)), row.given))


def _rows(typed: Iterable[str]) -> Iterator[GivenRow]:
    """A row for each image; a folder or an archive is every image below it."""
    for number, name in enumerate(typed, start=1):
        path = expanded(name)
        if not name.strip():
            raise DataError(f"text {number} is blank, expected the path of an image")
        if is_store(path):
            found = list(_below(path))
            if not found:
                raise DataError(f"{name} has no file that is named like an image; name another folder or a file")
            yield from (GivenRow(each.name, ["image"], [each.name], each) for each in found)
        else:
            yield GivenRow(f"text {number}", ["image"], [name], name)


def _below(path: Path) -> Iterator[ImageExample]:
    for member in store_of(path).members():
        if named_like_an_image(member.path.name):
            name = str(path / member.path)
            yield ImageExample(Undecoded(member.content, name), name=name)


def _example(path: Path, name: str) -> ImageExample:
    return ImageExample(Undecoded(partial(content_of, path), str(path)), name=name)
