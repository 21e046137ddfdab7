"""Texts beside labels or numbers, in the user's own files."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqwright.data.described import DescribedFiles, DescribedFilesSettings, GivenText
from seqwright.errors import DataError, SettingError

NAMES = "Moreau\tFrench\nSmith\tEnglish\nDubois\tFrench\n"
WEATHER = "degrees,wind,words\n21.50,3,warm\n-4,12,cold and windy\n"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def files(name: str, content: str, **settings: Any) -> DescribedFiles:
    Path(name).write_text(content, encoding="utf-8")
    return DescribedFiles(DescribedFilesSettings(train=name, **{"valid": name, **settings}))


def pairs(data: DescribedFiles, part: Any = "train") -> list[tuple[str, str]]:
    return [(example.source, example.target) for example in data.examples(part)]


def test_a_label_stands_beside_its_text() -> None:
    data = files("names.tsv", NAMES)
    assert data.described_by == "label"
    assert pairs(data) == [("French", "Moreau"), ("English", "Smith"), ("French", "Dubois")]
    assert next(data.examples("train")) == GivenText("French", "Moreau")
    turned = files("turned.csv", "origin,name\nFrench,Moreau\n", text="name", label="origin")
    assert pairs(turned) == [("French", "Moreau")]


def test_numbers_stand_beside_their_text_in_one_spelling() -> None:
    data = files("weather.csv", WEATHER, columns=("wind", "degrees"), text="words")
    assert next(data.examples("train")).columns == data.columns
    assert data.columns == ("wind", "degrees")
    assert pairs(data) == [("3,21.5", "warm"), ("12,-4", "cold and windy")]


def test_without_a_header_columns_have_numbers() -> None:
    data = files("weather.tsv", "21.5\twarm\t3\n-4\tcold\t12\n", columns=(3, 1))
    assert data.columns == ("column 3", "column 1")
    assert pairs(data) == [("3,21.5", "warm"), ("12,-4", "cold")]


def test_the_text_is_what_is_called_so_or_the_first_other_column() -> None:
    assert pairs(files("a.csv", "id,n,text\nx,1,words\n", columns="n")) == [("1", "words")]
    assert pairs(files("b.csv", "n,said,id\n1,words,x\n", columns="n")) == [("1", "words")]


def test_jsonl_has_names_for_everything() -> None:
    lines = [{"t": 21.5, "Text": "warm", "wind": 3}, {"t": -4, "Text": "cold", "wind": 12}]
    content = "\n".join(map(json.dumps, lines)) + "\n\n"
    assert pairs(files("a.jsonl", content, columns=("t", "wind"))) == [("21.5,3", "warm"), ("-4,12", "cold"), ("", "")]
    labelled = "\n".join(json.dumps({"label": name, "text": name.lower()}) for name in ("A", "B"))
    assert pairs(files("b.jsonl", labelled)) == [("A", "a"), ("B", "b")]


@pytest.mark.parametrize("described_by", ["label", "numbers"])
def test_shares_have_nothing_in_common_and_leave_nothing_out(described_by: str) -> None:
    if described_by == "label":  # the same text under two labels
        content = "".join(f"text {n % 150}\t{'AB'[n % 2]}{n // 150}\n" for n in range(300))
        data = files("a.tsv", content, valid="20%", test="10%")
    else:  # the same numbers written in two ways
        content = "x\ttext\n" + "".join(f"{n % 150}{'.0' * (n // 150)}\ttext {n}\n" for n in range(300))
        data = files("a.tsv", content, valid="20%", test="10%", columns="x")
    parts = {part: pairs(data, part) for part in data.parts()}
    assert sum(map(len, parts.values())) == 300
    assert 30 < len(parts["valid"]) < 90
    decides = [{text if described_by == "label" else given for given, text in each} for each in parts.values()]
    assert sum(map(len, decides)) == 150


def test_the_fingerprint_follows_the_content_and_the_columns() -> None:
    one, other = (files("a.csv", WEATHER, columns=columns, text="words") for columns in ("wind", "degrees"))
    again = files("b.csv", WEATHER, columns="wind", text="words")
    assert one.fingerprint("train") == again.fingerprint("train") != other.fingerprint("train")
    longer = files("c.csv", WEATHER + "1,1,mild\n", columns="wind", text="words")
    assert longer.fingerprint("train") != one.fingerprint("train")


@pytest.mark.parametrize(
    ("name", "content", "settings", "sentence"),
    [
        ("a.csv", "x,text\n1,a\nmany,b\n", {"columns": "x"}, "a.csv:3 has 'many' in 'x', expected a number"),
        ("a.csv", "x,text\n1,a\n,b\n", {"columns": "x"}, "a.csv:3 has '' in 'x', expected a number"),
        ("a.csv", "x,text\n1,a\nnan,b\n", {"columns": "x"}, "a.csv:3 has 'nan' in 'x', expected a number"),
        ("a.tsv", "x\ttext\n1,5\ta\n", {"columns": "x"}, "a.tsv:2 has '1,5' in 'x', expected a decimal point"),
        ("a.csv", "x,text\n1,a\n2\n", {"columns": "x"}, "a.csv:3 has 1 column, expected at least 2"),
        ("a.csv", "x,text\n1,a\n", {"columns": "y"}, "a.csv:1 has no column 'y' but 'x', 'text'"),
        ("a.csv", "x,text\n1,a\n", {"columns": 5}, "a.csv:1 has 2 columns, but data.columns asks for column 5"),
        (
            "a.csv",
            "x,y\n1,2\n",
            {"columns": ("x", "y")},
            "a.csv:2 has 2 columns, expected at least 3",
        ),
        (
            "a.csv",
            "x,y\n1,2\n",
            {"columns": "x", "text": "x"},
            "data.text and data.columns both mean column 1",
        ),
        ("a.csv", "x,y\n1,2\n", {"columns": ()}, "data.columns is empty"),
        ("a.csv", "x,y\n1,2\n", {"columns": "x", "label": "y"}, "data.label and data.columns are both given"),
        ("a.txt", "x y\n", {"columns": "x"}, "a.txt has the extension '.txt', expected .tsv, .csv, .jsonl"),
        ("a.jsonl", '{"x": "1", "text": "a"}\n', {"columns": "x"}, "a.jsonl:1 has '\"1\"' in 'x', expected a number"),
        ("a.jsonl", '{"x": true, "text": "a"}\n', {"columns": "x"}, "a.jsonl:1 has 'true' in 'x', expected a number"),
        ("a.jsonl", '{"x": 1, "text": "a"}\n', {"columns": "z"}, "a.jsonl:1 has no key 'z' but 'x', 'text'"),
        (
            "a.jsonl",
            '{"x": 1, "text": "a"}\n',
            {"columns": 1},
            "data.columns is column 1, but the values of a.jsonl have names",
        ),
        ("a.tsv", "only text\n", {}, "a.tsv:1 has 1 column, expected at least 2"),
        ("a.tsv", "a\tA\n", {"valid": "60%", "test": "40%"}, "leave nothing to train on"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(name: str, content: str, settings: Any, sentence: str) -> None:
    with pytest.raises((DataError, SettingError)) as error:
        list(files(name, content, **settings).examples("train"))
    assert sentence in str(error.value)


def test_a_part_that_is_not_there_or_empty_is_refused() -> None:
    with pytest.raises(DataError, match=r"there is no test part: set data\.test"):
        next(files("a.tsv", NAMES).examples("test"))
    with pytest.raises(DataError, match="the valid part is empty"):
        list(files("b.tsv", "a\tA\n", valid="0.001%").examples("valid"))
