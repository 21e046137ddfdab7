"""Images as rows of patches, and back.

B batch · C channels · Y rows of pixels · X columns · P patches · F values of a patch · D width
"""

import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.layers.linear import Linear


class PatchEmbedding(nn.Module):
    """e_p = E x_p + b for each patch x_p, without overlap, row by row (Dosovitskiy et al. 2021, section 3.1, eq. 1).

    An image that the patches do not tile is filled up with zeros on the right and below.
    """

    def __init__(self, *, channels: int, size: int, width: int) -> None:
        super().__init__()
        self.channels, self.size = channels, size
        self.linear = Linear(channels * size * size, width)

    def forward(self, x_BCYX: Tensor) -> Tensor:
        """`e_BPD`."""
        e_BPD: Tensor = self.linear(patches(filled_up(x_BCYX, self.size), self.size))
        return e_BPD

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        """How many rows and columns of patches an image of so many rows and columns of pixels has."""
        return -(-rows // self.size), -(-columns // self.size)

    def filters(self) -> Tensor:
        """`filter_DCYX`: what each unit looks for in a patch, as an image of its size."""
        return self.linear.weight.view(-1, self.channels, self.size, self.size)


def filled_up(x_BCYX: Tensor, size: int) -> Tensor:
    """The image with zeros on the right and below, so that patches of a size tile it."""
    below, right = (-length % size for length in x_BCYX.shape[2:])
    return F.pad(x_BCYX, (0, right, 0, below)) if below or right else x_BCYX


def patches(x_BCYX: Tensor, size: int) -> Tensor:
    """`patch_BPF`: the patches of an image, row by row, the values of each in the order of channel, row and column."""
    batch, channels, rows, columns = x_BCYX.shape
    apart = x_BCYX.reshape(batch, channels, rows // size, size, columns // size, size)
    return apart.permute(0, 2, 4, 1, 3, 5).reshape(batch, -1, channels * size * size)


def reassembled(patch_BPF: Tensor, size: int, *, columns: int) -> Tensor:
    """`x_BCYX` of so many columns, from its patches."""
    batch, count, values = patch_BPF.shape
    across = columns // size
    apart = patch_BPF.reshape(batch, count // across, across, values // size**2, size, size)
    return apart.permute(0, 3, 1, 4, 2, 5).reshape(batch, values // size**2, -1, columns)
