"""The token cache: what is kept, what is left out and counted, and that nothing is done twice."""

import errno
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
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


def words(texts: Sequence[str]) -> list[Any]:
    """A token for each word, its length."""
    return [np.array([len(word) for word in text.split()], dtype=np.uint16) for text in texts]


def tokenised(texts: Sequence[str]) -> Ragged:
    return tokenised_texts(
        lambda: texts,
        key="corpus tokenizer",
        encode=words,
        decode=str,
        rules=Rules(),
        where="the train part",
    ).rows


def letters(texts: Sequence[str]) -> Ragged:
    rows = [np.frombuffer(text.encode(), dtype=np.uint8) for text in texts]
    return Ragged(np.concatenate(rows), np.cumsum([len(row) for row in rows]))


def rows(ragged: Ragged) -> list[list[int]]:
    return [row.tolist() for row in ragged.take(np.arange(len(ragged)), epoch=0)]


# ------------------------------------------------------------------------------------------------ not to be written


@pytest.fixture
def blocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that nobody can write to, whoever they are: a file stands in its place."""
    blocked = tmp_path / "a file"
    blocked.write_text("no folder")
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(blocked))
    cache._temporary_folder.cache_clear()
    return blocked


def test_a_cache_that_cannot_be_written_is_done_without_and_remarked_once(
    blocked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rows(tokenised(["a bb"])) == [[1, 2]]
    assert rows(tokenised(["never read"])) == [[1, 2]]  # the same key
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith(f"the cache {blocked} cannot be written (Not a directory), so nothing is kept in it")


def test_rows_are_drawn_anew_without_a_cache_too(
    blocked: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without = taken(redrawn(), 0, 0, 1, 2)
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv("SEQWRIGHT_CACHE", f"{blocked} elsewhere")
    assert taken(redrawn(), 0, 0, 1, 2) == without


def test_what_stood_in_for_the_cache_is_gone_with_the_process(blocked: Path, tmp_path: Path) -> None:
    code = (
        "import numpy as np; from seqwright.cache import kept_folder, Ragged\n"
        "print(kept_folder('key', lambda aside: (aside / 'kept.json').write_text('{}')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "cannot be written" in done.stderr
    assert done.stdout.strip()
    assert not Path(done.stdout.strip()).exists()


def test_where_nothing_can_be_written_the_error_names_the_cache(blocked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"could not be written: No space left .* SEQWRIGHT_CACHE"):
        tokenised(["a bb"])


# ------------------------------------------------------------------------------------------------ damaged


def entry(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "cache" / "tokens").iterdir()
    return folder


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


FILES = ("text.values", "text.ends.npy", "text.kind.json", "numbers.npy", "kept.json", "sums.json")
DAMAGES: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "empty": lambda path: path.write_bytes(b""),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"1"),
    "missing": lambda path: path.unlink(),
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_made_again_with_a_sentence(
    file: str, damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["a bb", "ccc dddd a", "bb bb"]
    tokenised(texts)
    DAMAGES[damage](entry(tmp_path) / file)
    found = tokenised_texts(lambda: texts, key="corpus tokenizer", encode=words, decode=str, rules=Rules(), where="it")
    assert rows(found.rows) == [[1, 2], [3, 4, 1], [2, 2]]
    assert found.example_N.tolist() == [0, 1, 2]
    assert found.kept.extent.documents == 3
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith(f"in the cache {entry(tmp_path)} ")
    assert told.endswith(": it is made again\n")
    assert rows(tokenised([])) == [[1, 2], [3, 4, 1], [2, 2]]  # now it is whole
    assert capsys.readouterr().err == ""


def test_everything_is_on_disk_before_an_entry_appears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    rename = Path.rename

    def flushed(path: Path) -> None:
        events.append(path.name)

    def renamed(self: Path, to: Path) -> Path:
        events.append("renamed")
        return rename(self, to)

    monkeypatch.setattr("seqwright.whole_file.flush", flushed)
    monkeypatch.setattr(Path, "rename", renamed)
    tokenised(["a bb"])
    before = events[: events.index("renamed")]
    assert {*FILES} <= {*before}
    assert before[-1].startswith(".")  # the folder itself
    assert events[-1] == "tokens"


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
