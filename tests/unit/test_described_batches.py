"""Batches of texts and vectors: every text with its own vector, the same at the same place."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seqwright.batches import InMemory, Place
from seqwright.batches.described import Described, DescribedBatches, described, vectors_alone

BEGIN, END = 2, 3
LENGTHS = [5, 1, 9, 3, 3, 7, 2, 8, 4, 6, 11]


def doubled(code_NK: NDArray[Any]) -> NDArray[Any]:
    """Vectors that are told from their codes."""
    return np.concatenate([code_NK, 2 * code_NK], axis=1)


def batches(tokens: int = 24, seed: int = 1) -> DescribedBatches:
    """Text n is made of n + 4 and has the code n."""
    rows = InMemory([np.full(length, number + 4, dtype=np.uint16) for number, length in enumerate(LENGTHS)])
    code_NK = np.arange(len(LENGTHS), dtype=np.float64)[:, None]
    return DescribedBatches(rows, code_NK, doubled, tokens=tokens, seed=seed, begin=BEGIN, end=END)


def seen(batch: Described) -> list[tuple[int, int, list[float]]]:
    """(which text, how long, vector) of each row."""
    return [
        (int(target_T[0]) - 4, int(real_T.sum()) - 1, vector_X.tolist())
        for vector_X, _, target_T, real_T in zip(*batch, strict=True)
    ]


WANTED = [(number, length, [float(number), 2.0 * number]) for number, length in enumerate(LENGTHS)]


def epoch(found: DescribedBatches, number: int) -> list[Described]:
    return [found.at(Place(number, index)) for index in range(found.in_epoch(number))]


def test_each_text_stands_once_in_an_epoch_with_its_own_vector() -> None:
    for number in range(3):
        assert sorted(row for batch in epoch(batches(), number) for row in seen(batch)) == WANTED
    assert sorted(row for batch in batches().once() for row in seen(batch)) == WANTED


def test_the_text_is_given_one_place_later_than_it_is_wanted() -> None:
    batch = described(torch.zeros(2, 5), [np.array([7, 8]), np.array([9])], begin=BEGIN, end=END)
    assert batch.input_BT.tolist() == [[BEGIN, 7, 8], [BEGIN, 9, 0]]
    assert batch.target_BT.tolist() == [[7, 8, END], [9, END, 0]]
    assert batch.real_BT.tolist() == [[True, True, True], [True, True, False]]
    assert batch.tokens == 5
    assert batch.fresh_B.tolist() == [True, True]


def test_no_batch_has_more_positions_than_allowed_and_texts_of_like_length_stand_together() -> None:
    found = epoch(batches(), 0)
    assert max(batch.input_BT.numel() for batch in found) <= 24
    for batch in found:
        lengths = sorted(length for _, length, _ in seen(batch))
        assert not [length for length in LENGTHS if lengths[0] < length < lengths[-1] and length not in lengths]
    assert 0 < batches().padding() < 0.2


def test_a_batch_is_a_function_of_its_place() -> None:
    one, again, other = ([seen(batch) for batch in epoch(batches(seed=seed), 2)] for seed in (1, 1, 2))
    assert one == again != other


def test_vectors_alone_have_no_text() -> None:
    batch = vectors_alone(torch.ones(3, 5))
    assert [tuple(tensor.shape) for tensor in batch] == [(3, 5), (3, 0), (3, 0), (3, 0)]
    assert batch.real_BT.dtype == torch.bool
