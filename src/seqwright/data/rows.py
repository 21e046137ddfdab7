"""From files to rows: the cells of a table, or the objects of a JSONL or Parquet file, one at a time.

How a table is written (its encoding, what separates its cells) is told by settings, or else by the file itself; what
was told by the file is said in `table_remarks`.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field

from seqwright.data.decimals import COMMA_NUMBER, GROUPED, is_number, with_point
from seqwright.data.encodings import encoding_beside, encoding_of, encoding_remarks, if_wrong
from seqwright.data.faults import RowError
from seqwright.data.files import extension_of, lines
from seqwright.data.limits import file_limits
from seqwright.data.spreadsheets import SHEETS, parquet_records, sheet_remarks, sheet_rows
from seqwright.errors import DataError

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a |"}
MOST_TITLES = 10  # rows above the names of the columns
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
    Field(
        description='The decimal mark of the numbers: "." or ",", as in 3,5; the other one may then mark thousands. '
        "Left out: a point."
    ),
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
        """A number with a decimal point and no marks for thousands, where the settings say its decimal mark."""
        return cell if self.decimal is None else with_point(cell, self.decimal)


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
    """Every row of a file from the names of its columns on: a title above them is none of the table's."""
    rows = _every_row(path, dialect)
    first = _first_rows(rows)
    yield from chain(first[title_rows(first) :], rows)


def _first_rows(rows: Iterator[TableRow]) -> list[TableRow]:
    """The first rows up to one with several cells and, if that is not the very first, the one below it."""
    first: list[TableRow] = []
    for row in islice(rows, MOST_TITLES + 1):
        first.append(row)
        if "".join(row.cells[1:]).strip():
            return first if len(first) == 1 else [*first, *islice(rows, 1)]
    return first


def title_rows(first: Sequence[TableRow]) -> int:
    """How many of the first rows stand above the names of the columns.

    In each of them nothing stands behind the first cell; below are two rows of as many cells, of which the upper has
    two names or more, and no numbers.
    """
    count = next((place for place, row in enumerate(first) if "".join(row.cells[1:]).strip()), 0)
    if not count or count + 1 >= len(first):
        return 0
    names, below = ([cell for cell in row.cells if cell.strip()] for row in first[count : count + 2])
    alike = len(first[count].cells) == len(first[count + 1].cells) and len(below) > 1
    return count if alike and len(names) > 1 and not any(map(is_number, names)) else 0


def _every_row(path: Path, dialect: Dialect) -> Iterator[TableRow]:
    """All rows; what is not .csv has tabs between its cells, and quotes are ordinary characters there."""
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


class ObjectRow(NamedTuple):
    """A row of a JSONL or Parquet file, where it stands, and how it becomes an object."""

    where: str
    line: int
    parsed: Callable[[], dict[str, Any] | None]  # None for a blank line


def objects(path: Path, keys: Mapping[str, Any], dialect: Dialect = PLAIN) -> Iterator[ObjectRow]:
    """Each line of a JSONL file, or each row of Parquet."""
    if extension_of(path) == ".parquet":
        for number, record in enumerate(parquet_records(path), 1):
            yield ObjectRow(f"{path}:{number}", number, partial(dict, record))
        return
    example = list(keys)[:2]
    for number, line in enumerate(lines(path, dialect.encoding_of(path)), 1):
        yield ObjectRow(f"{path}:{number}", number, partial(_parsed, line, f"{path}:{number}", number, example))


def _parsed(line: str, where: str, number: int, keys: Sequence[str]) -> dict[str, Any] | None:
    if not line.strip():
        return None
    try:
        return json_object(line, where, keys)
    except DataError as error:
        raise RowError(str(error), number, "no valid object of JSON") from error


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
    if sample and (told := re.fullmatch(r'"?sep=([,;|\t])"?', sample[0])):  # as Excel is told
        return told[1]
    even = _even_separator(sample, usual) or _separator_below_titles(sample, usual)
    return even or _separator_of_names(sample, usual)


def _separator_below_titles(sample: list[str], usual: str) -> str | None:
    """What makes all rows equally long but for the first ones, of which it leaves out as few as can be."""
    found: dict[str, int] = {}
    for each in dict.fromkeys((usual, *SEPARATORS)):
        below = (n for n, line in enumerate(sample[: MOST_TITLES + 1]) if line.partition(each)[2].strip(f"{each} "))
        count = next(below, 0)
        if _even_rows(sample[count:], each, plain=usual == each == "\t"):
            found[each] = count
    return min(found, key=found.__getitem__, default=None)


def _separator_of_names(sample: list[str], usual: str) -> str | None:
    """What stands between the names in the first line, and makes most rows as long: those that are not are at fault."""
    for each in dict.fromkeys((usual, *SEPARATORS)):
        rows = _rows(sample, each, plain=usual == each == "\t")
        if len(rows) > 1 and len(rows[0]) > 1:
            fitting = sum(len(row) == len(rows[0]) for row in rows[1:])
            if each == usual or 2 * fitting > len(rows) - 1:
                return each
    return None


def _even_separator(sample: list[str], usual: str) -> str | None:
    """The first that makes all rows equally long."""
    tables = {
        each: _even_rows(sample, each, plain=usual == each == "\t") for each in dict.fromkeys((usual, *SEPARATORS))
    }
    if tables[","] and tables[";"] and _has_decimal_commas(tables[";"]):
        return ";"
    return next((each for each, rows in tables.items() if rows), None)


def _even_rows(sample: list[str], separator: str, *, plain: bool) -> list[list[str]]:
    """The rows of the first lines, if there are two or more of the same two or more cells; otherwise none."""
    rows = _rows(sample, separator, plain=plain)
    return rows if len(rows) > 1 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1 else []


def _rows(sample: list[str], separator: str, *, plain: bool) -> list[list[str]]:
    """The rows of the first lines, but for blank ones; none where that separator makes no table of them."""
    try:
        read = (line.split("\t") for line in sample) if plain else csv.reader(sample, delimiter=separator)
        rows = [row for row in read if "".join(row).strip()]
    except csv.Error:
        return []
    return rows[:-1] if len(sample) == SAMPLE else rows  # the last one may be cut off within quotes


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    """Whether commas occur in numbers alone, as in 3,5;4,1."""
    with_commas = [cell.strip() for row in rows for cell in row if "," in cell]
    return bool(with_commas) and all(
        COMMA_NUMBER.fullmatch(cell) or GROUPED[","].fullmatch(cell) for cell in with_commas
    )


def table_remarks(path: Path, dialect: Dialect) -> list[str]:
    """What the file itself told of how it is written."""
    if extension_of(path) in SHEETS:
        return [*sheet_remarks(path), *_title_remarks(path, dialect)]
    remarks = [*encoding_remarks(path, dialect.encoding), *_title_remarks(path, dialect)]
    found, usual = separator_of(path, dialect), usual_separator(path)
    if dialect.separator is None and found != usual:
        told = f"{SEPARATORS[found]} between its cells, not {SEPARATORS[usual]}"
        remarks.append(f"{path} has {told}, and is read so; {if_wrong('separator')}")
    return remarks


def _title_remarks(path: Path, dialect: Dialect) -> list[str]:
    """That something stands above the names of the columns."""
    first = _first_rows(_every_row(path, dialect))
    count = title_rows(first)
    if not count:
        return []
    title = next((row.cells[0].strip() for row in first[:count] if not all_blank(row)), "nothing")
    return [f"{path} has its columns' names on line {first[count].line}; what stands above is left out: {title[:40]}"]
