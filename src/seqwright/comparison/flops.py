"""How many floating-point operations a computation takes, counted from the graph that is really computed.

A multiplication and an addition are two. What counts are the products of matrices and the convolutions, on the way
forward and on the way back; what is done value by value (activations, norms, the optimizer) is left out, as is usual.
Torch's own counter knows most of them; what it misses of a computation on a CPU is told it here.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

Shape = Sequence[int]
aten = torch.ops.aten


def flops_of(compute: Callable[[], object]) -> int:
    """The operations of everything that is computed in a call, also of a backward pass in it."""
    with FlopCounterMode(display=False, custom_mapping=MISSED) as counter:
        compute()
    return int(counter.get_total_flops())


# Each formula is given the arguments of the kernel, shapes in place of tensors.


def _fused_lstm(x_TBE: Shape, input_GE: Shape, hidden_GD: Shape, *_: Any, out_shape: Any = None, **__: Any) -> int:
    """Every step multiplies the input and the hidden state of every row with the weights of all gates."""
    return 2 * x_TBE[0] * x_TBE[1] * (math.prod(input_GE) + math.prod(hidden_GD))


def _fused_lstm_backward(*shapes: Any, out_shape: Any = None, **_: Any) -> int:
    """For each product of the way forward two: the gradient of either factor."""
    return 2 * _fused_lstm(*shapes)


def _attention(q_BHTK: Shape, k_BHSK: Shape, v_BHSK: Shape, *_: Any, out_shape: Any = None, **__: Any) -> int:
    return int(sdpa_flop_count(q_BHTK, k_BHSK, v_BHSK))  # type: ignore[no-untyped-call]


def _attention_backward(
    gradient_BHTK: Shape, q_BHTK: Shape, k_BHSK: Shape, v_BHSK: Shape, *_: Any, out_shape: Any = None, **__: Any
) -> int:
    """Five products: the scores, which the kernel did not keep, and the gradients of scores, values, queries, keys."""
    shapes = (gradient_BHTK, q_BHTK, k_BHSK, v_BHSK)
    return int(sdpa_backward_flop_count(*shapes))  # type: ignore[no-untyped-call]


def _linear(x_NC: Shape, _weight: Any, *_: Any, out_shape: Shape = (), **__: Any) -> int:
    """Of a weight that is packed for the kernel no shape is known, but that of the outputs is."""
    return 2 * math.prod(x_NC) * out_shape[-1]


def _matrix_with_vector(matrix: Shape, *_: Any, out_shape: Any = None, **__: Any) -> int:
    return 2 * math.prod(matrix)


def _added_matrix_with_vector(_added: Shape, matrix: Shape, *_: Any, out_shape: Any = None, **__: Any) -> int:
    return 2 * math.prod(matrix)


def _added_batch(_added: Shape, one_BTK: Shape, other_BKS: Shape, *_: Any, out_shape: Any = None, **__: Any) -> int:
    return 2 * math.prod(one_BTK) * other_BKS[-1]


MISSED: dict[Any, Callable[..., int]] = {
    aten.mkldnn_rnn_layer: _fused_lstm,
    aten.mkldnn_rnn_layer_backward: _fused_lstm_backward,
    aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
    aten.mv: _matrix_with_vector,
    aten.dot: _matrix_with_vector,
    aten.addmv: _added_matrix_with_vector,
    aten.addbmm: _added_batch,
}
if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
    MISSED[torch.ops.mkldnn._linear_pointwise] = _linear
