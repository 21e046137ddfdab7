"""What a Parquet file says of the sizes of its columns: in its footer, and before each of their pages.

Reading a page takes as much memory as the page's own header says, and the footer can tell otherwise. Both are structs
of Thrift's compact protocol. They are read here and not asked of pyarrow, which does not show the headers of pages, and
whose process ends where it cannot make sense of a column in the footer.
"""

import os
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

MAGIC = b"PAR1"  # with which a file ends, after the footer and its length in four bytes
HEADER = 2**16  # bytes in which a header must end; it may have the least and the largest value of its page
FOOTER = 2**28  # the same of the footer
GROUPS, COLUMNS, ABOUT = 4, 1, 3  # fields of the footer, of a group of rows, and of a column in it
KIND, NAME, VALUES, SIZE, PACKED, PAGES, DICTIONARY = 1, 3, 5, 6, 7, 9, 11  # fields of what is told of a column
BYTES = 6  # the kind of texts
PAGE_SIZE, PACKED_SIZE, COUNTED = 2, 3, (5, 7, 8)  # fields of a header; those with a count of values have it first
TRUTHS, INTEGERS, LISTS, STRUCT = (1, 2), (4, 5, 6), (9, 10), 12  # types; a truth value is its type, but not in lists
BYTE, DOUBLE, BINARY = 3, 7, 8
DEPTH = 16  # of structs and lists in each other


class ParquetColumn(NamedTuple):
    """A column of a group of rows, as the footer has it: its first page, bytes in the file and unpacked, values."""

    name: str
    texts: bool
    place: int
    packed: int
    size: int
    values: int


class Page(NamedTuple):
    """Bytes of a page when it is unpacked, and how many values it has."""

    size: int
    values: int


def parquet_columns(file: BinaryIO) -> Iterator[ParquetColumn]:
    """The columns of every group of rows; ValueError where the footer tells none."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
    if magic != MAGIC or not 0 < length <= min(FOOTER, size - 8):
        raise ValueError("no footer of Parquet at its end")
    file.seek(size - 8 - length)
    for group in _list_of(dict, _struct(BytesIO(file.read(length))).get(GROUPS)):
        for column in _list_of(dict, group.get(COLUMNS)):
            yield _column(_one_of(dict, column.get(ABOUT)))


def _column(about: dict[int, Any]) -> ParquetColumn:
    name = b".".join(_list_of(bytes, about.get(NAME))).decode("utf-8", "replace")
    packed, size, values, place = (_one_of(int, about.get(each)) for each in (PACKED, SIZE, VALUES, PAGES))
    first = _one_of(int, about.get(DICTIONARY, place))
    if min(packed, size, values, place) < 0:
        raise ValueError(f"a size below 0 of column '{name}'")
    return ParquetColumn(name, about.get(KIND) == BYTES, first if 0 < first < place else place, packed, size, values)


def column_pages(file: BinaryIO, column: ParquetColumn) -> Iterator[Page]:
    """The pages of a column, as their headers have them; ValueError where one is no header."""
    place = column.place
    end = min(place + column.packed, file.seek(0, os.SEEK_END))
    while place < end:
        file.seek(place)
        header = BytesIO(file.read(min(HEADER, end - place)))
        fields = _struct(header)
        size, packed = (_one_of(int, fields.get(each)) for each in (PAGE_SIZE, PACKED_SIZE))
        counts = [_one_of(int, fields[each].get(1, 0)) for each in COUNTED if isinstance(fields.get(each), dict)]
        if min(size, packed) < 0:
            raise ValueError(f"no page at byte {place}")
        yield Page(size, max(counts, default=0))
        place += header.tell() + packed


def _one_of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError("a field that is missing or of another type")
    return value


def _list_of(kind: type, value: Any) -> list[Any]:
    return [_one_of(kind, each) for each in _one_of(list, value)]


# ---------------------------------------------------------------------------------------------------- Thrift


def _struct(stream: BytesIO, depth: int = 0) -> dict[int, Any]:
    """The fields of a struct by their numbers; what has a field twice is refused, for readers take one or the other."""
    fields: dict[int, Any] = {}
    number = 0
    while head := _byte(stream):
        number = number + (head >> 4) if head >> 4 else _integer(stream)
        if number in fields:
            raise ValueError(f"field {number} twice")
        fields[number] = None if head & 15 in TRUTHS else _value(stream, head & 15, depth + 1)
    return fields


def _value(stream: BytesIO, kind: int, depth: int) -> Any:
    if depth > DEPTH:
        raise ValueError("structs in structs without end")
    if kind in INTEGERS:
        return _integer(stream)
    if kind == STRUCT:
        return _struct(stream, depth)
    if kind in LISTS:
        return _list(stream, depth)
    sizes: dict[int, Callable[[], int]] = {BYTE: lambda: 1, DOUBLE: lambda: 8, BINARY: lambda: _varint(stream)}
    if kind not in sizes:
        raise ValueError(f"a field of type {kind}, which none has")
    return _taken(stream, sizes[kind]())


def _list(stream: BytesIO, depth: int) -> list[Any]:
    head = _byte(stream)
    count, kind = head >> 4, BYTE if head & 15 in TRUTHS else head & 15
    count = _varint(stream) if count == 15 else count  # each takes a byte or more, so that none is made up
    return [_value(stream, kind, depth + 1) for _ in range(count)]


def _integer(stream: BytesIO) -> int:
    """A zigzag integer: 0, -1, 1, -2 as 0, 1, 2, 3."""
    found = _varint(stream)
    return (found >> 1) ^ -(found & 1)


def _varint(stream: BytesIO) -> int:
    """Seven bits a byte, the lowest first."""
    found = 0
    for shift in range(0, 70, 7):
        byte = _byte(stream)
        found |= (byte & 127) << shift
        if byte < 128:
            return found
    raise ValueError("an integer without end")


def _byte(stream: BytesIO) -> int:
    return _taken(stream, 1)[0]


def _taken(stream: BytesIO, size: int) -> bytes:
    read = stream.read(size)
    if len(read) < size:
        raise ValueError("a header that does not end")
    return read
