"""Pairs of texts as rows: an end after each, the longer text shortened first, segments that tell the two apart."""

import numpy as np
import pytest
import torch

from seqwright.batches import InMemory, Zipped
from seqwright.batches.labelled import LeftOut, ShortenedPairs, labelled, paired, shortened

BEGIN, END = 2, 3


def cut_one_by_one(first: list[int], second: list[int], longest: int) -> tuple[int, int]:
    """Takes a token from the longer text, of equals from the second, until the two fit."""
    one, other = len(first), len(second)
    while one + other > longest:
        if one > other:
            one -= 1
        else:
            other -= 1
    return one, other


@pytest.mark.parametrize("left_out", ["end", "middle"])
@pytest.mark.parametrize("lengths", [(2, 3), (9, 3), (3, 9), (8, 8), (7, 8), (8, 7), (1, 20), (20, 1)])
@pytest.mark.parametrize("longest", [3, 8, 9, 40])
def test_the_longer_text_is_shortened_first(lengths: tuple[int, int], longest: int, left_out: LeftOut) -> None:
    first, second = (list(range(start, start + length)) for start, length in zip((10, 50), lengths, strict=True))
    one, other = cut_one_by_one(first, second, longest)
    wanted = [*shortened(np.array(first), one, left_out), END, *shortened(np.array(second), other, left_out)]
    row = paired(np.array(first, dtype=np.uint16), np.array(second, dtype=np.uint16), longest, left_out, between=[END])
    assert row.tolist() == wanted


def rows(longest: int) -> ShortenedPairs:
    lengths = [(2, 5), (1, 1), (6, 2), (3, 4), (9, 1)]
    first = InMemory([np.full(one, 10 + number) for number, (one, _) in enumerate(lengths)])
    second = InMemory([np.full(other, 20 + number) for number, (_, other) in enumerate(lengths)])
    return ShortenedPairs(Zipped(first, second), longest, "end", between=[END])


def test_the_lengths_are_those_of_the_rows() -> None:
    for longest in (2, 5, 30):
        found = rows(longest)
        assert [len(row) for row in found.take(np.arange(5), 0)] == found.lengths(0).sum(1).tolist()
    assert rows(7).cut == 2
    assert rows(7).whole_N.tolist() == [7, 2, 8, 7, 10]


def test_a_batch_knows_which_text_is_which() -> None:
    batch = labelled(rows(30).take(np.arange(5), 0), end=END, begin=BEGIN)
    assert batch.segment_BT is not None
    for number, (tokens, real, segment) in enumerate(zip(batch.input_B, batch.real_BT, batch.segment_BT, strict=True)):
        row = tokens[real].tolist()
        first, second = ([token] * row.count(token) for token in (10 + number, 20 + number))
        assert row == [BEGIN, *first, END, *second, END]
        assert segment[real].tolist() == [0] * (len(first) + 2) + [1] * (len(second) + 1)


def test_ratings_stand_where_labels_do() -> None:
    rating_N = np.array([0.5, -1.25, 0.0, 2.0, 3.5], dtype=np.float32)
    batch = labelled(rows(30).take(np.arange(5), 0), list(rating_N), end=END)
    assert batch.target_B.tolist() == rating_N.tolist()
    assert batch.target_B.dtype == torch.float32


def test_asking_and_training_read_the_same_row() -> None:
    row = paired(np.array([7, 8]), np.array([9]), 10, "end", between=[END])
    batch = labelled([row], end=END, begin=BEGIN)
    assert batch.input_B.tolist() == [[BEGIN, 7, 8, END, 9, END]]
    assert batch.segment_BT is not None
    assert batch.segment_BT.tolist() == [[0, 0, 0, 0, 1, 1]]
