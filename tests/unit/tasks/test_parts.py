"""A part of the data that is small is read once, however often it is asked for."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from seqwright.data.examples import Pair
from seqwright.tasks import parts
from seqwright.tasks.parts import Part

PAIRS = [Pair("one two", "eins zwei"), Pair("three", "drei", shots=(Pair("a", "b"),)), Pair("four", "vier")]


class Counted:
    """Data that counts how often it is read."""

    def __init__(self, examples: list[Any]) -> None:
        self.every, self.read = examples, 0

    def examples(self, part: str) -> Iterator[Any]:
        self.read += 1
        yield from self.every

    def fingerprint(self, part: str) -> str:
        return "of them"


def test_what_is_small_is_read_once_by_all_who_ask() -> None:
    data = Counted(PAIRS)
    assert [list(Part(data, "train")) for _ in range(3)] == [PAIRS] * 3
    assert data.read == 1
    assert list(Part(data, "valid")) == PAIRS
    assert data.read == 2


def test_a_reading_that_is_given_up_is_no_whole_one() -> None:
    data = Counted(PAIRS)
    assert next(iter(Part(data, "train"))) == PAIRS[0]
    assert list(Part(data, "train")) == PAIRS


def test_what_is_large_or_no_text_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = Counted([(np.zeros(3), "zeros")])
    assert [len(list(Part(arrays, "train"))) for _ in range(3)] == [1] * 3
    assert arrays.read == 3
    fitting = sum(map(parts.characters, PAIRS))
    for room, read in ((fitting, 1), (fitting - 1, 3)):
        monkeypatch.setattr(parts, "REMEMBERED", room)
        data = Counted(PAIRS)
        assert [list(Part(data, "train")) for _ in range(3)] == [PAIRS] * 3
        assert data.read == read
