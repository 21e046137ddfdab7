"""Batches of time series: windows of a past and the values that follow it.

B batch · T time, the steps of the past · N horizon · C channels · S steps after which a forecast is asked for: the last
one, or each of T · M windows · L steps of all series joined
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import KEPT_EPOCHS, Batch, Numbers, Place, following

Values = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Series(Batch):
    """A batch of windows. After each of the last S steps of `input_BTC` stand the N values that follow it."""

    input_BTC: Tensor
    target_BSNC: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """`loss_mask_BS`: every forecast counts."""
        return torch.ones(self.target_BSNC.shape[:2], dtype=torch.bool, device=self.input_BTC.device)

    @property
    def tokens(self) -> int:
        """How many values of the past the batch holds."""
        return self.input_BTC.numel()


def windows(whole: Tensor, *, horizon: int, every: bool = False) -> Series:
    """Pasts and the `horizon` values after each, both in `whole`, (B, T + N, C), as a batch.

    With `every` the values after each step of the past are targets too: sequence to sequence.
    """
    steps = whole.shape[1] - horizon
    if every:
        return Series(whole[:, :steps], whole[:, 1:].unfold(1, horizon, 1).transpose(2, 3))
    return Series(whole[:, :steps], whole[:, None, steps:])


def pasts(past_BTC: Tensor, *, horizon: int) -> Series:
    """A batch whose future is not known: what a model needs to forecast."""
    return Series(past_BTC, past_BTC.new_zeros(len(past_BTC), 1, horizon, past_BTC.shape[2]))


class SeriesWindows:
    """Every window of some series, at most `tokens` values of the past in a batch and at least one window.

    Each epoch shuffles the windows, from (seed, epoch). With `every`, the values after each step are targets.
    """

    def __init__(
        self, series: Sequence[Values], *, history: int, horizon: int, tokens: int, seed: int, every: bool = False
    ) -> None:
        self.values_LC = np.concatenate(series).astype(np.float32)
        self.first_M = first_steps([len(each) for each in series], history + horizon)
        self.history, self.horizon, self.every, self.seed = history, horizon, every, seed
        self.rows: int = max(1, tokens // (history * self.values_LC.shape[1]))
        self._remembered = lru_cache(KEPT_EPOCHS)(self._shuffled)

    def at(self, place: Place) -> Series:
        """The batch at a place."""
        low = place.batch * self.rows
        return self.batch(self._remembered(place.epoch)[low : low + self.rows])

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return following(place, self.in_epoch(place.epoch))

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; the same in each."""
        return math.ceil(len(self.first_M) / self.rows)

    def once(self) -> Iterator[Series]:
        """Every window once, in the order of the series."""
        for low in range(0, len(self.first_M), self.rows):
            yield self.batch(np.arange(low, min(low + self.rows, len(self.first_M))))

    def padding(self, epoch: int = 0) -> float:
        """None: every window is as long."""
        return 0.0

    def batch(self, chosen: Numbers) -> Series:
        """Some windows, by their numbers."""
        step_BT = self.first_M[chosen][:, None] + np.arange(self.history + self.horizon)
        batch = windows(torch.from_numpy(self.values_LC[step_BT]), horizon=self.horizon, every=self.every)
        return batch.replace(example_B=torch.from_numpy(chosen))

    def _shuffled(self, epoch: int) -> Numbers:
        return np.random.default_rng((self.seed, epoch)).permutation(len(self.first_M))


def first_steps(lengths: Sequence[int], size: int) -> Numbers:
    """Where each window of `size` steps begins in the joined series; none reaches over the end of a series."""
    begins = np.cumsum([0, *lengths[:-1]])
    inside = [begin + np.arange(max(0, length - size + 1)) for begin, length in zip(begins, lengths, strict=True)]
    return np.concatenate(inside).astype(np.int64)
