"""Dropout: how much is left out, what makes up for it, and that the seed decides."""

import pytest
import torch

from seqwright.layers.dropout import Dropout


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.9])
def test_the_share_is_left_out_and_made_up_for(share: float) -> None:
    torch.manual_seed(1)
    y = Dropout(share)(torch.ones(1009, 499))
    left_out = (y == 0).double().mean().item()
    assert left_out == pytest.approx(share, abs=5 * (share * (1 - share) / y.numel()) ** 0.5)
    assert y[y != 0].unique().tolist() == pytest.approx([1 / (1 - share)], rel=1e-3)
    assert y.double().mean().item() == pytest.approx(1.0, abs=0.02)


def test_every_place_has_its_own_chance() -> None:
    """Four values come from one random number: none of the four may be left out more often, or with another."""
    torch.manual_seed(2)
    dropped = (Dropout(0.3)(torch.ones(200_000, 4)) == 0).double()
    assert dropped.mean(0).tolist() == pytest.approx([0.3] * 4, abs=0.006)
    assert torch.corrcoef(dropped.T).fill_diagonal_(0).abs().max().item() < 0.01


def test_the_seed_decides_and_evaluation_leaves_all() -> None:
    x, layer = torch.randn(7, 5, 3), Dropout(0.4)
    torch.manual_seed(3)
    first = layer(x)
    torch.manual_seed(3)
    assert torch.equal(layer(x), first)
    assert not torch.equal(layer(x), first)
    assert layer.eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_gradient_goes_where_the_value_went() -> None:
    x = torch.randn(11, 13, requires_grad=True)
    torch.manual_seed(4)
    y = Dropout(0.25)(x)
    torch.autograd.backward(y.sum())
    assert x.grad is not None
    torch.testing.assert_close(x.grad * x.detach(), y.detach())
