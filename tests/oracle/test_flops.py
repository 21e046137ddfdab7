"""The counter of floating-point operations against layers counted by hand, forwards and on the way back.

A product of T×K with K×S takes 2·T·K·S; its way back takes as much for the gradient of either factor.
"""

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.comparison.flops import flops_of
from seqwright.layers import linear as linears
from seqwright.layers import prepared
from seqwright.layers.attention import Attention
from seqwright.layers.recurrence import GRUCell, LSTMCell, RNNCell
from seqwright.layers.scanning import Recurrent

B, T, S, E, D, H, K = 3, 7, 5, 13, 11, 2, 17


def both_ways(compute: Callable[[Tensor], Tensor], x: Tensor) -> tuple[int, int]:
    """The operations forwards, and of the way back alone."""
    forwards = flops_of(lambda: compute(x))
    return forwards, flops_of(lambda: compute(x).sum().backward()) - forwards


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, requires_grad=True)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_a_linear_layer(precision: torch.dtype) -> None:
    layer = nn.Linear(E, D)

    def compute(x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
            y: Tensor = layer(x)
            return y

    product = 2 * B * T * E * D
    assert both_ways(compute, leaf(B, T, E)) == (product, 2 * product)


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch has no oneDNN here")
def test_a_linear_layer_that_is_left_to_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linears, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(linears, "WORTH", 1)
    forwards = 2 * B * T * E * D
    assert both_ways(linears.Linear(E, D), leaf(B, T, E)) == (forwards, 2 * forwards)
    monkeypatch.setattr(prepared, "LARGE", 1)
    packed = prepared.PackedLinear(torch.randn(D, E), torch.randn(D))
    assert packed.packed is not None
    with torch.no_grad():
        assert flops_of(lambda: packed(torch.randn(B, T, E))) == forwards


def test_a_fused_lstm_and_one_that_steps_count_the_same_forwards() -> None:
    layer = Recurrent(LSTMCell, inputs=E, width=D)
    every_step = 2 * B * T * 4 * D * (E + D)
    assert both_ways(lambda x: layer(x, layer.start(B))[0], leaf(B, T, E)) == (every_step, 2 * every_step)
    cell = LSTMCell(inputs=E, width=D)

    def stepping(x: Tensor) -> Tensor:
        state, said = cell.start(B), []
        for t in range(T):
            state = cell(x[:, t], state)
            said.append(state.hidden_BD)
        return torch.stack(said)

    forwards, backwards = both_ways(stepping, leaf(B, T, E))
    assert forwards == every_step
    assert backwards == 2 * every_step - 2 * B * 4 * D * D  # nobody asks for the gradient of the first state


@pytest.mark.parametrize(("cell", "gates"), [(GRUCell, 3), (RNNCell, 1)])
def test_other_recurrent_layers(cell: type[GRUCell | RNNCell], gates: int) -> None:
    layer = Recurrent(cell, inputs=E, width=D)
    of_input, of_state = 2 * B * T * gates * D * E, 2 * B * gates * D * D
    forwards, backwards = both_ways(lambda x: layer(x, layer.start(B))[0], leaf(B, T, E))
    assert forwards == of_input + T * of_state
    assert backwards == 2 * of_input + (2 * T - 1) * of_state


@pytest.mark.parametrize("hidden", [False, True])
def test_the_fused_kernel_of_attention(hidden: bool) -> None:
    k, v = leaf(B, H, S, K), leaf(B, H, S, K)
    allowed = torch.ones(T, S, dtype=torch.bool) if hidden else None
    scores = reading = 2 * B * H * T * S * K
    found = both_ways(lambda q: F.scaled_dot_product_attention(q, k, v, attn_mask=allowed), leaf(B, H, T, K))
    assert found == (scores + reading, 5 * scores)  # the kernel computes the scores again


def test_a_layer_of_attention_with_its_projections() -> None:
    layer = Attention(width=H * K, heads=H)
    memory = leaf(B, S, H * K)
    projections = 2 * B * (T + S + S + T) * (H * K) ** 2
    product = 2 * B * H * T * S * K
    assert both_ways(lambda x: layer(x, memory), leaf(B, T, H * K)) == (
        projections + 2 * product,
        2 * projections + 5 * product,
    )


@pytest.mark.parametrize(("groups", "dilation"), [(1, 1), (1, 2)])
def test_a_convolution(groups: int, dilation: int) -> None:
    layer = nn.Conv1d(E, D, 3, groups=groups, dilation=dilation)
    said = T - 2 * dilation
    product = 2 * B * said * D * E * 3
    assert both_ways(layer, leaf(B, E, T)) == (product, 2 * product)


def test_products_with_vectors_and_those_einsum_makes() -> None:
    v = leaf(K)
    assert flops_of(lambda: leaf(T, K) @ v) == 2 * T * K
    assert flops_of(lambda: v @ v) == 2 * K
    assert flops_of(lambda: torch.addmv(torch.zeros(T), leaf(T, K), v)) == 2 * T * K
    assert flops_of(lambda: torch.addbmm(torch.zeros(T, S), leaf(B, T, K), leaf(B, K, S))) == 2 * B * T * K * S
    scores = partial(torch.einsum, "bthk,bshk->bhts", leaf(B, T, H, K))
    assert both_ways(scores, leaf(B, S, H, K)) == (2 * B * H * T * S * K, 2 * 2 * B * H * T * S * K)


def test_what_is_done_value_by_value_is_not_counted() -> None:
    assert flops_of(lambda: nn.LayerNorm(E)(leaf(B, E)).tanh().sum().backward()) == 0
