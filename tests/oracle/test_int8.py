"""Products in int8 beside the same rounding written out, in double precision."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright import devices
from seqwright.errors import SettingError
from seqwright.layers.int8 import Int8Weight, in_int8

B, T, C, D = 3, 5, 23, 17

pytestmark = pytest.mark.skipif(not devices.computes_int8(torch.device("cpu")), reason="no kernels for int8 here")


def rounded_product(x: Tensor, weight_DC: Tensor) -> Tensor:
    """The product, with 255 steps for each row of W, and of x 128 from its smallest value to its largest or 0."""
    scale_D1 = weight_DC.double().abs().amax(1, keepdim=True) / 127
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    scale = (high - low) / 127
    zero = round(-low / scale)
    steps = ((x.double() / scale).round() + zero).clamp(0, 127) - zero
    return (steps * scale) @ ((weight_DC.double() / scale_D1).round() * scale_D1).T


@pytest.fixture
def weight_DC() -> Tensor:
    return torch.randn(D, C, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def x_BTC() -> Tensor:
    return torch.randn(B, T, C, generator=torch.Generator().manual_seed(2))


@torch.inference_mode()
def test_products_are_rounded_as_it_is_written(weight_DC: Tensor, x_BTC: Tensor) -> None:
    rounded_DC, bias_D, sum_BD = Int8Weight(weight_DC), torch.randn(D), torch.randn(B, D)
    target_BTD, x_BC = rounded_product(x_BTC, weight_DC), x_BTC[:, 0].contiguous()
    torch.testing.assert_close(F.linear(x_BTC, rounded_DC).double(), target_BTD, atol=1e-4, rtol=0)
    torch.testing.assert_close(F.linear(x_BTC, rounded_DC, bias_D).double(), target_BTD + bias_D, atol=1e-4, rtol=0)
    of_one_BD = rounded_product(x_BC, weight_DC)
    torch.testing.assert_close(torch.addmm(sum_BD, x_BC, rounded_DC.T).double(), of_one_BD + sum_BD, atol=1e-4, rtol=0)
    torch.testing.assert_close((rounded_DC @ x_BC.T).T.double(), of_one_BD, atol=1e-4, rtol=0)
    assert (target_BTD - x_BTC.double() @ weight_DC.double().T).abs().max() > 1e-3  # the rounding shows


@torch.inference_mode()
def test_for_everything_else_it_is_the_matrix_that_it_was(weight_DC: Tensor) -> None:
    rounded_DC, token_BT = Int8Weight(weight_DC), torch.tensor([[3, 0], [16, 2]])
    assert torch.equal(F.embedding(token_BT, rounded_DC), weight_DC[token_BT])
    assert torch.equal(rounded_DC.T.T, weight_DC)
    assert torch.equal(torch.cat((rounded_DC, weight_DC)), torch.cat((weight_DC, weight_DC)))
    assert type(rounded_DC + 1) is Tensor


def test_a_matrix_that_is_tied_is_rounded_once_and_the_model_stays_as_it_was(weight_DC: Tensor) -> None:
    model = nn.Sequential(nn.Embedding(D, C), nn.Linear(C, D))
    model[1].weight = model[0].weight
    rounded = in_int8(model)
    assert rounded[0].weight is rounded[1].weight
    assert isinstance(rounded[0].weight, Int8Weight)
    assert isinstance(model[0].weight, nn.Parameter)
    before = model[0].weight.clone()
    rounded[0].weight.zero_()
    assert torch.equal(model[0].weight, before)


def test_elsewhere_than_on_x86_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "computes_int8", lambda device: False)
    with pytest.raises(SettingError, match="int8 is computed on x86 processors"):
        devices.in_precision(nn.Linear(C, D), "int8")
