"""Batches: padding, what counts as real, length buckets, and an order that can be resumed anywhere.

B batch · T time · N rows
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

KEPT_EPOCHS = 2  # whose plans and drawn rows stay: the batches of one step may reach over the end of an epoch
Ids = NDArray[np.integer]
BatchT_co = TypeVar("BatchT_co", covariant=True)


class Padded(NamedTuple):
    """Rows of different length as one tensor; `real_BT` is False at the padding."""

    tokens_BT: Tensor
    real_BT: Tensor


def padded(rows: Sequence[Ids]) -> Padded:
    """Rows of token ids, filled up with zeros at the right."""
    length_B = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    real_BT = np.arange(length_B.max(initial=0)) < length_B[:, None]
    tokens_BT = np.zeros(real_BT.shape, dtype=np.int64)
    if real_BT.any():
        tokens_BT[real_BT] = np.concatenate(rows)
    return Padded(torch.from_numpy(tokens_BT), torch.from_numpy(real_BT))


def segments(tokens_BT: Tensor, end: int) -> Tensor:
    """Which text each token belongs to where each is closed by `end`: 0 the first, 1 whatever comes after."""
    ends_BT = (tokens_BT == end).long()
    return (ends_BT.cumsum(1) - ends_BT).clamp_max_(1)


def begun(batch: Padded, begin: int | None) -> Padded:
    """Rows with a token before each, if there is one."""
    if begin is None:
        return batch
    first_B1 = torch.full((len(batch.tokens_BT), 1), begin)
    real_BT = torch.cat((torch.ones_like(first_B1, dtype=torch.bool), batch.real_BT), dim=1)
    return Padded(torch.cat((first_B1, batch.tokens_BT), dim=1), real_BT)


class Place(NamedTuple):
    """A place in the endless order of batches: this batch of this epoch comes next."""

    epoch: int = 0
    batch: int = 0


def following(place: Place, in_epoch: int) -> Place:
    """The place after another, where an epoch has so many batches."""
    last = place.batch + 1 == in_epoch
    return Place(place.epoch + 1, 0) if last else Place(place.epoch, place.batch + 1)


class Batches(Protocol[BatchT_co]):
    """An endless order of batches, a pure function of the place: nothing is replayed to go on in the middle."""

    def at(self, place: Place) -> BatchT_co:
        """The batch at a place."""

    def after(self, place: Place) -> Place:
        """The place that follows."""

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has."""

    def once(self) -> Iterator[BatchT_co]:
        """Every example once, in a fixed order: for validation."""


class Rows(Protocol):
    """Token rows of a corpus. `length_N` plans the batches; `take` gives the rows as they are in an epoch."""

    @property
    def length_N(self) -> NDArray[np.int64]:
        """The length of each row."""

    def take(self, rows: NDArray[np.int64], epoch: int) -> list[Ids]:
        """Some rows."""


class InMemory:
    """Token rows in a list."""

    def __init__(self, rows: Sequence[NDArray[Any]]) -> None:
        self.rows = rows
        self.length_N = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))

    def take(self, rows: NDArray[np.int64], epoch: int) -> list[Ids]:
        """Some rows, the same in every epoch."""
        return [self.rows[index] for index in rows.tolist()]
