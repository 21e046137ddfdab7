"""Running text from the user's files: documents, parts, and sentences for whatever is wrong."""

import gzip
from itertools import chain
from pathlib import Path

import pytest

from seqwright.data.examples import PartName
from seqwright.data.pieces import Files
from seqwright.data.text import Form, TextData, TextFiles, TextFilesSettings
from seqwright.errors import DataError, SettingError

POEM = "Roses are red\n\nviolets  are\tblue\n  \n \nsugar\nis sweet\n"
MANY = "".join(f"document number {n}\n" for n in range(400))


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


def corpus(
    train: Files,
    valid: Files = "5%",
    test: Files | None = None,
    documents: Form = "lines",
    split: str = "scattered",
) -> TextFiles:
    settings = {"train": train, "valid": valid, "test": test, "documents": documents, "split": split}
    return TextFiles(TextFilesSettings.model_validate(settings))


def every(data: TextData) -> dict[PartName, list[str]]:
    return {part: list(data.examples(part)) for part in data.parts()}


# Documents


@pytest.mark.parametrize("name", ["poem.txt", "poem.txt.gz"])
def test_each_line_is_a_document_and_blank_ones_are_left_to_the_cache(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, POEM)
    found = list(corpus(path, valid=path).examples("train"))
    assert found == ["Roses are red", "", "violets  are\tblue", "  ", " ", "sugar", "is sweet"]


def test_blank_lines_separate_paragraphs(tmp_path: Path) -> None:
    path = written(tmp_path, "poem.txt", POEM)
    found = list(corpus(path, valid=path, documents="paragraphs").examples("train"))
    assert found == ["Roses are red", "violets  are\tblue", "sugar\nis sweet"]


def test_a_paragraph_does_not_go_on_in_the_next_file(tmp_path: Path) -> None:
    files = (written(tmp_path, "a", "one\ntwo\n"), written(tmp_path, "b", "three\n"))
    assert list(corpus(files, valid=files, documents="paragraphs").examples("valid")) == ["one\ntwo", "three"]


def test_each_file_is_a_document_to_the_last_space(tmp_path: Path) -> None:
    files = (written(tmp_path, "a.txt", POEM), written(tmp_path, "b.txt.gz", "\tx\r\ny"))
    found = list(corpus(files, valid=files, documents="files").examples("train"))
    assert found == [POEM, "\tx\ny\n"]


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "odd.txt", "\ufeffa\u2028b\x0bc\x85d\r\ne\n")
    assert list(corpus(path, valid=path).examples("train")) == ["a\u2028b\x0bc\x85d", "e"]


# Parts


def test_shares_of_all_over_the_text_are_disjoint_and_everything(tmp_path: Path) -> None:
    data = corpus(written(tmp_path, "many.txt", MANY), valid="10%", test="20%")
    found = every(data)
    assert list(found) == ["train", "valid", "test"]
    assert sorted(chain(*found.values())) == sorted(MANY.splitlines())
    assert 20 < len(found["valid"]) < 60
    assert 50 < len(found["test"]) < 110


def test_a_document_stays_in_its_part_whatever_surrounds_it(tmp_path: Path) -> None:
    lines = MANY.splitlines(keepends=True)
    one = every(corpus(written(tmp_path, "one.txt", MANY), valid="10%"))
    other = every(corpus(written(tmp_path, "other.txt", "".join(lines[::-1]) + "new\n" + MANY), valid="10%"))
    assert set(one["valid"]) <= set(other["valid"])
    assert not set(one["valid"]) & set(other["train"])


def test_the_end_of_one_long_document_is_held_out_at_a_line(tmp_path: Path) -> None:
    """Ten lines of ten characters: nine, or seven, two and one."""
    text = "".join(f"{n} is a no.\n"[:9] + "\n" for n in range(10))
    path = written(tmp_path, "book.txt", text)
    found = every(corpus(path, valid="10%", documents="files", split="end"))
    assert found == {"train": [text[:90]], "valid": [text[90:]]}
    found = every(corpus(path, valid="20%", test="10%", documents="files", split="end"))
    assert found == {"train": [text[:70]], "valid": [text[70:90]], "test": [text[90:]]}


@pytest.mark.parametrize("valid", ["1%", "7%", "33.3%", "50%", "89%"])
def test_nothing_is_lost_or_doubled_where_a_text_is_cut(tmp_path: Path, valid: str) -> None:
    files = (written(tmp_path, "a.txt", MANY), written(tmp_path, "b.txt", POEM * 30))
    found = every(corpus(files, valid=valid, test="9.9%", documents="files", split="end"))
    assert "".join(chain(*found.values())) == MANY + POEM * 30
    share = sum(map(len, found["valid"])) / len(MANY + POEM * 30)
    assert share == pytest.approx(float(valid[:-1]) / 100, abs=0.01)


def test_the_last_lines_are_held_out(tmp_path: Path) -> None:
    found = every(corpus(written(tmp_path, "many.txt", MANY), valid="25%", split="end"))
    assert [*found["train"], *found["valid"]] == MANY.splitlines()
    assert 95 <= len(found["valid"]) <= 100


def test_a_test_share_can_stand_beside_a_validation_file(tmp_path: Path) -> None:
    path, valid = written(tmp_path, "many.txt", MANY), written(tmp_path, "poem.txt", POEM)
    for split in ("scattered", "end"):
        found = every(corpus(path, valid=valid, test="10%", split=split))
        assert found["valid"][0] == "Roses are red"
        assert sorted([*found["train"], *found["test"]]) == sorted(MANY.splitlines())


def test_without_a_test_setting_there_is_no_test_part(tmp_path: Path) -> None:
    data = corpus(written(tmp_path, "many.txt", MANY))
    assert data.parts() == ["train", "valid"]
    with pytest.raises(DataError, match=r"no test part: set data\.test"):
        next(data.examples("test"))


def test_one_document_cannot_be_scattered(tmp_path: Path) -> None:
    data = corpus(written(tmp_path, "book.txt", POEM), documents="files")
    with pytest.raises(DataError, match=r'part is empty.*book\.txt.*data\.split to "end"'):
        every(data)


def test_an_empty_share_is_refused(tmp_path: Path) -> None:
    data = corpus(written(tmp_path, "two.txt", "a\nb\n"), valid="1%", split="end")
    with pytest.raises(DataError, match=r"valid part is empty.*give more text"):
        list(data.examples("valid"))


def test_every_file_is_named_once(tmp_path: Path) -> None:
    one, other = written(tmp_path, "a.txt", MANY), written(tmp_path, "b.txt", MANY)
    assert corpus((one, other), valid=one, test="10%").paths() == [Path(one), Path(other)]


# Fingerprints


def test_the_fingerprint_follows_the_content_and_not_the_path(tmp_path: Path) -> None:
    one, other = corpus(written(tmp_path, "a.txt", MANY)), corpus(written(tmp_path, "b.txt", MANY))
    assert one.fingerprint("train") == other.fingerprint("train")
    assert corpus(written(tmp_path, "c.txt", MANY + "x")).fingerprint("train") != one.fingerprint("train")


def test_the_fingerprint_follows_every_setting_that_changes_the_text(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", MANY)
    different = [
        corpus(path),
        corpus(path, valid="6%"),
        corpus(path, split="end"),
        corpus(path, valid=path),
        corpus(path, documents="paragraphs"),
        corpus(path, documents="files", split="end"),
        corpus((path, path)),
    ]
    assert len({data.fingerprint("train") for data in different}) == len(different)
    assert corpus(path).fingerprint("train") != corpus(path).fingerprint("valid")


# What can be wrong


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("wäre, hätte,\n".encode() + b"w\xe4re\n", ["bad.txt:2", "UTF-8", "0xe4", "byte 2", "data.encoding"]),
        (b"fine\n\x00\n", ["bad.txt:2", "NUL"]),
        (b"", ["bad.txt is empty"]),
    ],
)
def test_damaged_text_is_named_with_its_line(tmp_path: Path, content: bytes, words: list[str]) -> None:
    (tmp_path / "bad.txt").write_bytes(content)
    path = str(tmp_path / "bad.txt")
    for split in ("scattered", "end"):
        with pytest.raises(DataError) as error:
            list(corpus(path, valid="50%", split=split).examples("train"))
        assert all(word in str(error.value) for word in words)


def test_a_damaged_gzip_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(gzip.compress(MANY.encode())[:-20])
    with pytest.raises(DataError, match=r"cut\.txt\.gz is a damaged gzip file"):
        list(corpus(str(path)).examples("train"))


def test_a_missing_file_is_refused_at_once(tmp_path: Path) -> None:
    written(tmp_path, "novel.txt", MANY)
    with pytest.raises(DataError, match=r"no file .*novell\.txt.*novel\.txt"):
        corpus(str(tmp_path / "novell.txt"))
    with pytest.raises(DataError, match="is a folder"):
        corpus(str(tmp_path))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"train": "5%"}, "data.train is '5%', expected a file"),
        ({"train": []}, "data.train names no file"),
        ({"train": "a", "valid": ""}, "data.valid names no file"),
        ({"train": "a", "valid": "60%", "test": "40%"}, "leave nothing to train on"),
        ({"train": "a", "valid": "five%"}, "expected a share above 0%"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(SettingError) as error:
        TextFilesSettings.model_validate(settings)
    assert words in str(error.value)
