"""GELU by a hyperbolic tangent, in training on a CPU without the hyperbolic tangent.

R part of the values of x, in a row
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

ONE, CUBE = 2 * math.sqrt(2 / math.pi), 2 * math.sqrt(2 / math.pi) * 0.044715
PART = 2**18  # values that a cache holds


def tanh_gelu(x: Tensor) -> Tensor:
    """½ x (1 + tanh(√(2/π) (x + 0.044715 x³))) (Hendrycks & Gimpel 2016, section 2)."""
    if x.device.type == "cpu" and x.dtype is torch.float32 and x.requires_grad and not torch.compiler.is_compiling():
        learnt: Tensor = LogisticGELU.apply(x)  # type: ignore[no-untyped-call]
        return learnt
    return F.gelu(x, approximate="tanh")


class LogisticGELU(Function):
    """The same as x σ(w), w = 2 √(2/π) (x + 0.044715 x³), for ½ (1 + tanh(w/2)) = σ(w).

        gradient = σ + x w' σ (1 - σ)

    On a CPU tanh takes three times as long as σ, and torch's kernel computes it in the backward pass again: with σ
    kept both passes take half the time. Part by part, so that what one operation writes the next finds in the cache.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """`x σ(w)`."""
        x = x.contiguous()
        gate, result = torch.empty_like(x), torch.empty_like(x)
        for x_R, gate_R, result_R in _parts(x, gate, result):
            torch.mul(x_R, x_R, out=gate_R).mul_(CUBE).add_(ONE).mul_(x_R).sigmoid_()
            torch.mul(x_R, gate_R, out=result_R)
        ctx.save_for_backward(x, gate)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """The gradient with respect to x."""
        x, gate = ctx.saved_tensors
        result = torch.empty_like(x)
        for x_R, gate_R, gradient_R, result_R in _parts(x, gate, gradient.contiguous(), result):
            torch.mul(x_R, x_R, out=result_R).mul_(3 * CUBE).add_(ONE).mul_(x_R)
            torch.ops.aten.sigmoid_backward.grad_input(result_R, gate_R, grad_input=result_R)
            result_R.add_(gate_R).mul_(gradient_R)
        return result


def _parts(*tensors: Tensor) -> Iterable[tuple[Tensor, ...]]:
    """Tensors of one size, part by part side by side."""
    if tensors[0].numel() <= PART:
        return [tensors]
    return zip(*(torch.split(tensor.view(-1), PART) for tensor in tensors), strict=True)
