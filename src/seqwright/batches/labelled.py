"""Batches of labelled text: each text a row, its label beside it.

B batch · T time · N texts
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import Ids, Padded, Place, Rows, begun, padded, segments
from seqwright.batches.text import DocumentBatches, Text

LeftOut = Literal["end", "middle"]


class Labelled(NamedTuple):
    """A batch of texts, each closed by its end, with padding on the right; `label_B` numbers the class of each.

    A row may hold two texts: `segment_BT` is 0 at the first and 1 at the second. Where texts are rated, `label_B` holds
    their ratings.
    """

    tokens_BT: Tensor
    real_BT: Tensor
    label_B: Tensor
    segment_BT: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """`loss_mask_B`: True at those of the model's outputs that count, here all."""
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


def labelled(
    rows: Sequence[Ids], labels: Sequence[int] | None = None, *, end: int, begin: int | None = None
) -> Labelled:
    """Rows of token ids as a batch, each closed by `end` and perhaps opened by `begin`.

    In a row of two texts there is an `end` between them. Without labels, what is needed to ask for them.
    """
    tokens_BT, real_BT = begun(padded([np.append(row, end) for row in rows]), begin)
    label_B = torch.tensor(labels or [0] * len(rows), dtype=torch.int64)
    return Labelled(tokens_BT, real_BT, label_B, segments(tokens_BT, end))


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
        self.whole_N: NDArray[np.int64] = rows.length_N
        self.length_N: NDArray[np.int64] = np.minimum(rows.length_N, longest)

    @property
    def cut(self) -> int:
        """How many rows were longer."""
        return int((self.whole_N > self.longest).sum())

    def take(self, rows: NDArray[np.int64], epoch: int) -> list[Ids]:
        """Some rows."""
        return [shortened(row, self.longest, self.left_out) for row in self.rows.take(rows, epoch)]


def paired(first: Ids, second: Ids, longest: int, left_out: LeftOut, *, between: Sequence[int]) -> Ids:
    """Two texts in a row with marks between them, shortened to `longest` tokens together: the longer one first."""
    kept, other = _shares(len(first), len(second), longest)
    parts = (shortened(first, int(kept), left_out), between, shortened(second, int(other), left_out))
    return np.concatenate(parts).astype(np.int64)


class ShortenedPairs:
    """The rows of a corpus of two texts each, as `paired` has them."""

    def __init__(self, first: Rows, second: Rows, longest: int, left_out: LeftOut, *, between: Sequence[int]) -> None:
        self.first, self.second, self.longest, self.left_out, self.between = first, second, longest, left_out, between
        self.whole_N: NDArray[np.int64] = first.length_N + second.length_N
        self.length_N: NDArray[np.int64] = np.minimum(self.whole_N, longest) + len(between)

    @property
    def cut(self) -> int:
        """How many rows were longer."""
        return int((self.whole_N > self.longest).sum())

    def take(self, rows: NDArray[np.int64], epoch: int) -> list[Ids]:
        """Some rows."""
        both = zip(self.first.take(rows, epoch), self.second.take(rows, epoch), strict=True)
        return [paired(one, other, self.longest, self.left_out, between=self.between) for one, other in both]


def _shares(first: int, second: int, longest: int) -> tuple[int, int]:
    """How many tokens of each are read: the shorter stays whole as long as it has no more than half of the room."""
    kept = min(first, max(longest - second, (longest + 1) // 2))
    return kept, min(second, longest - kept)


class LabelledBatches:
    """Texts of like length together, at most `tokens` positions a batch with padding, in the order of (seed, epoch).

    Which texts stand together is for `DocumentBatches` to say; here they get their labels.
    """

    def __init__(
        self, rows: Rows, label_N: NDArray[Any], *, tokens: int, seed: int, end: int, begin: int | None = None
    ) -> None:
        self.rows, self.label_N, self.tokens = rows, torch.from_numpy(label_N), tokens
        self.begin, self.end = begin, end
        self._texts = DocumentBatches(rows, tokens=tokens, seed=seed, begin=end, end=end)

    def at(self, place: Place) -> Labelled:
        """The batch at a place."""
        return self._batch(self._texts.at(place), torch.from_numpy(self.numbers(place)))

    def numbers(self, place: Place) -> NDArray[np.int64]:
        """The numbers of the texts at a place, row by row."""
        return self._texts.plan(place.epoch)[place.batch]

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
        tokens_BT, real_BT = begun(Padded(text.target_BT, text.real_BT), self.begin)
        return Labelled(tokens_BT, real_BT, self.label_N[number_B], segments(tokens_BT, self.end))
