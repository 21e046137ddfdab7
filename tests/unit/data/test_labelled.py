"""Reading labelled text: every form, what users get wrong, and the split by hash."""

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from seqwright.data.cards import card, other_files
from seqwright.data.generated import CardSettings
from seqwright.data.labelled import (
    LabelledFiles,
    LabelledFilesSettings,
    with_labels,
)
from seqwright.data.labelled_tables import Example
from seqwright.errors import DataError, SettingError

WANTED = [Example("free entry, win", "spam"), Example("see you", "ham"), Example("", "ham"), Example("ok", "ham")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, but for a file to validate on."""
    monkeypatch.chdir(tmp_path)
    Path("valid.tsv").write_text("hello\tham\n")
    return tmp_path


def data(train: str, **settings: Any) -> LabelledFiles:
    return LabelledFiles(LabelledFilesSettings(**{"train": train, "valid": "valid.tsv"} | settings))


def read(train: str, **settings: Any) -> list[Example]:
    return list(data(train, **settings).examples("train"))


def write(name: str, text: str) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return name


def table(*rows: tuple[str | None, ...], separator: str = "\t") -> str:
    return "".join(separator.join(cell for cell in row if cell is not None) + "\n" for row in rows)


def archived(name: str, files: dict[str, str]) -> str:
    with tarfile.open(name, "w:gz") as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return name


# Forms


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("form", ["tsv", "txt"])
def test_tabs_stand_between_text_and_label(form: str, ending: str) -> None:
    assert read(write(f"a.{form}{ending}", table(*WANTED))) == WANTED


def test_a_file_without_extension_has_tabs() -> None:
    assert read(write("SMSSpamCollection", table(*((label, text) for text, label, _ in WANTED))), text=2) == WANTED


def test_a_comma_in_quotes_belongs_to_the_text() -> None:
    assert read(write("a.csv", '"free entry, win",spam\nsee you,ham\n')) == WANTED[:2]


@pytest.mark.parametrize(
    "record",
    [
        {"text": "see you", "label": "ham"},
        {"LABEL": "ham", "id": 7, "Text": "see you"},
        {"class": "ham", "tweet": "see you"},
    ],
)
def test_keys_of_json_are_found_by_what_they_usually_are_called(record: dict[str, Any]) -> None:
    assert read(write("a.jsonl", json.dumps(record) + "\n")) == [Example("see you", "ham")]


@pytest.mark.parametrize(("value", "label"), [(1, "1"), (True, "true"), (0.5, "0.5"), (None, ""), (" ham ", "ham")])
def test_a_label_in_json_may_be_a_number(value: Any, label: str) -> None:
    assert read(write("a.jsonl", json.dumps({"text": "x", "label": value}) + "\n")) == [Example("x", label)]


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        ({"text": 3, "label": 2}, ()),
        ({"text": "body", "label": "grade"}, ("id", "grade", "body")),
        ({"text": "BODY", "label": 2}, ("id", "grade", "body")),
        ({}, ("id", "Sentiment", "Review")),
        ({"text": 3}, ()),
    ],
)
def test_columns_are_chosen_by_number_or_by_name(settings: dict[str, Any], header: tuple[str, ...]) -> None:
    rows = [("4", "good", "a film"), ("5", "bad", "another")]
    found = read(write("a.tsv", table(*([header] if header else []), *rows)), **settings)
    assert found == [Example("a film", "good"), Example("another", "bad")]


def test_an_empty_line_is_a_blank_example() -> None:
    assert read(write("a.tsv", "x\tham\n\ny\tspam\n")) == [Example("x", "ham"), Example("", ""), Example("y", "spam")]
    assert [example.text for example in with_labels(read("a.tsv"))] == ["x", "y"]


def test_labels_are_called_what_the_settings_say() -> None:
    found = read(write("a.tsv", "x\t0\ny\t1\nz\t2\n"), label_names={"0": "bad", "1": "good"})
    assert [example.label for example in found] == ["bad", "good", "2"]


def test_only_the_labels_asked_for_are_read() -> None:
    found = read(write("a.tsv", "x\t0\ny\t1\nz\t2\n"), labels=("0", "2"))
    assert [example.text for example in found] == ["x", "z"]


# Folders

FILES = {"neg/2.txt": "bad\n", "neg/1.txt": "worse", "pos/1.txt": "good\nfilm", "urls.txt": "http", "pos/.x": "no"}


def test_each_folder_is_a_label() -> None:
    for path, text in FILES.items():
        write(f"reviews/train/{path}", text)
    found = data("reviews/train")
    wanted = [Example("worse", "neg"), Example("bad", "neg"), Example("good\nfilm", "pos")]
    assert list(found.examples("train")) == wanted
    assert found.remarks() == ["files of reviews/train in no label's folder, passed over: 1 (urls.txt)"]


def test_a_folder_inside_of_an_archive_is_read_without_unpacking() -> None:
    name = archived("a.tar.gz", {f"top/train/{path}": text for path, text in FILES.items()} | {"top/test/neg/9": "x"})
    found = data(f"{name}/top/train", test=f"{name}/top/test")
    assert list(found.examples("train")) == [
        Example("bad", "neg"),
        Example("worse", "neg"),
        Example("good\nfilm", "pos"),
    ]
    assert list(found.examples("test")) == [Example("x", "neg")]
    assert found.paths() == [Path("a.tar.gz"), Path("valid.tsv")]
    assert found.fingerprint("train") != found.fingerprint("test")


def test_folders_that_lie_deeper_are_named() -> None:
    name = archived("a.tar.gz", {"top/train/neg/1.txt": "x"})
    with pytest.raises(DataError, match=r"too deep.*perhaps 'a.tar.gz/top/train' was meant"):
        read(name)
    with pytest.raises(DataError, match=r"no folder 'top/tain' in a.tar.gz"):
        read(f"{name}/top/tain")


def test_a_damaged_archive_is_refused() -> None:
    archived("a.tar.gz", {f"neg/{number}.txt": f"{number}" * 500 for number in range(50)})
    whole = Path("a.tar.gz").read_bytes()
    Path("a.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"a.tar.gz is a damaged archive"):
        read("a.tar.gz")


def test_the_fingerprint_of_a_folder_changes_with_each_file() -> None:
    write("r/neg/1.txt", "bad")
    write("r/pos/1.txt", "good")
    before = data("r").fingerprint("train")
    assert data("r").fingerprint("train") == before
    write("r/pos/1.txt", "very good")
    assert data("r").fingerprint("train") != before


def test_columns_of_a_folder_cannot_be_chosen() -> None:
    write("r/neg/1.txt", "bad")
    with pytest.raises(SettingError, match=r"r is a folder.*leave them out"):
        data("r", text=2)


# Parts


def test_shares_have_no_text_in_common_and_do_not_depend_on_the_order() -> None:
    rows = [(f"text {number // 2}", "ham" if number % 3 else "spam") for number in range(2000)]  # each text twice
    here = data(write("a.tsv", table(*rows)), valid="10%", test="20%")
    there = data(write("b.tsv", table(*reversed(rows))), valid="10%", test="20%")
    parts = [{example.text for example in here.examples(part)} for part in here.parts()]
    assert here.parts() == ["train", "valid", "test"]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 1000
    assert [len(part) for part in parts] == pytest.approx([700, 100, 200], abs=40)
    assert parts == [{example.text for example in there.examples(part)} for part in there.parts()]


def test_the_fingerprint_knows_content_columns_names_and_share_but_no_path() -> None:
    write("a.tsv", table(*WANTED))
    write("b.tsv", table(*WANTED))
    base = data("a.tsv").fingerprint("train")
    assert data("b.tsv").fingerprint("train") == base
    others: list[dict[str, Any]] = [
        {"text": 2, "label": 1},
        {"label_names": {"ham": "good"}},
        {"valid": "5%"},
        {"labels": ("ham", "spam")},
    ]
    found = {data("a.tsv", **other).fingerprint("train") for other in others}
    assert len(found | {base}) == 5


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"train": "5%"}, "data.train is '5%', expected a file"),
        ({"valid": "60%", "test": "40%"}, "leave nothing to train on"),
        ({"labels": ("a", "a")}, "names 1 label, expected two"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        data(**{"train": write("a.tsv", table(*WANTED))} | settings)


# What users get wrong


@pytest.mark.parametrize(
    ("name", "text", "settings", "sentence"),
    [
        (
            "a.tsv",
            "only a text\n",
            {},
            "a.tsv:1 has 1 column, expected at least 2 for text and label, separated by a tab",
        ),
        ("a.csv", "x,ham\nonly a text\n", {}, "a.csv:2 has 1 column, expected at least 2.*separated by a comma"),
        ("a.tsv", "text\tgrade\nx\t1\n", {"label": "gade"}, "a.tsv:1 has no column 'gade'.*Did you mean 'grade'"),
        ("a.tsv", "x\tham\n", {"text": 2, "label": 2}, "both mean column 2"),
        ("a.jsonl", '{"text": "x"}\n', {}, "a.jsonl:1 has no key 'label' but 'text'"),
        ("a.jsonl", '{"text": 3, "label": 1}\n', {}, "a.jsonl:1 has 3 under 'text', expected text"),
        ("a.jsonl", '{"text": "x", "label": ["a", "b"]}\n', {}, "expected one label"),
        ("a.jsonl", '["x", "ham"]\n', {}, "a.jsonl:1 is no object"),
        ("a.jsonl", '{"text": \n', {}, "a.jsonl:1 is not valid JSON"),
        ("a.jsonl", '{"text": "x", "label": 1}\n', {"text": 1}, "the values of a.jsonl have names"),
        ("a.docx", "x", {}, "a.docx has the extension '.docx', expected .tsv, .csv, .jsonl"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(
    name: str, text: str, settings: dict[str, Any], sentence: str
) -> None:
    write(name, text)
    with pytest.raises((DataError, SettingError), match=sentence):
        read(name, **settings)


def test_a_missing_file_is_told_with_the_nearest_name() -> None:
    with pytest.raises(DataError, match=r"there is no file valit.tsv.*Did you mean 'valid.tsv'"):
        read("valit.tsv")


# Cards


def test_a_card_reads_the_files_of_seqwright_data(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(folder))
    write("sst2/train.tsv", "a fine film\t1\na bore\t0\n")
    write("sst2/dev.tsv", "fine\t1\n")
    sst2 = card("sst2").open()
    assert sst2.parts() == ["train", "valid", "test"]
    assert list(sst2.examples("test")) == [Example("fine", "positive")]
    assert list(sst2.examples("train")) == [Example("a fine film", "positive"), Example("a bore", "negative")]
    write("imdb/reviews.txt", "")
    Path("imdb").mkdir(exist_ok=True)
    archived("imdb/aclImdb_labeled.tar.gz", {"aclImdb/train/pos/1_7.txt": "fine", "aclImdb/test/neg/1_1.txt": "a bore"})
    found = card("imdb").open()
    assert list(found.examples("test")) == [Example("a bore", "negative")]


def test_a_card_without_files_says_where_they_belong(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(folder))
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(folder / "cache"))
    with pytest.raises(DataError, match=r"train.tsv of sst2 is neither in .*run `seqwright data get sst2`"):
        card("sst2").open()
    with pytest.raises(DataError, match=r"SMSSpamCollection of sms_spam is neither in .*put it there"):
        card("sms_spam").open()


def test_other_files_are_read_like_the_runs_own() -> None:
    write("test.tsv", "fine\t1\na bore\t0\n")
    plain = other_files([Path("test.tsv")], CardSettings(card="sst2"), "labelled")
    found = LabelledFiles(LabelledFilesSettings.model_validate(plain))
    assert list(found.examples("test")) == [Example("fine", "positive"), Example("a bore", "negative")]
    own = LabelledFilesSettings(train="a.tsv", label="grade")
    parts = {"train": "b.tsv", "valid": "b.tsv", "test": "b.tsv"}
    assert other_files([Path("b.tsv")], own, "labelled") == {
        **parts,
        **{"label_names": {}, "label": "grade", "bad_rows": "refuse", "fold_labels": False},
    }
