"""Rows that are all as long, so many in each batch: windows of series.

B batch · N rows
"""

from collections.abc import Callable, Sequence
from typing import Generic

import numpy as np
import torch

from seqwright.batches import Numbers, Rows, RowT
from seqwright.batches.planned import BatchT, Planned, in_parts


class Shuffled(Planned[Numbers, BatchT], Generic[RowT, BatchT]):
    """Rows of one length, `size` in a batch. Each epoch shuffles them, from (seed, epoch)."""

    def __init__(
        self, rows: Rows[RowT], collate: Callable[[Sequence[RowT]], BatchT], *, size: int, seed: int = 0
    ) -> None:
        self.rows, self.collate, self.size, self.seed = rows, collate, size, seed
        self.example_N = rows.example_N
        super().__init__()

    def planned(self, epoch: int | None) -> list[Numbers]:
        """The numbers of the rows in each batch of an epoch; in none they stand in their order."""
        count = len(self.example_N)
        every = np.arange(count) if epoch is None else np.random.default_rng((self.seed, epoch)).permutation(count)
        return in_parts(every, self.size)

    def padding(self, epoch: int = 0) -> float:
        """None: every row is as long."""
        return 0.0

    def batch(self, some: Numbers, epoch: int | None) -> BatchT:
        """Some rows, by their numbers, as they are in an epoch."""
        batch = self.collate(self.rows.take(some, epoch))
        return batch.replace(example_B=torch.from_numpy(self.example_N[some]))
