"""Where a token stands in its sentence: vectors that are added to the tokens', or what attention is told of places.

B batch · T query positions · S memory positions · D width · H heads · K head width
Of a grid: Y rows · X columns · P all its places · N vectors that stand before them
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DEVIATION = 0.02  # of learnt positions on a grid at the beginning


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


class GridPositions(nn.Module):
    """A vector for each place of a grid, and for each of what stands before (Dosovitskiy et al. 2021, section 3.1).

    Those of the places are resampled for a grid of another size (section 3.2), bicubic as in the code of DINO.
    """

    def __init__(self, rows: int, columns: int, *, width: int, before: int, deviation: float = DEVIATION) -> None:
        super().__init__()
        self.before_ND = nn.Parameter(nn.init.normal_(torch.empty(before, width), std=deviation)) if before else None
        self.place_YXD = nn.Parameter(nn.init.normal_(torch.empty(rows, columns, width), std=deviation))

    def forward(self, rows: int, columns: int) -> Tensor:
        """`position_PD` of a grid, row by row, after those of what stands before it."""
        place_PD = resampled_grid(self.place_YXD, rows, columns).flatten(0, 1)
        return place_PD if self.before_ND is None else torch.cat((self.before_ND, place_PD))

    def resampled(self, name: str, given: Tensor) -> Tensor | None:
        """The vectors of another grid for this one; what else has another size is of another model."""
        rows, columns, width = self.place_YXD.shape
        if name != "place_YXD" or given.dim() != len(self.place_YXD.shape) or given.shape[-1] != width:
            return None
        return resampled_grid(given, rows, columns)


def resampled_grid(place_YXD: Tensor, rows: int, columns: int) -> Tensor:
    """The vectors of a grid for one of another size, by bicubic interpolation."""
    if place_YXD.shape[:2] == (rows, columns):
        return place_YXD
    place_1DYX = place_YXD.permute(2, 0, 1).unsqueeze(0).float()
    other_1DYX = F.interpolate(place_1DYX, size=(rows, columns), mode="bicubic", align_corners=False)
    return other_1DYX.squeeze(0).permute(1, 2, 0).to(place_YXD.dtype)


class SinusoidalGrid(nn.Module):
    """Half of the units say the row and half the column, by sinusoids (He et al. 2022, section 3); zero before them.

    Nothing is learnt and no grid is the largest. The first half is that of the row.
    """

    def __init__(self, *, width: int, before: int) -> None:
        super().__init__()
        self.before = before
        self.row = SinusoidalPositions(width=width - width // 2)
        self.column = SinusoidalPositions(width=width // 2)

    def forward(self, rows: int, columns: int) -> Tensor:
        """`position_PD` of a grid, row by row, after those of what stands before it."""
        device = self.row.rate_D.device
        row_YD, column_XD = (
            self.row(torch.arange(rows, device=device)),
            self.column(torch.arange(columns, device=device)),
        )
        place_YXD = torch.cat(
            (row_YD.unsqueeze(1).expand(-1, columns, -1), column_XD.unsqueeze(0).expand(rows, -1, -1)), dim=-1
        )
        return F.pad(place_YXD.flatten(0, 1), (0, 0, self.before, 0))


def next_positions(position_BC: Tensor, real_BT: Tensor) -> Tensor:
    """`position_BT` of new tokens after those at `position_BC`; padding, which may stand anywhere, is at -1."""
    read_B1 = (position_BC >= 0).sum(1, keepdim=True)
    position_BT = read_B1 if real_BT.shape[1] == 1 else read_B1 + real_BT.cumsum(1) - 1
    return torch.where(real_BT, position_BT, -1)
