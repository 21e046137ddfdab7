"""Pairs of texts with a label: where the second text stands, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqwright.data.cards import card, other_files
from seqwright.data.generated import CardSettings
from seqwright.data.labelled import (
    LabelledFiles,
    LabelledFilesSettings,
    is_blank,
    with_labels,
)
from seqwright.data.labelled_tables import Example
from seqwright.errors import DataError, SettingError

WANTED = [Example("a cat", "yes", "an animal"), Example("a dog", "no", "a cat")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def data(train: str, **settings: Any) -> LabelledFiles:
    return LabelledFiles(LabelledFilesSettings(train=train, valid=train, **settings))


def write(name: str, *rows: str) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return name


def read(train: str, **settings: Any) -> list[Example]:
    return list(data(train, **settings).examples("train"))


@pytest.mark.parametrize(
    ("first", "second"),
    [("sentence1", "sentence2"), ("Premise", "Hypothesis"), ("question1", "question2"), ("text1", "text2")],
)
def test_two_names_that_belong_together_are_a_pair(first: str, second: str) -> None:
    table = write("a.tsv", f"id\t{second}\tlabel\t{first}", "0\tan animal\tyes\ta cat", "1\ta cat\tno\ta dog")
    assert read(table) == WANTED
    records = [{"label": e.label, first: e.text, second: e.text_pair} for e in WANTED]
    assert read(write("a.jsonl", *map(json.dumps, records))) == WANTED


def test_a_second_text_is_chosen_by_number_or_by_name() -> None:
    rows = ["a cat\tyes\tan animal", "a dog\tno\ta cat"]
    assert read(write("a.tsv", *rows), text_pair=3) == WANTED
    named = write("b.csv", "text,label,other", "a cat,yes,an animal", "a dog,no,a cat")
    assert read(named, text_pair="other") == WANTED
    assert read(named) == [Example("a cat", "yes"), Example("a dog", "no")]  # nothing says that it is a pair
    assert all(example.text_pair is None for example in read(named))
    record = {"text": "a cat", "label": "yes", "other": "an animal"}
    assert read(write("c.jsonl", json.dumps(record)), text_pair="other") == WANTED[:1]


def test_who_names_the_text_alone_reads_single_texts() -> None:
    table = write("a.tsv", "sentence1\tsentence2\tlabel", "a cat\tan animal\tyes")
    assert read(table, text="sentence1") == [Example("a cat", "yes")]
    assert read(table, text_pair="sentence2") == WANTED[:1]


def test_a_score_is_a_label_too() -> None:
    table = write("a.tsv", "sentence1\tsentence2\tscore", "a cat\tan animal\t3.5")
    assert read(table) == [Example("a cat", "3.5", "an animal")]


def test_an_example_without_its_second_text_is_blank() -> None:
    examples = read(write("a.tsv", "sentence1\tsentence2\tlabel", "a cat\t \tyes", "a dog\ta cat\tno"))
    assert [is_blank(example) for example in examples] == [True, False]
    assert list(with_labels(examples)) == WANTED[1:]


def test_parts_have_no_first_text_in_common() -> None:
    rows = [f"text {number % 40}\tother {number}\tyes" for number in range(200)]
    table = write("a.tsv", "sentence1\tsentence2\tlabel", *rows)
    files = LabelledFiles(LabelledFilesSettings(train=table, valid="30%"))
    train, valid = ({example.text for example in files.examples(part)} for part in ("train", "valid"))
    assert train
    assert valid
    assert train.isdisjoint(valid)


def test_the_fingerprint_tells_pairs_from_single_texts() -> None:
    table = write("a.tsv", "a cat\tyes\tan animal\ta dog", "a dog\tno\ta cat\ta cow")
    found = {data(table, **asked).fingerprint("train") for asked in ({}, {"text_pair": 3}, {"text_pair": 4})}
    assert len(found) == 3


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"text_pair": "sentence3"}, r"a.tsv:1 has no column 'sentence3' but .*data.text_pair.*Did you mean 'sente"),
        ({"text_pair": "sentence1"}, r"data.text and data.text_pair both mean column 1 of a.tsv: choose 3 columns"),
        ({"text_pair": "label"}, r"data.label and data.text_pair both mean column 3"),
    ],
)
def test_a_second_column_that_is_not_there_is_refused(settings: dict[str, Any], sentence: str) -> None:
    table = write("a.tsv", "sentence1\tsentence2\tlabel", "a cat\tan animal\tyes")
    with pytest.raises((DataError, SettingError), match=sentence):
        read(table, text="sentence1", **settings)


def test_a_row_without_its_second_column_is_refused_with_its_line() -> None:
    table = write("a.tsv", "sentence1\tlabel\tsentence2", "a cat\tyes\tan animal", "a dog\tno")
    with pytest.raises(DataError, match=r"a.tsv:3 has 2 columns, expected at least 3 for text, label and text_pair"):
        read(table)


def test_what_has_no_columns_has_no_second_one() -> None:
    write("texts/yes/1.txt", "a cat")
    with pytest.raises(SettingError, match=r"data.text, data.label and data.text_pair choose columns, but texts"):
        data("texts", text_pair=3)
    with pytest.raises(SettingError, match=r"data.text_pair is column 3, but the values of a.jsonl have names"):
        data(write("a.jsonl", "{}"), text_pair=3)


def test_the_cards_of_glue_are_read_from_one_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(folder))
    for part in ("train", "dev"):
        write(f"glue/CoLA/{part}.tsv", "gj04\t1\t\tThey slept.", "gj04\t0\t*\tSlept they.")
        write(f"glue/MRPC/{part}.tsv", "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", '1\t7\t9\tOne "x\tTwo')
        write(f"glue/STS-B/{part}.tsv", "index\tsentence1\tsentence2\tscore", "0\ta cat\tan animal\t3.750")
    cola, mrpc, stsb = (card(name).open() for name in ("cola", "mrpc", "stsb"))
    assert list(cola.examples("test")) == [Example("They slept.", "acceptable"), Example("Slept they.", "unacceptable")]
    assert list(mrpc.examples("test")) == [Example('One "x', "equivalent", "Two")]
    assert list(stsb.examples("test")) == [Example("a cat", "3.750", "an animal")]
    with pytest.raises(DataError, match=r"RTE/train.tsv of rte is neither in \$SEQWRIGHT_DATA/glue nor in .*glue"):
        card("rte").open()


def test_published_glue_is_what_the_cards_say(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from seqwright.data.files import content_hash

    monkeypatch.setenv("SEQWRIGHT_DATA", str(shared_data))
    for name in ("cola", "rte", "mrpc", "stsb"):
        known = card(name)
        for file in known.files:
            assert content_hash(shared_data / "glue" / file.path) == file.sha256
        corpus = known.open()
        counts = {part: sum(1 for _ in corpus.examples(part)) for part in corpus.parts()}
        assert (counts["train"] + counts["valid"], counts["test"]) == (known.examples["train"], known.examples["test"])
        assert (next(corpus.examples("train")).text_pair is None) == (name == "cola")


def test_other_pairs_are_read_like_the_runs_own() -> None:
    table = write("b.tsv", "Quality\t#1 String\t#2 String", "1\ta cat\tan animal")
    plain = other_files([Path(table)], CardSettings(card="mrpc"), "labelled")
    found = LabelledFiles(LabelledFilesSettings.model_validate(plain))
    assert list(found.examples("test")) == [Example("a cat", "equivalent", "an animal")]
