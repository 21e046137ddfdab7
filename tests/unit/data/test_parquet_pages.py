"""The sizes that stand before each page of a Parquet file."""

import random
from pathlib import Path
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


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (b"\xff\xff\xff\xff", "a field of type 15, which no header has"),
        (b"\x15\x00\x11\x11\x00", "no page at byte"),  # sizes that are truth values
        (b"\x15\x00\x15\x02\x15\x01\x00", "no page at byte"),  # a packed size of -1
        (b"\x15\x00\x15" + 10 * b"\xff", "an integer without end"),
        (9 * b"\x1c", "structs in structs without end"),
    ],
)
def test_a_header_that_is_none_is_told_in_a_sentence(header: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    place = written(path).row_group(0).column(1).dictionary_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + len(header)] = header
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"a\.parquet cannot be read as \.parquet \({told}"):
        list(sheet_rows(path))
