"""Tables as people have them, for every reader of tables: rows of other lengths, separators, encodings, forms."""

import datetime
import re
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from seqwright.data.described import DescribedFiles, DescribedFilesSettings
from seqwright.data.examples import Pair
from seqwright.data.labelled import LabelledFiles, LabelledFilesSettings
from seqwright.data.labelled_series import LabelledSeriesFiles, LabelledSeriesFilesSettings
from seqwright.data.labelled_tables import Example
from seqwright.data.pairs import DictionaryFiles, DictionaryFilesSettings, PairFiles, PairFilesSettings
from seqwright.data.questions import QuestionFiles, QuestionFilesSettings
from seqwright.data.rows import cells, title_rows
from seqwright.data.series import SeriesFiles, SeriesFilesSettings
from seqwright.data.tagged import TaggedFiles, TaggedFilesSettings
from seqwright.data.text import TextFiles, TextFilesSettings
from seqwright.errors import DataError, SettingError, without_settings


class Reader(NamedTuple):
    """A reader of tables, a table that it reads, and the settings it needs."""

    data: Callable[[Any], Any]
    settings: Any
    rows: list[list[str]]
    needed: Mapping[str, Any] = MappingProxyType({})

    def read(self, path: Path, **settings: Any) -> Any:
        return self.data(self.settings(**{"train": str(path), "valid": str(path), **self.needed, **settings}))


READERS = {
    "labelled": Reader(
        LabelledFiles, LabelledFilesSettings, [["text", "label"], ["Great phone", "pos"], ["Dead on day one", "neg"]]
    ),
    "pairs": Reader(PairFiles, PairFilesSettings, [["source", "target"], ["ein Hund", "a dog"], ["zwei", "two"]]),
    "described": Reader(
        DescribedFiles, DescribedFilesSettings, [["n", "text"], ["1", "warm"], ["2", "cold"]], {"columns": "n"}
    ),
    "questions": Reader(
        QuestionFiles,
        QuestionFilesSettings,
        [["question", "context", "answer"], ["Who?", "Ada sang.", "Ada"], ["Where?", "In Rome.", "Rome"]],
        {"overlap": "keep"},
    ),
    "series": Reader(
        SeriesFiles,
        SeriesFilesSettings,
        [["load", "wind"], *([str(n), str(n % 3)] for n in range(9))],
        {"history": 2, "test": 0},
    ),
}
TEXTS = [name for name in READERS if name != "series"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table(rows: list[list[str]], name: str = "mine.csv", separator: str = ",", encoding: str = "utf-8") -> Path:
    path = Path(name)
    path.write_bytes("".join(separator.join(row) + "\n" for row in rows).encode(encoding))
    return path


def examples(data: Any) -> str:
    return repr(list(data.examples("train")))


# Rows of other lengths


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(("form", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_a_row_with_more_cells_than_the_first_line_is_refused(name: str, form: str, separator: str) -> None:
    reader = READERS[name]
    longer = [*reader.rows[:2], [*reader.rows[2], "7"], *reader.rows[3:]]
    path = table(longer, f"mine{form}", separator)
    with pytest.raises(DataError, match=rf"mine\{form}:3 has {len(longer[2])} cells, but line 1 has {len(longer[0])}"):
        examples(reader.read(path))


def test_an_unquoted_comma_in_a_text_never_moves_its_label() -> None:
    path = table([["text", "label"], ["Great phone", " loved it", "pos"], ["Dead on day one", "neg"]])
    with pytest.raises(DataError, match=r"mine\.csv:2 has 3 cells.*put that cell in quotes"):
        examples(READERS["labelled"].read(path))


@pytest.mark.parametrize("name", TEXTS)
def test_a_row_with_too_few_cells_is_refused_with_the_setting_that_leaves_it_out(name: str) -> None:
    reader = READERS[name]
    with pytest.raises(DataError, match=r"mine\.csv:3 has 1 column, .*: complete it, or set data\.bad_rows=skip"):
        examples(reader.read(table([*reader.rows[:2], ["alone"]])))


@pytest.mark.parametrize("name", READERS)
def test_blank_cells_behind_the_last_column_change_nothing(name: str) -> None:
    reader = READERS[name]
    whole = examples(reader.read(table(reader.rows)))
    assert examples(reader.read(table([reader.rows[0], *([*row, "", " "] for row in reader.rows[1:])]))) == whole


def test_a_word_with_a_space_in_it_does_not_move_its_tag() -> None:
    path = table([["Ada", "B-per"], ["New York", "B-loc"]], "mine.conll", " ")
    data = TaggedFiles(TaggedFilesSettings(train=str(path), valid=str(path), token=1, tag=2))
    with pytest.raises(DataError, match=r"mine\.conll:2 has 3 columns but the lines before it 2.*put tabs between"):
        examples(data)


@pytest.mark.parametrize("name", TEXTS)
def test_rows_that_do_not_fit_can_be_left_out_and_are_counted(name: str) -> None:
    reader = READERS[name]
    whole = examples(reader.read(table(reader.rows)))
    path = table([*reader.rows, [*reader.rows[1], "x"], ["alone"], *[[*reader.rows[2], "y"]] * 2], "longer.csv")
    data = reader.read(path, bad_rows="skip")
    assert examples(data) == whole.replace("mine.csv", "longer.csv")
    lines = f"4 rows of longer.csv .* left out, the first on line {len(reader.rows) + 1}"
    assert any(re.search(lines, told) for told in data.remarks())
    assert data.fingerprint("train") != reader.read(path).fingerprint("train")


def test_a_row_that_is_left_out_alone_is_told_so() -> None:
    path = table([*READERS["labelled"].rows, ["alone"]])
    (told,) = READERS["labelled"].read(path, bad_rows="skip").remarks()
    assert told == "1 row of mine.csv has too few cells or too many and is left out, on line 4"


# Separators, encodings, decimal marks


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("form", "separator", "told"),
    [
        (".csv", ";", "has a semicolon between its cells, not a comma"),
        (".csv", "\t", "has a tab between its cells, not a comma"),
        (".csv", "|", "has a | between its cells, not a comma"),
        (".tsv", ",", "has a comma between its cells, not a tab"),
        (".tsv", ";", "has a semicolon between its cells, not a tab"),
    ],
)
def test_another_separator_is_found_and_told_once(name: str, form: str, separator: str, told: str) -> None:
    reader = READERS[name]
    whole = examples(reader.read(table(reader.rows)))
    data = reader.read(table(reader.rows, f"mine{form}", separator))
    assert examples(data) == whole
    assert [remark for remark in data.remarks() if "data.separator" in remark and told in remark] == data.remarks()
    assert len(data.remarks()) == 1


@pytest.mark.parametrize("name", READERS)
def test_a_separator_that_is_set_is_taken_without_a_remark(name: str) -> None:
    reader = READERS[name]
    whole = examples(reader.read(table(reader.rows)))
    for separator, setting in {";": ";", "\t": "tab", "^": "^"}.items():
        data = reader.read(table(reader.rows, "mine.csv", separator), separator=setting)
        assert examples(data) == whole
        assert data.remarks() == []


def test_commas_stay_where_they_separate_though_a_text_has_semicolons() -> None:
    rows = [["text", "label"], ["one; two", "a"], ["three; four", "b"], ["five; six", "a"]]
    data = READERS["labelled"].read(table(rows))
    assert [example.text for example in data.examples("train")] == ["one; two", "three; four", "five; six"]
    assert data.remarks() == []


def test_a_row_with_a_separator_too_many_does_not_hide_what_separates_the_others() -> None:
    rows = [["text", "label"], ["one, two", "a"], ["three, four, five", "b"], ["six", "a"], ["seven", "b"]]
    reader = READERS["labelled"]
    path = table(rows, "mine.csv", ";")
    path.write_text(path.read_text(encoding="utf-8").replace("six", "s;ix"), encoding="utf-8")
    with pytest.raises(DataError, match=r"mine\.csv:4 has 3 cells"):
        list(reader.read(path).examples("train"))
    data = reader.read(path, bad_rows="skip")
    assert [example.text for example in data.examples("train")] == ["one, two", "three, four, five", "seven"]
    assert any("has a semicolon between its cells, not a comma" in remark for remark in data.remarks())


def test_what_is_no_separator_is_refused() -> None:
    for wrong in ("", ",,", '"'):
        with pytest.raises(SettingError, match="is no separator, expected one character"):
            LabelledFilesSettings(train="mine.csv", separator=wrong)


ACCENTED = [["text", "label"], ["Café – très “bon”", "gut"], ["naïve", "schön"], ["plain", "gut"]]


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("windows-1252", "looks like windows-1252"),
        ("utf-16", "looks like utf-16"),
        ("utf-16-le", "looks like utf-16-le"),
        ("utf-16-be", "looks like utf-16-be"),
        ("utf-8-sig", None),
        ("utf-8", None),
    ],
)
@pytest.mark.parametrize("form", [".csv", ".tsv"])
def test_an_encoding_is_found_and_told(encoding: str, told: str | None, form: str) -> None:
    separator = {".csv": ",", ".tsv": "\t"}[form]
    data = READERS["labelled"].read(table(ACCENTED, f"mine{form}", separator, encoding))
    assert [[example.text, example.label] for example in data.examples("train")] == ACCENTED[1:]
    assert [told in remark for remark in data.remarks()] == ([True] if told else [])


def test_an_encoding_that_is_set_is_taken_without_a_remark() -> None:
    path = table([["text", "label"], ["Łódź", "a"], ["Gdańsk", "b"]], encoding="iso-8859-2")
    data = READERS["labelled"].read(path, encoding="iso-8859-2")
    assert [example.text for example in data.examples("train")] == ["Łódź", "Gdańsk"]
    assert data.remarks() == []
    assert data.fingerprint("train") != READERS["labelled"].read(path).fingerprint("train")
    with pytest.raises(SettingError, match="'klingon' is no encoding of text"):
        LabelledFilesSettings(train="mine.csv", encoding="klingon")


def test_damaged_utf_8_is_never_taken_for_another_encoding() -> None:
    Path("mine.csv").write_bytes("text,label\nCafé,gut\nschön,gut\n".encode() + b"na\xefve,a\n")
    with pytest.raises(DataError, match=r"mine\.csv:4 is not UTF-8 \(0xef at byte 3 of the line\)"):
        examples(READERS["labelled"].read(Path("mine.csv")))


def test_running_text_aligned_lines_tags_and_sounds_are_read_in_their_encoding_too() -> None:
    written = {
        "a.txt": ("schön\n", TextFiles, TextFilesSettings, "schön"),
        "a.conll": ("schön ADJ\n", TaggedFiles, TaggedFilesSettings, "schön"),
        "a.dict": ("SCHÖN  SH OE N\n", DictionaryFiles, DictionaryFilesSettings, "SCHÖN"),
    }
    for name, (text, files, settings, found) in written.items():
        Path(name).write_bytes(text.encode("latin-1"))
        data: Any = files(settings(train=name, valid=name))
        assert found in examples(data)
        assert ["looks like windows-1252" in remark for remark in data.remarks()] == [True]
    pairs = PairFiles(PairFilesSettings(train=("a.txt", "a.txt"), valid=("a.txt", "a.txt")))
    assert list(pairs.examples("train")) == [Pair("schön", "schön")]
    assert len(pairs.remarks()) == 1


def test_texts_in_folders_are_read_in_the_encoding_that_is_set() -> None:
    for label in ("a", "b"):
        Path("texts", label).mkdir(parents=True)
        Path("texts", label, "1.txt").write_bytes("schön".encode("latin-1"))
    reader = READERS["labelled"]
    with pytest.raises(DataError, match=r"1\.txt is not UTF-8 .*data\.encoding"):
        examples(reader.read(Path("texts")))
    assert {each.text for each in reader.read(Path("texts"), encoding="latin-1").examples("train")} == {"schön"}


def numbers(*rows: str, **settings: Any) -> SeriesFiles:
    Path("mine.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return SeriesFiles(SeriesFilesSettings(train="mine.csv", valid=2, test=0, history=2, **settings))


@pytest.mark.parametrize("header", [["load;wind"], []])
def test_decimal_commas_between_semicolons_are_read_and_told(header: list[str]) -> None:
    data = numbers(*header, *(f"{n},5;{-n}" for n in range(8)))
    assert data.series("train")[0].tolist() == [[n + 0.5, -n] for n in range(6)]
    assert ["decimal commas, as in 0,5" in remark for remark in data.remarks()] == [False, True]
    quiet = numbers(*header, *(f"{n},5;{-n}" for n in range(8)), separator=";", decimal=",")
    assert quiet.series("train")[0].tolist() == data.series("train")[0].tolist()
    assert quiet.remarks() == []


def test_a_first_row_of_decimal_commas_is_no_header() -> None:
    rows = [f"{n},5;{n},25" for n in range(8)]
    for settings in ({}, {"separator": ";", "decimal": ","}):
        assert numbers(*rows, **settings).series("train")[0].tolist() == [[n + 0.5, n + 0.25] for n in range(6)]
    path = table([["0,5", "good"], ["1,5", "bad"]], separator=";")
    data = READERS["described"].read(path, columns=1, text=2, decimal=",")
    assert [each.source for each in data.examples("train")] == ["0.5", "1.5"]


def test_a_comma_before_three_digits_is_not_guessed_at() -> None:
    rows = ["load;wind", *(f"{n},234;7" for n in range(1, 9))]
    with pytest.raises(DataError, match=r"has '1,234', where the comma may be decimal .* set data\.decimal=','"):
        numbers(*rows).series("train")
    assert numbers(*rows, decimal=",").series("train")[0][0].tolist() == [1.234, 7]
    certain = numbers(*rows[:-1], "8,5;7")  # one that marks no thousands tells it of all
    assert certain.series("train")[0][0].tolist() == [1.234, 7]


def test_a_comma_between_quotes_is_decimal_only_if_a_setting_says_so() -> None:
    rows = ["load", *(f'"{n},500"' for n in range(8))]  # 1,500 may be a thousand and a half
    with pytest.raises(DataError, match=r"mine\.csv:2 has '0,500' .* set data\.decimal=','"):
        numbers(*rows).series("train")
    assert numbers(*rows, decimal=",").series("train")[0][:, 0].tolist() == [n + 0.5 for n in range(6)]


def test_points_beside_decimal_commas_are_not_guessed_at() -> None:
    with pytest.raises(DataError, match=r"has both '0,5' and '1\.234', so it is not certain which mark is decimal"):
        numbers("a;b", *(f"{n},5;1.234" for n in range(8))).series("train")


def test_numbers_beside_texts_take_the_decimal_mark_that_is_set() -> None:
    path = table([["text", "label"], ["good", "4,5"], ["bad", "1,5"]], separator=";")
    labels = [example.label for example in READERS["labelled"].read(path, decimal=",").examples("train")]
    assert labels == ["4.5", "1.5"]
    path = table([["n", "text"], ["4,5", "good"], ["1", "bad"]], separator=";")
    with pytest.raises(DataError, match=r"set data\.decimal=','"):
        examples(READERS["described"].read(path))
    assert [each.source for each in READERS["described"].read(path, decimal=",").examples("train")] == ["4.5", "1"]
    Path("mine.csv").write_text("a;0,5;1\nb;2,5;3,5\n", encoding="utf-8")
    data = LabelledSeriesFiles(LabelledSeriesFilesSettings(train="mine.csv", valid="mine.csv", decimal=","))
    assert [each.values_TC[:, 0].tolist() for each in data.examples("train")] == [[0.5, 1], [2.5, 3.5]]


# Other forms


def workbook(rows: list[list[Any]], *more_sheets: str) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name in more_sheets:
        book.create_sheet(name)
    book.save("mine.xlsx")
    return Path("mine.xlsx")


def parquet(rows: list[list[Any]]) -> Path:
    import pyarrow
    import pyarrow.parquet

    columns = {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}
    pyarrow.parquet.write_table(pyarrow.table(columns), "mine.parquet")
    return Path("mine.parquet")


def with_numbers(rows: list[list[str]]) -> list[list[Any]]:
    """Cells that are numbers as numbers."""
    return [rows[0], *([int(cell) if cell.isdecimal() else cell for cell in row] for row in rows[1:])]


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("write", [workbook, parquet])
def test_workbooks_and_parquet_are_tables(name: str, write: Callable[..., Path]) -> None:
    reader = READERS[name]
    whole = examples(reader.read(table(reader.rows)))
    data = reader.read(write(with_numbers(reader.rows)))
    assert examples(data) == whole
    assert data.remarks() == []


@pytest.mark.parametrize("write", [workbook, parquet])
def test_times_missing_values_and_blank_texts_are_as_in_a_csv_file(write: Callable[..., Path]) -> None:
    days: list[list[Any]] = [[datetime.datetime(2024, 1, n), n / 2 if n != 5 else None] for n in range(1, 9)]
    path = write([["day", "load"], *days])
    data = SeriesFiles(SeriesFilesSettings(train=str(path), valid=2, test=0, history=2, time="day", missing="last"))
    assert data.series("train")[0][:, 0].tolist() == [0.5, 1, 1.5, 2, 2, 3]
    rhythm = data.ending().rhythm
    assert rhythm is not None
    assert rhythm.later(1).startswith("2024-01-09")
    labelled = READERS["labelled"].read(write([["text", "label"], ["good", 1], [None, 0], ["bad", None]]))
    assert list(labelled.examples("train")) == [Example("good", "1"), Example("", "0"), Example("bad", "")]


def test_a_day_of_a_workbook_has_no_time_of_day() -> None:
    path = workbook([["day", "load"], *([datetime.date(2024, 1, n), n] for n in range(1, 9))])
    data = SeriesFiles(SeriesFilesSettings(train=str(path), valid=2, test=0, history=2, time="day"))
    rhythm = data.ending().rhythm
    assert rhythm is not None
    assert rhythm.later(1) == "2024-01-09"


def test_of_several_sheets_the_first_is_read_and_that_is_told() -> None:
    data = READERS["labelled"].read(workbook(READERS["labelled"].rows, "notes"))
    assert data.remarks() == ["mine.xlsx has 2 sheets, of which the first is read: Sheet"]


def test_answers_of_parquet_may_be_lists() -> None:
    rows: list[list[Any]] = [
        ["question", "context", "answers"],
        ["Who?", "Ada sang.", {"text": ["Ada"], "answer_start": [0]}],
    ]
    (question,) = READERS["questions"].read(parquet(rows)).examples("train")
    assert question.texts == ["Ada"]


@pytest.mark.parametrize("form", [".xlsx", ".parquet"])
def test_a_library_that_is_missing_is_named_with_its_extra(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(f"mine{form}").write_bytes(b"anything")
    for library in ("openpyxl", "pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(DataError, match=r"which is not here: install seqwright\[tables\], or save the table as \.csv"):
        examples(READERS["labelled"].read(Path(f"mine{form}")))


@pytest.mark.parametrize("form", [".xlsx", ".parquet"])
@pytest.mark.parametrize("cut", [0, 100, -10])
def test_a_damaged_workbook_is_a_sentence(form: str, cut: int) -> None:
    write = workbook if form == ".xlsx" else parquet
    content = write(with_numbers(READERS["labelled"].rows)).read_bytes()
    Path(f"mine{form}").write_bytes(content[:cut])
    with pytest.raises(DataError, match=rf"mine\{form} cannot be read as \{form} .*: get it again"):
        examples(READERS["labelled"].read(Path(f"mine{form}")))


def packed(**files: str) -> Path:
    with zipfile.ZipFile("mine.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "."), text)
    return Path("mine.zip")


@pytest.mark.parametrize("name", READERS)
def test_the_one_table_in_a_zip_file_is_read(name: str) -> None:
    reader = READERS[name]
    plain = table(reader.rows)
    path = packed(**{"folder/mine__csv": plain.read_text(), "__MACOSX/._mine__csv": "x", ".hidden": "x"})
    assert examples(reader.read(path)) == examples(reader.read(plain))


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a__csv": "x", "b__csv": "y"}, r"mine\.zip holds 2 files \(a\.csv, b\.csv\), expected one: unpack it"),
        ({}, r"mine\.zip holds 0 files, expected one: unpack it"),
        ({"a__xlsx": "x"}, r"mine\.zip holds a \.xlsx file, which is compressed anyway: unpack it"),
        ({"a__docx": "x"}, r"mine\.zip has the extension '\.docx', expected \.tsv"),
    ],
)
def test_other_zip_files_are_refused_with_what_to_do(files: dict[str, str], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        examples(READERS["labelled"].read(packed(**files)))


@pytest.mark.parametrize("form", [".xls", ".ods", ".feather"])
def test_nobody_is_told_to_rename_the_file_of_another_program(form: str) -> None:
    Path(f"mine{form}").write_bytes(b"anything")
    with pytest.raises(DataError, match="export the table as one of them"):
        READERS["labelled"].read(Path(f"mine{form}"))


# Long cells


def test_a_long_cell_is_read() -> None:
    long = "word " * 40_000
    data = READERS["labelled"].read(table([["text", "label"], [f'"{long}"', "a"], ["b", "b"]]))
    assert next(data.examples("train")).text == long


def test_a_quote_that_is_never_closed_does_not_swallow_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_LIMITS", "cell=1000")
    path = table([["text", "label"], ['"a', "b"], *([["word"] * 2] * 500)])
    with pytest.raises(DataError, match=r"mine\.csv:\d+ is not valid CSV .*: check the quotes before it"):
        examples(READERS["labelled"].read(path))


# Gaps in time


def days(*numbers: int) -> list[str]:
    return ["day,load", *(f"2024-01-{n:02},{10 * n}" for n in numbers)]


GAPS = (1, 2, 3, 6, 7, 8, 10, 11, 12)


def test_missing_rows_are_refused_with_the_setting_that_fills_them() -> None:
    with pytest.raises(DataError, match=r"mine\.csv:5 is 3 days after the row before it.* data\.gaps=last"):
        numbers(*days(*GAPS), time="day").series("train")


@pytest.mark.parametrize(
    ("gaps", "filled"),
    [
        ("last", [10, 20, 30, 30, 30, 60, 70, 80, 80, 100]),
        ("linear", [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]),
    ],
)
def test_missing_rows_are_filled_and_counted(gaps: str, filled: list[int]) -> None:
    data = numbers(*days(*GAPS), time="day", gaps=gaps)
    assert data.series("train")[0][:, 0].tolist() == filled
    assert data.remarks() == [
        f"mine.csv lacks 3 rows by 'day', the first before line 5: filled, as data.gaps={gaps} says"
    ]
    assert data.fingerprint("train") != numbers(*days(*range(1, 13)), time="day", gaps=gaps).fingerprint("train")


def test_missing_months_are_filled_too() -> None:
    rows = ["month,load", *(f"2023-{n:02},{n}" for n in (1, 2, 3, 5, 6, 7, 8))]
    data = numbers(*rows, time="month", gaps="linear")
    assert data.series("train")[0][:, 0].tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        (
            ("2024-01-01", "2024-01-02", "2024-01-03 07:00", "2024-01-04"),
            r"mine\.csv:4 is 1 day, 7:00:00 .*: correct it",
        ),
        (("2024-01-01", "2024-01-02", "2024-01-02", "2024-01-03"), "mine.csv:4 is not later than the row before"),
        (("1", "2", "3", "1000000000000"), "lacks 999,999,999,996 rows between its 4 times, more than it has"),
    ],
)
def test_what_is_no_gap_is_not_filled(times: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        numbers("when,load", *(f"{time},1" for time in times), time="when", gaps="last").series("train")


def test_without_times_there_are_no_gaps() -> None:
    with pytest.raises(SettingError, match=r"data\.gaps .* name that column with data\.time"):
        numbers("load", "1", gaps="last")


# Labels in several spellings

SPELLINGS = [
    ["text", "label"],
    ["a", "Very good"],
    ["b", "very  good"],
    ["c", "very good"],
    ["d", "very good"],
    ["e", "bad"],
]


def test_labels_that_differ_in_case_or_white_space_are_told_and_can_be_folded() -> None:
    data = READERS["labelled"].read(table(SPELLINGS))
    assert {example.label for example in data.examples("train")} == {"Very good", "very  good", "very good", "bad"}
    (told,) = data.remarks()
    assert "'very good' (2) and 'Very good' (1) and 'very  good' (1); data.fold_labels=true makes them one" in told
    folded = READERS["labelled"].read(table(SPELLINGS), fold_labels=True, label_names={"Very Good": "fine"})
    assert [example.label for example in folded.examples("train")] == [*["fine"] * 4, "bad"]
    assert folded.remarks() == []
    assert folded.fingerprint("train") != data.fingerprint("train")
    some = READERS["labelled"].read(table(SPELLINGS), fold_labels=True, labels=("VERY GOOD", "bad"))
    assert len(list(some.examples("train"))) == 5


def test_labels_of_series_are_folded_alike() -> None:
    Path("mine.tsv").write_text("Up\t1\t2\nup\t2\t3\ndown\t2\t1\n", encoding="utf-8")
    settings = LabelledSeriesFilesSettings(train="mine.tsv", valid="mine.tsv")
    (told,) = LabelledSeriesFiles(settings).remarks()
    assert "'Up' (1) and 'up' (1)" in told
    data = LabelledSeriesFiles(settings.model_copy(update={"fold_labels": True}))
    assert [example.label for example in data.examples("train")] == ["up", "up", "down"]
    assert data.remarks() == []


def test_a_column_of_bytes_is_read_as_utf_8_or_refused() -> None:
    path = parquet([["text", "label", "photo"], ["schön".encode(), b"a", b"\xff\xd8"], [b"alt", b"b", b"\xff"]])
    found = [each[:2] for each in READERS["labelled"].read(path).examples("train")]
    assert found == [("schön", "a"), ("alt", "b")]
    path = parquet([["text", "label"], ["schön".encode("latin-1"), "a"], [b"\xff\xd8", "b"]])
    with pytest.raises(DataError, match=r"parquet:1 has bytes under 'text' that are not UTF-8.* 2 rows have no text"):
        examples(READERS["labelled"].read(path))


# Several faults


@pytest.mark.parametrize("name", TEXTS)
def test_rows_that_do_not_fit_are_told_together(name: str) -> None:
    reader = READERS[name]
    rows = [*reader.rows, [*reader.rows[1], "x"], ["alone"], *[[*reader.rows[2], "y"]] * 4]
    with pytest.raises(DataError) as told:
        examples(reader.read(table(rows)))
    assert str(told.value).startswith("mine.csv:4 has ")
    assert str(told.value).endswith(
        "; in all, 5 rows have too many cells (lines 4, 6, 7, …), 1 has too few cells (line 5)"
    )


def test_a_series_tells_blank_short_and_wrong_rows_at_once() -> None:
    with pytest.raises(DataError) as told:
        numbers("load,wind", "1,2", "", "x,3", "4", "5,", "6,y", "z,7").series("train")
    assert str(told.value) == (
        "mine.csv:3 is blank, expected a row of values: fill it in or remove it; in all, 1 row has nothing at all "
        "(line 3), 2 have no number in column 'load' (lines 4, 8), 1 has too few cells (line 5), 1 has no value in "
        "column 'wind' (line 6), 1 has no number in column 'wind' (line 7)"
    )


def test_wrong_times_and_gaps_are_told_together() -> None:
    days = [1, 2, 3, 5, 6, 7, 10, 11, 12]
    with pytest.raises(
        DataError, match=r"mine\.csv:5 is 2 days .*; in all, 2 rows have a gap before them \(lines 5, 8\)"
    ):
        numbers("day,load", *(f"2016-07-{day:02},1" for day in days), time="day").series("train")
    with pytest.raises(
        DataError, match=r"mine\.csv:3 has the time 'x'.*; in all, 2 rows have no such time \(lines 3, 4\)"
    ):
        numbers("day,load", "2016-07-01,1", "x,1", "y,1", time="day").series("train")


@pytest.mark.parametrize(
    ("name", "rows", "found"),
    [
        ("described", ["n,text", "1,a", "x,b", "y,c"], r":3 has 'x' .* 2 rows have no number in 'n' \(lines 3, 4\)"),
        (
            "questions",
            ["question,context,answer", ",c,d", "a,,d"],
            r":2 has no question.*, 1 has no context \(line 3\)",
        ),
    ],
)
def test_cells_that_cannot_be_read_are_told_together(name: str, rows: list[str], found: str) -> None:
    with pytest.raises(DataError, match=rf"mine\.csv{found}"):
        examples(READERS[name].read(table([row.split(",") for row in rows])))


def test_lines_of_json_that_cannot_be_read_are_told_together() -> None:
    lines = ['{"text": "a", "label": ["x"]}', '{"text": 1, "label": "b"}', "{", '{"label": "b"}', "[]"]
    Path("mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError) as told:
        examples(READERS["labelled"].read(Path("mine.jsonl")))
    assert str(told.value).startswith('mine.jsonl:1 has ["x"] for a label')
    assert str(told.value).endswith(
        "1 row has several labels (line 1), 1 has no text under 'text' (line 2), 2 have no valid object of JSON "
        "(lines 3, 5), 1 has no key 'text' (line 4)"
    )


def test_labelled_series_and_tags_tell_their_faults_together() -> None:
    Path("mine.tsv").write_text("a\t1\tx\nb\t1\t\t2\nc\t1\ty\n", encoding="utf-8")
    series = LabelledSeriesFiles(LabelledSeriesFilesSettings(train="mine.tsv", valid="mine.tsv"))
    with pytest.raises(DataError, match=r"2 rows have a value that is no number \(lines 1, 3\), 1 has a missing or"):
        examples(series)
    Path("mine.ts").write_text("@data\n1,2:3:a\n1,x:3,4:b\n1:2,3:c\n", encoding="utf-8")
    archive = LabelledSeriesFiles(LabelledSeriesFilesSettings(train="mine.ts", valid="mine.ts"))
    with pytest.raises(DataError, match=r"2 rows have channels of different length \(lines 2, 4\), 1 has a value"):
        examples(archive)
    path = table([["Ada", "B-per"], ["New York", "B-loc"], ["Rome", "B-loc"], ["Los Angeles", "B-loc"]], "a.conll", " ")
    tags = TaggedFiles(TaggedFilesSettings(train=str(path), valid=str(path), token=1, tag=2))
    with pytest.raises(DataError, match=r"2 rows have another number of columns \(lines 2, 4\)"):
        examples(tags)


def test_a_fault_that_ends_the_file_does_not_hide_those_before_it() -> None:
    Path("mine.csv").write_text('text,label\na,b,c\nd\n"open,e\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"1 row has too many cells \(line 2\), 1 has too few cells \(line 3\)"):
        examples(READERS["labelled"].read(Path("mine.csv")))


# Marks between thousands


@pytest.mark.parametrize(
    ("cells", "values", "separator"),
    [
        (["950,00", "1.049,50", "-2.000,25"], [950, 1049.5, -2000.25], ";"),
        (["950,00", "1.049,50", "-2.000,25"], [950, 1049.5, -2000.25], ","),
        (["950.00", "1,049.50", "12"], [950, 1049.5, 12], ";"),
        (["950.00", "1,049.50", "12"], [950, 1049.5, 12], ","),
        (["1.049.500", "3", "1.049"], [1049500, 3, 1049], ";"),
        (["1 049,5", "3,25", "1 049"], [1049.5, 3.25, 1049], ";"),
        (["1'049.5", "3.25", "1'049"], [1049.5, 3.25, 1049], ","),
    ],
)
def test_marks_between_thousands_are_read_and_told(cells: list[str], values: list[float], separator: str) -> None:
    data = numbers(f"day{separator}load", *(f'{day}{separator}"{cell}"' for day, cell in enumerate(cells * 3)))
    assert data.series("train")[0][:3, 1].tolist() == values
    assert [remark for remark in data.remarks() if "marks between thousands" in remark and "data.decimal" in remark]


def test_a_point_before_three_digits_alone_stays_decimal() -> None:
    assert numbers("load;wind", *["1.049;2"] * 8).series("train")[0][0].tolist() == [1.049, 2]


def test_marks_of_two_columns_that_contradict_each_other_are_not_guessed_at() -> None:
    for other in ("1.049", "0.5", "1,049.50"):
        with pytest.raises(DataError, match=r"has both '1\.049,50' and '.*', so it is not certain"):
            numbers("a;b", *[f"1.049,50;{other}"] * 8).series("train")


def test_a_decimal_mark_that_is_set_leaves_thousands_to_the_other() -> None:
    assert numbers("a;b", *["1.049;2,5"] * 8, decimal=",").series("train")[0][0].tolist() == [1049, 2.5]
    assert numbers("a;b", *["1,049;2.5"] * 8, decimal=".").series("train")[0][0].tolist() == [1049, 2.5]
    with pytest.raises(DataError, match=r"has both '2,5' and '1\.5', but data\.decimal is ','"):
        numbers("a;b", *["1.5;2,5"] * 8, decimal=",").series("train")
    path = table([["text", "label"], ["good", "1.049,5"], ["bad", "1.049"]], separator=";")
    labels = [example.label for example in READERS["labelled"].read(path, decimal=",").examples("train")]
    assert labels == ["1049.5", "1049"]


# Where no setting can be given


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        (["day,a", "2016-07-01,1"], {}),
        (["a", "1", "x"], {}),
        (["a", "1", ""], {"time": "when"}),
        (["a", "1"], {"columns": 3}),
        (["a", "1"], {"columns": "b"}),
        (["a,b", "1,2", "3,-"], {}),
        (["a;b", "1,234;5"], {}),
        (["a", '"3,5"'], {}),
        (["a;b", "1;2", "3"], {}),
        (["t,a", "1,1", "2,1", "4,1", "5,1"], {"time": "t"}),
    ],
)
def test_a_verb_advises_no_setting(rows: list[str], settings: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"data\.[a-z]"):
        numbers(*rows, **settings).series("train")
    with without_settings(), pytest.raises(DataError) as told:
        numbers(*rows, **settings).series("train")
    assert not re.search(r"data\.[a-z]", str(told.value))
    assert not re.search(r"(: |, |so )$", str(told.value))


@pytest.mark.parametrize("name", TEXTS)
def test_a_verb_advises_no_setting_for_rows_columns_and_encodings(name: str) -> None:
    reader = READERS[name]
    column = "columns" if name == "described" else reader.rows[0][0]
    damaged = Path("damaged.csv")
    damaged.write_bytes(",".join(reader.rows[0]).encode() + b"\n\xc3\xa4,\x81\n")
    for path, settings in (
        (table([*reader.rows[:2], ["alone"]], "rows.csv"), {}),
        (table(reader.rows, "columns.csv"), {column: "ours"}),
        (damaged, {}),
    ):
        with pytest.raises(DataError, match=r"data\.[a-z]"):
            examples(reader.read(path, **settings))
        with without_settings(), pytest.raises(DataError) as told:
            examples(reader.read(path, **settings))
        assert not re.search(r"data\.[a-z]", str(told.value))
    accented = [reader.rows[0], *([f"{cell} ä" if cell.isalpha() else cell for cell in row] for row in reader.rows[1:])]
    with without_settings():
        remarks = reader.read(table(accented, "other.csv", ";", "cp1252")).remarks()
    assert len(remarks) == 2
    assert all(
        remark.endswith("save it as UTF-8 with commas and decimal points if that is wrong") for remark in remarks
    )


# What stands around a table


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("above", [["Export 2024"], ["Export 2024", ""], ["Export 2024;;", "von Hand", ";"], [""]])
def test_a_title_above_the_names_is_left_out_and_told(name: str, above: list[str]) -> None:
    reader = READERS[name]
    whole = examples(reader.read(table(reader.rows)))
    rows = [";".join(row) for row in reader.rows]
    Path("mine.csv").write_text("\n".join([*above, *rows]) + "\n", encoding="utf-8")
    data = reader.read(Path("mine.csv"))
    assert examples(data) == whole
    (told,) = (remark for remark in data.remarks() if "names" in remark)
    assert f"has its columns' names on line {len(above) + 1}; what stands above is left out" in told


def test_a_title_above_measurements_is_left_out() -> None:
    data = numbers("Lastgang Süd;;", "Zeit;Last;", *(f"2024-01-{n:02};{n},5;" for n in range(1, 10)), time="Zeit")
    assert data.series("train")[0][:2].tolist() == [[1.5], [2.5]]
    assert not [remark for remark in data.remarks() if "has no name" in remark]  # nothing stands in the last column


def test_a_title_in_a_workbook_is_left_out_and_a_first_row_of_data_is_not() -> None:
    book = workbook([["Export 2024"], [None], ["text", "label", "note"], ["good", "a", None], ["bad", "b", "x"]])
    assert [each.text for each in READERS["labelled"].read(book).examples("train")] == ["good", "bad"]
    path = table([["load"], ["1"], ["2"]])
    assert title_rows(list(cells(path))) == 0
    path = table([["a", ""], ["1", "2"], ["3", "4"]])  # a column without a name
    assert next(cells(path)).cells == ["a", ""]


@pytest.mark.parametrize("mark", [";", "|"])
def test_the_separator_that_excel_is_told_is_taken(mark: str) -> None:
    Path("mine.csv").write_text(f"sep={mark}\ntext{mark}label\ngood{mark}a\nbad,er{mark}b\n", encoding="utf-8")
    assert [each[:2] for each in READERS["labelled"].read(Path("mine.csv")).examples("train")] == [
        ("good", "a"),
        ("bad,er", "b"),
    ]


def test_a_name_above_two_columns_is_told_where_one_of_them_is_read() -> None:
    path = table([["text", "label", "text"], ["good", "a", "x"], ["bad", "b", "y"]])
    (told,) = READERS["labelled"].read(path).remarks()
    assert told == "mine.csv has 2 columns 'text', of which the first is read: rename the others"
    path = table([["text", "label", "note", "note"], ["good", "a", "x", "y"], ["bad", "b", "x", "y"]])
    assert READERS["labelled"].read(path).remarks() == []
