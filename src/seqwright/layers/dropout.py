"""Dropout that is quick on a CPU."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 65_536  # what sixteen bits can tell apart


class Dropout(nn.Module):
    """Each value is left out with the probability `share`, the others are made up for it (Srivastava et al. 2014).

    On a CPU sixteen random bits decide about each value, so that four values come from one random number where
    `nn.Dropout` draws one for each: a quarter of its time. The share is kept to 1/65,536.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """The values, some of them 0 in training."""
        if x.device.type != "cpu":
            return F.dropout(x, self.share, self.training)
        stay = LEVELS - round(self.share * LEVELS)
        if not self.training or stay == LEVELS:
            return x
        drawn = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
        stays = drawn[: x.numel()].view(x.shape) < stay - LEVELS // 2
        return x * stays.to(x.dtype).mul_(LEVELS / stay)

    def extra_repr(self) -> str:
        """The share, where the module is printed."""
        return f"share={self.share}"


class StochasticDepth(nn.Module):
    """Rows of a batch go without a sublayer, each with the probability `share` (Huang et al. 2016, section 3).

    Differs from the paper: what a row is given is made up for it in training and not scaled down in use, and it is
    drawn for each row.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """What a sublayer says, of some rows nothing in training."""
        if not self.training or not self.share:
            return x
        stays_B = torch.rand(len(x), device=x.device) >= self.share
        return x * (stays_B.to(x.dtype) / (1 - self.share)).view(-1, *[1] * (x.dim() - 1))

    def extra_repr(self) -> str:
        """The share, where the module is printed."""
        return f"share={self.share}"
