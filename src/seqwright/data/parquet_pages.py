"""What the pages of a Parquet file say of their sizes, which its footer can tell otherwise.

Reading a page takes as much memory as the page's own header says. pyarrow shows the footer, not these headers; they are
a struct of Thrift's compact protocol, of which only the sizes are kept.
"""

import os
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

HEADER = 2**16  # bytes in which a header must end; it may have the least and the largest value of its page
PAGE_SIZE, PACKED_SIZE, COUNTED = 2, 3, (5, 7, 8)  # fields of a header; those with a count of values have it first
TRUTHS, BYTE, INTEGERS, DOUBLE, BINARY, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, 12  # types; a truth value is its type
DEPTH = 8  # of structs in structs


class Page(NamedTuple):
    """Bytes of a page when it is unpacked, and how many values it has."""

    size: int
    values: int


def column_pages(file: BinaryIO, column: Any) -> Iterator[Page]:
    """The pages of a column of a group of rows, as their headers have them; ValueError where one is no header."""
    place = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < place:
        place = column.dictionary_page_offset
    end = min(place + column.total_compressed_size, file.seek(0, os.SEEK_END))
    while place < end:
        file.seek(place)
        header = BytesIO(file.read(min(HEADER, end - place)))
        fields = _struct(header)
        size, packed = fields.get(PAGE_SIZE), fields.get(PACKED_SIZE)
        if not (isinstance(size, int) and isinstance(packed, int) and size >= 0 and packed >= 0):
            raise ValueError(f"no page at byte {place}")
        counts = [fields[each].get(1) for each in COUNTED if isinstance(fields.get(each), dict)]
        yield Page(size, max((count for count in counts if isinstance(count, int)), default=0))
        place += header.tell() + packed


def _struct(stream: BytesIO, depth: int = 0) -> dict[int, Any]:
    """The fields of a struct by their numbers: integers and structs as they are, others as None."""
    if depth > DEPTH:
        raise ValueError("structs in structs without end")
    fields: dict[int, Any] = {}
    number = 0
    while head := _byte(stream):
        number = number + (head >> 4) if head >> 4 else _integer(stream)
        fields[number] = _value(stream, head & 15, depth)
    return fields


def _value(stream: BytesIO, kind: int, depth: int) -> Any:
    if kind in TRUTHS:
        return None
    if kind in INTEGERS:
        return _integer(stream)
    if kind == STRUCT:
        return _struct(stream, depth + 1)
    passed: dict[int, Callable[[], int]] = {BYTE: lambda: 1, DOUBLE: lambda: 8, BINARY: lambda: _varint(stream)}
    if kind not in passed:
        raise ValueError(f"a field of type {kind}, which no header has")
    _pass(stream, passed[kind]())
    return None


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
    read = stream.read(1)
    if not read:
        raise ValueError("a header that does not end")
    return read[0]


def _pass(stream: BytesIO, size: int) -> None:
    if len(stream.read(size)) < size:
        raise ValueError("a header that does not end")
