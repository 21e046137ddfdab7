"""What layers cost: counted by hand where that is exact, and that the measurement keeps to its sizes and its time."""

import math
import time

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from seqwright.comparison import complexity
from seqwright.comparison.complexity import (
    FITTED,
    Point,
    ScannedCell,
    SelfAttention,
    exponent,
    exponents,
    kept_bytes,
    kinds,
    layers_across,
    measured_layers,
)

N, D, K = 11, 7, 3


def test_an_exponent_is_that_of_the_power() -> None:
    sizes = [3, 5, 11, 23, 47]
    assert exponent(sizes, [7 * size**1.5 for size in sizes]) == pytest.approx(1.5)
    disturbed = [1e6, 1e6, *(size**2.0 for size in sizes[-FITTED:])]
    assert exponent(sizes, disturbed) == pytest.approx(2.0)


def test_the_fit_is_that_of_least_squares() -> None:
    x, y = [math.log(2), math.log(4), math.log(8)], [math.log(3), math.log(7), math.log(30)]
    middle_x, middle_y = sum(x) / 3, sum(y) / 3
    slope = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    slope /= sum((a - middle_x) ** 2 for a in x)
    assert exponent([2, 4, 8], [3, 7, 30]) == pytest.approx(slope)


def test_what_is_kept_is_counted_to_the_byte() -> None:
    layer = nn.Sequential(nn.Linear(D, 5), nn.Sigmoid(), nn.Linear(5, 2), nn.Tanh())
    x = torch.randn(1, N, D, requires_grad=True)
    # Of linear layers their input, of the others their output, which is the next input: x, σ, tanh.
    assert kept_bytes(layer, x, list(layer.parameters())) == 4 * N * (D + 5 + 2)


def test_the_same_tensor_is_kept_once() -> None:
    x = torch.randn(N, requires_grad=True)
    assert kept_bytes(lambda x: x * x + x.sin() * x.cos(), x, []) == 4 * 3 * N  # x, its sine, its cosine


def test_only_kept_weights_take_memory_of_the_square() -> None:
    attention, kept = kinds(K)[:2]
    sizes = {}
    for kind in (attention, kept):
        layer = kind.build(D)
        for n in (N, 2 * N):
            x = torch.randn(1, n, D, requires_grad=True)
            sizes[kind.name, n] = kept_bytes(layer, x, list(layer.parameters()))
    assert sizes[attention.name, 2 * N] == 2 * sizes[attention.name, N]
    grown, linear = sizes[kept.name, 2 * N] - 2 * sizes[kept.name, N], 4 * N * N
    assert grown == 2 * linear  # 4 (2n)² - 2 · 4 n²


def test_the_operations_are_those_that_torch_counts() -> None:
    """Torch counts no fused kernel, so that each layer is computed in its plain way, which multiplies as often."""
    x = torch.randn(1, N, D)
    for kind in kinds(K):
        layer = kind.build(D)
        with FlopCounterMode(display=False) as counter:
            if isinstance(layer, ScannedCell):
                layer.cell.stepped(x, layer.cell.start(1))
            elif isinstance(layer, SelfAttention):
                layer.kept = True
                layer(x)
            else:
                layer(x)
        assert counter.get_total_flops() == 2 * kind.operations(N, D), kind.name


@pytest.mark.parametrize(("length", "kernel"), [(1, 3), (2, 3), (9, 3), (10, 3), (2048, 2), (100, 10), (101, 10)])
def test_so_many_dilated_layers_reach_across(length: int, kernel: int) -> None:
    reach, layers = 1, 0
    while reach < length:  # each layer reads `kernel` places, as far apart as the one below reaches
        reach += (kernel - 1) * reach
        layers += 1
    assert layers_across(length, kernel) == layers


def test_every_layer_is_measured_at_every_size_and_threads_stay() -> None:
    threads = torch.get_num_threads()
    shares: list[float] = []
    began = time.monotonic()
    points = measured_layers([5, 11], [3, 7], seconds=0.01, progress=shares.append)
    assert time.monotonic() - began < 20
    assert torch.get_num_threads() == threads
    assert shares[-1] == 1.0
    assert {(p.length, p.width) for p in points} == {(5, 3), (11, 3), (11, 7)}
    assert len(points) == 3 * len(kinds(K))
    assert all(point.seconds > 0 and point.bytes > 0 and point.rounds == 1 for point in points)


def test_the_way_back_takes_time_too() -> None:
    alone, both = (
        sum(p.seconds for p in measured_layers([17, 31], [13], seconds=0.01, backward=backward))
        for backward in (False, True)
    )
    assert both > 1.3 * alone


def test_the_exponents_of_a_made_up_measurement_are_found() -> None:
    lengths, widths = [4, 8, 16], [2, 6]
    sizes = [(n, 2) for n in lengths] + [(16, 6)]
    points = [Point(kind.name, n, d, n**1.7 * d**0.9, n**3 * d, 1) for kind in kinds(K) for n, d in sizes]
    found = {(each.kind, each.size): each for each in exponents(points, lengths, widths, K)}
    by_length, by_width = found["self-attention", "length"], found["self-attention", "width"]
    assert (by_length.time_measured, by_width.time_measured) == pytest.approx((1.7, 0.9))
    assert (by_length.memory_measured, by_width.memory_measured) == pytest.approx((3.0, 1.0))
    assert (by_length.time_expected, by_width.time_expected) == pytest.approx((2.0, 1.0))
    assert 1 < by_length.time_counted < 2
    assert 1 < by_width.time_counted < 2
    convolution = found["convolution", "width"]
    assert (convolution.time_expected, convolution.time_counted) == pytest.approx((2.0, 2.0))
    assert {each.size for each in exponents(points, lengths, [2], K)} == {"length"}


def test_the_rounds_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complexity, "ROUNDS", 4)
    assert {point.rounds for point in measured_layers([2, 3], [2], seconds=600)} == {4}
