"""Pronouncing dictionaries, the user's own and that of the catalogue, read from files that are made here."""

from pathlib import Path
from typing import Any

import pytest

from seqwright.data.cards import card, located
from seqwright.data.examples import Pair
from seqwright.data.pairs import DictionaryFiles, DictionaryFilesSettings
from seqwright.errors import DataError

OWN = """\
;;; a remark # of two
HELLO  HH AH0 L OW1
HELLO(1)  HH EH0 L OW1

don't\tD OW1 N T # the usual one
#HASH  HH AE1 SH
"""


def own(folder: Path, text: str = OWN, **settings: Any) -> DictionaryFiles:
    path = folder / "mine.dict"
    path.write_text(text, encoding="utf-8")
    return DictionaryFiles(DictionaryFilesSettings(train=str(path), valid=str(path), **settings))


def test_words_and_sounds_are_told_apart_and_remarks_left_out(tmp_path: Path) -> None:
    assert list(own(tmp_path).examples("train")) == [
        Pair("HELLO", "HH AH0 L OW1"),
        Pair("HELLO", "HH EH0 L OW1"),
        Pair("don't", "D OW1 N T"),
        Pair("#HASH", "HH AE1 SH"),
    ]
    assert own(tmp_path).remarks() == []


def test_the_pronunciations_of_a_word_fall_into_one_part(tmp_path: Path) -> None:
    path = tmp_path / "mine.dict"
    path.write_text("".join(f"W{n}  A B\nW{n}(1)  A C\n" for n in range(60)), encoding="utf-8")
    data = DictionaryFiles(DictionaryFilesSettings(train=str(path), valid="30%"))
    train, valid = ([pair.source for pair in data.examples(part)] for part in ("train", "valid"))
    assert len(train) + len(valid) == 120
    assert not set(train) & set(valid)


def test_a_word_without_sounds_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mine\.dict:1 has the word 'HELLO' without sounds"):
        list(own(tmp_path, "HELLO\n").examples("train"))


def test_no_word_of_a_card_is_in_two_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(tmp_path))
    (tmp_path / "cmudict").mkdir()
    train, valid = (tmp_path / "cmudict" / file.path for file in card("cmudict").files)
    train.write_text("A  EY\nB  B IY\nA  AH\nC  S IY\n", encoding="utf-8")
    valid.write_text("A  AA\n", encoding="utf-8")
    data = card("cmudict").open()
    assert [pair.source for pair in data.examples("train")] == ["B", "C"]
    before = data.fingerprint("train")
    valid.write_text("C  SH\n", encoding="utf-8")
    assert card("cmudict").open().fingerprint("train") != before
    valid.unlink()
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"train-dev-1-21 of cmudict is neither in .*`seqwright data get cmudict`"):
        card("cmudict").open()


def test_the_published_files_have_as_many_lines_as_the_card_says() -> None:
    known = card("cmudict")
    for part, count in known.examples.items():
        path = located(known, known.file(str(known.parts[part])))
        if path is None:
            pytest.skip("CMUdict is not on this machine")
        assert path.read_bytes().count(b"\n") == count
