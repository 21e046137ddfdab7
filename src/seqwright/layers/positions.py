"""Where a token stands in its sentence: vectors that are added to the tokens', or what attention is told of places.

B batch · T query positions · S memory positions · D width · H heads · K head width
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class NoPositions(nn.Module):
    """Attention that is told nothing of places: what is added to the tokens' vectors tells them, or nothing does.

    Others are given to `Attention` in its place: a rotation of queries and keys (Su et al. 2021) overrides `turned`, a
    bias of the scores by distance (Raffel et al. 2020, section 2.1) `bias`.
    """

    def turned(self, x_BHTK: Tensor, position_BT: Tensor | None) -> Tensor:
        """Queries, or keys, as their positions turn them."""
        return x_BHTK

    def bias(self, position_BT: Tensor | None, position_BS: Tensor | None) -> Tensor | None:
        """`bias_BHTS`: what is added to the score of each query position for each memory position; None: nothing."""
        return None


class LearntPositions(nn.Embedding):
    """A vector for each position, learnt like those of the tokens (Gehring et al. 2017, section 3.1).

    There are `context` of them, and positions after the last share its vector; RoBERTa leaves the `first` rows unused.
    """

    def __init__(self, context: int, *, width: int, first: int = 0) -> None:
        super().__init__(first + context, width)
        self.first = first

    def forward(self, position_BT: Tensor) -> Tensor:
        """The vector of each position."""
        last = self.num_embeddings - self.first - 1
        return F.embedding(position_BT.clamp(0, last) + self.first, self.weight)


class SinusoidalPositions(nn.Module):
    """Sinusoids of geometrically growing wavelength (Vaswani et al. 2017, section 3.5).

        PE(pos, 2i) = sin(pos / 10000^(2i/D))        PE(pos, 2i+1) = cos(pos / 10000^(2i/D))

    Nothing is learnt and no length is the last, so sentences longer than any in training have positions too.
    The cosine is written as a sine a quarter turn ahead.
    """

    rate_D: Tensor
    turn_D: Tensor

    def __init__(self, *, width: int) -> None:
        super().__init__()
        pair_D = torch.arange(width, dtype=torch.float64) // 2
        self.register_buffer("rate_D", (10000.0 ** (-2 * pair_D / width)).float(), persistent=False)
        self.register_buffer("turn_D", (torch.arange(width) % 2) * (math.pi / 2), persistent=False)

    def forward(self, position_BT: Tensor) -> Tensor:
        """The encoding of each position."""
        return torch.sin(position_BT.unsqueeze(-1) * self.rate_D + self.turn_D)


def next_positions(position_BC: Tensor, real_BT: Tensor) -> Tensor:
    """`position_BT` of new tokens after those at `position_BC`; padding, which may stand anywhere, is at -1."""
    read_B1 = (position_BC >= 0).sum(1, keepdim=True)
    return (read_B1 + real_BT.cumsum(1) - 1).masked_fill(~real_BT, -1)
