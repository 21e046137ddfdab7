"""The norm of all gradients is that of one long vector, and does not depend on the order of the tensors."""

import random

import pytest
import torch

from seqwright.training.optimizer import total_norm


def gradients(count: int = 60) -> list[torch.Tensor]:
    drawn = torch.Generator().manual_seed(7)
    return [torch.randn(1 + n % 5, 3, generator=drawn) * 10 ** (n % 7 - 3) for n in range(count)]


def test_it_is_the_norm_of_one_long_vector() -> None:
    some = gradients()
    assert float(total_norm(some)) == pytest.approx(float(torch.cat([g.flatten() for g in some]).double().norm()))


def test_no_order_of_the_tensors_changes_a_bit_of_it() -> None:
    some, shuffle = gradients(), random.Random(1)
    orders = [shuffle.sample(some, len(some)) for _ in range(50)]
    assert len({float(torch.nn.utils.get_total_norm(order)) for order in orders}) > 1  # these could be told apart
    assert len({float(total_norm(order)) for order in orders}) == 1


def test_a_gradient_that_is_not_a_number_is_not_lost() -> None:
    assert not torch.isfinite(total_norm([*gradients(), torch.tensor([float("nan")])]))
    assert not torch.isfinite(total_norm([torch.tensor([float("inf")]), *gradients()]))


def test_without_gradients_it_is_zero() -> None:
    assert float(total_norm([])) == 0.0
