"""Batches of texts and vectors: every text with its own vector, made from its code."""

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seqwright.batches import Column, InMemory, Zipped
from seqwright.batches.bucketed import Bucketed, by_column
from seqwright.batches.described import described, described_by_code, vectors_alone

BEGIN, END = 2, 3
LENGTHS = [5, 1, 9, 3, 3, 7, 2, 8, 4, 6, 11]


def doubled(code_NK: NDArray[Any]) -> NDArray[Any]:
    """Vectors that are told from their codes."""
    return np.concatenate([code_NK, 2 * code_NK], axis=1)


def test_each_text_stands_with_the_vector_of_its_code() -> None:
    """Text n is made of n + 4 and has the code n."""
    rows = InMemory([np.full(length, number + 4, dtype=np.uint16) for number, length in enumerate(LENGTHS)])
    collate = by_column(partial(described_by_code, vectors=doubled, begin=BEGIN, end=END))
    codes = Column(np.arange(len(LENGTHS), dtype=np.float64)[:, None])
    found = []
    for batch in Bucketed(Zipped(codes, rows), collate, tokens=24, marks=1).once():
        assert batch.vector_BX.dtype == torch.float32
        for vector_X, target_T, real_T in zip(batch.vector_BX, batch.target_BT, batch.real_BT, strict=True):
            found.append((int(target_T[0]) - 4, int(real_T.sum()) - 1, vector_X.tolist()))
    assert sorted(found) == [(n, length, [float(n), 2.0 * n]) for n, length in enumerate(LENGTHS)]


def test_the_text_is_given_one_place_later_than_it_is_wanted() -> None:
    batch = described(torch.zeros(2, 5), [np.array([7, 8]), np.array([9])], begin=BEGIN, end=END)
    assert batch.input_BT.tolist() == [[BEGIN, 7, 8], [BEGIN, 9, 0]]
    assert batch.target_BT.tolist() == [[7, 8, END], [9, END, 0]]
    assert batch.real_BT.tolist() == [[True, True, True], [True, True, False]]
    assert batch.tokens == 5
    assert batch.fresh_B.tolist() == [True, True]


def test_vectors_alone_have_no_text() -> None:
    batch = vectors_alone(torch.ones(3, 5))
    assert batch.vector_BX.shape == (3, 5)
    assert batch.input_BT.shape == batch.target_BT.shape == batch.real_BT.shape == (3, 0)
    assert batch.real_BT.dtype == torch.bool
