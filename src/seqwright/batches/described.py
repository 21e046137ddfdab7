"""Batches of texts, each with the vector it is to be written from.

B batch · T time · X numbers of a vector · K numbers of its code
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import Batch, Ids
from seqwright.batches.text import texts

Vectors = Callable[[NDArray[np.float64]], NDArray[np.floating[Any]]]
"""`vector_NX` from `code_NK`, a short code such as the number of a class."""


@dataclass(frozen=True)
class Described(Batch):
    """A batch of texts and their vectors. `input_BT` is what the model reads of a text, `target_BT` what should follow
    each token.
    """

    vector_BX: Tensor
    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor

    @property
    def real(self) -> None:
        """A vector has no padding."""

    @property
    def loss_mask(self) -> Tensor:
        """Every real token counts."""
        return self.real_BT


def described(vector_BX: Tensor, rows: Sequence[Ids], *, begin: int, end: int) -> Described:
    """Vectors and the token rows of their texts as a batch: `begin x` is the input, `x end` the target."""
    text = texts(rows, begin=begin, end=end)
    return Described(vector_BX, text.input_BT, text.target_BT, text.real_BT)


def described_by_code(
    code_BK: Sequence[NDArray[np.float64]], rows: Sequence[Ids], *, vectors: Vectors, begin: int, end: int
) -> Described:
    """As `described`, the vectors made from their codes."""
    vector_BX = vectors(np.stack(code_BK)).astype(np.float32, copy=False)
    return described(torch.from_numpy(vector_BX), rows, begin=begin, end=end)


def vectors_alone(vector_BX: Tensor) -> Described:
    """A batch without texts: what `start` needs to write them."""
    nothing_B0 = torch.zeros(len(vector_BX), 0, dtype=torch.int64)
    return Described(vector_BX, nothing_B0, nothing_B0, nothing_B0.bool())
