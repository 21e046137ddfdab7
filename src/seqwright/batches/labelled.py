"""Batches of labelled text: each text a row, its label beside it.

B batch · T time · N texts
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import Ids, Place, Rows, padded
from seqwright.batches.text import DocumentBatches, Text

LeftOut = Literal["end", "middle"]


class Labelled(NamedTuple):
    """A batch of texts, each closed by its end, with padding on the right; `label_B` numbers the class of each."""

    tokens_BT: Tensor
    real_BT: Tensor
    label_B: Tensor

    @property
    def judged(self) -> Tensor:
        """`judged_B`: True at those of the model's outputs that count, here all."""
        return torch.ones_like(self.label_B, dtype=torch.bool)

    @property
    def labels(self) -> Tensor:
        """The number of the right class at each judged output."""
        return self.label_B

    @property
    def fresh_B(self) -> Tensor:
        """True where a row has nothing to do with the same row of the batch before: here everywhere."""
        return torch.ones_like(self.label_B, dtype=torch.bool)

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds."""
        return int(self.real_BT.sum())

    def to(self, device: torch.device) -> "Labelled":
        """The same batch on another device."""
        return Labelled(*(tensor.to(device, non_blocking=True) for tensor in self))


def labelled(rows: Sequence[Ids], labels: Sequence[int] | None = None, *, end: int) -> Labelled:
    """Rows of token ids as a batch, each closed by `end`; without labels, what is needed to ask for them."""
    tokens_BT, real_BT = padded([np.append(row, end) for row in rows])
    return Labelled(tokens_BT, real_BT, torch.tensor(labels or [0] * len(rows), dtype=torch.int64))


def shortened(row: Ids, longest: int, left_out: LeftOut) -> Ids:
    """At most `longest` tokens of a row: its beginning, or its beginning and its end in equal shares."""
    if len(row) <= longest:
        return row
    if left_out == "end":
        return row[:longest]
    head = (longest + 1) // 2
    return np.concatenate((row[:head], row[len(row) - (longest - head) :]))


class Shortened:
    """The rows of a corpus, none longer than `longest`."""

    def __init__(self, rows: Rows, longest: int, left_out: LeftOut) -> None:
        self.rows, self.longest, self.left_out = rows, longest, left_out
        self.length_N: NDArray[np.int64] = np.minimum(rows.length_N, longest)

    @property
    def cut(self) -> int:
        """How many rows were longer."""
        return int((self.rows.length_N > self.longest).sum())

    def take(self, rows: NDArray[np.int64], epoch: int) -> list[Ids]:
        """Some rows."""
        return [shortened(row, self.longest, self.left_out) for row in self.rows.take(rows, epoch)]


class LabelledBatches:
    """Texts of like length together, at most `tokens` positions a batch with padding, in the order of (seed, epoch).

    Which texts stand together is for `DocumentBatches` to say; here they get their labels.
    """

    def __init__(self, rows: Rows, label_N: NDArray[np.int64], *, tokens: int, seed: int, end: int) -> None:
        self.rows, self.label_N, self.tokens = rows, torch.from_numpy(label_N), tokens
        self._texts = DocumentBatches(rows, tokens=tokens, seed=seed, begin=end, end=end)

    def at(self, place: Place) -> Labelled:
        """The batch at a place."""
        return self._batch(self._texts.at(place), torch.from_numpy(self._texts.plan(place.epoch)[place.batch]))

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return self._texts.after(place)

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; nearly the same in each."""
        return self._texts.in_epoch(epoch)

    def once(self) -> Iterator[Labelled]:
        """Every text once, longest last."""
        for batch, number_BT in self._texts.traced():
            yield self._batch(batch, number_BT[:, 0])  # a row begins with a real token, and so with its number

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        return self._texts.padding(epoch)

    def _batch(self, text: Text, number_B: Tensor) -> Labelled:
        return Labelled(text.wanted_BT, text.real_BT, self.label_N[number_B])
