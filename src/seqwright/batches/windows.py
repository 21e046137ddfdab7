"""Windows: of all documents joined into one text that is cut again each epoch, or of one that is too long to be read.

B batch · T time · N windows
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from seqwright.batches import KEPT_EPOCHS, Ids, Numbers, Place, Rows, following
from seqwright.batches.text import JoinedText, Text, ceiling, shifted

Edges = NDArray[np.int64]
"""Of each window where it begins and where it ends in the joined text."""


class WindowBatches:
    """Windows of `segment` tokens, at most `tokens` of them a batch; for models that carry no state.

    Each epoch the cuts lie elsewhere and the windows come in another order, both drawn from (seed, epoch), so that a
    token is predicted from other beginnings each time. Every token of the text is a target exactly once an epoch:
    before the first cut and after the last one a window is shorter.
    """

    def __init__(self, rows: Rows[Ids], *, tokens: int, segment: int, seed: int, begin: int, end: int) -> None:
        self.text, self.segment, self.seed = JoinedText(rows, begin=begin, end=end), segment, seed
        self.at_once = max(1, tokens // segment)
        self._remembered = lru_cache(KEPT_EPOCHS)(self._planned)

    def at(self, place: Place) -> Text:
        """The batch at a place."""
        first = place.batch * self.at_once
        return self._batch(self.plan(place.epoch)[first : first + self.at_once], place.epoch)

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return following(place, self.in_epoch(place.epoch))

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; the same in each, or one more."""
        return ceiling(len(self.plan(epoch)), self.at_once)

    def once(self) -> Iterator[Text]:
        """Every window in the order of the text, the first one from its beginning."""
        every = self._cut(self.segment)
        for first in range(0, len(every), self.at_once):
            yield self._batch(every[first : first + self.at_once], None)

    def plan(self, epoch: int) -> Edges:
        """The windows of an epoch in their order."""
        return self._remembered(epoch)

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        length_N = np.diff(self.plan(epoch)).squeeze(1)
        batches = np.split(length_N, range(self.at_once, len(length_N), self.at_once))
        return 1 - self.text.positions / sum(len(batch) * int(batch.max()) for batch in batches)

    def _planned(self, epoch: int) -> Edges:
        draw = np.random.default_rng((self.seed, epoch))
        windows = self._cut(int(draw.integers(1, self.segment + 1)))
        return windows[draw.permutation(len(windows))]

    def _cut(self, first: int) -> Edges:
        """The text cut into windows of which the first has `first` tokens."""
        cuts = np.arange(first, self.text.positions, self.segment)
        return np.stack([np.append(0, cuts), np.append(cuts, self.text.positions)], axis=1)

    def _batch(self, windows: Edges, epoch: int | None) -> Text:
        return self.text.read(windows.tolist(), epoch)


class ReadingWindow(NamedTuple):
    """A stretch of a text that is read at once, from one token to another; targets before `new` were read already."""

    low: int
    high: int
    new: int


def reading_windows(tokens: int, context: int | None) -> Iterator[ReadingWindow]:
    """Windows of at most `context` tokens that overlap by half, so that hardly a token has few others before it."""
    high = tokens if context is None else min(tokens, context)
    yield ReadingWindow(0, high, 0)
    while context is not None and high < tokens:
        low, new = high - context // 2, high
        high = min(low + context, tokens)
        yield ReadingWindow(low, high, new)


class OverlappingRows(Rows[tuple[Ids, ReadingWindow]]):
    """Documents each by itself, `begin x end`; one of more than `context` tokens in windows that overlap."""

    def __init__(self, rows: Rows[Ids], *, context: int | None, begin: int, end: int) -> None:
        self.rows, self.begin, self.end = rows, begin, end
        length_N = rows.lengths(None).sum(1) + 1
        found = [(row, each) for row, n in enumerate(length_N.tolist()) for each in reading_windows(n, context)]
        self.row_W: Numbers = np.array([row for row, _ in found], dtype=np.int64)
        self.windows = [window for _, window in found]
        self.example_N = rows.example_N[self.row_W]
        self.length_N = np.array([window.high - window.low for window in self.windows], dtype=np.int64)

    def take(self, numbers: Numbers, epoch: int | None) -> list[tuple[Ids, ReadingWindow]]:
        """Some windows: what is read and, one place later, what should follow."""
        found = []
        for number, row in zip(numbers.tolist(), self.rows.take(self.row_W[numbers], epoch), strict=True):
            window, whole = self.windows[number], np.concatenate(([self.begin], row, [self.end]))
            found.append((whole[window.low : window.high + 1], window))
        return found


def overlapping(rows: Sequence[tuple[Ids, ReadingWindow]]) -> Text:
    """Windows as a batch in which every token of a document is a target that counts once."""
    batch = shifted([tokens for tokens, _ in rows])
    new_B = torch.tensor([window.new - window.low for _, window in rows])
    new_BT = batch.real_BT & (torch.arange(batch.real_BT.shape[1]) >= new_B.unsqueeze(1))
    return batch.replace(place_B=torch.tensor([window.low for _, window in rows]), new_BT=new_BT)
