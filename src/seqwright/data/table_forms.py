"""How the text of a table is written, so that another can be written alike: whoever made it can then open both."""

from itertools import islice
from pathlib import Path
from typing import NamedTuple

from seqwright.data.decimals import COMMA_NUMBER, GROUPED, NUMBER
from seqwright.data.encodings import has_mark
from seqwright.data.files import UTF_8, extension_of, unpacked
from seqwright.data.rows import SEPARATORS, Dialect, cells, separator_of

LOOKED_AT = 2000  # rows
TEXTS = (".csv", ".tsv")


class TableForm(NamedTuple):
    """What separates the cells of a table, its decimal mark, its encoding, and what ends its lines."""

    separator: str = ","
    decimal: str = "."
    encoding: str = UTF_8  # `utf-8-sig` has a byte order mark
    newline: str = "\n"

    def beside(self, path: Path, other: Path | None) -> "TableForm":
        """The same for a file whose name may ask for another separator."""
        if other is not None and extension_of(other) == extension_of(path):
            return self
        return self._replace(separator="\t" if extension_of(path) == ".tsv" else ",")


PLAIN_FORM = TableForm()


def form_of(path: Path, dialect: Dialect) -> TableForm:
    """How a file is written; that of other programs says nothing of how text should be."""
    if extension_of(path) not in TEXTS:
        return PLAIN_FORM
    separator, encoding = separator_of(path, dialect), dialect.encoding_of(path)
    with unpacked(path) as file:
        newline = "\r\n" if file.readline().rstrip(b"\0").endswith((b"\r\n", b"\r\0\n")) else "\n"
    marked = "utf-8-sig" if encoding == UTF_8 and has_mark(path) else encoding
    return TableForm(separator, _decimal(path, dialect, separator), marked, newline)


def _decimal(path: Path, dialect: Dialect, separator: str) -> str:
    """The decimal mark of the numbers that are there; where there are none, semicolons go with decimal commas.

    A program writes semicolons between the cells where the comma is needed for numbers.
    """
    found = [cell.strip() for row in islice(cells(path, dialect), LOOKED_AT) for cell in row.cells]
    if any("." in cell and NUMBER.fullmatch(cell) for cell in found):
        return "."
    grouped = any(match["rest"] for cell in found if (match := GROUPED[","].fullmatch(cell)))
    if grouped or (separator != "," and any(map(COMMA_NUMBER.fullmatch, found))):
        return ","
    return dialect.decimal or ("," if separator == ";" else ".")


def form_remarks(path: Path, form: TableForm) -> list[str]:
    """What is not plain in how a file is written."""
    if extension_of(path) not in TEXTS:
        return []
    usual = "\t" if extension_of(path) == ".tsv" else ","
    separator = SEPARATORS.get(form.separator, f"'{form.separator}'")
    told = [f"{separator} between its cells"] if form.separator != usual else []
    told += ["decimal commas"] if form.decimal == "," else []
    told += [form.encoding] if form.encoding not in {UTF_8, "utf-8-sig"} else []
    return told
