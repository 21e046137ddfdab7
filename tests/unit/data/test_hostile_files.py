"""Files that are damaged or made to do harm: one sentence, and no memory is filled on the way to it."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from seqwright.comparison.settings import read_comparison
from seqwright.data.alignments import read_alignments
from seqwright.data.described import DescribedFiles, DescribedFilesSettings
from seqwright.data.files import expanded, lines
from seqwright.data.labelled import LabelledFiles, LabelledFilesSettings
from seqwright.data.labels import class_counts
from seqwright.data.limits import VARIABLE, Limits, file_limits
from seqwright.data.question_files import QuestionFile
from seqwright.data.relative_paths import beside_run
from seqwright.data.rows import cells
from seqwright.data.series_tables import read_table
from seqwright.data.text import TextFiles, TextFilesSettings
from seqwright.data.times import rhythm
from seqwright.errors import DataError, RunError, SettingError
from seqwright.interchange.arpa import read_words
from seqwright.interchange.weight_files import read_json
from seqwright.recipe import read_recipe
from seqwright.run_folders import resolved_of
from seqwright.training.journal import Journal

FILE = Path("mine.csv")
COLUMNS = dict.fromkeys(("question", "context", "answer", "start"))
MEBIBYTE = 2**20


# ---------------------------------------------------------------------------------------------------- places


def squad(place: str, folder: Path) -> QuestionFile:
    answers = f'[{{"text": "cat", "answer_start": {place}}}]'
    asked = f'[{{"id": "1", "question": "who?", "answers": {answers}}}]'
    text = f'{{"data": [{{"paragraphs": [{{"context": "cat and cat", "qas": {asked}}}]}}]}}'
    (folder / "a.json").write_text(text)
    return QuestionFile(folder / "a.json", COLUMNS, "")


@pytest.mark.parametrize(
    "place", ["Infinity", "NaN", "-Infinity", "1e400", "1.5", '"x"', "null", "[]", '"' + "9" * 5000 + '"']
)
def test_a_place_that_is_no_whole_number_is_refused_as_such(place: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is not as SQuAD's JSON .*answer_start is .*, no place"):
        _ = squad(place, tmp_path).questions


def test_a_place_of_endless_digits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not valid JSON"):
        _ = squad("9" * 5000, tmp_path).questions


@pytest.mark.parametrize("wrong", ["5", "null", "[]", "{}"])
def test_a_text_of_questions_that_is_none_is_refused(wrong: str, tmp_path: Path) -> None:
    text = squad("0", tmp_path).path.read_text().replace('"cat and cat"', wrong)
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=r"is not as SQuAD's JSON .* is no text"):
        _ = QuestionFile(tmp_path / "a.json", COLUMNS, "").questions


def test_a_place_before_the_text_is_looked_for_like_any_wrong_one(tmp_path: Path) -> None:
    question, *_ = squad("-3", tmp_path).questions  # from the end, as Python counts, there stands the second cat
    assert question.answers[0] == ("cat", 0)
    assert question.moved == 1


def test_a_place_of_endless_digits_in_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"question,context,answer,start\nwho?,a cat,cat,{'9' * 5000}\n")
    with pytest.raises(DataError, match="has the place '99999999999999999999', expected the number"):
        _ = QuestionFile(tmp_path / "a.csv", COLUMNS, "").questions


def test_a_link_of_endless_digits_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.align").write_text(f"0-{'9' * 5000}\n")
    with pytest.raises(DataError, match=r"'0-9{38}' is no link"):
        read_alignments(tmp_path / "a.align")


# ---------------------------------------------------------------------------------------------------- times


@pytest.mark.parametrize(
    "texts",
    [["9999-12-29", "9999-12-30", "9999-12-31"], ["9999-10", "9999-11", "9999-12"], ["9999-10-31", "9999-11-30"]],
)
def test_the_end_of_the_calendar_is_told(texts: list[str]) -> None:
    with pytest.raises(DataError, match=r"row 3 after the last of mine.csv would be after the year 9999"):
        rhythm(texts, range(2, 2 + len(texts)), FILE).later(3)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["1", "2", "1e999"], "mine.csv:4 has the time 1e999, expected a number below"),
        (["-1e308", "1e308"], "mine.csv:2 has the time -1e308, expected a number below"),
        (["9" * 5000, "1"], "mine.csv:2 has the time 9{40}, expected a number below"),
        (["1", "2", "2", "2"], "mine.csv:4 is not later than the row before it"),
        (["2024-01-01", "2024-01-02", "2024-01-02", "2024-01-02"], "mine.csv:4 is not later than the row before it"),
        (["0", "1e-320", "9e18"], "mine.csv:3 is 9.99989e-321 after the row before it"),
        (["1", "1.0000000001", "2", "3"], "mine.csv:3 is 1e-10 after the row before it"),
        (["0", "1e-320", "2e-320", "9e18"], "mine.csv:5 is 9e.18 after the row before it"),
    ],
)
def test_times_that_no_step_leads_between_are_refused(texts: list[str], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        rhythm(texts, range(2, 2 + len(texts)), FILE)


# ---------------------------------------------------------------------------------------------------- no files


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(DataError, match="is no file but a pipe or a device"):
        read_table(tmp_path / "a.csv", None, None)


READ_WHOLE: list[tuple[str, Callable[[Path], object]]] = [
    ("mine.toml", read_recipe),
    ("mine.toml", lambda path: read_comparison(str(path))),
    ("resolved.toml", lambda path: resolved_of(path.parent)),
]


@pytest.mark.parametrize(("name", "read"), READ_WHOLE, ids=["recipe", "comparison", "run"])
@pytest.mark.parametrize("device", [False, True])
def test_settings_are_not_read_from_a_pipe_or_a_device(
    name: str, read: Callable[[Path], object], device: bool, tmp_path: Path
) -> None:
    (tmp_path / name).symlink_to("/dev/zero") if device else os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match=rf"{name} is no file but a pipe or a device"):
        read(tmp_path / name)


@pytest.mark.parametrize(("name", "read"), READ_WHOLE, ids=["recipe", "comparison", "run"])
def test_settings_are_a_document(
    name: str, read: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text('task = "translation"\n' * 9)
    monkeypatch.setenv(VARIABLE, "document=100")
    with pytest.raises(DataError, match=rf"{name} .*set {VARIABLE}=document=200"):
        read(tmp_path / name)


@pytest.mark.parametrize("device", [False, True])
def test_a_journal_is_not_read_from_a_pipe_or_a_device(device: bool, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.symlink_to("/dev/zero") if device else os.mkfifo(path)
    with pytest.raises(RunError, match=r"journal\.jsonl is no file, expected the journal of a run"):
        Journal(path).cut_back(3)


def test_a_line_of_a_journal_that_never_ends_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqwright.training.journal.LONGEST", 20)
    (tmp_path / "journal.jsonl").write_text('{"step": 1}\n{"step": 2, "event": "train"}\n{"step": 3}\n')
    assert Journal(tmp_path / "journal.jsonl").lines() == [{"step": 1}]


def test_a_damaged_gzip_file_that_is_not_utf_8_is_told_as_damaged(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(b"text,label\nred \xe9,a\nblue,b\n"))
    data[-8] ^= 1  # of the checksum
    (tmp_path / "a.csv.gz").write_bytes(data)
    with pytest.raises(DataError, match=r"a\.csv\.gz.*(is a damaged gzip file|is not UTF-8)"):
        list(cells(tmp_path / "a.csv.gz"))


def test_an_archive_of_a_version_to_come_is_refused(tmp_path: Path) -> None:
    path = text_as("a.zip", "a\n", tmp_path)
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 84  # the version that is needed to unpack it
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"\(zip file version 8\.4\)"):
        list(lines(path))


def test_a_text_below_a_label_with_a_nul_byte_is_refused(tmp_path: Path) -> None:
    (tmp_path / "texts" / "good").mkdir(parents=True)
    (tmp_path / "texts" / "good" / "1.txt").write_bytes(b"red\0cat")
    data = LabelledFiles(LabelledFilesSettings(train=str(tmp_path / "texts"), valid=str(tmp_path / "texts")))
    with pytest.raises(DataError, match=r"1\.txt holds a NUL byte, expected plain text"):
        list(data.examples("train"))


def test_folders_without_a_file_are_no_labels(tmp_path: Path) -> None:
    (tmp_path / "texts" / "good").mkdir(parents=True)
    (tmp_path / "texts" / "loose.txt").write_text("red")
    data = LabelledFiles(LabelledFilesSettings(train=str(tmp_path / "texts"), valid=str(tmp_path / "texts")))
    with pytest.raises(DataError, match="texts has no folder with files in it, expected one for each label"):
        list(data.examples("train"))


def test_a_word_of_an_arpa_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.arpa"
    path.write_bytes(b"\\data\\\nngram 1=2\n\n\\1-grams:\n-0.5\tr\xe9d\n-0.5\t</s>\n\n\\end\\\n")
    with pytest.raises(DataError, match=r"a\.arpa has the word b'r\\xe9d', which is not UTF-8; convert the file"):
        read_words(path)


def test_a_name_that_no_file_can_have_is_told() -> None:
    with pytest.raises(DataError, match=r"'aaa.*… cannot be read: File name too long"):
        expanded("a" * 5000)


def test_a_run_whose_data_has_such_a_name_is_opened_all_the_same() -> None:
    plain = {"data": {"train": "9" * 300}}
    assert beside_run(plain, Path("runs/mine")) == plain


def test_the_folder_of_nobody_is_told() -> None:
    with pytest.raises(DataError, match=r"~nobody-here/a\.csv begins with ~, but the folder of that user is not known"):
        LabelledFiles(LabelledFilesSettings(train="~nobody-here/a.csv"))
    with pytest.raises(DataError, match="begins with ~"):
        TextFiles(TextFilesSettings(train="~nobody-here/a.txt"))


# ---------------------------------------------------------------------------------------------------- limits


def test_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert file_limits() == Limits()
    monkeypatch.setenv(VARIABLE, "line=10 labels=7")
    assert file_limits() == Limits()._replace(line=10, labels=7)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("lines=10", "has 'lines=10'. Did you mean 'line'?"),
        ("line", "has 'line', expected a number from 1 on"),
        ("line=0", "has 'line=0', expected a number from 1 on"),
        ("line=-5", "has 'line=-5', expected a number from 1 on"),
        (f"line={'9' * 5000}", "expected a number from 1 on"),
    ],
)
def test_a_limit_that_is_none_is_refused(given: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(SettingError, match=re.escape(sentence)):
        file_limits()


def text_as(name: str, text: str, folder: Path) -> Path:
    """A text in a file that is written as its name says."""
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    elif name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.txt", text)
    else:
        path.write_text(text, encoding="utf-16" if "16" in name else "utf-8")
    return path


@pytest.mark.parametrize("name", ["a.txt", "a16.txt", "a.txt.gz", "a.zip"])
def test_a_line_may_have_so_many_bytes_and_no_more(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "line=8")
    encoding = "utf-16" if "16" in name else "utf-8"
    assert list(lines(text_as(name, "a\n1234567\n", tmp_path), encoding)) == ["a", "1234567"]
    with pytest.raises(DataError, match=rf"{name}:2 is a line of more than 8 bytes.*{VARIABLE}=line=16"):
        list(lines(text_as(name, "a\n12345678\n", tmp_path), encoding))


def test_a_cell_may_have_so_many_characters_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "cell=8")
    (tmp_path / "a.csv").write_text("12345678,b\n")
    assert next(cells(tmp_path / "a.csv")).cells == ["12345678", "b"]
    (tmp_path / "a.csv").write_text("123456789,b\n")
    with pytest.raises(DataError, match=f"a.csv:1 is not valid CSV .*{VARIABLE}=cell=16"):
        list(cells(tmp_path / "a.csv"))


@pytest.mark.parametrize("form", ["paragraphs", "files"])
def test_a_document_may_have_so_many_characters_and_no_more(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "document=12")
    for name, text in {"small.txt": "12345\n12345\n", "large.txt": "12345\n123456\n"}.items():
        (tmp_path / name).write_text(text)
    train, valid = (str(tmp_path / name) for name in ("small.txt", "large.txt"))
    data = TextFiles(TextFilesSettings.model_validate({"train": train, "valid": valid, "documents": form}))
    assert len(list(data.examples("train"))) == 1
    with pytest.raises(DataError, match=f"has more than 12 characters.*{VARIABLE}=document=24"):
        list(data.examples("valid"))


def test_a_file_of_json_is_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = squad("0", tmp_path)
    monkeypatch.setenv(VARIABLE, "document=50")
    with pytest.raises(DataError, match=r"a.json has more than 50 characters"):
        _ = questions.questions


def test_a_file_of_json_of_a_model_is_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    assert read_json(tmp_path / "config.json") == {"model_type": "gpt2"}
    monkeypatch.setenv(VARIABLE, "document=9")
    with pytest.raises(DataError, match=r"config\.json has more than 9 characters or bytes"):
        read_json(tmp_path / "config.json")


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_below_a_label_is_a_document(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tarfile

    for label in ("good", "bad"):
        (tmp_path / "texts" / label).mkdir(parents=True)
        (tmp_path / "texts" / label / "1.txt").write_text("a text of some length")
    train = tmp_path / "texts"
    if packed:
        train = tmp_path / "texts.tar.gz"
        with tarfile.open(train, "w:gz") as archive:
            archive.add(tmp_path / "texts", ".")
    data = LabelledFiles(LabelledFilesSettings(train=str(train), valid=str(train)))
    assert len(list(data.examples("train"))) == 2
    monkeypatch.setenv(VARIABLE, "document=5")
    with pytest.raises(DataError, match=r"1.txt.* has more than 5 characters"):
        list(data.examples("train"))


def test_labels_beyond_the_limit_say_how_to_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"label {number % 1001}" for number in range(9009)]
    with pytest.raises(DataError, match=f"1,001 different labels.*{VARIABLE}=labels=2000"):
        class_counts(many)
    monkeypatch.setenv(VARIABLE, "labels=1001")
    assert len(class_counts(many)) == 1001


# ---------------------------------------------------------------------------------------------------- sheets


def sheet(folder: Path, change: Callable[[str], str] = str) -> Path:
    """A workbook, its sheet changed."""
    from openpyxl import Workbook

    book, held = Workbook(), io.BytesIO()
    for row in (["text", "label"], ["red", "a"], ["blue", "b"]):
        book.active.append(row)
    book.save(held)
    with zipfile.ZipFile(held) as archive, zipfile.ZipFile(folder / "a.xlsx", "w") as changed:
        for name in archive.namelist():
            content = archive.read(name).decode()
            changed.writestr(name, change(content) if "sheet1" in name else content)
    return folder / "a.xlsx"


def test_a_workbook_of_a_version_to_come_is_refused(tmp_path: Path) -> None:
    path = sheet(tmp_path)
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 84  # the version that is needed to unpack it
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"a\.xlsx.*zip file version 8\.4"):
        list(cells(path))


def test_a_sheet_of_nothing_is_refused(tmp_path: Path) -> None:
    path = sheet(tmp_path, lambda text: re.sub("<row.*</row>", "", text))
    with pytest.raises(DataError, match=r"the first sheet of .*a\.xlsx has a blank first row, expected the names"):
        list(cells(path))


def test_a_sheet_that_breaks_off_is_refused(tmp_path: Path) -> None:
    path = sheet(tmp_path, lambda text: text[: text.index('r="3"')])
    with pytest.raises(DataError, match=r"a\.xlsx cannot be read as \.xlsx \(.*\): get it again, or save the table as"):
        list(cells(path))


def test_what_a_sheet_says_of_its_size_is_not_believed(tmp_path: Path) -> None:
    path = sheet(tmp_path, lambda text: text.replace('ref="A1:B3"', 'ref="A1:XFD1048576"'))
    assert [len(row.cells) for row in cells(path)] == [2, 2, 2]


def test_a_row_of_a_sheet_beyond_all_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "rows=1000")
    path = sheet(
        tmp_path, lambda text: text.replace('r="3"', 'r="999999999"').replace('r="A3"', "").replace('r="B3"', "")
    )
    with pytest.raises(DataError, match=f"has more than 1,000 rows: save it as .csv.*{VARIABLE}=rows=2000"):
        list(cells(path))


# ---------------------------------------------------------------------------------------------------- bombs


def gzip_bomb(folder: Path) -> Path:
    """One line of 300 MiB in 300 kB."""
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"a" * (20 * MEBIBYTE), 1) * 15)
    return folder / "a.csv.gz"


def zip_bomb(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.csv", "w") as file:
        for _ in range(15):
            file.write(b"a" * (20 * MEBIBYTE))
    return folder / "a.zip"


def workbook_bomb(folder: Path) -> Path:
    """A sheet with a cell of 300 MiB."""
    path = sheet(folder)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            with archive.open(name, "w") as file:
                head, end, tail = content.partition(b"</sheetData>")
                file.write(head)
                for _ in range(15 if end else 0):
                    file.write(b" " * (20 * MEBIBYTE))
                file.write(end + tail)
    return path


def parquet_bomb(folder: Path) -> Path:
    """A text of 300 MiB."""
    plain: dict[str, Any] = {"use_dictionary": False, "write_statistics": False}
    table = pyarrow.table({"text": ["a" * (300 * MEBIBYTE)], "label": ["x"]})
    pyarrow.parquet.write_table(table, folder / "a.parquet", compression="zstd", **plain)
    return folder / "a.parquet"


def varint(number: int, size: int = 0) -> bytes:
    """A number as Thrift has it, of so many bytes at least: sign last, seven bits each, the lowest first."""
    left, found = 2 * number, list[int]()
    while left or len(found) < size:
        left, low = divmod(left, 128)
        found.append(low + 128)
    return bytes([*found[:-1], found[-1] - 128])


def parquet_bomb_with_a_false_footer(folder: Path) -> Path:
    """A text of 300 MiB of which the footer says that it has 9 bytes; the header before its page says the truth."""
    path = parquet_bomb(folder)
    size = pyarrow.parquet.read_metadata(path).row_group(0).column(0).total_uncompressed_size
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert varint(size) in content[footer:]
    path.write_bytes(content[:footer] + content[footer:].replace(varint(size), varint(9, len(varint(size)))))
    about = pyarrow.parquet.read_metadata(path).row_group(0).column(0)
    assert about.total_uncompressed_size == 9
    return path


def parquet_of_one_value(folder: Path) -> Path:
    """Seven million zeros in less than a kilobyte."""
    zeros = pyarrow.DictionaryArray.from_arrays(pyarrow.array(bytes(7_000_000), pyarrow.int8()), [0.0])
    pyarrow.parquet.write_table(pyarrow.table({"text": zeros}), folder / "a.parquet")
    return folder / "a.parquet"


def parquet_of_one_row(folder: Path) -> Path:
    """A list of 300 texts of one MiB, which the file has once."""
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array(bytes(300), pyarrow.int8()), ["a" * MEBIBYTE])
    lists = pyarrow.ListArray.from_arrays([0, 300], texts)
    pyarrow.parquet.write_table(pyarrow.table({"text": lists}), folder / "a.parquet")
    return folder / "a.parquet"


class Letters(io.RawIOBase):
    """So many bytes that are never held."""

    def __init__(self, left: int) -> None:
        self.left = left

    def read(self, size: int = -1) -> bytes:
        given = min(size, self.left)
        self.left -= given
        return b"a" * given


def tar_bomb(folder: Path) -> Path:
    """A text of 300 MiB below a label."""
    with tarfile.open(folder / "a.tar.gz", "w:gz", compresslevel=1) as archive:
        info = tarfile.TarInfo("label/one.txt")
        info.size = 300 * MEBIBYTE
        archive.addfile(info, Letters(info.size))
    return folder / "a.tar.gz"


SCRIPT = """
import resource, sys
from pathlib import Path
from typing import Any
from seqwright.data.labelled_folders import LabelFolders
from seqwright.data.rows import cells
from seqwright.errors import DataError
import openpyxl, pyarrow.parquet
path = Path(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    for _ in LabelFolders(path, "utf-8").examples() if path.suffixes == [".tar", ".gz"] else cells(path):
        pass
except DataError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(
    ("bomb", "sentence"),
    [
        (gzip_bomb, "a.csv.gz:1 is a line of more than 67,108,864 bytes"),
        (zip_bomb, "a.zip:1 is a line of more than 67,108,864 bytes"),
        (workbook_bomb, "a.xlsx has more than 268,435,456 characters or bytes"),
        (parquet_bomb, "a.parquet, column 'text', has more than 268,435,456 characters or bytes"),
        (parquet_bomb_with_a_false_footer, "a.parquet, column 'text', has more than 268,435,456 characters or bytes"),
        (parquet_of_one_value, "a.parquet, column 'text', has more than 1,048,576 values"),
        (parquet_of_one_row, "a row of a.parquet has more than 268,435,456 characters or bytes"),
        (tar_bomb, "a.tar.gz has more than 268,435,456 characters or bytes"),
    ],
)
def test_a_bomb_is_refused_before_memory_is_used(bomb: Callable[[Path], Path], sentence: str, tmp_path: Path) -> None:
    path = bomb(tmp_path)
    assert path.stat().st_size < 4 * MEBIBYTE
    words = [sys.executable, "-c", SCRIPT, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    told, kilobytes = done.stdout.splitlines()
    assert sentence in told.replace(f"{tmp_path}/", "")
    assert int(kilobytes) < 200_000


def test_a_text_that_parquet_has_once_is_held_for_few_rows_at_a_time(tmp_path: Path) -> None:
    rows = 3 * 257
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * rows, pyarrow.int16()), ["a" * MEBIBYTE])
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "a.parquet")
    script = SCRIPT.replace("    for _ in", "    for row in").replace(
        "        pass", "        print(len(row.cells[0]))"
    )
    words = [sys.executable, "-c", script, str(tmp_path / "a.parquet")]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    *lengths, kilobytes = map(int, done.stdout.split())
    assert lengths == [len("text"), *[MEBIBYTE] * rows]
    assert kilobytes < 600_000  # two parts of a quarter of a gigabyte, and not three quarters twice


def test_an_archive_is_never_unpacked_to_disk_and_no_path_in_it_leads_out(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with zipfile.ZipFile(tmp_path / "in" / "a.zip", "w") as archive:
        archive.writestr("/outside.csv", "text,label\nred,a\nblue,b\n")
    data = LabelledFiles(
        LabelledFilesSettings(train=str(tmp_path / "in" / "a.zip"), valid=str(tmp_path / "in" / "a.zip"))
    )
    assert [example.text for example in data.examples("train")] == ["red", "blue"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.zip", "in"]


def test_numbers_of_a_vector_are_bounded_by_floats(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("text\tsize\nred\t1\nblue\t1e999\n")
    path = str(tmp_path / "a.tsv")
    data = DescribedFiles(DescribedFilesSettings(train=path, valid=path, columns="size"))
    with pytest.raises(DataError, match=r"a.tsv:3 has '1e999' in 'size', expected a number"):
        list(data.examples("train"))
