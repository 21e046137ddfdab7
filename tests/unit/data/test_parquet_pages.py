"""The sizes that stand before each page of a Parquet file."""

import io
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from seqwright.data.parquet_pages import ParquetColumn, column_pages, parquet_columns
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
        found = iter(parquet_columns(file))
        for group in map(about.row_group, range(3)):
            for theirs in map(group.column, range(2)):
                column = next(found)
                assert (column.name, column.texts) == (theirs.path_in_schema, theirs.path_in_schema == "colour")
                sizes = theirs.total_compressed_size, theirs.total_uncompressed_size, theirs.num_values
                assert (column.packed, column.size, column.values) == sizes
                pages = list(column_pages(file, column))
                repeated = 3 if dictionary and column.texts else 0
                repeated = column.values if dictionary and not repeated else repeated
                assert sum(page.values for page in pages) == column.values + repeated
                # The footer counts the headers too, of some tens of bytes each.
                headers = column.size - sum(page.size for page in pages)
                assert 10 * len(pages) < headers < 100 * len(pages)
        assert list(found) == []


def test_columns_in_lists_have_the_names_that_their_reader_knows(tmp_path: Path) -> None:
    table = pyarrow.table({"a": [["x"], []], "b": [{"c": 1, "d": "y"}, None]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    schema = pyarrow.parquet.read_metadata(tmp_path / "a.parquet").schema
    with (tmp_path / "a.parquet").open("rb") as file:
        found = [(column.name, column.texts) for column in parquet_columns(file)]
    assert found == [
        (each.path, each.physical_type == "BYTE_ARRAY") for each in map(schema.column, range(len(schema.names)))
    ]


def footer(name: bytes = b"x", place: bytes = b"\x08", magic: bytes = b"PAR1") -> io.BytesIO:
    """The end of a file with one column, whose numbers are all 4 but for its kind, that of texts."""
    about = b"\x15\x0c\x29\x18" + bytes([len(name)]) + name + b"\x26\x08\x16\x08\x16\x08\x26" + place + b"\0"
    content = b"\x49\x1c\x19\x1c\x3c" + about + b"\0\0\0"
    return io.BytesIO(content + len(content).to_bytes(4, "little") + magic)


def test_a_name_that_is_not_utf_8_is_shown_all_the_same() -> None:
    assert list(parquet_columns(footer())) == [ParquetColumn("x", True, 4, 4, 4, 4)]
    assert [column.name for column in parquet_columns(footer(b"col\xeeur"))] == ["col\ufffdur"]


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (footer(magic=b"PAR0"), "no footer of Parquet at its end"),
        (io.BytesIO(b"PAR1"), "no footer of Parquet at its end"),
        (io.BytesIO(b"\0\xff\xff\xff\xffPAR1"), "no footer of Parquet at its end"),
        (footer(place=b"\x01"), "a size below 0 of column 'x'"),  # before the file begins
        (io.BytesIO(footer().getvalue().replace(b"\x16\x08", b"\x18\0", 1)), "a field that is missing or of another"),
        (io.BytesIO(b"\x49\xfc" + b"\xff" * 9 + b"\x01" + b"\x0c\0\0\0PAR1"), "a header that does not end"),
    ],
)
def test_a_footer_that_is_none_is_refused(file: io.BytesIO, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        list(parquet_columns(file))


def test_a_field_that_stands_twice_is_refused() -> None:
    """Its reader may take the one that is not checked."""
    with pytest.raises(ValueError, match="field 2 twice"):
        pages_of(SIZE + b"\x06\x04\x06" + PACKED)


def test_a_column_that_ends_the_process_of_its_library_is_a_sentence(tmp_path: Path) -> None:
    """Where statistics have more levels than the schema, pyarrow's own look at a column cannot be caught."""
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", "b"], "label": ["x", "y"]}), path)
    optional, content = b"\x25\x02\x18\x04text", path.read_bytes()
    assert content.count(optional) == 1
    path.write_bytes(content.replace(optional, b"\x25\x00\x18\x04text"))
    script = "import sys, pathlib, seqwright.data.spreadsheets as s; list(s.sheet_rows(pathlib.Path(sys.argv[1])))"
    ended = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stderr
    assert "a.parquet cannot be read as .parquet (Definition level histogram size mismatch" in ended.stderr


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (b"\xff\xff\xff\xff", "a field of type 15, which none has"),
        (b"\x15\x00\x11\x11\x00", "a field that is missing or of another type"),  # sizes that are truth values
        (b"\x15\x00\x15\x02\x15\x01\x00", "no page at byte"),  # a packed size of -1
        (b"\x15\x00\x15" + 10 * b"\xff", "an integer without end"),
        (19 * b"\x1c", "structs in structs without end"),
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


SIZE, PACKED, COUNT = b"\x25\x06", b"\x15\x08", b"\x2c\x15\x0a\x00"  # 3 and 4 bytes, and a struct with a count of 5
TRUTH, NEGATIVE, TEXT = b"\x11", b"\x15\x01", b"\x18\x01x"


def pages_of(header: bytes) -> list[Any]:
    """The pages of a column that has one, of four bytes."""
    content = header + b"\0" + bytes(4)
    return list(column_pages(io.BytesIO(content), ParquetColumn("x", True, 0, len(content), 0, 0)))


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
    with pytest.raises(ValueError, match=r"no page at byte 0|a field that is missing or of another type"):
        pages_of(header)
