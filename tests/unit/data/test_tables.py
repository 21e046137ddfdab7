"""Tables and their first line: when it is a header, and what is said when it may be one."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqwright.data.examples import Pair
from seqwright.data.pairs import PairFiles, PairFilesSettings

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
    assert list(data.pairs("train")) == PAIRS
    assert data.remarks() == []


def test_capitals_do_not_hide_a_column_or_a_key() -> None:
    assert list(corpus(("DE", "En"), *ROWS, source="de", target="EN").pairs("train")) == PAIRS
    lines = [json.dumps({"Source": pair.source, "TARGET": pair.target}) for pair in PAIRS]
    Path("mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
    settings = PairFilesSettings(train="mine.jsonl", valid=("valid.de", "valid.en"))
    assert list(PairFiles(settings).pairs("train")) == PAIRS


def test_of_two_columns_that_differ_in_capitals_the_very_one_is_taken() -> None:
    rows = [("DE", "de", "en"), ("falsch", "ein Hund", "a dog")]
    assert list(corpus(*rows, source="de", target="en").pairs("train")) == PAIRS[:1]


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
    assert list(data.pairs("train")) == [Pair(*header), *PAIRS]
    (remark,) = data.remarks()
    assert f"the first line of mine{form} reads {reads}: if that is a header, delete it" in remark
    assert f"data.source={header[0]} data.target={header[1]}" in remark
    named = corpus(header, *ROWS, form=form, source=header[0], target=header[1])
    assert list(named.pairs("train")) == PAIRS
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
    assert list(chosen.pairs("train")) == [Pair("a dog", "7")]
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
