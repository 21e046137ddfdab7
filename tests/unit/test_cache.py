"""The token cache: what is kept, what is left out and counted, and that nothing is done twice."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright import cache
from seqwright.cache import Ragged, RaggedWriter, Redrawn
from seqwright.errors import DataError
from seqwright.text_cache import Rules, tokenised_texts


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


def tokenised(texts: Sequence[str]) -> Ragged:
    """A token for each word, its length."""
    return tokenised_texts(
        texts,
        key="corpus tokenizer",
        encode=lambda some: [np.array([len(word) for word in text.split()], dtype=np.uint16) for text in some],
        decode=str,
        rules=Rules(),
        where="the train part",
    ).rows


def letters(texts: Sequence[str]) -> Ragged:
    rows = [np.frombuffer(text.encode(), dtype=np.uint8) for text in texts]
    return Ragged(np.concatenate(rows), np.cumsum([len(row) for row in rows]))


def rows(ragged: Ragged) -> list[list[int]]:
    return [row.tolist() for row in ragged.take(np.arange(len(ragged)), epoch=0)]


def test_a_cache_that_cannot_be_written_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("no folder")
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(blocked))
    with pytest.raises(DataError, match="SEQWRIGHT_CACHE"):
        tokenised(["a bb"])


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


LETTERS = ["abcdefg", "hij", "abcdefg"]


def redrawn(*, seed: int = 1, side: str = "source", longest: int = 100, draw: Chance | None = None) -> Redrawn:
    return Redrawn(letters(LETTERS), tokenised(LETTERS), draw or Chance(), seed=seed, side=side, longest=longest)


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
    nothing = Redrawn(
        letters(LETTERS),
        tokenised(LETTERS),
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
    drawn = Redrawn(
        letters(LETTERS), tokenised(LETTERS), Chance(), seed=1, side="source", longest=9, progress=told.append
    )
    drawn.rows(0)
    assert told == [2]
