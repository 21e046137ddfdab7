"""Batches of text with masked words.

B batch · T time · N examples, or masked words
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seqwright.batches import Batch, Numbers, Rows, padded
from seqwright.batches.masks import Hidden, Masks
from seqwright.batches.sentences import Drawn, Examples


@dataclass(frozen=True)
class Masked(Batch):
    """A batch of texts some of whose words are masked.

    `input_BT` is what the model reads, `target_BT` what stood there before words were masked; `chosen_BT` is True
    where one was chosen to be found. Padding stands on the right, where `real_BT` is False. `segment_BT` is 1 in the
    second stretch of a text, 0 in the first. `next_B` is 1 where the second stretch follows the first, 0 where it does
    not, and negative where nobody asks.
    """

    input_BT: Tensor
    real_BT: Tensor
    segment_BT: Tensor
    chosen_BT: Tensor
    target_BT: Tensor
    next_B: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """The chosen words count."""
        return self.chosen_BT

    @property
    def target_N(self) -> Tensor:
        """What stood at the chosen places, row by row."""
        return self.target_BT[self.chosen_BT]


def masked(rows: Sequence[Drawn], hidden: Sequence[Hidden]) -> Masked:
    """Examples as a batch, some words of each masked."""
    target_BT, real_BT = padded([row.tokens for row in rows])
    input_BT, _ = padded([row.input_T for row in hidden])
    chosen_BT, _ = padded([row.chosen_T.astype(np.int64) for row in hidden])
    place_T = torch.arange(real_BT.shape[1])
    second_B1 = torch.tensor([row.second for row in rows]).unsqueeze(1)
    return Masked(
        input_BT,
        real_BT,
        (real_BT & (place_T >= second_B1)).long(),
        chosen_BT.bool(),
        target_BT,
        torch.tensor([row.follows for row in rows]),
    )


class MaskedRows(Rows[tuple[Drawn, Hidden]]):
    """Examples with some words masked, all drawn from (seed, epoch, number), and in no epoch from (0, 0, number).

    With `fixed` they are drawn as in no epoch always, so that what somebody else says of the masked words can be
    looked up.
    """

    def __init__(self, examples: Examples, masks: Masks, *, seed: int, fixed: bool = False) -> None:
        self.examples, self.masks, self.seed, self.fixed = examples, masks, seed, fixed

    @property
    def example_N(self) -> Numbers:
        """Each row is an example."""
        return np.arange(len(self.examples.length_N))

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_N1`, every example at its longest."""
        return self.examples.length_N[:, None]

    def take(self, numbers: Numbers, epoch: int | None) -> list[tuple[Drawn, Hidden]]:
        """Some examples."""
        return [self._drawn(number, None if self.fixed else epoch) for number in numbers.tolist()]

    def _drawn(self, number: int, epoch: int | None) -> tuple[Drawn, Hidden]:
        rng = np.random.default_rng((0, 0, number) if epoch is None else (self.seed, epoch, number))
        drawn = self.examples.drawn(number, rng)
        return drawn, self.masks(drawn.tokens, rng)
