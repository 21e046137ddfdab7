"""GELU in training beside torch's own kernel and the formula in double precision."""

import math

import pytest
import torch
import torch.nn.functional as F

from seqwright.layers import gelu
from seqwright.layers.gelu import tanh_gelu


def by_hand(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize("part", [1 << 18, 17, 5])  # as one, in whole parts, with a shorter last one
def test_value_and_gradient_are_those_of_the_formula(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gelu, "PART", part)
    drawn = torch.Generator().manual_seed(3)
    x_BTF = torch.cat(
        (torch.randn(2, 3, 16, generator=drawn) * 3, torch.tensor([0.0, 90.0, -90.0, 1e-9, -3.1, 0.7]).view(2, 3, 1)),
        -1,
    )
    weight_BTF = torch.randn(2, 3, 17, generator=drawn)
    found_BTF, double_BTF = x_BTF.clone().requires_grad_(), x_BTF.double().requires_grad_()
    value_BTF, expected_BTF = tanh_gelu(found_BTF), by_hand(double_BTF)
    torch.testing.assert_close(value_BTF, expected_BTF.float(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(value_BTF, F.gelu(x_BTF, approximate="tanh"), rtol=1e-6, atol=1e-6)
    (value_BTF * weight_BTF).sum().backward()
    (expected_BTF * weight_BTF).sum().backward()
    assert found_BTF.grad is not None
    assert double_BTF.grad is not None
    torch.testing.assert_close(found_BTF.grad, double_BTF.grad.float(), rtol=3e-6, atol=3e-6)
    assert type(value_BTF.grad_fn).__name__ == "LogisticGELUBackward"


def test_it_takes_tensors_whose_values_do_not_stand_in_a_row() -> None:
    x_BTF = torch.randn(5, 3, 2, generator=torch.Generator().manual_seed(4)).transpose(0, 2)
    found_BTF, expected_BTF = x_BTF.clone().requires_grad_(), x_BTF.double().requires_grad_()
    (tanh_gelu(found_BTF.transpose(0, 1)).transpose(0, 1) ** 2).sum().backward()
    (by_hand(expected_BTF) ** 2).sum().backward()
    assert expected_BTF.grad is not None
    torch.testing.assert_close(found_BTF.grad, expected_BTF.grad.float(), rtol=1e-5, atol=1e-5)


def test_in_other_precisions_it_is_torchs() -> None:
    x_N = torch.linspace(-4, 4, 11, dtype=torch.bfloat16, requires_grad=True)
    assert torch.equal(tanh_gelu(x_N), F.gelu(x_N, approximate="tanh"))
