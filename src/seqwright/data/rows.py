"""From files to rows: the cells of a table, or the objects of a JSONL or Parquet file, one at a time.

How a table is written (its encoding, what separates its cells) is told by settings, or else by the file itself; what
was told by the file is said in `table_remarks`.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field

from seqwright.data.encodings import encoding_beside, encoding_of, encoding_remarks
from seqwright.data.files import extension_of, lines
from seqwright.data.limits import file_limits
from seqwright.data.spreadsheets import SHEETS, parquet_records, sheet_remarks, sheet_rows
from seqwright.data.times import COMMA_NUMBER
from seqwright.errors import DataError

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a |"}
SAMPLE = 50  # lines that show what separates the cells
OBJECTS = (".jsonl", ".parquet")  # where values have names


def known_separator(given: str | None) -> str | None:
    """Refuse what cannot stand between cells; `tab` is another word for the tab."""
    if given is not None and given != "tab" and (len(given) != 1 or given in '"\r\n'):
        raise ValueError(f"'{given}' is no separator, expected one character such as ';', or 'tab'")
    return "\t" if given == "tab" else given


Separator = Annotated[
    str | None,
    AfterValidator(known_separator),
    Field(
        description='What stands between the cells of a row: ",", ";", "|", "tab" or another character. Left out: '
        "commas in .csv and tabs in .tsv, unless the first rows clearly have another; a remark says so."
    ),
]
DecimalMark = Annotated[
    Literal[".", ","] | None,
    Field(description='The decimal mark of the numbers: "." or ",", as in 3,5. Left out: a point.'),
]
BadRows = Annotated[
    Literal["refuse", "skip"],
    Field(
        description="What becomes of a row with too few cells, or with more than the first line has: an error that "
        "says where, or it is left out and counted."
    ),
]


class Dialect(NamedTuple):
    """How a table is written, as far as settings say it, and what becomes of rows that do not fit."""

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    bad_rows: str = "refuse"

    def causes(self) -> list[Any]:
        """What is set, for fingerprints; the rest follows from the content."""
        return [pair for pair in self._asdict().items() if pair not in _DEFAULTS]

    def encoding_of(self, path: Path) -> str:
        """What a file is written in."""
        return self.encoding or encoding_of(path)

    def point(self, cell: str) -> str:
        """A number with a decimal point, where the settings say that it has a comma."""
        return cell.replace(",", ".") if self.decimal == "," and COMMA_NUMBER.fullmatch(cell.strip()) else cell


PLAIN = Dialect()
_DEFAULTS = list(PLAIN._asdict().items())


def dialect_of(settings: Any) -> Dialect:
    """What the settings of data say of how its files are written."""
    return Dialect(**settings.model_dump(include=set(Dialect._fields)))


class TableRow(NamedTuple):
    """The cells of a table's row, and the line it stands on."""

    line: int
    cells: list[str]


def all_blank(row: TableRow) -> bool:
    """Whether nothing stands in any of its cells."""
    return not "".join(row.cells).strip()


def cells(path: Path, dialect: Dialect = PLAIN) -> Iterator[TableRow]:
    """Every row of a file; what is not .csv has tabs between its cells, and quotes are ordinary characters there."""
    if extension_of(path) in SHEETS:
        return (TableRow(number, row) for number, row in enumerate(sheet_rows(path), 1))
    separator, text = separator_of(path, dialect), lines(path, dialect.encoding_of(path))
    if separator == "\t" and extension_of(path) != ".csv":
        return (TableRow(number, line.split("\t")) for number, line in enumerate(text, 1))
    return _csv_rows(text, separator, path)


def _csv_rows(text: Iterable[str], separator: str, path: Path) -> Iterator[TableRow]:
    """Rows of a CSV file; a quoted cell may hold commas and line feeds, and then the row's last line counts."""
    csv.field_size_limit(file_limits().cell)
    reader = csv.reader((line + "\n" for line in text), delimiter=separator, strict=True)
    try:
        for found in reader:
            yield TableRow(reader.line_num, found)
    except csv.Error as error:
        advice = f"; {file_limits().raised('cell')}" if "field limit" in str(error) else ""
        raise DataError(
            f"{path}:{reader.line_num} is not valid CSV ({error}): check the quotes before it{advice}"
        ) from error


def objects(
    path: Path, keys: Mapping[str, Any], dialect: Dialect = PLAIN
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The object on each line of a JSONL file, None for a blank one, or each row of Parquet, and where it stands."""
    if extension_of(path) == ".parquet":
        yield from ((f"{path}:{number}", record) for number, record in enumerate(parquet_records(path), 1))
        return
    example = list(keys)[:2]
    for number, line in enumerate(lines(path, dialect.encoding_of(path)), 1):
        where = f"{path}:{number}"
        yield where, json_object(line, where, example) if line.strip() else None


def json_object(line: str, where: str, keys: Sequence[str]) -> dict[str, Any]:
    """A line as an object of JSON; the keys are an example of what it could have."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not valid JSON ({error}), expected one object a line") from error
    if not isinstance(record, dict):
        kinds = {list: "a list", str: "text", bool: "true or false", type(None): "null"}
        example = ", ".join(f'"{key}": …' for key in keys)
        raise DataError(
            f"{where} is no object but {kinds.get(type(record), 'a number')}, expected an object such as {{{example}}}"
        )
    return record


# How a table is written


def usual_separator(path: Path) -> str:
    """What separates cells by the extension alone."""
    return "," if extension_of(path) == ".csv" else "\t"


def separator_of(path: Path, dialect: Dialect = PLAIN) -> str:
    """What stands between the cells: what a setting says, or the first that makes all first rows equally long."""
    return dialect.separator or _told_separator(path, dialect) or usual_separator(path)


def dialect_beside(path: Path, dialect: Dialect) -> Dialect:
    """How to read a file that is given beside those that settings speak of: as it tells itself, or else like them."""
    if extension_of(path) in SHEETS:
        return dialect
    told = dialect._replace(encoding=encoding_beside(path, dialect.encoding), separator=None)
    return told if _told_separator(path, told) else told._replace(separator=dialect.separator)


def _told_separator(path: Path, dialect: Dialect) -> str | None:
    """The first that makes all first rows equally long; None where none does, or the extension tells it."""
    usual = usual_separator(path)
    if extension_of(path) not in {".csv", ".tsv"}:
        return None
    sample: list[str] = []
    with suppress(DataError):  # what is wrong with the file is said when it is read
        sample.extend(islice(lines(path, dialect.encoding_of(path)), SAMPLE))
    tables = {
        each: _even_rows(sample, each, plain=usual == each == "\t") for each in dict.fromkeys((usual, *SEPARATORS))
    }
    if tables[","] and tables[";"] and _has_decimal_commas(tables[";"]):
        return ";"
    return next((each for each, rows in tables.items() if rows), None)


def _even_rows(sample: list[str], separator: str, *, plain: bool) -> list[list[str]]:
    """The rows of the first lines, if there are two or more of the same two or more cells; otherwise none."""
    try:
        read = (line.split("\t") for line in sample) if plain else csv.reader(sample, delimiter=separator)
        rows = [row for row in read if "".join(row).strip()]
    except csv.Error:
        return []
    rows = rows[:-1] if len(sample) == SAMPLE else rows  # the last one may be cut off within quotes
    return rows if len(rows) > 1 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1 else []


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    """Whether commas occur in numbers alone, as in 3,5;4,1."""
    with_commas = [cell.strip() for row in rows for cell in row if "," in cell]
    return bool(with_commas) and all(map(COMMA_NUMBER.fullmatch, with_commas))


def table_remarks(path: Path, dialect: Dialect) -> list[str]:
    """What the file itself told of how it is written."""
    if extension_of(path) in SHEETS:
        return sheet_remarks(path)
    remarks = encoding_remarks(path, dialect.encoding)
    found, usual = separator_of(path, dialect), usual_separator(path)
    if dialect.separator is None and found != usual:
        told = f"{SEPARATORS[found]} between its cells, not {SEPARATORS[usual]}"
        remarks.append(f"{path} has {told}, and is read so; data.separator says it if that is wrong")
    return remarks
