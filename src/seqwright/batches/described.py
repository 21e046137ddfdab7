"""Batches of texts, each with the vector it is to be written from.

B batch · T time · X numbers of a vector · K numbers of its code · N examples
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import Ids, Place, Rows
from seqwright.batches.text import DocumentBatches, Text, texts

Vectors = Callable[[NDArray[np.float64]], NDArray[np.floating[Any]]]
"""`vector_NX` from `code_NK`."""


class Described(NamedTuple):
    """A batch of texts and their vectors. `input_BT` is what the model reads of a text, `target_BT` what should follow
    each token.
    """

    vector_BX: Tensor
    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor

    @property
    def fresh_B(self) -> Tensor:
        """True where a row has nothing to do with the same row of the batch before: here everywhere."""
        return torch.ones(len(self.vector_BX), dtype=torch.bool, device=self.vector_BX.device)

    @property
    def loss_mask(self) -> Tensor:
        """True where the model's output counts: at every real token."""
        return self.real_BT

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds."""
        return int(self.real_BT.sum())

    def to(self, device: torch.device) -> "Described":
        """The same batch on another device."""
        return Described(*(tensor.to(device, non_blocking=True) for tensor in self))


def described(vector_BX: Tensor, rows: Sequence[Ids], *, begin: int, end: int) -> Described:
    """Vectors and the token rows of their texts as a batch: `begin x` is given, `x end` is wanted."""
    return _joined(vector_BX, texts(rows, begin=begin, end=end))


def vectors_alone(vector_BX: Tensor) -> Described:
    """A batch without texts: what `start` needs to write them."""
    nothing_B0 = torch.zeros(len(vector_BX), 0, dtype=torch.int64)
    return Described(vector_BX, nothing_B0, nothing_B0, nothing_B0.bool())


def _joined(vector_BX: Tensor, text: Text) -> Described:
    return Described(vector_BX, text.input_BT, text.target_BT, text.real_BT)


class DescribedBatches:
    """Texts of like length together, at most `tokens` positions a batch with padding, in the order of (seed, epoch).

    Which texts stand together is for `DocumentBatches` to say; here they get their vectors, which `vectors` makes
    from short codes (the number of a class) only when they are needed.
    """

    def __init__(
        self,
        rows: Rows,
        code_NK: NDArray[np.float64],
        vectors: Vectors,
        *,
        tokens: int,
        seed: int,
        begin: int,
        end: int,
    ) -> None:
        self.rows, self.code_NK, self.vectors, self.tokens = rows, code_NK, vectors, tokens
        self._texts = DocumentBatches(rows, tokens=tokens, seed=seed, begin=begin, end=end)

    def at(self, place: Place) -> Described:
        """The batch at a place."""
        return self._batch(self._texts.at(place), self._texts.plan(place.epoch)[place.batch])

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return self._texts.after(place)

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; nearly the same in each."""
        return self._texts.in_epoch(epoch)

    def once(self) -> Iterator[Described]:
        """Every text once, longest last."""
        for batch, number_BT in self._texts.traced():
            yield self._batch(batch, number_BT[:, 0].numpy())  # a row begins with a real token, and so its number

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        return self._texts.padding(epoch)

    def _batch(self, text: Text, rows: NDArray[np.int64]) -> Described:
        vector_BX = self.vectors(self.code_NK[rows]).astype(np.float32, copy=False)
        return _joined(torch.from_numpy(vector_BX), text)
