"""Batches of windows: all documents joined into one text that is cut anew each epoch, each window read on its own.

B batch · T time · N windows
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from seqwright.batches import KEPT_EPOCHS, Ids, Place, Rows, following
from seqwright.batches.text import JoinedText, Text, ceiling

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
