"""Convolutions over images, and what normalises their outputs.

B batch · C channels · Y rows of pixels · X columns · P places, row by row · D width, channels of the last one
"""

from typing import Literal

import torch
from torch import Tensor, nn

Norm = Literal["group", "batch"]
FEWEST, MOST = 4, 32  # channels in a group, groups


class NormalisedConvolution(nn.Module):
    """norm(W * x): filters over each place of an image, beyond whose edge there are zeros, and no bias before a norm.

    Weights begin so that a ReLU after it keeps the size of what flows (He et al. 2015, eq. 10, by outputs).
    """

    def __init__(self, *, inputs: int, outputs: int, kernel: int, stride: int = 1, norm: Norm) -> None:
        super().__init__()
        self.filters = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
        self.norm = normalisation(norm, outputs)
        nn.init.kaiming_normal_(self.filters.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x_BCYX: Tensor) -> Tensor:
        """The image of outputs, of every `stride`-th row and column."""
        y_BCYX: Tensor = self.norm(self.filters(x_BCYX))
        return y_BCYX


def normalisation(norm: Norm, channels: int) -> nn.Module:
    """Of each image and group of channels (Wu & He 2018), or of each channel over the batch (Ioffe & Szegedy 2015).

    Groups are at most 32, of at least 4 channels where there are as many.
    """
    if norm == "batch":
        return nn.BatchNorm2d(channels)
    groups = next(n for n in range(max(1, min(MOST, channels // FEWEST)), 0, -1) if channels % n == 0)
    return nn.GroupNorm(groups, channels)


def channels_last(x_BCYX: Tensor) -> Tensor:
    """The same image with the channels of a pixel side by side in memory.

    On a CPU wide images and few channels take three quarters of the time so; under many channels, as a ResNet's, the
    weights are rearranged in every step, which takes longer than is gained.
    """
    return x_BCYX.contiguous(memory_format=torch.channels_last)


def places(x_BDYX: Tensor) -> Tensor:
    """`h_BPD`: the vector of each place, row by row."""
    return x_BDYX.flatten(2).transpose(1, 2)
