"""From lines to pairs: tables separated by tabs or commas, with a header line or without, and JSONL."""

import csv
import functools
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from seqwright.data.examples import Pair
from seqwright.errors import DataError, SettingError, nearest

Column = str | Annotated[int, Field(ge=1)] | None
Lines = Iterator[str]
Reader = Callable[[Lines, Path, Column, Column], Iterator[Pair]]


# Languages in which somebody may write "German" above a column.
HEADER_LANGUAGES = [
    *("ar", "cs", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "ja"),
    *("ko", "nb", "nl", "pl", "pt", "ro", "ru", "sv", "tr", "uk", "zh"),
]


class Row(NamedTuple):
    """The cells of a table's row, and the line it stands on."""

    line: int
    cells: list[str]


class Layout(NamedTuple):
    """The places, from 0, of the two sides in a row, and whether the first line is a header."""

    source: int
    target: int
    header: bool


def tsv_pairs(lines: Lines, path: Path, source: Column, target: Column) -> Iterator[Pair]:
    """The pairs of a TSV file."""
    return _table_pairs(tsv_rows(lines, path), path, source, target, "tab")


def csv_pairs(lines: Lines, path: Path, source: Column, target: Column) -> Iterator[Pair]:
    """The pairs of a CSV file."""
    return _table_pairs(csv_rows(lines, path), path, source, target, "comma")


def _table_pairs(rows: Iterator[Row], path: Path, source: Column, target: Column, separator: str) -> Iterator[Pair]:
    """The pairs of a table; an empty line is a pair with two blank sides."""
    top = next(rows)
    layout = layout_of(top, path, source, target)
    needed = max(layout.source, layout.target) + 1
    for row in rows if layout.header else itertools.chain([top], rows):
        if len(row.cells) >= needed:
            yield Pair(row.cells[layout.source], row.cells[layout.target])
        elif any(cell.strip() for cell in row.cells):
            raise DataError(
                f"{path}:{row.line} has {len(row.cells)} column{'s' if len(row.cells) > 1 else ''}, expected at least "
                f"{needed}, separated by a {separator}{_semicolons(row.cells) if separator == 'comma' else ''}"
            )
        else:
            yield Pair("", "")


def tsv_rows(lines: Lines, path: Path) -> Iterator[Row]:
    """Rows of a TSV file; quotes are ordinary characters."""
    for number, line in enumerate(lines, 1):
        yield Row(number, line.split("\t"))


def csv_rows(lines: Lines, path: Path) -> Iterator[Row]:
    """Rows of a CSV file; a quoted cell may hold commas and line feeds, and then the row's last line counts."""
    reader = csv.reader((line + "\n" for line in lines), strict=True)
    try:
        for cells in reader:
            yield Row(reader.line_num, cells)
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num} is not valid CSV ({error}): check the quotes before it") from error


def layout_of(top: Row, path: Path, source: Column, target: Column) -> Layout:
    """Where the sides stand; the first line is a header if a setting names a column or it has source and target."""
    header = [cell.strip() for cell in top.cells]
    named = isinstance(source, str) or isinstance(target, str)
    if source is None and target is None:
        named = {"source", "target"} <= {cell.casefold() for cell in header}
    left = _column(path, header if named else [], source, ("source", 1))
    right = _column(path, header if named else [], target, ("target", 2))
    if left == right:
        raise SettingError(f"data.source and data.target both mean column {left + 1} of {path}: choose two columns")
    return Layout(left, right, named)


def _column(path: Path, header: list[str], asked: Column, usual: tuple[str, int]) -> int:
    """The place, from 0, of the column that a setting asks for or that is usual where it does not."""
    name, number = usual
    if isinstance(asked, int):
        return asked - 1
    found = _named(asked or name, header)
    if found is not None:
        return header.index(found)
    if asked is None:
        return number - 1
    raise DataError(
        f"{path}:1 has no column '{asked}' but {_listed(header)}{_semicolons(header) or f': {_advice(header)}'}."
        f"{nearest(asked, header)}"
    )


def _named(asked: str, names: list[str]) -> str | None:
    """The name that was asked for, or else the first one that differs only in capitals."""
    alike = (name for name in names if name.casefold() == asked.casefold())
    return asked if asked in names else next(alike, None)


def _semicolons(cells: list[str]) -> str:
    """What to do where semicolons seem to stand between the columns."""
    if len(cells) > 1 or ";" not in cells[0]:
        return ""
    return ": it has ';', so save the table with commas (.csv) or tabs (.tsv) between its columns"


def _advice(names: list[str]) -> str:
    """How the two sides are chosen by name."""
    short = [name for name in names if name and len(name) <= 20 and name.casefold() != "id" and " " not in name]
    example = f", as in data.source={short[0]} data.target={short[1]}" if len(short) > 1 else ""
    return f"set data.source and data.target to the names of the two sides{example}"


def _listed(names: list[str]) -> str:
    """Names in quotes, cut short: what was taken for a header line may be a whole sentence."""
    shown = [f"'{name[:30]}…'" if len(name) > 30 else f"'{name}'" for name in names[:6]]
    return (", ".join(shown) or "none at all") + (", …" if len(names) > 6 else "")


# What is worth a second look


def table_remarks(rows: Iterator[Row], path: Path, source: Column, target: Column) -> list[str]:
    """What the first line of a table leaves open: whether it is a header, and what the other columns are."""
    top = next(rows)
    layout = layout_of(top, path, source, target)
    if layout.header:
        return []
    remarks = []
    names = [cell.strip() for cell in top.cells]
    if sum(name.casefold() in header_words() for name in names) >= 2:
        remarks.append(
            f"the first line of {path} reads '{' → '.join(names)}': if that is a header, delete it, or {_advice(names)}"
        )
    if source is None and target is None and len(names) > 2:
        others = len(names) - 2
        remarks.append(
            f"{path} has {len(names)} columns: the first two were taken, "
            f"{f'the {others} others are' if others > 1 else 'the other one is'} ignored; "
            "numbers choose others, as in data.source=2 data.target=3"
        )
    return remarks


@functools.cache
def header_words() -> frozenset[str]:
    """What headers are made of: the languages by code and by name, in some of them, and words for the two sides."""
    from babel import Locale
    from babel.core import get_global

    names = {name.casefold() for language in HEADER_LANGUAGES for name in Locale(language).languages.values()}
    codes = {code.casefold() for code in (*Locale("en").languages, *get_global("language_aliases"))}
    sides = {"source", "target", "src", "tgt", "trg", "sentence", "translation", "original", "input", "output"}
    return frozenset(names | codes | sides)


# JSONL


def json_pairs(lines: Lines, path: Path, source: Column, target: Column) -> Iterator[Pair]:
    """The pairs of a JSONL file, one object a line; an empty line is a pair with two blank sides."""
    keys = [_key(path, source, "source"), _key(path, target, "target")]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            yield Pair("", "")
            continue
        where = f"{path}:{number}"
        record = _record(line, where)
        yield Pair(*(_value(record, key, where) for key in keys))


def _key(path: Path, asked: Column, usual: str) -> str:
    if isinstance(asked, int):
        raise SettingError(f"data.{usual} is column {asked}, but the values of {path} have names: give the name")
    return usual if asked is None else asked


def _record(line: str, where: str) -> dict[str, object]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not valid JSON ({error}), expected one object a line") from error
    if not isinstance(record, dict):
        raise DataError(f'{where} holds {_kind(record)}, expected an object such as {{"source": …, "target": …}}')
    return record


def _value(record: dict[str, object], key: str, where: str) -> str:
    names = list(record)
    found = _named(key, names)
    if found is None:
        raise DataError(f"{where} has no key '{key}' but {_listed(names)}: {_advice(names)}.{nearest(key, names)}")
    value = record[found]
    if not isinstance(value, str):
        raise DataError(f"{where} holds {_kind(value)} under '{found}', expected text in quotes")
    try:
        nul = b"\0" in value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{where} holds half a surrogate pair under '{found}', expected whole characters") from error
    if nul:  # JSON can spell out, as \u0000, what no line of a file may hold
        raise DataError(f"{where} holds a NUL character under '{found}', expected plain text: remove it")
    return value


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
