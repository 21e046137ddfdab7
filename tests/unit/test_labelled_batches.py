"""Batches of labelled text: every text with its own label, shortened where it is long."""

from functools import partial

import numpy as np
import pytest

from seqwright.batches import Column, InMemory, Zipped
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.labelled import LeftOut, Shortened, labelled, shortened
from tests.columns import by_column

END = 3
LENGTHS = [5, 1, 9, 3, 3, 7, 2, 8, 4, 6, 11]


def rows() -> InMemory:
    """Row n is made of n + 4, so that a text tells which it is."""
    return InMemory([np.full(length, number + 4, dtype=np.uint16) for number, length in enumerate(LENGTHS)])


def test_each_text_stands_with_its_own_label() -> None:
    label_N = np.arange(len(LENGTHS)) * 7 % 5
    collate = by_column(partial(labelled, end=END))
    found = []
    for batch in Bucketed(Zipped(rows(), Column(label_N)), collate, tokens=24, marks=1).once():
        for tokens_T, real_T, label in zip(batch.input_B, batch.real_BT, batch.target_B, strict=True):
            found.append((tokens_T[real_T].tolist(), int(label)))
    assert sorted(found) == [([n + 4] * length + [END], n * 7 % 5) for n, length in enumerate(LENGTHS)]


def test_a_row_is_closed_by_the_end_and_padded_after_it() -> None:
    batch = labelled([np.array([7, 8]), np.array([9])], [1, 0], end=END)
    assert batch.input_B.tolist() == [[7, 8, END], [9, END, 0]]
    assert batch.real_BT.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_B.tolist() == batch.labels.tolist() == [1, 0]


def test_without_labels_there_is_what_is_needed_to_ask_for_them() -> None:
    batch = labelled([np.array([7, 8]), np.array([9])], end=END)
    assert batch.tokens == 5
    assert batch.loss_mask.tolist() == batch.fresh_B.tolist() == [True, True]
    assert batch.target_B.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("left_out", "longest", "wanted"),
    [
        ("end", 3, [0, 1, 2]),
        ("middle", 3, [0, 1, 6]),
        ("middle", 4, [0, 1, 5, 6]),
        ("middle", 1, [0]),
        ("middle", 6, [0, 1, 2, 4, 5, 6]),
        ("middle", 7, [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_of_a_long_text_the_end_or_the_middle_is_left_out(left_out: LeftOut, longest: int, wanted: list[int]) -> None:
    assert shortened(np.arange(7), longest, left_out).tolist() == wanted


def test_shortened_rows_are_counted_and_planned_with() -> None:
    found = Shortened(rows(), 6, "end")
    assert found.cut == sum(length > 6 for length in LENGTHS) == 4
    assert found.lengths(0).tolist() == [[min(length, 6)] for length in LENGTHS]
    assert [[len(row)] for row in found.take(np.arange(len(LENGTHS)), 0)] == found.lengths(0).tolist()
