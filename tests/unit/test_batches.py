"""What a batch is made of, and rows side by side and one after another."""

import numpy as np
import pytest
import torch

from seqwright.batches import Chained, Column, InMemory, Zipped, padded
from seqwright.batches.pairs import Pairs, pairs, sources
from seqwright.batches.text import Text, texts

BEGIN, END = 2, 3


def example() -> Pairs:
    return pairs([np.array([4]), np.array([5, 6])], [np.array([7, 8]), np.array([9])], begin=BEGIN, end=END)


def test_rows_are_filled_up_with_zeros_at_the_right() -> None:
    tokens_BT, real_BT = padded([np.array([5, 6]), np.array([7, 8, 9]), np.array([], dtype=np.int64)])
    assert tokens_BT.tolist() == [[5, 6, 0], [7, 8, 9], [0, 0, 0]]
    assert real_BT.tolist() == [[True, True, False], [True, True, True], [False, False, False]]
    assert tokens_BT.dtype is torch.int64


def test_the_decoder_is_given_the_target_one_place_later_than_it_is_wanted() -> None:
    batch = example()
    assert batch.source_BS.tolist() == [[4, END, 0], [5, 6, END]]
    assert batch.source_real_BS.tolist() == [[True, True, False], [True, True, True]]
    assert [row[:n] for row, n in zip(batch.input_BT.tolist(), (3, 2), strict=True)] == [[BEGIN, 7, 8], [BEGIN, 9]]
    assert batch.target_BT.tolist() == [[7, 8, END], [9, END, 0]]
    assert batch.real_BT.tolist() == [[True, True, True], [True, True, False]]
    assert batch.tokens == 2 + 3 + 3 + 2
    assert batch.fresh_B.tolist() == [True, True]


def test_a_batch_to_translate_has_sources_and_no_targets() -> None:
    batch = sources([np.array([4, 5]), np.array([], dtype=np.int64)], end=END)
    assert batch.source_BS.tolist() == [[4, 5, END], [END, 0, 0]]
    assert batch.input_BT.shape == batch.target_BT.shape == batch.real_BT.shape == (2, 0)
    assert batch.real_BT.dtype is torch.bool


# Of every batch


def test_a_batch_moves_whole() -> None:
    moved = example().to(torch.device("meta"))
    assert {tensor.device.type for tensor in moved.tensors().values()} == {"meta"}
    assert moved.tensors().keys() == example().tensors().keys()


def test_what_is_not_given_is_fresh_and_counted_from_0_where_the_rows_are() -> None:
    batch = texts([np.array([4]), np.array([5]), np.array([6])], begin=BEGIN, end=END).replace(fresh_B=None)
    assert (batch.fresh_B.tolist(), batch.example_B.tolist()) == ([True] * 3, [0, 1, 2])
    nowhere_BT = torch.zeros(3, 2, device="meta")
    assert Text(nowhere_BT, nowhere_BT, nowhere_BT).fresh_B.device.type == "meta"


@pytest.mark.parametrize("chosen", [slice(1, 3), [1, 2], torch.tensor([False, True, True])])
def test_some_rows_of_a_batch_keep_their_numbers(chosen: object) -> None:
    batch = texts([np.array([4]), np.array([5, 6]), np.array([7])], begin=BEGIN, end=END)
    some = batch.replace(fresh_B=torch.tensor([True, False, True])).rows(chosen)
    assert len(some) == 2
    assert some.target_BT.tolist() == [[5, 6, END], [7, END, 0]]
    assert (some.fresh_B.tolist(), some.example_B.tolist()) == ([False, True], [1, 2])


def test_tensors_a_batch_goes_without_are_left_out() -> None:
    batch = texts([np.array([4])], begin=BEGIN, end=END)
    assert set(batch.tensors()) == {"fresh_B", "example_B", "input_BT", "target_BT", "real_BT"}
    packed = batch.replace(document_BT=batch.real_BT.long())
    assert "document_BT" in packed.tensors()
    assert "document_BT" not in batch.tensors()  # the first one stays as it was


# Rows


def test_rows_of_several_sides_stay_together() -> None:
    left, right = InMemory([np.full(n, n) for n in (3, 1, 2)]), InMemory([np.full(n, n) for n in (1, 5, 4)])
    rows = Zipped(left, Column(np.array([0.5, 1.5, 2.5])), right)
    assert rows.lengths(0).tolist() == [[3, 1], [1, 5], [2, 4]]
    assert [(len(a), label, len(b)) for a, label, b in rows.take(np.array([2, 0]), 0)] == [(2, 2.5, 4), (3, 0.5, 1)]
    with pytest.raises(AssertionError, match="do not belong together"):
        Zipped(left, Column(np.zeros(2)))


def test_rows_of_two_corpora_are_taken_in_the_order_asked_for() -> None:
    rows = [np.full(length, length) for length in range(1, 6)]
    chained = Chained(InMemory(rows[:3]), InMemory(rows[3:]))
    assert chained.lengths(None).tolist() == [[1], [2], [3], [4], [5]]
    assert chained.example_N.tolist() == [0, 1, 2, 3, 4]
    assert [len(row) for row in chained.take(np.array([4, 0, 3, 2]), 0)] == [5, 1, 4, 3]
