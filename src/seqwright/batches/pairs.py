"""Batches of sentence pairs of like length.

B batch · S source · T target · N pairs
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import KEPT_EPOCHS, Ids, Place, Rows, following, padded


class Pairs(NamedTuple):
    """A batch of sentence pairs. `input_BT` is what the decoder reads, `target_BT` what it should say after each."""

    source_BS: Tensor
    source_real_BS: Tensor
    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor

    @property
    def fresh_B(self) -> Tensor:
        """True where a row has nothing to do with the same row of the batch before: here everywhere."""
        return torch.ones(len(self.source_BS), dtype=torch.bool, device=self.source_BS.device)

    @property
    def loss_mask(self) -> Tensor:
        """True where the model's output counts: at every real target token."""
        return self.real_BT

    @property
    def tokens(self) -> int:
        """How many real tokens, source and target, the batch holds."""
        return int(self.source_real_BS.sum() + self.real_BT.sum())

    def to(self, device: torch.device) -> "Pairs":
        """The same batch on another device."""
        return Pairs(*(tensor.to(device, non_blocking=True) for tensor in self))


def sources(rows: Sequence[Ids], *, end: int) -> Pairs:
    """A batch that has only sources, each closed by `end`: what `start` needs to translate."""
    source_BS, source_real_BS = padded([np.append(row, end) for row in rows])
    nothing_B0 = source_BS[:, :0]
    return Pairs(source_BS, source_real_BS, nothing_B0, nothing_B0, source_real_BS[:, :0])


def pairs(source: Sequence[Ids], target: Sequence[Ids], *, begin: int, end: int) -> Pairs:
    """Pairs of token rows as a batch: `x end` is read, `begin y` is given, `y end` is wanted."""
    source_BS, source_real_BS = padded([np.append(row, end) for row in source])
    whole_BT, real_BT = padded([np.concatenate(([begin], row, [end])) for row in target])
    return Pairs(source_BS, source_real_BS, whole_BT[:, :-1], whole_BT[:, 1:], real_BT[:, 1:])


class PairBatches:
    """Sentence pairs of like length together, at most `tokens` a batch on either side, padding included.

    A pair that is longer than that stands alone. Each epoch shuffles the pairs, sorts them by target and source
    length (the shuffle decides among equals), cuts the sorted row into batches and shuffles those; all from
    (seed, epoch). Where `anew` is given, the pairs of each epoch are what it gives for that epoch: as many as there
    are, in the same order, but of other lengths perhaps.
    """

    def __init__(
        self,
        source: Rows,
        target: Rows,
        *,
        tokens: int,
        seed: int,
        begin: int,
        end: int,
        anew: Callable[[int], tuple[Rows, Rows]] | None = None,
    ) -> None:
        self.source, self.target, self.anew = source, target, anew
        self.tokens, self.seed, self.begin, self.end = tokens, seed, begin, end
        self._remembered = lru_cache(KEPT_EPOCHS)(self._planned)

    def sides(self, epoch: int) -> tuple[Rows, Rows]:
        """The sources and the targets as they are in an epoch."""
        return (self.source, self.target) if self.anew is None else self.anew(epoch)

    def at(self, place: Place) -> Pairs:
        """The batch at a place."""
        return self._batch(self.plan(place.epoch)[place.batch], place.epoch)

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return following(place, self.in_epoch(place.epoch))

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; nearly the same in each."""
        return len(self.plan(epoch))

    def once(self) -> Iterator[Pairs]:
        """Every pair once, longest last."""
        for rows in self._cut(np.arange(len(self.source.length_N)), 0):
            yield self._batch(rows, 0)

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """Which rows stand in which batch of an epoch."""
        return self._remembered(epoch)

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches, source and target, that is padding."""
        sides = self.sides(epoch)
        real = every = 0
        for rows in self.plan(epoch):
            for length_N in (side.length_N[rows] + 1 for side in sides):
                real += int(length_N.sum())
                every += len(rows) * int(length_N.max())
        return 1 - real / every

    def _planned(self, epoch: int) -> list[NDArray[np.int64]]:
        order = np.random.default_rng((self.seed, epoch))
        batches = self._cut(order.permutation(len(self.source.length_N)), epoch)
        return [batches[i] for i in order.permutation(len(batches))]

    def _cut(self, rows: NDArray[np.int64], epoch: int) -> list[NDArray[np.int64]]:
        """Rows sorted by their length in an epoch and cut so that rows × longest stays within `tokens`."""
        source_N, target_N = (side.length_N[rows] + 1 for side in self.sides(epoch))
        sorted_N = np.lexsort((source_N, target_N))
        rows, longest_N = rows[sorted_N], np.maximum(source_N, target_N)[sorted_N]
        batches, first, widest = [], 0, 0
        for i, length in enumerate(longest_N.tolist()):
            widest = max(widest, length)
            if i > first and widest * (i - first + 1) > self.tokens:
                batches.append(rows[first:i])
                first, widest = i, length
        batches.append(rows[first:])
        return batches

    def _batch(self, rows: NDArray[np.int64], epoch: int) -> Pairs:
        source, target = self.sides(epoch)
        return pairs(source.take(rows, epoch), target.take(rows, epoch), begin=self.begin, end=self.end)
