"""Time series in the user's own .csv, .tsv, .xlsx or .parquet files: a row for each step, a column for each channel.

The parts are cut by position: the last rows of a file are the test part, those before them the validation part. A
window of a later part may look back into the rows of the part before it, for they are its past; no value that is to be
forecast in one part occurs in an earlier one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from seqwright.data.encodings import Encoding
from seqwright.data.examples import Data, PartName
from seqwright.data.files import content_hash, require_file, share_of
from seqwright.data.pieces import Files, PartedFiles, Share, last_rows, paths_of, piece_of, refuse_impossible_shares
from seqwright.data.rows import PLAIN, DecimalMark, Dialect, Separator, dialect_beside, dialect_of
from seqwright.data.series_tables import Filling, SeriesTable, read_table
from seqwright.data.table_forms import PLAIN_FORM, TableForm, form_of
from seqwright.data.tables import Column, Columns
from seqwright.data.times import Rhythm
from seqwright.errors import DataError, SettingError
from seqwright.setting_classes import Settings

Count = Annotated[int, Field(ge=0)]
Values = NDArray[np.floating[Any]]


class Ending(NamedTuple):
    """The end of a series, from which a forecast continues: its rows, (steps, channels), and how time continues.

    Where the series says nothing of time, steps are counted.
    """

    columns: tuple[str, ...]
    values_TC: Values
    rhythm: Rhythm | None = None
    time: str = "step"  # the column that says when
    form: TableForm = PLAIN_FORM  # how its file is written
    path: Path | None = None
    remarks: Sequence[str] = ()  # how another file was read, where that was told by itself


class SeriesWindow(NamedTuple):
    """So many steps of a series, from `first` on, and those that follow them."""

    series_TC: Values
    columns: tuple[str, ...]
    first: int
    history: int
    horizon: int
    when: Callable[[int], str] | None = None  # each step of the series was measured, if that is known

    @property
    def times(self) -> list[str]:
        """When each step of the past and of what follows was measured; nothing where that is not known."""
        steps = range(self.first, self.first + self.history + self.horizon)
        return [] if self.when is None else [self.when(step) for step in steps]

    @property
    def values_TC(self) -> Values:
        """The past, which is read."""
        return self.series_TC[self.first : self.first + self.history]

    @property
    def future_NC(self) -> Values:
        """What follows it, which is to be forecast."""
        begin = self.first + self.history
        return self.series_TC[begin : begin + self.horizon]


class SeriesData(Data[SeriesWindow], Protocol):
    """Time series, part by part, and how far to look back and ahead: an example is a window."""

    history: int
    horizon: int

    @property
    def columns(self) -> tuple[str, ...]:
        """What the channels are called."""

    def series(self, part: PartName) -> list[Values]:
        """Every series of a part, (steps, channels) each."""

    def ending(self) -> Ending:
        """What a forecast of the unknown future continues."""


def every_window(
    data: SeriesData, part: PartName, whens: Iterable[Callable[[int], str] | None] = repeat(None)
) -> Iterator[SeriesWindow]:
    """The windows of each series of a part in turn; none reaches over the end of a series."""
    for series_TC, when in zip(data.series(part), whens, strict=False):
        for first in range(len(series_TC) - data.history - data.horizon + 1):
            yield SeriesWindow(series_TC, data.columns, first, data.history, data.horizon, when)


class SeriesFilesSettings(Settings):
    """Time series in files of the user's own."""

    train: Files
    """A .csv, .tsv (both plain, .gz or alone in a .zip), .xlsx or .parquet file with a row for each step, oldest first;
    or a list of them, each a series of its own with the same columns."""

    valid: Files | Count = "10%"
    """The part that decides when to stop: a share of each training file such as "10%", or a number of rows, cut off its
    end; or files in the same form."""

    test: Files | Count | None = "10%"
    """The part to evaluate on, set in the same way; it is cut off after the validation part. 0: none."""

    columns: Columns = None
    """What to forecast, each from the past of all: a column's name, or its number counted from 1 in a file without a
    header line; or a list of them. Left out: every column but `time`."""

    time: Column = None
    """The column that says when a row was measured. It is not forecast; it is used to see that the steps are even, and
    to say what time a forecast is for."""

    history: int = Field(default=50, ge=2)
    """How many steps a forecast looks back."""

    horizon: int = Field(default=1, ge=1)
    """How many steps are forecast at once."""

    missing: Literal["refuse", "last"] = "refuse"
    """What becomes of a cell without a value (empty, NaN, n/a, null, none, - or ?): an error that says where, or the
    value before it in its place."""

    gaps: Literal["refuse", "last", "linear"] = "refuse"
    """What becomes of rows that are missing by the column `time`: an error that says where, the row before in their
    place, or values on the line from the row before to the one after."""

    first_rows: int | None = Field(default=None, ge=1)
    """Read only so many rows of each file, from the first on."""

    encoding: Encoding = None
    separator: Separator = None
    decimal: DecimalMark = None

    @model_validator(mode="after")
    def _fit_together(self) -> "SeriesFilesSettings":
        for part, files in {"train": self.train, "valid": self.valid}.items():
            if files in ("", (), 0):
                raise SettingError(f"data.{part} is empty; give a file{'' if part == 'train' else ' or a share'}")
        refuse_impossible_shares(self.train, self.valid, self.test)
        if self.gaps != "refuse" and self.time is None:
            raise SettingError("data.gaps fills rows that are missing by their times: name that column with data.time")
        return self


class SeriesFiles(PartedFiles[tuple[Path, ...], SeriesWindow]):
    """Time series read from the user's files (a `SeriesData`); the parts are cut by position."""

    def __init__(self, settings: SeriesFilesSettings) -> None:
        self.settings, self.dialect = settings, dialect_of(settings)
        self.history, self.horizon = settings.history, settings.horizon
        train, cut_off = paths_of(settings.train), _cut_off(settings)
        self._pieces = {"train": Share(train)}
        for part, given in _held_out(settings).items():
            self._pieces[part] = Share(train if part in cut_off else paths_of(given))

    @property
    def columns(self) -> tuple[str, ...]:
        """What the channels are called in the first training file."""
        return self._tables[self._pieces["train"].source[0]].columns

    def read(self, part: PartName, piece: Share[tuple[Path, ...]]) -> Iterator[SeriesWindow]:
        """Every window of a part."""
        return every_window(self, part, (self._when(path, low) for path, low, _ in self._stretches(part)))

    def series(self, part: PartName) -> list[Values]:
        """The rows of a part, of each file; where it is cut off another part, with the `history` before them."""
        return [self._tables[path].values_TC[low:high] for path, low, high in self._stretches(part)]

    def _when(self, path: Path, low: int) -> Callable[[int], str] | None:
        """When each row of a file from the row `low` on was measured, if the file says it."""
        rhythm, first = self._tables[path].rhythm, low + 1 - len(self._tables[path].values_TC)
        return None if rhythm is None else lambda step: rhythm.later(first + step)

    def ending(self) -> Ending:
        """The end of the last file of the last part."""
        path = self._pieces[self.parts()[-1]].source[-1]
        return _ending(self._tables[path], path, self.dialect)

    def causes(self, part: PartName, piece: Share[tuple[Path, ...]]) -> list[Any]:
        """The contents, the columns, and the settings that decide what `series(part)` gives."""
        settings = self.settings
        pieces = [[content_hash(path), low, high] for path, low, high in self._stretches(part)]
        filled = [] if settings.gaps == "refuse" else [settings.gaps]
        return [pieces, self.columns, settings.missing, settings.history, settings.horizon, *filled]

    def remarks(self) -> list[str]:
        """Columns without a name, and values that were missing."""
        return [remark for path in self.paths() for remark in self._tables[path].remarks]

    @cached_property
    def _tables(self) -> dict[Path, SeriesTable]:
        asked, tables = self.settings, dict[Path, SeriesTable]()
        for path in self.paths():
            table = read_table(path, asked.columns, asked.time, _filling(asked), self.dialect, rows=asked.first_rows)
            first = next(iter(tables.items()), (path, table))
            if table.columns != first[1].columns:
                raise DataError(
                    f"{path} has the columns {', '.join(table.columns)}, but {first[0]} has "
                    f"{', '.join(first[1].columns)}: choose common ones with data.columns"
                )
            tables[path] = table
        return tables

    def _stretches(self, part: PartName) -> list[tuple[Path, int, int]]:
        """The rows of a part in each of its files: the path, the first row and the one after the last."""
        return [(path, *self._stretch(part, path)) for path in piece_of(self._pieces, part).source]

    def _stretch(self, part: PartName, path: Path) -> tuple[int, int]:
        rows = len(self._tables[path].values_TC)
        low, high = 0, rows
        if part in {"train", *_cut_off(self.settings)}:
            low, high = last_rows(rows, _cut_off(self.settings))[part]
        back = min(low, self.history)
        needed = self.history + self.horizon
        if high - low + back < needed or high - low < self.horizon:
            cut = f" of its {rows:,}" if high - low < rows else ""
            raise DataError(
                f"the {part} part has {max(0, high - low):,}{cut} rows of {path}, too few for a window: data.history = "
                f"{self.history} and data.horizon = {self.horizon} need {needed if not low else self.horizon}; give "
                "more rows, other shares, or lower those two"
            )
        return low - back, high


def _filling(settings: SeriesFilesSettings) -> Filling:
    return Filling(settings.missing, settings.gaps)


def _held_out(settings: SeriesFilesSettings) -> dict[PartName, Any]:
    """What is given for each part but training that there shall be."""
    given: dict[PartName, Any] = {"valid": settings.valid, "test": settings.test}
    return {part: each for part, each in given.items() if each}


def _cut_off(settings: SeriesFilesSettings) -> dict[PartName, str | int]:
    """The parts that are cut off the end of the training files, and how much each is."""
    given = _held_out(settings)
    return {part: each for part, each in given.items() if isinstance(each, int) or share_of(part, each)}


def ending_of(path: Path, columns: Sequence[str], settings: Any) -> Ending:
    """The end of another file with the same columns, read as the settings of a run say, but written as it tells itself.

    Series that were made up (`waves`) say nothing of columns: then the file must have as many as they have.
    """
    require_file(path)
    dialect = PLAIN
    if isinstance(settings, SeriesFilesSettings):
        dialect = dialect_beside(path, dialect_of(settings))
        table = read_table(path, settings.columns, settings.time, _filling(settings), dialect, known=columns)
    else:
        table = read_table(path, None, None, known=columns)
    if len(table.columns) != len(columns):
        raise DataError(
            f"{path} has {len(table.columns)} columns ({', '.join(table.columns)}), but the run forecasts "
            f"{len(columns)} ({', '.join(columns)}): leave only those in the file"
        )
    return _ending(table, path, dialect)._replace(remarks=table.remarks)


def _ending(table: SeriesTable, path: Path, dialect: Dialect) -> Ending:
    return Ending(table.columns, table.values_TC, table.rhythm, table.time, form_of(path, dialect), path)
