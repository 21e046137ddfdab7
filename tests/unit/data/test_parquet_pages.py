"""The sizes that stand before each page of a Parquet file."""

import io
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from seqwright.data.parquet_pages import column_pages
from seqwright.data.spreadsheets import sheet_rows
from seqwright.errors import DataError

ROWS = 1009


def written(path: Path, **options: Any) -> Any:
    """A file with texts that repeat and numbers that do not, and what its footer says."""
    rng = random.Random(7)
    texts = [rng.choice(["red", "green", "blue"]) for _ in range(ROWS)]
    table = pyarrow.table({"colour": texts, "number": [rng.random() for _ in range(ROWS)]})
    pyarrow.parquet.write_table(table, path, **options)
    return pyarrow.parquet.read_metadata(path)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_pages_have_together_what_an_honest_footer_says(
    version: str, compression: str, dictionary: bool, tmp_path: Path
) -> None:
    options = {"data_page_version": version, "compression": compression, "use_dictionary": dictionary}
    about = written(tmp_path / "a.parquet", row_group_size=401, data_page_size=512, write_batch_size=37, **options)
    assert about.num_row_groups == 3
    with (tmp_path / "a.parquet").open("rb") as file:
        for group in map(about.row_group, range(3)):
            for column in map(group.column, range(2)):
                pages = list(column_pages(file, column))
                repeated = 3 if dictionary and column.path_in_schema == "colour" else 0
                repeated = column.num_values if dictionary and not repeated else repeated
                assert sum(page.values for page in pages) == column.num_values + repeated
                # The footer counts the headers too, of some tens of bytes each.
                headers = column.total_uncompressed_size - sum(page.size for page in pages)
                assert 10 * len(pages) < headers < 100 * len(pages)


def test_a_header_that_is_none_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    place = written(path).row_group(0).column(1).dictionary_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(content)
    with pytest.raises(
        DataError, match=r"a\.parquet cannot be read as \.parquet \(a field of type 15, which no header has\)"
    ):
        list(sheet_rows(path))


SIZE, PACKED, COUNT = b"\x25\x06", b"\x15\x08", b"\x2c\x15\x0a\x00"  # 3 and 4 bytes, and a struct with a count of 5
TRUTH, NEGATIVE, TEXT = b"\x11", b"\x15\x01", b"\x18\x01x"


def pages_of(header: bytes) -> list[Any]:
    """The pages of a column that has one, of four bytes."""
    content = header + b"\0" + bytes(4)
    column = SimpleNamespace(data_page_offset=0, has_dictionary_page=False, total_compressed_size=len(content))
    return list(column_pages(io.BytesIO(content), column))


def test_sizes_and_counts_are_the_numbers_of_a_header() -> None:
    assert pages_of(SIZE + PACKED + COUNT) == [(3, 5)]
    assert pages_of(SIZE + PACKED) == [(3, 0)]


@pytest.mark.parametrize(
    "header",
    [
        b"\x21" + PACKED + COUNT,  # a truth value for the size
        SIZE + TRUTH + COUNT,
        SIZE + NEGATIVE + COUNT,
        b"\x25\x01" + PACKED + COUNT,
        SIZE + TEXT + COUNT,
        SIZE + COUNT.replace(b"\x2c", b"\x1c"),  # a struct for the other size
        SIZE + PACKED + b"\x2c\x11\x00",  # a truth value for the count
        b"",
    ],
)
def test_a_header_whose_sizes_are_no_numbers_is_none(header: bytes) -> None:
    with pytest.raises(ValueError, match="no page at byte 0"):
        pages_of(header)
