"""From the rows of a .csv, .tsv, .xlsx or .parquet file to columns of numbers, one row for each step of time."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.data.files import extension_of
from seqwright.data.rows import PLAIN, Dialect, TableRow, all_blank, cells, separator_of, table_remarks
from seqwright.data.spreadsheets import SHEETS
from seqwright.data.tables import (
    Column,
    Columns,
    column_place,
    more_cells,
    quoted,
    require_form,
    semicolons,
    several,
    too_few,
    too_many,
    value_names,
)
from seqwright.data.times import COMMA_NUMBER, NUMBER, Rhythm, rhythm, uncertain_comma
from seqwright.errors import DataError, SettingError

MISSING = {"", "-", "–", "na", "nan", "n/a", "#n/a", "null", "none", "?"}  # as people write it
FORMS = (".csv", ".tsv", ".xlsx", ".parquet")
UNCERTAIN = (
    "where the comma may be decimal or mark thousands: set data.decimal=',' if it is decimal, or else write numbers "
    "without it"
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
    values, times, numbers = _cells(islice(_without_blank_end(below, path), rows), top, layout, path)
    if not values:
        raise DataError(f"{path} has no row of values{' below its header' if layout.header else ''}; give some")
    written = _written(values, path, dialect)
    values_TC, filled = _values(written.rows, numbers, layout, path, missing=filling.missing)
    remarks = [*table_remarks(path, dialect), *written.remarks]
    remarks += [
        f"column {place + 1} of {path} has no name and was left out: data.columns can choose it"
        for place in layout.unnamed
    ]
    if filled:
        remarks.append(f"{path} had missing values, in whose place the value before stands: {filled:,}")
    beat = None if layout.time is None else rhythm(times, numbers, path, gaps=filling.gaps != "refuse")
    time_name = "step" if layout.time is None else layout.names[layout.time]
    if beat is not None and any(beat.absent):
        values_TC = _without_gaps(values_TC, beat.absent, filling.gaps)
        line = next(line for line, count in zip(numbers[1:], beat.absent, strict=True) if count)
        told = f"{path} lacks {sum(beat.absent):,} rows by '{time_name}', the first before line {line}"
        remarks.append(f"{told}: filled, as data.gaps={filling.gaps} says")
    return SeriesTable(tuple(layout.names[place] for place in layout.places), values_TC, beat, time_name, remarks)


def _without_blank_end(rows: Iterator[TableRow], path: Path) -> Iterator[TableRow]:
    """The rows; blank lines may only follow the last one, for a blank in between may be a step that is missing."""
    blank = 0
    for row in rows:
        if all_blank(row):
            blank = blank or row.line
        elif blank:
            raise DataError(f"{path}:{blank} is blank, expected a row of values: fill it in or remove it")
        else:
            yield row


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


def _cells(
    rows: Iterator[TableRow], top: TableRow, layout: SeriesLayout, path: Path
) -> tuple[list[list[str]], list[str], list[int]]:
    """The cells to forecast of each row, its time, and the line it stands on."""
    least = max([*layout.places, layout.time or 0]) + 1
    found, times, numbers = [], [], []
    for row in rows:
        if len(row.cells) < least:
            raise DataError(too_few(row, least, f"{path}:{row.line}"))
        if more_cells(row, top):
            raise DataError(too_many(row, top, f"{path}:{row.line}"))
        found.append([row.cells[place].strip() for place in layout.places])
        times.append("" if layout.time is None else row.cells[layout.time].strip())
        numbers.append(row.line)
    return found, times, numbers


class _Written(NamedTuple):
    """Cells with decimal points, and what is to be said of their decimal marks."""

    rows: list[list[str]]
    remarks: list[str]


def _written(rows: list[list[str]], path: Path, dialect: Dialect) -> _Written:
    """The cells with points in place of decimal commas: as a setting says, or where commas can be nothing else."""
    commas = next((cell for row in rows for cell in row if COMMA_NUMBER.fullmatch(cell)), None)
    separated = extension_of(path) in SHEETS or separator_of(path, dialect) == ","
    if commas is None or dialect.decimal == "." or (dialect.decimal is None and separated):
        return _Written(rows, [])
    thousands = next((cell for row in rows for cell in row if "." in cell and NUMBER.fullmatch(cell)), None)
    if thousands is not None:
        raise DataError(
            f"{path} has both '{commas}' and '{thousands}', so it is not certain which mark is decimal: write all "
            "numbers alike, without marks for thousands"
        )
    uncertain = uncertain_comma(cell for row in rows for cell in row)
    if uncertain is not None and dialect.decimal is None:
        raise DataError(f"{path} has '{uncertain}', {UNCERTAIN}")
    told = f"{path} has decimal commas, as in {commas}, and is read so; data.decimal says it if that is wrong"
    pointed = [[cell.replace(",", ".") if COMMA_NUMBER.fullmatch(cell) else cell for cell in row] for row in rows]
    return _Written(pointed, [told] if dialect.decimal is None else [])


def _without_gaps(values_TC: NDArray[np.float64], absent: list[int], gaps: str) -> NDArray[np.float64]:
    """The rows, and those that are missing between them."""
    place_T = np.cumsum([0, *(count + 1 for count in absent)])
    every_T = np.arange(place_T[-1] + 1)
    if gaps == "last":
        return values_TC[np.searchsorted(place_T, every_T, side="right") - 1]
    return np.stack([np.interp(every_T, place_T, value_T) for value_T in values_TC.T], axis=1)


def _values(
    rows: list[list[str]], numbers: list[int], layout: SeriesLayout, path: Path, *, missing: str
) -> tuple[NDArray[np.float64], int]:
    """The values of all rows, and how many were missing."""
    values_TC = np.empty((len(rows), len(layout.places)))
    filled = 0
    for step, (row, line) in enumerate(zip(rows, numbers, strict=True)):
        for channel, cell in enumerate(row):
            if NUMBER.fullmatch(cell) and np.isfinite(value := float(cell)):
                values_TC[step, channel] = value
                continue
            where = f"{path}:{line}"
            name = layout.names[layout.places[channel]]
            if cell.casefold() not in MISSING:
                raise DataError(_not_a_number(where, cell, name, first=step == 0))
            if missing == "refuse" or step == 0:
                advice = "there is none before it to repeat" if missing == "last" else "or set data.missing=last"
                raise DataError(f"{where} has no value in column '{name}': fill it in, {advice}")
            values_TC[step, channel] = values_TC[step - 1, channel]
            filled += 1
    return values_TC, filled


def _not_a_number(where: str, cell: str, name: str, *, first: bool) -> str:
    found = f"{where} has '{cell[:40]}' in column '{name}', expected a number"
    if NUMBER.fullmatch(cell):
        return f"{found} that is finite"
    if COMMA_NUMBER.fullmatch(cell):
        return f"{found} with a decimal point: set data.decimal=',' if that is a decimal comma"
    if ";" in cell:
        return f"{found}{semicolons([cell])}"
    if first and any(mark in cell for mark in "-/:"):
        return f"{found}: if that is when the row was measured, set data.time={name}"
    return f"{found}: correct it, or choose other columns with data.columns"
