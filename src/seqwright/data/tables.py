"""Tables in files: their columns are chosen by name, by number, or by their usual words.

    TableFile(path, {"text": Usual(("text", "sentence"), (0,))}, {"text": None}).records()

gives each row with its place in the file. Rows whose columns are something else (a series) begin with
`rows.cells`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator

from seqwright.data.decimals import is_number
from seqwright.data.faults import RowError, every_row, more_cells, not_there, semicolons, too_few, too_many
from seqwright.data.files import extension_of, require_file
from seqwright.data.rows import (
    OBJECTS,
    PLAIN,
    SEPARATORS,
    Dialect,
    ObjectRow,
    TableRow,
    all_blank,
    cells,
    objects,
    separator_of,
    table_remarks,
)
from seqwright.data.spreadsheets import SHEETS
from seqwright.errors import DataError, SettingError, by_setting


def counted_from_one(column: str | int | None) -> str | int | None:
    """Refuse a column before the first."""
    if isinstance(column, int) and column < 1:
        raise ValueError(f"columns are counted from 1, not from {column}")
    return column


Column = Annotated[str | int | None, AfterValidator(counted_from_one)]
Columns = Column | tuple[Column, ...]
MadeT = TypeVar("MadeT")
FORMS = (".tsv", ".csv", ".jsonl", ".xlsx", ".parquet")
OTHER_PROGRAMS = {
    ".xls",
    ".xlsm",
    ".xlsb",
    ".ods",
    ".numbers",
    ".feather",
    ".arrow",
    ".orc",
    ".avro",
    ".pkl",
    ".pickle",
}
OTHER_PROGRAMS |= {".npy", ".npz", ".h5", ".hdf5", ".mat", ".sav", ".dta", ".rds", ".rdata", ".db", ".sqlite", ".pdf"}


class Usual(NamedTuple):
    """Where a value stands if no setting says: under one of these words, or else in the first free one of the places.

    Without places it is found by name alone, and a table needs a header line.
    """

    words: tuple[str, ...] = ()
    places: tuple[int, ...] = ()  # from 0
    needed: bool = True
    text: bool = True  # JSON must have text there; otherwise it may have something else, and the caller sees to that
    setting: str = ""  # what chooses the column, if that is not called like it
    number: bool = False  # whether numbers stand there: then a first line without any is a header


class Record(NamedTuple):
    """The values of a row by the names of their columns, None for one that is not there, and where the row stands."""

    where: str
    values: dict[str, Any]  # empty where the line is blank
    names: Sequence[str] = ()  # of all columns; none where no line says them
    cells: Sequence[Any] = ()  # of all columns
    line: int = 0


class TableLayout(NamedTuple):
    """The place of each column, from 0, and whether the first line is a header."""

    places: dict[str, int]
    header: bool


@dataclass(frozen=True)
class TableFile:
    """A file with a row, or an object of JSON, for each example; `asked` is what settings say of the columns."""

    path: Path
    usual: Mapping[str, Usual]
    asked: Mapping[str, Column]
    forms: tuple[str, ...] = FORMS
    otherwise: str = ""  # what else could be given in place of such a file
    advice: Callable[[Sequence[str]], str] | None = None  # of the names that are there, on how to choose
    dialect: Dialect = PLAIN

    def __post_init__(self) -> None:
        require_form(self.path, self.forms, self.otherwise)
        for name, column in self.asked.items():
            if isinstance(column, int) and self.form in OBJECTS:
                raise SettingError(
                    f"{self._setting(name)} is column {column}, but the values of {self.path} have names: give the name"
                )

    @property
    def form(self) -> str:
        """What the file is, told by its extension."""
        return extension_of(self.path)

    def names(self) -> list[str]:
        """The cells of the first line, or the keys of the first object."""
        if self.form in OBJECTS:
            rows = objects(self.path, self.usual, self.dialect)
            return next((list(found) for row in rows if (found := row.parsed())), [])
        return _names(next(cells(self.path, self.dialect)))

    def header(self) -> list[str]:
        """The names of all columns; none where no line says them."""
        named = self.form in OBJECTS or self.layout(next(cells(self.path, self.dialect))).header
        return self.names() if named else []

    def column_names(self, columns: Iterable[str]) -> list[str]:
        """What some of the columns are called in the file; without a header line, by their numbers."""
        if self.form in OBJECTS:
            return [str(self.asked[column]) for column in columns]
        top = next(cells(self.path, self.dialect))
        layout = self.layout(top)
        names = _names(top) if layout.header else [f"column {place + 1}" for place in range(len(top.cells))]
        numbers = {column: layout.places[column] + 1 for column in columns}
        return [names[column_place(number, names, self.path, self._setting(c))] for c, number in numbers.items()]

    def records(self) -> Iterator[Record]:
        """Every row in the order of the file."""
        return self.read(lambda record: record)

    def read(self, made: Callable[[Record], MadeT]) -> Iterator[MadeT]:
        """What is made of every row in the order of the file; rows that cannot be read are refused together."""
        return self._read_objects(made) if self.form in OBJECTS else self._read_rows(made)

    def layout(self, top: TableRow) -> TableLayout:
        """Where the columns stand, told by the first line."""
        names = _names(top)
        header = self._has_header(names)
        found = {name: self._found(name, names if header else [], f"{self.path}:1", "column") for name in self.usual}
        for name, usual in self.usual.items():
            if found[name] is None and usual.places:
                found[name] = next((place for place in usual.places if place not in found.values()), usual.places[0])
        places = {name: place for name, place in found.items() if place is not None}
        for one, other in combinations(places, 2):
            if places[one] == places[other]:
                both = f"{self._setting(one)} and {self._setting(other)} both mean column {places[one] + 1}"
                raise SettingError(f"{both} of {self.path}: choose {len(places)} columns")
        return TableLayout(places, header)

    def _has_header(self, names: list[str]) -> bool:
        """Whether a setting names a column, one can be found by its name alone, or the first line has usual words."""
        needed = {name: usual for name, usual in self.usual.items() if usual.needed}
        asked = [self.asked.get(name) for name in self.usual]
        if any(isinstance(column, str) for column in asked):
            return True
        if any(usual.number for usual in self.usual.values()):
            return not any(map(is_number, names))
        if any(self.asked.get(name) is None and not usual.places for name, usual in needed.items()):
            return True
        unasked = all(column is None for column in asked)
        return unasked and all(find(None, usual.words, names) is not None for usual in needed.values())

    def _found(self, name: str, names: Sequence[str], where: str, what: str) -> int | None:
        """The place of a column or key that is asked for by its name, or has a usual one."""
        asked, usual = self.asked.get(name), self.usual[name]
        if isinstance(asked, int):
            return asked - 1
        place = find(asked, usual.words, names)
        needed = asked is not None or (usual.needed and (what == "key" or not usual.places))
        if place is None and needed:
            advice = self.advice(names) if self.advice is not None else ""
            raise DataError(not_there(asked or name, names, where, self._setting(name), what=what, advice=advice))
        return place

    def _setting(self, name: str) -> str:
        return by_setting(f"data.{self.usual[name].setting or name}", f"--column for {name}")

    def _read_rows(self, made: Callable[[Record], MadeT]) -> Iterator[MadeT]:
        rows = cells(self.path, self.dialect)
        top = next(rows)
        layout = self.layout(top)
        absent = dict.fromkeys(name for name in self.usual if name not in layout.places)
        path, names = str(self.path), _names(top) if layout.header else []
        least = max(layout.places.values()) + 1

        def record(row: TableRow) -> MadeT:
            where = f"{path}:{row.line}"
            if all_blank(row):
                return made(Record(where, {}, names, row.cells, row.line))
            if len(row.cells) < least or more_cells(row, top):
                raise self._misfit(row, top, layout)
            values: dict[str, Any] = {name: row.cells[place] for name, place in layout.places.items()}
            return made(Record(where, values | absent if absent else values, names, row.cells, row.line))

        below = rows if layout.header else chain([top], rows)
        return every_row(self._fitting(below, top, least), record)

    def _fitting(self, rows: Iterable[TableRow], top: TableRow, least: int) -> Iterable[TableRow]:
        """The rows without those that a setting leaves out."""
        if self.dialect.bad_rows == "refuse":
            return rows
        return (row for row in rows if not _misfits(row, top, least))

    def _misfit(self, row: TableRow, top: TableRow, layout: TableLayout) -> RowError:
        """That a row has too few cells or too many."""
        where = f"{self.path}:{row.line}"
        skip = by_setting(", or set data.bad_rows=skip to leave such rows out", ", or remove it")
        if more_cells(row, top):
            return RowError(too_many(row, top, where) + skip, row.line, "too many cells")
        mark = SEPARATORS.get(separator_of(self.path, self.dialect), "the separator")
        purpose = f" for {_listed(layout.places)}" + ("" if self.form in SHEETS else f", separated by {mark}")
        told = too_few(row, max(layout.places.values()) + 1, where, purpose)
        return RowError(told if semicolons(row.cells) else f"{told}: complete it{skip}", row.line, "too few cells")

    def remarks(self) -> list[str]:
        """How the file is written, where that was told by itself, and which rows were left out."""
        remarks = [*table_remarks(self.path, self.dialect), *self._twice()]
        if self.dialect.bad_rows == "skip" and self.form not in OBJECTS:
            rows = cells(self.path, self.dialect)
            top = next(rows)
            least = max(self.layout(top).places.values()) + 1
            misfits = [row.line for row in rows if _misfits(row, top, least)]
            if misfits:
                remarks.append(_left_out(misfits, self.path))
        return remarks

    def _twice(self) -> list[str]:
        """That a name stands above several columns, of which one is read."""
        if self.form in OBJECTS:
            return []
        top = next(cells(self.path, self.dialect))
        names, layout = _names(top), self.layout(top)
        read = [names[place] for place in layout.places.values() if layout.header and place < len(names)]
        return [
            f"{self.path} has {names.count(name)} columns '{name}', of which the first is read: rename the others"
            for name in dict.fromkeys(read)
            if names.count(name) > 1
        ]

    def _read_objects(self, made: Callable[[Record], MadeT]) -> Iterator[MadeT]:
        keys: list[str] | None = None
        places: dict[str, int | None] = {}

        def record(row: ObjectRow) -> MadeT:
            nonlocal keys, places
            found = row.parsed()
            if found is None:
                return made(Record(row.where, {}, line=row.line))
            if list(found) != keys:
                names = list(found)
                places = {name: self._key_place(name, names, row) for name in self.usual}
                keys = names
            values = {name: None if place is None else found[keys[place]] for name, place in places.items()}
            for name, place in places.items():
                if place is not None and (self.usual[name].text or isinstance(values[name], str | bytes)):
                    _require_text(values[name], row, f"under '{keys[place]}'")
            return made(Record(row.where, values, keys, list(found.values()), row.line))

        return every_row(objects(self.path, self.usual, self.dialect), record)

    def _key_place(self, name: str, names: Sequence[str], row: ObjectRow) -> int | None:
        try:
            return self._found(name, names, row.where, "key")
        except DataError as error:
            raise RowError(str(error), row.line, f"no key '{self.asked.get(name) or name}'") from error


def _misfits(row: TableRow, top: TableRow, least: int) -> bool:
    """Whether a row has too few cells or too many."""
    return (len(row.cells) < least and not all_blank(row)) or more_cells(row, top)


def _require_text(value: object, row: ObjectRow, place: str) -> None:
    try:
        require_text(value, row.where, place)
    except DataError as error:
        raise RowError(str(error), row.line, f"no text {place}") from error


# Files


def require_form(path: Path, forms: Sequence[str], otherwise: str = "") -> None:
    """Refuse a file that is not there, or whose extension says that it is something else."""
    require_file(path)
    if extension_of(path) not in forms:
        named = [form for form in forms if form not in {"", ".txt"}]
        other = extension_of(path) in OTHER_PROGRAMS
        advice = "export the table as one of them" if other else "rename it if it is one of them"
        raise DataError(
            f"{path} has the extension '{extension_of(path)}', expected {', '.join(named[:-1])} or {named[-1]} (or "
            f"these with .gz){otherwise}: {advice}"
        )
    if extension_of(path) in SHEETS and path.suffix.lower() not in SHEETS:
        raise DataError(f"{path} holds a {extension_of(path)} file, which is compressed anyway: unpack it")


def require_text(value: object, where: str, place: str) -> str:
    """Refuse what is no text, and what JSON can spell out although no line of a file may hold it."""
    if isinstance(value, bytes):
        raise DataError(f"{where} has bytes {place} that are not UTF-8, expected text: write the column as strings")
    if not isinstance(value, str):
        raise DataError(f"{where} has {json.dumps(value)[:30]} {place}, expected text in quotes")
    try:
        nul = b"\0" in value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{where} holds half a surrogate pair {place}, expected whole characters") from error
    if nul:
        raise DataError(f"{where} holds a NUL character {place}, expected plain text: remove it")
    return value


# Columns


def find(asked: str | None, words: Sequence[str], names: Sequence[str]) -> int | None:
    """The place of the name that is asked for, or else of a usual word; the very name comes before other capitals."""
    if asked is not None and asked in names:
        return names.index(asked)
    folded = [name.casefold() for name in names]
    sought = words if asked is None else (asked.casefold(),)
    return next((folded.index(word) for word in sought if word in folded), None)


def column_place(asked: Column, names: list[str], path: Path, setting: str) -> int:
    """The place, from 0, of a column that a setting asks for by its name or number."""
    if isinstance(asked, int):
        if asked > len(names):
            reads = by_setting(f"{setting} asks for", "the run reads")
            raise DataError(f"{path}:1 has {len(names)} columns, but {reads} column {asked}")
        return asked - 1
    place = find(str(asked), (), names)
    if place is None:
        several = [part.strip() for part in str(asked).split(",")]
        as_list = by_setting(f"write several as a list, {setting}={json.dumps(several)}")
        listed = as_list if set(several) <= set(names) else ""
        raise DataError(not_there(str(asked), names, f"{path}:1", setting, advice=listed))
    return place


def value_names(top: TableRow, asked: Sequence[Column]) -> tuple[list[str], bool]:
    """What the columns of a table of numbers are called, and whether its first line says so.

    That is a header if a setting names a column, or if none of its cells is a number.
    """
    found = _names(top)
    header = any(isinstance(column, str) for column in asked) or not any(map(is_number, found))
    return found if header else [f"column {place + 1}" for place in range(len(found))], header


def several(columns: Columns) -> tuple[Column, ...]:
    """The columns that a setting names, be it one or several."""
    if columns is None:
        return ()
    return columns if isinstance(columns, tuple) else (columns,)


# Sentences


def _left_out(lines: Sequence[int], path: Path) -> str:
    if len(lines) == 1:
        return f"1 row of {path} has too few cells or too many and is left out, on line {lines[0]}"
    told = f"{len(lines):,} rows of {path} have too few cells or too many and are left out"
    return f"{told}, the first on line {lines[0]}"


def _listed(names: Mapping[str, int]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _names(top: TableRow) -> list[str]:
    return [cell.strip() for cell in top.cells]
