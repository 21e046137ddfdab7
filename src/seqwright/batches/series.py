"""Batches of time series: windows of a past and the values that follow it.

B batch · T time, the steps of the past · N horizon · C channels · S steps after which a forecast is asked for: the last
one, or each of T
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from seqwright.batches import Batch


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


def every_step(batch: Series) -> Series:
    """The same windows with the values after each step of the past as targets."""
    whole = torch.cat((batch.input_BTC, batch.target_BSNC[:, -1]), dim=1)
    every = windows(whole, horizon=batch.target_BSNC.shape[2], every=True)
    return batch.replace(target_BSNC=every.target_BSNC)


def pasts(past_BTC: Tensor, *, horizon: int) -> Series:
    """A batch whose future is not known: what a model needs to forecast."""
    return Series(past_BTC, past_BTC.new_zeros(len(past_BTC), 1, horizon, past_BTC.shape[2]))
