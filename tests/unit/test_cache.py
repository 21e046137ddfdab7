"""The token cache: what is kept, what is left out and counted, and that nothing is done twice."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright import cache
from seqwright.cache import Kept, Ragged, RaggedWriter, Redrawn, TokenisedPairs, tokenised_pairs
from seqwright.data.examples import Pair
from seqwright.errors import DataError

PAIRS = [
    Pair("a bb", "A"),
    Pair("", "blank on the left"),
    Pair("blank on the right", " \t"),
    Pair("one two three four", "x"),
    Pair("y", "five four three two one"),
    Pair("über", "ß ẞ"),
]


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


class Encoder:
    """A token for each word, its length; it counts how many texts it was given."""

    def __init__(self, kind: Any = np.uint16) -> None:
        self.kind, self.texts = kind, 0

    def __call__(self, texts: list[str]) -> list[Any]:
        self.texts += len(texts)
        return [np.array([len(word) for word in text.split()], dtype=self.kind) for text in texts]


def tokenised(pairs: list[Pair] = PAIRS, **changes: Any) -> TokenisedPairs:
    asked: dict[str, Any] = {
        "key": "corpus tokenizers",
        "source": Encoder(),
        "target": Encoder(),
        "longest": 3,
        "overlong": "drop",
        "where": "the train part",
    }
    return tokenised_pairs(iter(pairs), **{**asked, **changes})


def rows(ragged: Ragged) -> list[list[int]]:
    return [row.tolist() for row in ragged.take(np.arange(len(ragged)), epoch=0)]


def test_blank_and_overlong_pairs_are_left_out_and_counted() -> None:
    found = tokenised()
    assert found.kept == Kept(pairs=2, blank=2, overlong=2)
    assert rows(found.source) == [[1, 2], [4]]
    assert rows(found.target) == [[1], [1, 1]]
    assert found.source.length_N.tolist() == [2, 1]


def test_the_text_of_the_kept_pairs_is_kept_too() -> None:
    found = tokenised()
    assert [found.source_text.row(i).tobytes().decode() for i in range(2)] == ["a bb", "über"]
    assert [found.target_text.row(i).tobytes().decode() for i in range(2)] == ["A", "ß ẞ"]


def test_overlong_pairs_can_be_cut() -> None:
    found = tokenised(overlong="truncate")
    assert found.kept.pairs == 4
    assert rows(found.source) == [[1, 2], [3, 3, 5], [1], [4]]
    assert rows(found.target) == [[1], [1], [4, 4, 5], [1, 1]]


def test_overlong_pairs_can_be_refused() -> None:
    with pytest.raises(DataError) as error:
        tokenised(overlong="refuse")
    for said in ("the train part", "4 tokens", "input.longest = 3", "one two three four", "input.overlong"):
        assert said in str(error.value)


def test_a_pair_just_as_long_as_allowed_is_kept() -> None:
    assert tokenised([Pair("a b c", "a b c")]).kept == Kept(1, 0, 0)


def test_a_corpus_without_a_usable_pair_is_refused_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"3 read, 2 with a blank side, 1 longer than input.longest = 3"):
        tokenised(PAIRS[1:4])
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        (Kept(29_000, 0, 0), "29,000 pairs"),
        (Kept(29_000, 3, 0), "29,000 pairs; 3 with a blank side were left out"),
        (Kept(5, 3, 1_200), "5 pairs; 3 with a blank side and 1,200 too long were left out"),
    ],
)
def test_what_was_left_out_is_said(kept: Kept, sentence: str) -> None:
    assert kept.sentence() == sentence


def test_a_second_use_encodes_nothing() -> None:
    first = tokenised()
    source, target = Encoder(), Encoder()

    class Unread:
        def __iter__(self) -> Iterator[Pair]:
            raise AssertionError("the corpus was read again")

    again = tokenised_pairs(
        Unread(),
        key="corpus tokenizers",
        source=source,
        target=target,
        longest=3,
        overlong="drop",
        where="the train part",
    )
    assert (source.texts, target.texts) == (0, 0)
    assert again.kept == first.kept
    assert rows(again.source) == rows(first.source)


@pytest.mark.parametrize("change", [{"key": "other"}, {"longest": 4}, {"overlong": "cut"}])
def test_another_key_length_or_rule_is_encoded_anew(change: dict[str, Any]) -> None:
    tokenised()
    source = Encoder()
    tokenised(source=source, **change)
    assert source.texts == 4


def test_a_corpus_whose_encoding_broke_off_is_encoded_anew() -> None:
    def broken(texts: list[str]) -> list[Any]:
        raise RuntimeError("the tokenizer broke")

    with pytest.raises(RuntimeError, match="broke"):
        tokenised(target=broken)
    assert tokenised().kept.pairs == 2


def test_a_cache_that_cannot_be_written_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("no folder")
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(blocked))
    with pytest.raises(DataError, match="SEQWRIGHT_CACHE"):
        tokenised()


def test_progress_is_told_in_pairs_read() -> None:
    told: list[int] = []
    tokenised(progress=told.append)
    assert told == [6]


@pytest.mark.parametrize("kind", [np.uint16, np.int32])
def test_rows_come_back_as_they_were_written(tmp_path: Path, kind: Any) -> None:
    written = [np.array(row, dtype=kind) for row in ([1, 2, 3], [], [65_535], [])]
    with RaggedWriter(tmp_path / "rows") as writer:
        for row in written:
            writer.add(row)
    ragged = Ragged.mapped(tmp_path / "rows")
    assert len(ragged) == 4
    assert ragged.values.dtype == kind
    assert ragged.take(np.array([2, 0, 1]), epoch=9)[0].tolist() == [65_535]
    assert [row.tolist() for row in ragged.take(np.array([0, 1, 3]), epoch=0)] == [[1, 2, 3], [], []]


def test_nothing_but_empty_rows_can_be_read_back(tmp_path: Path) -> None:
    with RaggedWriter(tmp_path / "rows") as writer:
        writer.add(np.zeros(0, dtype=np.uint16))
    assert rows(Ragged.mapped(tmp_path / "rows")) == [[]]


# ------------------------------------------------------------------------------------------------ drawn anew


class Chance:
    """Cuts a text into letters, or leaves out its last one; it counts how many texts it was given."""

    def __init__(self) -> None:
        self.texts = 0

    def __call__(self, text: str, chance: random.Random) -> Any:
        self.texts += 1
        count = len(text) - chance.randrange(2)
        return np.array([chance.randrange(1000) for _ in range(count)], dtype=np.uint16)


LETTERS = [Pair("abcdefg", "x"), Pair("hij", "y"), Pair("abcdefg", "z")]


def redrawn(*, seed: int = 1, side: str = "source", longest: int = 100, draw: Chance | None = None) -> Redrawn:
    found = tokenised(LETTERS)
    return Redrawn(found.source_text, found.source, draw or Chance(), seed=seed, side=side, longest=longest)


def taken(drawn: Redrawn, epoch: int, *which: int) -> list[list[int]]:
    return [row.tolist() for row in drawn.rows(epoch).take(np.array(which), epoch)]


def test_rows_drawn_anew_are_the_same_within_an_epoch_in_whatever_order() -> None:
    assert taken(redrawn(), 3, 2, 0) == taken(redrawn(), 3, 0, 1, 2)[::-2]


def test_rows_drawn_anew_differ_between_epochs_rows_sides_and_seeds() -> None:
    first = taken(redrawn(), 0, 0)
    others = [taken(redrawn(), 1, 0), taken(redrawn(), 0, 2)]
    others += [taken(redrawn(side="target"), 0, 0), taken(redrawn(seed=2), 0, 0)]
    assert all(len(other[0]) in (6, 7) for other in others)
    assert all(other != first for other in others)


def test_the_length_of_a_row_is_the_length_it_is_drawn_with() -> None:
    drawn = redrawn()
    lengths = [drawn.rows(epoch).length_N.tolist() for epoch in range(7)]
    assert lengths == [[len(row) for row in taken(redrawn(), epoch, 0, 1, 2)] for epoch in range(7)]
    assert {length for length, _, _ in lengths} == {6, 7}


def test_a_row_that_is_drawn_too_long_stays_as_it_is_without_chance() -> None:
    drawn = redrawn(longest=5)
    assert taken(drawn, 0, 0, 2) == [[7], [7]]  # the plain token: the word's length
    assert len(taken(drawn, 0, 1)[0]) in (2, 3)


def test_an_epoch_is_drawn_once_as_long_as_no_two_others_were_asked_for() -> None:
    draw = Chance()
    drawn = redrawn(draw=draw)
    for epoch in (4, 4, 5, 4, 5):
        drawn.rows(epoch)
    assert draw.texts == 2 * 3
    for epoch in (6, 4):
        drawn.rows(epoch)
    assert draw.texts == 4 * 3


def test_a_later_epoch_needs_no_earlier_one() -> None:
    draw = Chance()
    late = redrawn(draw=draw)
    straight = redrawn()
    for epoch in range(6):
        straight.rows(epoch)
    assert taken(late, 5, 0, 1, 2) == taken(straight, 5, 0, 1, 2)
    assert draw.texts == 3


def test_a_drawn_epoch_is_mapped_from_disk_and_leaves_nothing_there(tmp_path: Path) -> None:
    drawn = redrawn()
    before = sorted((tmp_path / "cache").rglob("*"))
    values = drawn.rows(0).values
    assert isinstance(values, np.memmap)
    assert values.dtype == np.uint16
    assert sorted((tmp_path / "cache").rglob("*")) == before


def test_nothing_but_empty_rows_can_be_drawn() -> None:
    found = tokenised(LETTERS)
    nothing = Redrawn(
        found.source_text,
        found.source,
        lambda text, chance: np.zeros(0, dtype=np.uint16),
        seed=1,
        side="source",
        longest=9,
    )
    assert rows(nothing.rows(0)) == [[], [], []]


def test_an_epoch_that_finds_no_room_on_disk_is_an_error_that_names_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = redrawn()

    def full(**_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "TemporaryFile", full)
    with pytest.raises(DataError, match=r"No space left on device.*SEQWRIGHT_CACHE"):
        drawn.rows(0)


def test_progress_is_told_in_rows_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "BLOCK", 2)
    told: list[int] = []
    found = tokenised(LETTERS)
    drawn = Redrawn(found.source_text, found.source, Chance(), seed=1, side="source", longest=9, progress=told.append)
    drawn.rows(0)
    assert told == [2]
