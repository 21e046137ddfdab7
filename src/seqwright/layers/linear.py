"""Linear maps, by the faster of the two libraries that torch has for them.

N vectors, in any number of axes · C inputs · D outputs
"""

from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function
from torch.overrides import has_torch_function

WORTH = 1 << 20  # multiplications from which calling oneDNN pays
PROCESSOR, INTEL = Path("/proc/cpuinfo"), "GenuineIntel"


class Linear(nn.Linear):
    """x Wᵀ + b for each vector x."""

    def forward(self, x_NC: Tensor) -> Tensor:
        """The outputs."""
        return linear_map(x_NC, self.weight, self.bias)


def linear_map(x_NC: Tensor, weight_DC: Tensor, bias_D: Tensor | None = None) -> Tensor:
    """`F.linear`; large products of float32 on a CPU are left to oneDNN, wherever MKL does not know the processor.

    Torch multiplies float32 by MKL, which uses the widest instructions on Intel's processors alone: on others with
    AVX-512 oneDNN takes less than half the time.
    """
    if not (
        x_NC.numel() * len(weight_DC) >= WORTH
        and x_NC.ndim > 1
        and x_NC.dtype is weight_DC.dtype is torch.float32
        and x_NC.device.type == "cpu"
        and onednn_is_faster()
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and not torch._C._are_functorch_transforms_active()
        and not has_torch_function((x_NC, weight_DC))
    ):
        return F.linear(x_NC, weight_DC, bias_D)
    if not torch.is_grad_enabled():
        return product(x_NC, weight_DC, bias_D)
    y_ND: Tensor = OneDNNLinear.apply(x_NC, weight_DC, bias_D)  # type: ignore[no-untyped-call]
    return y_ND


class OneDNNLinear(Function):
    """The product with its gradients: of x, G W; of W, Gᵀ x; of b, the sum of G."""

    @staticmethod
    def forward(ctx: Any, x_NC: Tensor, weight_DC: Tensor, bias_D: Tensor | None) -> Tensor:
        """The outputs."""
        ctx.save_for_backward(x_NC, weight_DC)
        return product(x_NC, weight_DC, bias_D)

    @staticmethod
    def backward(ctx: Any, grad_ND: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Itself made of linear maps, so that gradients of gradients are to be had."""
        x_NC, weight_DC = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        grad_MD = grad_ND.flatten(0, -2)
        return (
            linear_map(grad_ND, weight_DC.T) if of_x else None,
            linear_map(grad_MD.T, x_NC.flatten(0, -2).T) if of_weight else None,
            grad_MD.sum(0) if of_bias else None,
        )


def product(x_NC: Tensor, weight_DC: Tensor, bias_D: Tensor | None, then: str = "none") -> Tensor:
    """The same by oneDNN, which torch's own compiler calls like this; the weight may be packed for it.

    `then` is what becomes of the outputs on the way, such as "relu".
    """
    y_ND: Tensor = torch.ops.mkldnn._linear_pointwise(x_NC, weight_DC, bias_D, then, [], "")
    return y_ND


@cache
def onednn_is_faster() -> bool:
    """Whether this is an x86 processor of another maker than Intel, and this build of torch has both libraries."""
    if not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()):  # type: ignore[no-untyped-call]
        return False
    try:
        known = INTEL not in PROCESSOR.read_text(encoding="utf-8")
        product(torch.zeros(1, 1), torch.zeros(1, 1), None)
    except (OSError, AttributeError, RuntimeError):
        return False
    return known
