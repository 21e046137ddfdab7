"""From the rows of a .csv, .tsv, .xlsx or .parquet file to columns of numbers, one row for each step of time."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.data.decimals import (
    COMMA_NUMBER,
    MARKS,
    NUMBER,
    grouped_decimal,
    is_grouped,
    is_missing,
    is_number,
    uncertain_comma,
    with_point,
)
from seqwright.data.encodings import if_wrong
from seqwright.data.faults import RowError, more_cells, quoted, refuse_faults, semicolons, too_few, too_many
from seqwright.data.files import extension_of
from seqwright.data.rows import PLAIN, Dialect, TableRow, all_blank, cells, separator_of, table_remarks
from seqwright.data.spreadsheets import SHEETS
from seqwright.data.tables import (
    Column,
    Columns,
    column_place,
    require_form,
    several,
    value_names,
)
from seqwright.data.times import Rhythm, rhythm
from seqwright.errors import DataError, SettingError, by_setting

FORMS = (".csv", ".tsv", ".xlsx", ".parquet")


def uncertain_told() -> str:
    """What to do where it is not certain what a comma means."""
    set_it = "set data.decimal=',' if it is decimal, or data.decimal='.' if it marks thousands"
    return (
        f"where the comma may be decimal or mark thousands: {by_setting(set_it, 'write numbers with decimal points')}"
    )


class Filling(NamedTuple):
    """What becomes of a cell without a value, and of rows that are missing by their times."""

    missing: str = "refuse"
    gaps: str = "refuse"


REFUSE = Filling()


class SeriesTable(NamedTuple):
    """The columns to forecast: their names, their values row by row, and how time continues after the last row."""

    columns: tuple[str, ...]
    values_TC: NDArray[np.float64]
    rhythm: Rhythm | None
    time: str
    remarks: list[str]


class SeriesLayout(NamedTuple):
    """The places, from 0, of the columns to forecast and of the time, what they are called, and what was left out."""

    places: list[int]
    time: int | None
    names: list[str]
    header: bool
    unnamed: list[int]


def read_table(
    path: Path,
    columns: Columns,
    time: Column,
    filling: Filling = REFUSE,
    dialect: Dialect = PLAIN,
    *,
    rows: int | None = None,
    known: Sequence[str] = (),
) -> SeriesTable:
    """Read a file. Where `columns` says nothing and the file has all of the `known` columns, those are taken."""
    require_form(path, FORMS)
    found = cells(path, dialect)
    top = next(found)
    layout = _layout(top, path, columns, time, known)
    below = found if layout.header else chain([top], found)
    read = _cells(islice(below, rows), top, layout, path)
    if not read.rows and not read.faults:
        raise DataError(f"{path} has no row of values{' below its header' if layout.header else ''}; give some")
    written = _written(read.rows, path, dialect)
    values_TC, filled = _values(read._replace(rows=written.rows), layout, path, missing=filling.missing)
    remarks = [*table_remarks(path, dialect), *written.remarks]
    remarks += [
        f"column {place + 1} of {path} has no name and was left out{by_setting(': data.columns can choose it')}"
        for place in layout.unnamed
        if place in read.filled
    ]
    if filled:
        remarks.append(f"{path} had missing values, in whose place the value before stands: {filled:,}")
    beat = None if layout.time is None else rhythm(read.times, read.lines, path, gaps=filling.gaps != "refuse")
    time_name = "step" if layout.time is None else layout.names[layout.time]
    if beat is not None and any(beat.absent):
        values_TC = _without_gaps(values_TC, beat.absent, filling.gaps)
        line = next(line for line, count in zip(read.lines[1:], beat.absent, strict=True) if count)
        told = f"{path} lacks {sum(beat.absent):,} rows by '{time_name}', the first before line {line}"
        remarks.append(f"{told}: filled, as data.gaps={filling.gaps} says")
    return SeriesTable(tuple(layout.names[place] for place in layout.places), values_TC, beat, time_name, remarks)


# ---------------------------------------------------------------------------------------------------- columns


def _layout(top: TableRow, path: Path, columns: Columns, time: Column, known: Sequence[str]) -> SeriesLayout:
    """Which columns to read."""
    asked = several(columns)
    names, header = value_names(top, (*asked, time))
    when = None if time is None else column_place(time, names, path, "data.time")
    unnamed: list[int] = []
    if not asked and known and header and set(known) <= set(names):
        places = [names.index(name) for name in known]
    elif asked:
        places = [column_place(each, names, path, "data.columns") for each in asked]
    else:
        others = [place for place in range(len(names)) if place != when]
        unnamed = [place for place in others if not names[place]]
        places = [place for place in others if names[place]]
    chosen = [names[place] for place in places]
    doubled = next((name for name in chosen if chosen.count(name) > 1), None)
    if doubled is not None:
        raise DataError(f"{path}:{top.line} has the column '{doubled}' twice among those to forecast: name each once")
    if when in places:
        raise SettingError(f"'{names[when or 0]}' is in data.columns and is data.time too: time is not forecast")
    if not places:
        raise DataError(f"{path}:{top.line} has no column to forecast, only {quoted(names)}: add one")
    return SeriesLayout(places, when, names, header, unnamed)


# ---------------------------------------------------------------------------------------------------- values


class _Cells(NamedTuple):
    """The cells to forecast of each row, its time, the line it stands on, and the rows that cannot be read."""

    rows: list[list[str]]
    times: list[str]
    lines: list[int]
    faults: list[RowError]
    filled: set[int]  # places of the columns without a name in which something stands


def _cells(rows: Iterator[TableRow], top: TableRow, layout: SeriesLayout, path: Path) -> _Cells:
    """The cells of each row; blank lines may only follow the last, for one in between may be a step that is missing."""
    least = max([*layout.places, layout.time or 0]) + 1
    found, blank = _Cells([], [], [], [], set()), list[int]()
    for row in rows:
        where = f"{path}:{row.line}"
        if all_blank(row):
            blank.append(row.line)
            continue
        found.faults.extend(_blank(path, line) for line in blank)
        blank.clear()
        if len(row.cells) < least:
            found.faults.append(RowError(too_few(row, least, where), row.line, "too few cells"))
        elif more_cells(row, top):
            found.faults.append(RowError(too_many(row, top, where), row.line, "too many cells"))
        else:
            found.rows.append([row.cells[place].strip() for place in layout.places])
            found.times.append("" if layout.time is None else row.cells[layout.time].strip())
            found.lines.append(row.line)
            found.filled.update(place for place in layout.unnamed if "".join(row.cells[place : place + 1]).strip())
    return found


def _blank(path: Path, line: int) -> RowError:
    return RowError(
        f"{path}:{line} is blank, expected a row of values: fill it in or remove it", line, "nothing at all"
    )


class _Written(NamedTuple):
    """Cells with decimal points, and what is to be said of their decimal marks."""

    rows: list[list[str]]
    remarks: list[str]


def _written(rows: list[list[str]], path: Path, dialect: Dialect) -> _Written:
    """The cells with decimal points: by a setting, by marks between thousands, or where commas can be nothing else."""
    if dialect.decimal is not None:
        pointed = [[dialect.point(cell) for cell in row] for row in rows]
        _refuse_points(rows, pointed, path, dialect)
        return _Written(pointed, [])
    grouped = _by_thousands(rows, path)
    if grouped is not None:
        return grouped
    commas = next((cell for row in rows for cell in row if COMMA_NUMBER.fullmatch(cell)), None)
    if commas is None or extension_of(path) in SHEETS or separator_of(path, dialect) == ",":
        return _Written(rows, [])
    _refuse_both(commas, (cell for row in rows for cell in row), ",", path)
    uncertain = uncertain_comma(cell for row in rows for cell in row)
    if uncertain is not None:
        raise DataError(f"{path} has '{uncertain}', {uncertain_told()}")
    told = f"{path} has decimal commas, as in {commas}, and is read so; {if_wrong('decimal')}"
    return _Written([[with_point(cell, ",") for cell in row] for row in rows], [told])


def _refuse_points(rows: list[list[str]], pointed: list[list[str]], path: Path, dialect: Dialect) -> None:
    """Refuse decimal points where a setting says that commas are decimal: what is meant is not certain."""
    both = list(zip(chain.from_iterable(rows), chain.from_iterable(pointed), strict=True))
    commas = next((cell for cell, point in both if "," in cell and cell != point), None)
    points = next((cell for cell, point in both if cell == point and "." in cell and NUMBER.fullmatch(cell)), None)
    if dialect.decimal == "," and commas is not None and points is not None:
        raise DataError(f"{path} has both '{commas}' and '{points}', but data.decimal is ',': write all numbers alike")


def _by_thousands(rows: list[list[str]], path: Path) -> _Written | None:
    """The cells with decimal points, where a column shows by marks between thousands which mark is decimal."""
    columns = [[cell for cell in column if not is_missing(cell)] for column in zip(*rows, strict=True)]
    marks = [grouped_decimal(column) for column in columns]
    decimal = next((mark for mark in marks if mark is not None), None)
    if decimal is None:
        return None
    shown = max((cell for mark, column in zip(marks, columns, strict=True) if mark for cell in column), key=len)
    for mark, column in zip(marks, columns, strict=True):
        if mark != decimal:
            _refuse_both(shown, column, decimal, path)
    told = f"{path} has marks between thousands, as in {shown}, and is read so; {if_wrong('decimal')}"
    return _Written([[with_point(cell, decimal) for cell in row] for row in rows], [told])


def _refuse_both(shown: str, cells: Iterable[str], decimal: str, path: Path) -> None:
    """Refuse numbers with the other mark, which may be decimal there or mark thousands."""
    other = next((cell for cell in cells if MARKS[decimal] in cell and is_number(cell)), None)
    if other is not None:
        raise DataError(
            f"{path} has both '{shown}' and '{other}', so it is not certain which mark is decimal: write all numbers "
            "alike, without marks for thousands"
        )


def _without_gaps(values_TC: NDArray[np.float64], absent: list[int], gaps: str) -> NDArray[np.float64]:
    """The rows, and those that are missing between them."""
    place_T = np.cumsum([0, *(count + 1 for count in absent)])
    every_T = np.arange(place_T[-1] + 1)
    if gaps == "last":
        return values_TC[np.searchsorted(place_T, every_T, side="right") - 1]
    return np.stack([np.interp(every_T, place_T, value_T) for value_T in values_TC.T], axis=1)


def _values(found: _Cells, layout: SeriesLayout, path: Path, *, missing: str) -> tuple[NDArray[np.float64], int]:
    """The values of all rows, and how many were missing; what cannot be read is refused together."""
    values_TC, filled = np.empty((len(found.rows), len(layout.places))), 0
    faults = list(found.faults)
    for step, (row, line) in enumerate(zip(found.rows, found.lines, strict=True)):
        for channel, cell in enumerate(row):
            if NUMBER.fullmatch(cell) and np.isfinite(value := float(cell)):
                values_TC[step, channel] = value
            elif is_missing(cell) and missing == "last" and step:
                values_TC[step, channel] = values_TC[step - 1, channel]
                filled += 1
            else:
                name = layout.names[layout.places[channel]]
                faults.append(_no_value(cell, name, path, line, missing=missing, first=step == 0))
    refuse_faults(sorted(faults, key=lambda fault: fault.line))
    return values_TC, filled


def _no_value(cell: str, name: str, path: Path, line: int, *, missing: str, first: bool) -> RowError:
    where = f"{path}:{line}"
    if not is_missing(cell):
        return RowError(_not_a_number(where, cell, name, first=first), line, f"no number in column '{name}'")
    advice = ", there is none before it to repeat" if missing == "last" else by_setting(", or set data.missing=last")
    told = f"{where} has no value in column '{name}': fill it in{advice}"
    return RowError(told, line, f"no value in column '{name}'")


def _not_a_number(where: str, cell: str, name: str, *, first: bool) -> str:
    found = f"{where} has '{cell[:40]}' in column '{name}', expected a number"
    if NUMBER.fullmatch(cell):
        return f"{found} that is finite"
    if COMMA_NUMBER.fullmatch(cell) or is_grouped(cell):
        advice = by_setting(": set data.decimal=',' if that is a decimal comma, or '.' if it is none")
        return f"{found} with a decimal point{advice}"
    if ";" in cell:
        return f"{found}{semicolons([cell])}"
    if first and any(mark in cell for mark in "-/:"):
        told = f": if that is when the row was measured, set data.time={name}"
        return f"{found}{by_setting(told, ': leave the column out, since the run was trained without times')}"
    return f"{found}: correct it{by_setting(', or choose other columns with data.columns')}"
