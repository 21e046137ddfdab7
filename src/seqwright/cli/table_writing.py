"""Tables that verbs write: every row as it was, with what was predicted in further columns, in the form of the file."""

import csv
import gzip
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

from seqwright.cli.tables import GivenRow, GivenTable
from seqwright.cli.terminal import json_text, say, shown
from seqwright.data.decimals import is_grouped, with_point
from seqwright.data.files import UTF_8, extension_of
from seqwright.data.spreadsheets import SheetText, sheet_library
from seqwright.data.table_forms import TableForm, form_remarks
from seqwright.errors import DataError
from seqwright.whole_file import bytes_whole

MOST_LETTERS = 32_767  # in a cell of Excel
MOST_ROWS = 1_048_576  # in a sheet of Excel
PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
MOST_DIGITS = 15  # that Excel keeps of a number
UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # no cell of Excel can hold them


@contextmanager
def table_writer(path: Path, table: GivenTable, added: Sequence[str]) -> Iterator["TableWriter"]:
    """Writes rows with further columns into a file, which appears when the block ends, unless it fails."""
    kind = WRITERS[extension_of(path)]
    with bytes_whole(path) as file, TemporaryFile("w+", encoding=UTF_8, newline="") as draft:
        writer = kind(path, table, [_free(name, {*table.names, *table.later()}) for name in added], draft)
        yield writer
        writer.finish(file)


class TableWriter(ABC):
    """Gathers rows with further columns; `finish` writes them."""

    def __init__(self, path: Path, table: GivenTable, added: Sequence[str], draft: IO[str]) -> None:
        self.path, self.names, self.added, self.draft = path, list(table.names), list(added), draft
        self.width, self.form = len(self.names), table.form.beside(path, table.path)

    def write(self, row: GivenRow, values: Sequence[Any]) -> None:
        """A row and its values in the further columns; None leaves one empty."""
        values = [float(f"{value:.6g}") if isinstance(value, float) else value for value in values]
        self.width = self.width or len(row.cells)
        self.put([*self._kept(row), *map(_words, values)], row.where)

    def _kept(self, row: GivenRow) -> list[Any]:
        """The cells below the header; objects of JSON may have theirs in another order, and lack some."""
        found = list(row.cells)
        if list(row.names) != self.names:
            told = dict(zip(row.names, row.cells, strict=True))
            if unknown := sorted(told.keys() - self.names):
                raise DataError(f"{row.where} has {', '.join(unknown)}, which the first row lacks; write a .jsonl file")
            found = [told.get(name) for name in self.names]
        if len(found) > self.width:
            raise DataError(f"{row.where} has {len(found)} cells, the first row {self.width}: mend the table")
        return [*found, *[""] * (self.width - len(found))]

    @abstractmethod
    def put(self, cells: Sequence[Any], where: str) -> None:
        """A row of cells."""

    @abstractmethod
    def finish(self, file: BinaryIO) -> None:
        """Write everything."""


class TextWriter(TableWriter):
    """Lines of text; they wait in a draft, for what they can be encoded in is known when all are there."""

    def __init__(self, path: Path, table: GivenTable, added: Sequence[str], draft: IO[str]) -> None:
        super().__init__(path, table, added, draft)
        self.encoding = UTF_8

    def finish(self, file: BinaryIO) -> None:
        """The lines in their encoding; in UTF-8 with a mark, which Excel understands, if that lacks a letter."""
        try:
            self._copy(file, self.encoding)
        except UnicodeEncodeError as error:
            lacking = error.object[error.start]
            say(f"{shown(self.path)} is written in UTF-8, since {self.encoding} has no '{lacking}'")
            self.form = self.form._replace(encoding="utf-8-sig")
            file.seek(0)
            file.truncate()
            self._copy(file, self.form.encoding)

    def _copy(self, file: BinaryIO, encoding: str) -> None:
        self.draft.seek(0)
        packed = gzip.GzipFile("", "wb", 6, file, mtime=0) if self.path.suffix == ".gz" else file
        text = io.TextIOWrapper(packed, encoding=encoding, newline="")
        try:
            for piece in self.draft:
                text.write(piece)
        finally:
            text.detach()  # or it would close the file
            if packed is not file:
                packed.close()


class DelimitedWriter(TextWriter):
    """`.csv` and `.tsv`, written as the table was that is written back."""

    def __init__(self, path: Path, table: GivenTable, added: Sequence[str], draft: IO[str]) -> None:
        super().__init__(path, table, added, draft)
        self.encoding = self.form.encoding
        self.plain = self.form.separator == "\t" and extension_of(path) != ".csv"  # has no quotes
        self._csv = csv.writer(self.draft, delimiter=self.form.separator, lineterminator=self.form.newline)
        self.like = f"like {table.path}" if table.path else "so"
        if self.names:
            self.put([*self.names, *self.added], "the header")

    def finish(self, file: BinaryIO) -> None:
        """Also say what is not plain in how it is written."""
        super().finish(file)
        if told := form_remarks(self.path, self.form):
            say(f"{shown(self.path)} is written {self.like}: {', '.join(told)}")

    def put(self, cells: Sequence[Any], where: str) -> None:
        """A line."""
        texts = [_text(cell, self.form) for cell in cells]
        if not self.plain:
            self._csv.writerow(texts)
            return
        for text in texts:
            if "\t" in text or "\n" in text or "\r" in text:
                raise DataError(f"{where}: '{text[:30]}' has a tab or a line feed, which .tsv cannot hold; write .csv")
        self.draft.write("\t".join(texts) + self.form.newline)


class JsonWriter(TextWriter):
    """`.jsonl`: objects, each with the keys that it had."""

    def __init__(self, path: Path, table: GivenTable, added: Sequence[str], draft: IO[str]) -> None:
        super().__init__(path, table, added, draft)
        if len(set(self.names)) < self.width:
            raise DataError("two columns of the table have one name, and JSON keeps one of them; write a .csv file")

    def write(self, row: GivenRow, values: Sequence[Any]) -> None:
        """An object; lists stay lists."""
        values = [float(f"{value:.6g}") if isinstance(value, float) else value for value in values]
        names = row.names or [f"column {place + 1}" for place in range(len(row.cells))]
        told = dict(zip(names, row.cells, strict=False)) | dict(zip(self.added, values, strict=True))
        _refuse_bytes(told.values(), row.where, self.path)
        self.put([told], row.where)

    def put(self, cells: Sequence[Any], where: str) -> None:
        """A line."""
        self.draft.write(f"{json_text(cells[0])}\n")


class SheetWriter(TableWriter):
    """`.xlsx`: what was a number or a date in a workbook, or is written like a plain number, is one again."""

    def __init__(self, path: Path, table: GivenTable, added: Sequence[str], draft: IO[str]) -> None:
        super().__init__(path, table, added, draft)
        self._library, self.rows = sheet_library(path, "written"), 0
        self._book = self._library.Workbook(write_only=True)
        self._sheet = self._book.create_sheet()
        if self.names:
            self.put([*self.names, *self.added], "the header")

    def put(self, cells: Sequence[Any], where: str) -> None:
        """A row of the sheet."""
        self.rows += 1
        if self.rows > MOST_ROWS:
            raise DataError(f"{self.path}: a sheet of Excel has {MOST_ROWS:,} rows at most; write a .csv file")
        self._sheet.append([self._cell(cell, where) for cell in cells])

    def _cell(self, value: Any, where: str) -> Any:
        if isinstance(value, SheetText):
            return value.value
        if value is None or isinstance(value, int | float):
            return value
        text = _text(value, self.form)
        if len(text) > MOST_LETTERS or UNSEEN.search(text):
            found = f"{len(text):,} letters" if len(text) > MOST_LETTERS else "a control character"
            raise DataError(f"{where} has a cell with {found}, which Excel cannot hold; write a .csv file")
        plain = with_point(text, self.form.decimal)
        if PLAIN_NUMBER.fullmatch(plain) and not is_grouped(text) and sum(map(str.isdigit, text)) <= MOST_DIGITS:
            return float(plain) if "." in plain else int(plain)
        cell = self._library.cell.WriteOnlyCell(self._sheet, text)
        cell.data_type = "s" if text else "n"  # a text that begins with = is no formula
        return cell

    def finish(self, file: BinaryIO) -> None:
        """The workbook."""
        self._book.save(file)


class ParquetWriter(TableWriter):
    """`.parquet`: columns, each of one type; they are held in memory."""

    def __init__(self, path: Path, table: GivenTable, added: Sequence[str], draft: IO[str]) -> None:
        super().__init__(path, table, added, draft)
        self._library, self.columns = sheet_library(path, "written"), list[list[Any]]()

    def put(self, cells: Sequence[Any], where: str) -> None:
        """A row."""
        self.columns = self.columns or [[] for _ in cells]
        for column, cell in zip(self.columns, cells, strict=True):
            column.append(str(cell) if isinstance(cell, SheetText) else cell)

    def finish(self, file: BinaryIO) -> None:
        """The table."""
        from pyarrow import ArrowException, table

        kept = self.names or [f"column {place + 1}" for place in range(self.width)]
        names = [*kept, *self.added]
        if len(set(names)) < len(names):
            raise DataError("two columns of the table have one name, which Parquet refuses; write a .csv file")
        columns = self.columns or [[] for _ in names]
        try:
            self._library.write_table(table(dict(zip(names, columns, strict=True))), file)
        except ArrowException as error:
            told = " ".join(str(error).split())[:100]
            raise DataError(f"{self.path} cannot hold the table ({told}); write a .jsonl file") from error


WRITERS: dict[str, Any] = {
    ".csv": DelimitedWriter,
    ".tsv": DelimitedWriter,
    ".jsonl": JsonWriter,
    ".xlsx": SheetWriter,
    ".parquet": ParquetWriter,
}


def _free(name: str, names: Collection[str]) -> str:
    """A name that no other column has."""
    return _free(f"predicted_{name}", names) if name in names else name


def _words(value: Any) -> Any:
    """What was predicted as a cell: words with spaces between them."""
    words = isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)
    return " ".join(value) if words else value


def _text(value: Any, form: TableForm) -> str:
    """A value as text: whatever is none as JSON, from which it can be read again."""
    match value:
        case None:
            return ""
        case str():
            return value
        case float():
            return json_text(value).replace(".", form.decimal)
        case bytes():
            raise DataError("a column holds bytes, which text cannot; write a .parquet file")
        case _:
            return json_text(value)


def _refuse_bytes(values: Collection[Any], where: str, path: Path) -> None:
    if any(isinstance(value, bytes) for value in values):
        raise DataError(f"{where} holds bytes, which {path.suffix} cannot; write a .parquet file")
