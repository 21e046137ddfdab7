"""Batches of labelled text: every text with its own label, shortened where it is long, the same at the same place."""

import numpy as np
import pytest
import torch

from seqwright.batches import InMemory, Place
from seqwright.batches.labelled import Labelled, LabelledBatches, LeftOut, Shortened, labelled, shortened

END = 3
LENGTHS = [5, 1, 9, 3, 3, 7, 2, 8, 4, 6, 11]


def rows() -> InMemory:
    """Row n is made of n + 4, so that a text tells which it is."""
    return InMemory([np.full(length, number + 4, dtype=np.uint16) for number, length in enumerate(LENGTHS)])


def batches(tokens: int = 24, seed: int = 1) -> LabelledBatches:
    label_N = np.arange(len(LENGTHS)) * 7 % 5
    return LabelledBatches(rows(), label_N, tokens=tokens, seed=seed, end=END)


def seen(batch: Labelled) -> list[tuple[int, int, int]]:
    """(which text, how long, label) of each row."""
    return [
        (int(tokens_T[0]) - 4, int(real_T.sum()) - 1, int(label))
        for tokens_T, real_T, label in zip(batch.input_BT, batch.real_BT, batch.target_B, strict=True)
    ]


WANTED = [(number, length, number * 7 % 5) for number, length in enumerate(LENGTHS)]


def epoch(found: LabelledBatches, number: int) -> list[Labelled]:
    return [found.at(Place(number, index)) for index in range(found.in_epoch(number))]


def test_each_text_stands_once_in_an_epoch_with_its_own_label() -> None:
    for number in range(3):
        assert sorted(row for batch in epoch(batches(), number) for row in seen(batch)) == WANTED
    assert sorted(row for batch in batches().once() for row in seen(batch)) == WANTED


def test_a_row_is_closed_by_the_end_and_padded_after_it() -> None:
    batch = labelled([np.array([7, 8]), np.array([9])], [1, 0], end=END)
    assert batch.input_BT.tolist() == [[7, 8, END], [9, END, 0]]
    assert batch.real_BT.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_B.tolist() == [1, 0]
    for found in batches().once():
        for tokens_T, real_T in zip(found.input_BT, found.real_BT, strict=True):
            assert tokens_T[real_T][-1] == END


def test_no_batch_has_more_positions_than_allowed() -> None:
    assert max(batch.input_BT.numel() for batch in epoch(batches(), 0)) <= 24
    assert batches(tokens=5).at(Place(0, 0)).tokens_BT.shape[0] >= 1  # a longer text is a batch of its own


def test_a_batch_is_a_function_of_its_place() -> None:
    one, other = batches(), batches()
    place = one.after(one.after(Place()))
    assert all(torch.equal(a, b) for a, b in zip(one.at(place), other.at(place), strict=True))
    orders = [[seen(batch) for batch in epoch(batches(seed=seed), number)] for seed, number in ((1, 0), (1, 1), (2, 0))]
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_after_the_last_batch_comes_the_next_epoch() -> None:
    found = batches()
    assert found.after(Place(0, found.in_epoch(0) - 1)) == Place(1, 0)


def test_what_a_batch_says_of_itself() -> None:
    batch = labelled([np.array([7, 8]), np.array([9])], end=END)
    assert batch.tokens == 5
    assert batch.loss_mask.tolist() == batch.fresh_B.tolist() == [True, True]
    assert batch.target_B.tolist() == [0, 0]
    assert all(torch.equal(a, b) for a, b in zip(batch.to(torch.device("cpu")), batch, strict=True))


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
    assert found.length_N.tolist() == [min(length, 6) for length in LENGTHS]
    assert [len(row) for row in found.take(np.arange(len(LENGTHS)), 0)] == found.length_N.tolist()
