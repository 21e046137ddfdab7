"""Rows of like length together: the order of every corpus whose examples stand in rows of their own.

B batch · N rows · S sides that have a length
"""

from collections.abc import Callable, Sequence
from typing import Generic

import numpy as np
import torch

from seqwright.batches import Numbers, Rows, RowT
from seqwright.batches.planned import BatchT, Planned


class Bucketed(Planned[Numbers, BatchT], Generic[RowT, BatchT]):
    """Rows of like length together, at most `tokens` positions a batch on any side, padding included.

    A row that is longer than that stands alone. Each epoch shuffles the rows, sorts them by the length of the last
    side, then of those before (the shuffle decides among equals), cuts the sorted row into batches and shuffles
    those; all from (seed, epoch). `collate` makes a batch of some rows; `marks` is how many tokens it adds to each.
    `only` are the rows to take, all if not given.
    """

    def __init__(
        self,
        rows: Rows[RowT],
        collate: Callable[[Sequence[RowT]], BatchT],
        *,
        tokens: int,
        seed: int = 0,
        marks: int = 0,
        only: Numbers | None = None,
    ) -> None:
        self.rows, self.collate, self.tokens, self.seed, self.marks = rows, collate, tokens, seed, marks
        self.example_N = rows.example_N
        self.only = np.arange(len(self.example_N)) if only is None else only
        super().__init__()

    def planned(self, epoch: int | None) -> list[Numbers]:
        """The numbers of the rows in each batch of an epoch; in none they stand in a fixed order.

        The longest are first there: the batch that is not full is of short rows, which are done in few steps.
        """
        if epoch is None:
            return self._cut(self.taken(None), None)
        order = np.random.default_rng((self.seed, epoch))
        batches = self._cut(order.permutation(self.taken(epoch)), epoch)
        return [batches[i] for i in order.permutation(len(batches))]

    def taken(self, epoch: int | None) -> Numbers:
        """The numbers of the rows that an epoch takes."""
        return self.only

    def batch(self, some: Numbers, epoch: int | None) -> BatchT:
        """Some rows, by their numbers, as they are in an epoch."""
        batch = self.collate(self.rows.take(some, epoch))
        return batch.replace(example_B=torch.from_numpy(self.example_N[some]))

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_NS` of every row with its marks."""
        return self.rows.lengths(epoch) + self.marks

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches, on all sides, that is padding."""
        length_NS = self.lengths(epoch)
        every = sum(len(rows) * int(length_NS[rows].max(0).sum()) for rows in self.plan(epoch))
        return 1 - int(length_NS[self.taken(epoch)].sum()) / every

    def _cut(self, rows: Numbers, epoch: int | None) -> list[Numbers]:
        longest_first = epoch is None
        return [rows[some] for some in cut_by_length(self.lengths(epoch)[rows], self.tokens, longest_first)]


def cut_by_length(length_NS: Numbers, tokens: int, longest_first: bool = False) -> list[Numbers]:
    """The places of rows, sorted by the last side's length and cut so that rows × longest stays within `tokens`.

    Where no side has a length each row counts as 1. No rows are no batches.
    """
    if not len(length_NS):
        return []
    if not length_NS.shape[1]:
        length_NS = np.ones((len(length_NS), 1), dtype=np.int64)
    sorted_N = np.lexsort(-length_NS.T if longest_first else length_NS.T)
    batches, first, widest = [], 0, 0
    for i, length in enumerate(length_NS.max(1)[sorted_N].tolist()):
        widest = max(widest, length)
        if i > first and widest * (i - first + 1) > tokens:
            batches.append(sorted_N[first:i])
            first, widest = i, length
    batches.append(sorted_N[first:])
    return batches
