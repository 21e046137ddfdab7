"""Convolutions over time, against torch's own.

B batch · T time · C channels that are read · D channels that are said
"""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqwright.layers.convolution import CausalConvolution, Convolution

B, T, C, D = 3, 11, 5, 7
SHAPES = pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (2, 1), (3, 1), (3, 2), (2, 5), (4, 3)])


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def torchs(x_BTC: Tensor, layer: Convolution | CausalConvolution, before: int, after: int) -> Tensor:
    """The same weights, as torch wants them, over zeros on both sides."""
    weight_DCK = layer.filters.weight.view(D, layer.kernel, C).transpose(1, 2)
    padded_BCT = F.pad(x_BTC.transpose(1, 2), (before, after))
    return F.conv1d(padded_BCT, weight_DCK, layer.filters.bias, dilation=layer.dilation).transpose(1, 2)


@SHAPES
def test_a_causal_convolution_is_torchs_over_zeros_on_the_left(kernel: int, dilation: int) -> None:
    layer = CausalConvolution(inputs=C, outputs=D, kernel=kernel, dilation=dilation)
    x_BTC = drawn(B, T, C)
    found_BTD, _ = layer(x_BTC, layer.start(B))
    torch.testing.assert_close(found_BTD, torchs(x_BTC, layer, (kernel - 1) * dilation, 0))


@SHAPES
def test_a_convolution_is_torchs_over_zeros_on_both_sides_of_the_sentence(kernel: int, dilation: int) -> None:
    layer = Convolution(inputs=C, outputs=D, kernel=kernel, dilation=dilation)
    x_BTC, length_B = drawn(B, T, C), [11, 4, 1]
    found_BTD = layer(x_BTC, torch.arange(T) < torch.tensor(length_B)[:, None])
    after = (kernel - 1) // 2 * dilation
    for row, length in enumerate(length_B):
        target_1TD = torchs(x_BTC[row : row + 1, :length], layer, (kernel - 1) * dilation - after, after)
        torch.testing.assert_close(found_BTD[row, :length], target_1TD[0])


@SHAPES
def test_windows_carry_the_past_of_rows_of_different_length(kernel: int, dilation: int) -> None:
    """Rows read on after 6, 2 and 0 of the first 6 positions say what they would have said in one go."""
    layer = CausalConvolution(inputs=C, outputs=D, kernel=kernel, dilation=dilation)
    x_BTC, length_B = drawn(B, T, C), torch.tensor([6, 2, 0])
    whole_BTD, _ = layer(x_BTC, layer.start(B))
    _, window_BPC = layer(x_BTC[:, :6], layer.start(B), length_B)
    kept_BPC = window_BPC.clone()
    rest_BTC = torch.stack([x_C[n : n + 5] for x_C, n in zip(x_BTC, length_B.tolist(), strict=True)])
    found_BTD, _ = layer(rest_BTC, window_BPC)
    for row, n in enumerate(length_B.tolist()):
        torch.testing.assert_close(found_BTD[row], whole_BTD[row, n : n + 5])
    assert torch.equal(window_BPC, kept_BPC)


def test_under_bfloat16_the_window_stays_in_full_precision() -> None:
    layer = CausalConvolution(inputs=C, outputs=D, kernel=3, dilation=2)
    with torch.autocast("cpu", torch.bfloat16):
        said_BTD, window_BPC = layer(drawn(B, T, C).bfloat16(), layer.start(B))
    assert (said_BTD.dtype, window_BPC.dtype) == (torch.bfloat16, torch.float32)
