"""Rows that are all as long, so many in each batch: windows of series.

B batch · N rows
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
import torch

from seqwright.batches import KEPT_EPOCHS, Batch, Numbers, Place, Rows, RowT, following

BatchT = TypeVar("BatchT", bound=Batch)


class Shuffled(Generic[RowT, BatchT]):
    """Rows of one length, `size` in a batch. Each epoch shuffles them, from (seed, epoch)."""

    def __init__(
        self, rows: Rows[RowT], collate: Callable[[Sequence[RowT]], BatchT], *, size: int, seed: int = 0
    ) -> None:
        self.rows, self.collate, self.size, self.seed = rows, collate, size, seed
        self.example_N = rows.example_N
        self._remembered = lru_cache(KEPT_EPOCHS)(self._shuffled)

    def at(self, place: Place) -> BatchT:
        """The batch at a place."""
        low = place.batch * self.size
        return self.batch(self._remembered(place.epoch)[low : low + self.size], place.epoch)

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return following(place, self.in_epoch(place.epoch))

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; the same in each."""
        return math.ceil(len(self.example_N) / self.size)

    def once(self) -> Iterator[BatchT]:
        """Every row once, in the order of the rows."""
        for low in range(0, len(self.example_N), self.size):
            yield self.batch(np.arange(low, min(low + self.size, len(self.example_N))), None)

    def padding(self, epoch: int = 0) -> float:
        """None: every row is as long."""
        return 0.0

    def batch(self, numbers: Numbers, epoch: int | None) -> BatchT:
        """Some rows, by their numbers, as they are in an epoch."""
        batch = self.collate(self.rows.take(numbers, epoch))
        return batch.replace(example_B=torch.from_numpy(self.example_N[numbers]))

    def _shuffled(self, epoch: int) -> Numbers:
        return np.random.default_rng((self.seed, epoch)).permutation(len(self.example_N))
