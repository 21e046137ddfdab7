"""Where a token stands in its sentence.

B batch · T time · D width
"""

import math

import torch
from torch import Tensor, nn


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
