"""Batches of text with hidden words.

B batch · T time · N examples, or hidden words
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import Place, padded
from seqwright.batches.masks import Hidden, Masks
from seqwright.batches.sentences import Drawn, Examples
from seqwright.batches.text import DocumentBatches


class Masked(NamedTuple):
    """A batch of texts some of whose words are hidden.

    `tokens_BT` is what the model reads, `target_BT` what stood there before words were hidden; `chosen_BT` is True
    where one was chosen to be found. Padding stands on the right, where `real_BT` is False. `segment_BT` is 1 in the
    second stretch of a text, 0 in the first. `next_B` is 1 where the second stretch follows the first, 0 where it does
    not, and negative where nobody asks.
    """

    tokens_BT: Tensor
    real_BT: Tensor
    segment_BT: Tensor
    chosen_BT: Tensor
    target_BT: Tensor
    next_B: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """True where the model's output counts: at the chosen words."""
        return self.chosen_BT

    @property
    def fresh_B(self) -> Tensor:
        """True where a row has nothing to do with the same row of the batch before: here everywhere."""
        return torch.ones_like(self.next_B, dtype=torch.bool)

    @property
    def target_N(self) -> Tensor:
        """What stood at the chosen places, row by row."""
        return self.target_BT[self.chosen_BT]

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds."""
        return int(self.real_BT.sum())

    def to(self, device: torch.device) -> "Masked":
        """The same batch on another device."""
        return Masked(*(tensor.to(device, non_blocking=True) for tensor in self))


def masked(rows: Sequence[Drawn], hidden: Sequence[Hidden]) -> Masked:
    """Examples as a batch, some words of each hidden."""
    target_BT, real_BT = padded([row.tokens for row in rows])
    tokens_BT, _ = padded([row.input_T for row in hidden])
    chosen_BT, _ = padded([row.chosen_T.astype(np.int64) for row in hidden])
    place_T = torch.arange(real_BT.shape[1])
    second_B1 = torch.tensor([row.second for row in rows]).unsqueeze(1)
    return Masked(
        tokens_BT,
        real_BT,
        (real_BT & (place_T >= second_B1)).long(),
        chosen_BT.bool(),
        target_BT,
        torch.tensor([row.follows for row in rows]),
    )


class MaskedBatches:
    """Examples of like length together, at most `tokens` positions a batch with padding, in the order of (seed, epoch).

    How an example is drawn, and which of its words are hidden, is decided by (seed, epoch, example) and nothing else.
    Which examples stand together is for `DocumentBatches` to say. With `fixed`, a seed, it is decided by that and the
    example alone, and so the same in every epoch: what somebody else says of the hidden words can be looked up.
    """

    def __init__(self, examples: Examples, masks: Masks, *, tokens: int, seed: int, fixed: int | None = None) -> None:
        self.examples, self.masks, self.seed, self.fixed = examples, masks, seed, fixed
        lengths = _Lengths(examples.length_N - 1)  # the order counts a token more for each row
        self._order = DocumentBatches(lengths, tokens=tokens, seed=seed, begin=0, end=0)

    def at(self, place: Place) -> Masked:
        """The batch at a place."""
        return self._batch(self.numbers(place), place.epoch)

    def numbers(self, place: Place) -> NDArray[np.int64]:
        """The numbers of the examples at a place, row by row."""
        return self._order.plan(place.epoch)[place.batch]

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return self._order.after(place)

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; nearly the same in each."""
        return self._order.in_epoch(epoch)

    def once(self) -> Iterator[Masked]:
        """Every example once, as it is in the first epoch."""
        return (self._batch(rows, 0) for rows in self._order.plan(0))

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding, every example at its longest."""
        return self._order.padding(epoch)

    def _batch(self, rows: NDArray[np.int64], epoch: int) -> Masked:
        drawn, hidden = [], []
        for number in rows.tolist():
            seed = (self.seed, epoch, number) if self.fixed is None else (self.fixed, 0, number)
            chance = np.random.default_rng(seed)
            drawn.append(self.examples.drawn(number, chance))
            hidden.append(self.masks(drawn[-1].tokens, chance))
        return masked(drawn, hidden)


class _Lengths(NamedTuple):
    length_N: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64], epoch: int) -> list[NDArray[np.integer]]:
        """Nothing: only lengths are asked for."""
        return []
