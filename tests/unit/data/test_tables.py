"""Tables: how columns are found, when the first line is a header, and what is said when it may be one."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqwright.data.examples import Pair
from seqwright.data.pairs import PairFiles, PairFilesSettings
from seqwright.data.rows import cells
from seqwright.data.tables import Column, TableFile, Usual
from seqwright.errors import DataError, SettingError

SEPARATORS = {".tsv": "\t", ".csv": ","}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("valid.de").write_text("vier\n")
    Path("valid.en").write_text("four\n")


def corpus(*rows: tuple[str, ...], form: str = ".tsv", **settings: Any) -> PairFiles:
    text = "".join(SEPARATORS[form].join(row) + "\n" for row in rows)
    Path(f"mine{form}").write_text(text, encoding="utf-8")
    return PairFiles(PairFilesSettings(train=f"mine{form}", valid=("valid.de", "valid.en"), **settings))


ROWS = (("ein Hund", "a dog"), ("zwei", "two"))
PAIRS = [Pair(*row) for row in ROWS]


@pytest.mark.parametrize("form", [".tsv", ".csv"])
@pytest.mark.parametrize("header", [("source", "target"), ("Source", "Target"), ("SOURCE", " target ")])
def test_capitals_do_not_hide_a_header(form: str, header: tuple[str, str]) -> None:
    data = corpus(header, *ROWS, form=form)
    assert list(data.examples("train")) == PAIRS
    assert data.remarks() == []


def test_capitals_do_not_hide_a_column_or_a_key() -> None:
    assert list(corpus(("DE", "En"), *ROWS, source="de", target="EN").examples("train")) == PAIRS
    lines = [json.dumps({"Source": pair.source, "TARGET": pair.target}) for pair in PAIRS]
    Path("mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
    settings = PairFilesSettings(train="mine.jsonl", valid=("valid.de", "valid.en"))
    assert list(PairFiles(settings).examples("train")) == PAIRS


def test_of_two_columns_that_differ_in_capitals_the_very_one_is_taken() -> None:
    rows = [("DE", "de", "en"), ("falsch", "ein Hund", "a dog")]
    assert list(corpus(*rows, source="de", target="en").examples("train")) == PAIRS[:1]


@pytest.mark.parametrize(
    ("header", "reads"),
    [
        (("English", "German"), "'English → German'"),
        (("en", "de"), "'en → de'"),
        (("eng", "deu"), "'eng → deu'"),
        (("Deutsch", "Englisch"), "'Deutsch → Englisch'"),
        (("Français", "中文"), "'Français → 中文'"),
        (("src", "tgt"), "'src → tgt'"),
    ],
)
@pytest.mark.parametrize("form", [".tsv", ".csv"])
def test_a_first_line_that_may_be_a_header_is_a_pair_and_a_remark(
    form: str, header: tuple[str, str], reads: str
) -> None:
    data = corpus(header, *ROWS, form=form)
    assert list(data.examples("train")) == [Pair(*header), *PAIRS]
    (remark,) = data.remarks()
    assert f"the first line of mine{form} reads {reads}: if that is a header, delete it" in remark
    assert f"data.source={header[0]} data.target={header[1]}" in remark
    named = corpus(header, *ROWS, form=form, source=header[0], target=header[1])
    assert list(named.examples("train")) == PAIRS
    assert named.remarks() == []


def test_a_first_line_like_any_other_is_no_remark() -> None:
    for first in (
        ("Hund", "dog"),
        ("I speak German", "ich spreche Deutsch"),
        ("Deutsch ist schwer.", "German is hard."),
    ):
        assert corpus(first, *ROWS).remarks() == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("ein Hund", "a dog", "7"), "has 3 columns: the first two were taken, the other one is ignored"),
        (("ein Hund", "a dog", "7", "me"), "has 4 columns: the first two were taken, the 2 others are ignored"),
    ],
)
def test_columns_that_are_not_read_are_a_remark_with_what_chooses_others(row: tuple[str, ...], said: str) -> None:
    (remark,) = corpus(row).remarks()
    assert f"mine.tsv {said}" in remark
    assert "data.source=2 data.target=3" in remark
    chosen = corpus(row, source=2, target=3)
    assert list(chosen.examples("train")) == [Pair("a dog", "7")]
    assert chosen.remarks() == []


def test_columns_beside_those_that_a_header_names_are_no_remark() -> None:
    assert corpus(("id", "source", "target"), ("7", "ein Hund", "a dog")).remarks() == []


def test_every_table_is_looked_at_once() -> None:
    Path("test.csv").write_text("en,de\na,b\n")
    settings = PairFilesSettings(train="mine.tsv", valid="50%", test="test.csv")
    Path("mine.tsv").write_text("English\tGerman\n" + "".join(f"{i}\t{i}\n" for i in range(20)))
    assert [remark.split(" reads ")[0] for remark in PairFiles(settings).remarks()] == [
        "the first line of mine.tsv",
        "the first line of test.csv",
    ]


# Any columns

USUAL = {
    "word": Usual(("word", "token"), (0, 1)),
    "weight": Usual(("weight",), (1, 0), text=False),
    "note": Usual(("note",), needed=False),
}


def records(name: str, text: str, **asked: Column) -> list[dict[str, Any]]:
    Path(name).write_text(text, encoding="utf-8")
    return [values for _, values, *_ in TableFile(Path(name), USUAL, asked).records()]


@pytest.mark.parametrize(
    ("text", "asked", "wanted"),
    [
        ("a,1\n", {}, ("a", "1", None)),  # the usual places
        ("1,a\n", {"weight": 1}, ("a", "1", None)),  # the place that is left
        ("Weight,Token\n1,a\n", {}, ("a", "1", None)),  # the usual words
        ("note,weight,word\nn,1,a\n", {}, ("a", "1", "n")),
        ("x,y,weight\na,b,1\n", {"word": "y"}, ("b", "1", None)),
        ("x,y,z\n", {"word": 3, "note": 1}, ("z", "y", "x")),
    ],
)
def test_columns_are_found_by_number_name_usual_word_or_place(
    text: str, asked: dict[str, Column], wanted: tuple[str | None, ...]
) -> None:
    (found,) = records("a.csv", text, **asked)
    assert tuple(found.values()) == wanted


def test_objects_have_their_values_under_the_same_names() -> None:
    lines = ['{"Token": "a", "weight": 1.5}', "", '{"weight": null, "note": "n", "word": "b"}']
    assert records("a.jsonl", "\n".join(lines)) == [
        {"word": "a", "weight": 1.5, "note": None},
        {},
        {"word": "b", "weight": None, "note": "n"},
    ]


@pytest.mark.parametrize(
    ("name", "text", "asked", "sentence"),
    [
        ("a.csv", "x,weight\na,1\n", {"word": "wrd"}, "a.csv:1 has no column 'wrd' but 'x', 'weight': set data.word"),
        ("a.csv", "a,1\nb\n", {}, "a.csv:2 has 1 column, expected at least 2 for word and weight, separated by a c"),
        ("a.csv", "a,1\n", {"word": 1, "note": 1}, "data.word and data.note both mean column 1 of a.csv"),
        ("a.csv", "\nword\n", {"word": "wurd"}, "a.csv:1 has no column 'wurd' but none at all"),
        ("a.jsonl", '{"weight": 1}', {}, "a.jsonl:1 has no key 'word' but 'weight': set data.word"),
        ("a.jsonl", '{"word": ["a"], "weight": 1}', {}, "a.jsonl:1 has [\"a\"] under 'word', expected text in quotes"),
        ("a.jsonl", '{"word": "\\u0000", "weight": 1}', {}, "a.jsonl:1 holds a NUL character under 'word'"),
        (
            "a.jsonl",
            "[1]",
            {},
            'a.jsonl:1 is no object but a list, expected an object such as {"word": …, "weight": …}',
        ),
        ("a.jsonl", "{}", {"note": 2}, "data.note is column 2, but the values of a.jsonl have names"),
        ("a.xls", "a", {}, "(or these with .gz): export the table as one of them"),
        ("a.dat", "a", {}, "'.dat', expected .tsv, .csv, .jsonl, .xlsx or .parquet (or these with .gz): rename it"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(name: str, text: str, asked: dict[str, Column], sentence: str) -> None:
    with pytest.raises((DataError, SettingError)) as told:
        records(name, text, **asked)
    assert sentence in str(told.value)


def test_rows_of_any_length_can_be_read_as_they_are() -> None:
    Path("series.tsv").write_text("2\t0.5\t-1\n1\t3\n", encoding="utf-8")
    assert [tuple(row) for row in cells(Path("series.tsv"))] == [(1, ["2", "0.5", "-1"]), (2, ["1", "3"])]
