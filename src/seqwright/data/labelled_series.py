"""Labelled time series in the user's own files, as the UCR and UEA archives have them.

In a `.tsv` or `.csv` file a row is a label and then the values of one series; series of different length end in empty
or missing (NaN) cells, and a first line of names is left out. In a `.ts` file (sktime, aeon) the channels of a series
stand between colons, the label last.
"""

from collections.abc import Collection, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.data.decimals import is_missing, is_number
from seqwright.data.examples import PartName
from seqwright.data.faults import RowError, every_row
from seqwright.data.files import content_hash, existing, extension_of, lines
from seqwright.data.labels import FoldLabels, folded, spelling_remarks
from seqwright.data.pieces import FilesSettings, PartedFiles, Share
from seqwright.data.rows import PLAIN, DecimalMark, Dialect, Separator, TableRow, all_blank, cells, table_remarks
from seqwright.data.tables import require_form
from seqwright.errors import DataError, by_setting

LOOKED_AT = 2000  # rows that show whether they have labels
FORMS = (".tsv", ".csv", ".txt", ".ts")
ROW = "a row is a label and the values of a series"


class SeriesExample(NamedTuple):
    """A series, the label somebody gave it, and what its channels are called; blank where it is not known."""

    values_TC: NDArray[np.floating[Any]]
    label: str = ""
    columns: tuple[str, ...] = ()

    @property
    def series_TC(self) -> NDArray[np.floating[Any]]:
        """All of the series: what is read of it."""
        return self.values_TC

    @property
    def first(self) -> int:
        """Where what is read begins in the series."""
        return 0


class LabelledSeriesFilesSettings(FilesSettings):
    """Labelled series in files of the user's own."""

    train: str
    """A .tsv or .csv file, plain or .gz, with a label and then the values of a series in each row; or a .ts file."""

    label: Literal["first", "last"] = "first"
    """Where the label stands in a row of a .tsv or .csv file."""

    fold_labels: FoldLabels = False
    separator: Separator = None
    decimal: DecimalMark = None


class LabelledSeriesFiles(PartedFiles[Path, SeriesExample]):
    """Labelled series read from the user's files."""

    def __init__(self, settings: LabelledSeriesFilesSettings) -> None:
        super().__init__(settings, _series_file)

    def read(self, part: PartName, piece: Share[Path]) -> Iterator[SeriesExample]:
        """Every series of a part."""
        every = series_of(piece.source, label=self.settings.label, dialect=self.dialect)
        of_part = (example for example in every if piece.holds(str(example.values_TC.tolist())))
        if not self.settings.fold_labels:
            return of_part
        return (example._replace(label=folded(example.label)) for example in of_part)

    def remarks(self) -> list[str]:
        """How the files are written, and labels that are spelled in several ways."""
        return [*super().remarks(), *spelling_remarks(example.label for example in self.examples("train"))]

    def source_remarks(self, source: Path) -> list[str]:
        """How the file is written."""
        return [*table_remarks(source, self.dialect), *header_remarks(source, self.settings.label, self.dialect)]

    def causes(self, part: PartName, piece: Share[Path]) -> list[Any]:
        """The content, the place of the label and the stretch."""
        said = [content_hash(piece.source), self.settings.label, piece.low, piece.high]
        return [*said, "folded"] if self.settings.fold_labels else said


def series_of(path: Path, *, label: str = "first", dialect: Dialect = PLAIN) -> Iterator[SeriesExample]:
    """The series of a file with their labels, which stand first or last in a row, or in "none"."""
    form = extension_of(path)
    if form == ".ts":
        yield from _archive(path, dialect.encoding_of(path))
        return

    remedy = ROW + by_setting("; data.label=last where the label stands last")

    def example(row: TableRow) -> SeriesExample:
        name, values = _parted(row.cells, label)
        return SeriesExample(_values(list(map(dialect.point, values)), path, row.line, remedy)[:, None], name.strip())

    rows = _rows(path, dialect)
    yield from every_row((row for number, row in enumerate(rows) if number or not _is_header(row, label)), example)


def header_remarks(path: Path, label: str, dialect: Dialect) -> list[str]:
    """That the first line of a file holds names, if it does."""
    top = None if extension_of(path) == ".ts" else next(_rows(path, dialect), None)
    if top is None or not _is_header(top, label):
        return []
    return [f"{path}:{top.line} holds names, no values ({', '.join(top.cells[:3])}, …), and is left out"]


def _is_header(row: TableRow, label: str) -> bool:
    """Whether no cell of a row but the label's can be a value, be it a missing one."""
    cells = _parted(row.cells, label)[1]
    return bool(cells) and not any(is_number(cell.strip()) or is_missing(cell) for cell in cells)


def _rows(path: Path, dialect: Dialect) -> Iterator[TableRow]:
    """The rows of a file that are not blank; those of a .txt file have blanks between their cells."""
    text = lines(path, dialect.encoding_of(path)) if extension_of(path) == ".txt" else iter(())
    spaced = (TableRow(number, line.split() or [""]) for number, line in enumerate(text, start=1))
    rows = spaced if extension_of(path) == ".txt" else cells(path, dialect)
    return (row for row in rows if not all_blank(row))


def _parted(cells: list[str], label: str) -> tuple[str, list[str]]:
    """The label and the values of a row."""
    if label == "none":
        return "", cells
    return (cells[0], cells[1:]) if label == "first" else (cells[-1], cells[:-1])


def label_place(path: Path, usual: str, known: Collection[str], dialect: Dialect) -> str | None:
    """Where labels stand in the rows of a file: in the usual place, or "none"; None where its lines are no such rows.

    A label is no number, or in most of the rows one of the known ones: those of the archives are often numbers too. A
    .ts file says itself whether it has any.
    """
    if extension_of(path) == ".ts":
        labelled = next((row.labelled for row in _archive_rows(path, dialect.encoding_of(path))), True)
        return usual if labelled else "none"
    rows = [row.cells for row in islice(_rows(path, dialect), LOOKED_AT)]
    commas = extension_of(path) == ".txt" and any("," in cell for row in rows for cell in row)
    if commas or any(":" in cell for row in rows for cell in row[1:-1]):
        return None
    found = [_parted(row, usual)[0].strip() for row in rows]
    words = sum(not is_number(label) for label in found)
    return usual if 2 * (words + sum(map(known.__contains__, filter(is_number, found)))) > len(found) else "none"


def _archive(path: Path, encoding: str) -> Iterator[SeriesExample]:
    """The series of a `.ts` file: what begins with # or @ says something of them, and after @data they stand."""
    return every_row(_archive_rows(path, encoding), partial(_archived, path=path))


class _ArchiveRow(NamedTuple):
    """A line with a series, and whether a label stands at its end."""

    line: int
    text: str
    labelled: bool


def _archive_rows(path: Path, encoding: str) -> Iterator[_ArchiveRow]:
    begun, labelled = False, True
    for number, line in enumerate(lines(path, encoding), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("@"):
            begun = begun or text.lower() == "@data"
            labelled = labelled and text.lower().split()[:2] != ["@classlabel", "false"]
            continue
        if not begun:
            raise DataError(f"{path}:{number} has a series before the line @data; expected the format of sktime")
        yield _ArchiveRow(number, text, labelled)


def _archived(row: _ArchiveRow, path: Path) -> SeriesExample:
    *channels, last = row.text.split(":")
    channels, name = (channels, last) if row.labelled else ([*channels, last], "")
    columns = [_values(channel.split(","), path, row.line) for channel in channels]
    if len({len(column) for column in columns}) != 1:
        raise RowError(
            f"{path}:{row.line} has channels of different length; expected as many values in each",
            row.line,
            "channels of different length",
        )
    return SeriesExample(np.stack(columns, axis=1), name.strip())


def _values(cells: list[str], path: Path, number: int, remedy: str = "correct it") -> NDArray[np.floating[Any]]:
    """The values of a channel; missing ones at its end are none, others are refused."""
    try:
        values = np.array([float(cell) if cell.strip() not in {"", "?"} else np.nan for cell in cells])
    except ValueError as error:
        raise RowError(
            f"{path}:{number} has a value that is no number ({error}): {remedy}", number, "a value that is no number"
        ) from error
    known = np.flatnonzero(~np.isnan(values))
    values = values[: known[-1] + 1] if len(known) else values[:0]
    if not np.isfinite(values).all():
        raise RowError(
            f"{path}:{number} has a missing or infinite value inside of a series: fill it or leave it out",
            number,
            "a missing or infinite value",
        )
    return values


def _series_file(name: str) -> Path:
    path = existing(name)
    require_form(path, FORMS)
    return path
