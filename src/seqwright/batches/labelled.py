"""Batches of labelled text: each text a row, its label beside it.

B batch · T time · N texts
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from seqwright.batches import Batch, Ids, Numbers, Rows, Zipped, begun, padded, segments

LeftOut = Literal["end", "middle"]


@dataclass(frozen=True)
class Labelled(Batch):
    """A batch of things that have a class, whose number is in `target_B`; or a value in its place.

    `input_B` is what the first layer of a model reads: tokens (B, T), or values (B, T, C); `real_BT` is False at the
    padding on the right. A row may hold two texts: `segment_BT` is 0 at the first and 1 at the second.
    """

    input_B: Tensor
    real_BT: Tensor
    target_B: Tensor
    segment_BT: Tensor | None = None

    @property
    def loss_mask(self) -> Tensor:
        """`loss_mask_B`: every text counts."""
        return torch.ones_like(self.target_B, dtype=torch.bool)

    @property
    def labels(self) -> Tensor:
        """The number of the right class at each output that counts."""
        return self.target_B


def labelled(
    rows: Sequence[Ids], targets: Sequence[Any] | None = None, *, end: int, begin: int | None = None
) -> Labelled:
    """Rows of token ids as a batch, each closed by `end` and perhaps opened by `begin`.

    In a row of two texts there is an `end` between them. Without targets, what is needed to predict them.
    """
    input_BT, real_BT = begun(padded([np.append(row, end) for row in rows]), begin)
    target_B = torch.from_numpy(np.asarray([0] * len(rows) if targets is None else targets))
    return Labelled(input_BT, real_BT, target_B, segments(input_BT, end))


def shortened(row: Ids, longest: int, left_out: LeftOut) -> Ids:
    """At most `longest` tokens of a row: its beginning, or its beginning and its end in equal shares."""
    if len(row) <= longest:
        return row
    if left_out == "end":
        return row[:longest]
    head = (longest + 1) // 2
    return np.concatenate((row[:head], row[len(row) - (longest - head) :]))


class Shortened(Rows[Ids]):
    """The rows of a corpus, none longer than `longest`."""

    def __init__(self, rows: Rows[Any], longest: int, left_out: LeftOut, example_N: Numbers | None = None) -> None:
        self.rows, self.longest, self.left_out = rows, longest, left_out
        self.example_N = rows.example_N if example_N is None else example_N
        self.whole_N: Numbers = rows.lengths(None).sum(1)
        self.length_N = np.minimum(self.whole_N, longest)

    @property
    def cut(self) -> int:
        """How many rows were longer."""
        return int((self.whole_N > self.longest).sum())

    def take(self, numbers: Numbers, epoch: int | None) -> list[Ids]:
        """Some rows."""
        return [shortened(row, self.longest, self.left_out) for row in self.rows.take(numbers, epoch)]


def paired(first: Ids, second: Ids, longest: int, left_out: LeftOut, *, between: Sequence[int]) -> Ids:
    """Two texts in a row with marks between them, shortened to `longest` tokens together: the longer one first."""
    kept, other = _shares(len(first), len(second), longest)
    parts = (shortened(first, int(kept), left_out), between, shortened(second, int(other), left_out))
    return np.concatenate(parts).astype(np.int64)


class ShortenedPairs(Shortened):
    """The rows of a corpus of two texts each, side by side, as `paired` has them."""

    def __init__(
        self, both: Zipped, longest: int, left_out: LeftOut, example_N: Numbers | None = None, *, between: Sequence[int]
    ) -> None:
        super().__init__(both, longest, left_out, example_N)
        self.between, self.length_N = between, np.minimum(self.whole_N, longest) + len(between)

    def take(self, numbers: Numbers, epoch: int | None) -> list[Ids]:
        """Some rows."""
        both = self.rows.take(numbers, epoch)
        return [paired(one, other, self.longest, self.left_out, between=self.between) for one, other in both]


def _shares(first: int, second: int, longest: int) -> tuple[int, int]:
    """How many tokens of each are read: the shorter stays whole as long as it has no more than half of the room."""
    kept = min(first, max(longest - second, (longest + 1) // 2))
    return kept, min(second, longest - kept)
