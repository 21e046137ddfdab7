"""Tables of other programs: Excel's .xlsx through openpyxl, .parquet through pyarrow, both an optional extra."""

import datetime
import os
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from decimal import Decimal
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from seqwright.data.files import too_large
from seqwright.data.limits import file_limits
from seqwright.data.parquet_pages import ParquetColumn, column_pages, parquet_columns
from seqwright.errors import DataError

LIBRARIES = {".xlsx": "openpyxl", ".parquet": "pyarrow.parquet"}
SHEETS = tuple(LIBRARIES)
AT_ONCE = 1024  # rows
PACKED = 100  # bytes of a column of Parquet in one: text makes 2 to 20 of it
REPEATED = 10  # values of a column of Parquet for each byte of the file
LOOKED_AT = 12  # rows for the first with several cells


class SheetText(str):
    """The text of a cell that is no text in the workbook: a number, a date, a truth value; it keeps which."""

    __slots__ = ("value",)
    value: Any


def sheet_library(path: Path, done: str = "read") -> Any:
    """The library for a file by its extension, or a sentence on how to have it."""
    library = LIBRARIES[path.suffix.lower()]
    try:
        return import_module(library)
    except ImportError as error:
        instead = "save the table as .csv" if done == "read" else "give a name that ends in .csv"
        raise DataError(
            f"{path} is {done} by {library.partition('.')[0]}, which is not here: install seqwright[tables], or "
            f"{instead}"
        ) from error


def sheet_rows(path: Path) -> Iterator[list[str]]:
    """The rows of a table as text, the names of its columns first."""
    return _parquet_rows(path) if path.suffix.lower() == ".parquet" else _excel_rows(path)


def sheet_remarks(path: Path) -> list[str]:
    """That a workbook has more sheets than the one that is read."""
    if path.suffix.lower() != ".xlsx":
        return []
    with closing(_workbook(path)) as book:
        names = book.sheetnames
    return [f"{path} has {len(names)} sheets, of which the first is read: {names[0]}"] if len(names) > 1 else []


def parquet_records(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file as objects; where a text is missing it is blank."""
    with closing(_parquet_file(path)) as file:
        texts = {field.name for field in file.schema_arrow if _value_type(field.type) in {"string", "large_string"}}
        batches = (part for batch in file.iter_batches(AT_ONCE) for part in _in_bounds(path, batch))
        for record in _rows(path, (row for batch in batches for row in batch.to_pylist())):
            yield {name: "" if value is None and name in texts else _as_json(value) for name, value in record.items()}


def _parquet_file(path: Path) -> Any:
    """A Parquet file whose sizes are within bounds; texts that it has once for many rows are kept once."""

    def opened(parquet: Any) -> Any:
        with path.open("rb") as file:
            found = list(parquet_columns(file))
            _refuse_packed(path, file, found)
        return parquet.ParquetFile(path, read_dictionary=sorted({each.name for each in found if each.texts}))

    return _opened(path, opened)


def _refuse_packed(path: Path, file: BinaryIO, found: Iterable[ParquetColumn]) -> None:
    """Refuse columns that no table packs so well; how large they are stands before each page, the footer may err."""
    most = max(file_limits().rows, REPEATED * file.seek(0, os.SEEK_END))
    for column in found:
        pages, name = list(column_pages(file, column)), f"{path}, column '{column.name}',"
        if max(column.size, sum(page.size for page in pages)) > max(file_limits().document, PACKED * column.packed):
            raise DataError(too_large(name, file_limits().document))
        if max(column.values, sum(page.values for page in pages)) > most:
            raise DataError(f"{name} has more than {most:,} values; {file_limits().raised('rows')}")


def _in_bounds(path: Path, batch: Any) -> Iterator[Any]:
    """The rows of a batch in parts that may be unfolded: a text for many rows is a text in each."""
    if sum(map(_unfolded, batch.columns)) <= file_limits().document:
        yield batch
    elif batch.num_rows == 1:
        raise DataError(too_large(f"a row of {path}", file_limits().document))
    else:
        half = batch.num_rows // 2
        yield from _in_bounds(path, batch.slice(0, half))
        yield from _in_bounds(path, batch.slice(half))


def _unfolded(column: Any) -> int:
    """Bytes of a column of Arrow where each row has values of its own."""
    if hasattr(column, "dictionary"):
        compute = import_module("pyarrow.compute")
        return compute.sum(compute.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    if hasattr(column, "flatten"):  # lists and structs
        inside = column.flatten()
        return sum(map(_unfolded, inside)) if isinstance(inside, list) else _unfolded(inside)
    return int(column.nbytes)


def _value_type(kind: Any) -> str:
    """The name of a type; of one that is kept once for many rows, that of its values."""
    return str(getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind)


def _parquet_rows(path: Path) -> Iterator[list[str]]:
    with closing(_parquet_file(path)) as file:
        yield list(file.schema_arrow.names)
    yield from ([_text(value) for value in record.values()] for record in parquet_records(path))


def _excel_rows(path: Path) -> Iterator[list[str]]:
    with closing(_workbook(path)) as book:
        rows = _rows(path, _sheet_rows(book, path))
        first = [_without_blank_end(row) for row in islice(rows, LOOKED_AT)]
        top = next((row for row in first if len(row) > 1), first[0] if first else [])  # above it may stand a title
        if not top:
            raise DataError(f"the first sheet of {path} has a blank first row, expected the names of the columns")
        for row in chain(first, map(_without_blank_end, rows)):
            yield row + [""] * (len(top) - len(row))


def _sheet_rows(book: Any, path: Path) -> Iterator[list[str]]:
    """The cells of the first sheet; rows that the file leaves out are empty."""
    most, sheet = file_limits().rows, book.worksheets[0]
    sheet.reset_dimensions()  # a file can say anything of them, and every row would be filled up to that
    for number, row in enumerate(sheet.iter_rows(), 1):
        if number > most:
            raise DataError(f"{path} has more than {most:,} rows: save it as .csv; {file_limits().raised('rows')}")
        yield [_cell(cell) for cell in row]


def _without_blank_end(row: list[str]) -> list[str]:
    """A row without the blank cells behind its last one, which a sheet has wherever something was once."""
    return row[: max((place + 1 for place, cell in enumerate(row) if cell.strip()), default=0)]


def _workbook(path: Path) -> Any:
    def opened(library: Any) -> Any:
        with warnings.catch_warnings():  # of styles and the like, which play no part here
            warnings.simplefilter("ignore")
            return library.load_workbook(path, read_only=True, data_only=True)

    _refuse_bomb(path)
    return _opened(path, opened)


def _refuse_bomb(path: Path) -> None:
    """A workbook is an archive: before anything in it is unpacked, its list says how large that is."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = max((member.file_size for member in archive.infolist()), default=0)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):  # its library says it
        return
    if size > file_limits().document:
        raise DataError(too_large(path, file_limits().document))


def _opened(path: Path, opened: Callable[[Any], Any]) -> Any:
    module = sheet_library(path)
    try:
        return opened(module)
    except DataError:
        raise
    except Exception as error:  # the libraries answer a damaged file with whatever error its parts give
        raise DataError(_damaged(path, error)) from error


def _rows(path: Path, found: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from found
    except DataError:
        raise
    except Exception as error:
        raise DataError(_damaged(path, error)) from error


def _damaged(path: Path, error: Exception) -> str:
    told = " ".join(str(error).split())[:100]
    return f"{path} cannot be read as {path.suffix} ({told}): get it again, or save the table as .csv"


def _cell(cell: Any) -> str:
    """A cell of Excel as text; a day without a time of day is one by the cell's format."""
    if isinstance(cell.value, datetime.datetime) and "h" not in str(cell.number_format).lower():
        return _kept(cell.value.date().isoformat(), cell.value.date())
    return _kept(_text(cell.value), cell.value)


def _kept(text: str, value: Any) -> str:
    """A text that keeps what it was, if that was something else."""
    if value is None or isinstance(value, str):
        return text
    found = SheetText(text)
    found.value = value
    return found


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


def _as_json(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):  # a text of a program that does not say so, or an image, which stays what it is
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_as_json(each) for each in value]
    if isinstance(value, dict):
        return {name: _as_json(each) for name, each in value.items()}
    return _text(value) if isinstance(value, datetime.date | datetime.time) else value
