"""Windows: of all documents joined into one text that is cut again each epoch, or of one that is too long to be read.

B batch · T time · N windows
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from seqwright.batches import Ids, Numbers, Rows
from seqwright.batches.planned import Planned, in_parts
from seqwright.batches.text import JoinedText, Text, shifted

Edges = NDArray[np.int64]
"""Of each window where it begins and where it ends in the joined text."""


class WindowBatches(Planned[Edges, Text]):
    """Windows of `segment` tokens, at most `tokens` of them a batch; for models that carry no state.

    Each epoch the cuts lie elsewhere and the windows come in another order, both drawn from (seed, epoch), so that a
    token is predicted from other beginnings each time. Every token of the text is a target exactly once an epoch:
    before the first cut and after the last one a window is shorter.
    """

    def __init__(self, rows: Rows[Ids], *, tokens: int, segment: int, seed: int, begin: int, end: int) -> None:
        self.text, self.segment, self.seed = JoinedText(rows, begin=begin, end=end), segment, seed
        self.at_once = max(1, tokens // segment)
        super().__init__()

    def planned(self, epoch: int | None) -> list[Edges]:
        """The windows of each batch of an epoch; in none they stand in the order of the text, the first one whole."""
        if epoch is None:
            return in_parts(self._cut(self.segment), self.at_once)
        draw = np.random.default_rng((self.seed, epoch))
        windows = self._cut(int(draw.integers(1, self.segment + 1)))
        return in_parts(windows[draw.permutation(len(windows))], self.at_once)

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        every = sum(len(windows) * int(np.diff(windows).max()) for windows in self.plan(epoch))
        return 1 - self.text.positions / every

    def _cut(self, first: int) -> Edges:
        """The text cut into windows of which the first has `first` tokens."""
        cuts = np.arange(first, self.text.positions, self.segment)
        return np.stack([np.append(0, cuts), np.append(cuts, self.text.positions)], axis=1)

    def batch(self, some: Edges, epoch: int | None) -> Text:
        """Some windows, as they are in an epoch."""
        return self.text.read(some.tolist(), epoch)


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
