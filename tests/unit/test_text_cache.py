"""The token cache of running text: what is kept, what is left out and counted, and that nothing is done twice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright import text_cache
from seqwright.errors import DataError
from seqwright.metrics.language import Extent
from seqwright.text_cache import KeptTexts, Rules, TokenisedTexts, tokenised_texts

TEXTS = ["ab c", "", "one two three four", " \n", "ü", "x y"]


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


class Spelling:
    """A token for each character, its code point; it remembers the sizes of the blocks it was given."""

    def __init__(self) -> None:
        self.blocks: list[int] = []

    def __call__(self, texts: list[str]) -> list[Any]:
        self.blocks.append(len(texts))
        return [np.array([ord(character) for character in text], dtype=np.uint16) for text in texts]


def spelled(ids: Any) -> str:
    return "".join(map(chr, ids.tolist()))


def tokenised(texts: list[str] = TEXTS, rules: Rules | None = None, **changes: Any) -> TokenisedTexts:
    asked: dict[str, Any] = {"key": "corpus", "encode": Spelling(), "decode": spelled, "where": "the train part"}
    return tokenised_texts(lambda: iter(texts), rules=rules or Rules(), **{**asked, **changes})


def rows(found: TokenisedTexts) -> list[str]:
    return [spelled(row) for row in found.rows.take(np.arange(len(found.rows)), epoch=0)]


def test_blank_documents_are_left_out_and_counted() -> None:
    found = tokenised()
    assert rows(found) == ["ab c", "one two three four", "ü", "x y"]
    assert found.example_N.tolist() == [0, 2, 4, 5]
    assert found.kept == KeptTexts(Extent(documents=4, characters=26, bytes=27, words=2 + 4 + 1 + 2 + 4), blank=2)


def test_blank_documents_can_be_kept() -> None:
    found = tokenised(rules=Rules(blank="keep"))
    assert rows(found) == TEXTS
    assert found.kept.extent.words == 2 + 4 + 1 + 2 + 6
    assert found.kept.blank == 0


def test_long_documents_are_left_out_and_counted() -> None:
    found = tokenised(rules=Rules(longest=4))
    assert rows(found) == ["ab c", "ü", "x y"]
    assert found.example_N.tolist() == [0, 4, 5]
    assert (found.kept.overlong, found.kept.cut) == (1, 0)
    assert found.kept.extent == Extent(3, 8, 9, 8)


def test_long_documents_can_be_cut_and_count_as_far_as_they_are_kept() -> None:
    found = tokenised(rules=Rules(longest=6, overlong="truncate"))
    assert rows(found) == ["ab c", "one tw", "ü", "x y"]
    assert (found.kept.overlong, found.kept.cut) == (0, 1)
    assert found.kept.extent == Extent(4, 14, 15, 2 + 2 + 1 + 2 + 4)


def test_long_documents_can_be_refused() -> None:
    with pytest.raises(DataError) as error:
        tokenised(rules=Rules(longest=4, overlong="refuse"))
    for word in ("the train part", "18 tokens", "input.longest = 4", "'one two", "input.overlong"):
        assert word in str(error.value)


def test_what_became_of_the_documents_is_said() -> None:
    extent = Extent(documents=29_000)
    assert KeptTexts(extent).sentence() == "29,000 documents"
    assert KeptTexts(extent, blank=3, overlong=2).sentence() == "29,000 documents; left out: 3 blank, 2 too long"
    assert KeptTexts(extent, cut=1).sentence() == "29,000 documents; cut: 1 too long"
    assert KeptTexts(Extent(documents=1)).sentence() == "1 document"


def test_a_corpus_of_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="the train part has no usable document: 3 read, 2 blank, 1 longer"):
        tokenised(["", " ", "long"], rules=Rules(longest=3))


def test_nothing_is_tokenised_twice() -> None:
    def never(texts: list[str]) -> list[Any]:
        raise AssertionError("this is in the cache")

    first = tokenised()
    again = tokenised(encode=never)
    assert rows(again) == rows(first)
    assert again.kept == first.kept
    assert again.example_N.tolist() == first.example_N.tolist()


@pytest.mark.parametrize("change", [{"key": "other"}, {"rules": Rules(blank="keep")}, {"rules": Rules(longest=99)}])
def test_another_corpus_or_other_rules_are_tokenised_anew(change: dict[str, Any]) -> None:
    tokenised()
    encode = Spelling()
    tokenised(encode=encode, **change)
    assert encode.blocks == [6]


def test_a_failed_tokenisation_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield "good"
        raise DataError("line 2 is not UTF-8")

    with pytest.raises(DataError, match="line 2"):
        tokenised_texts(broken, key="broken", encode=Spelling(), decode=spelled, rules=Rules(), where="the train part")
    assert list((tmp_path / "cache" / "tokens").iterdir()) == []


def test_documents_are_tokenised_in_blocks_of_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_cache, "BLOCK", 10)
    encode, told = Spelling(), list[int]()
    found = tokenised(["abcd", "efgh", "a document longer than a block", "i", ""], encode=encode, progress=told.append)
    assert encode.blocks == [2, 1, 2]
    assert told == [2, 3, 5]
    assert found.example_N.tolist() == [0, 1, 2, 3]
