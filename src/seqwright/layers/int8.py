"""Products in int8: a weight that rounds itself wherever a layer multiplies by it.

C inputs · D outputs
"""

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ModuleT = TypeVar("ModuleT", bound=nn.Module)
STEPS = 127  # to either side of zero


class Int8Weight(Tensor):
    """A matrix whose products are computed in 8 bits; for everything else it is the matrix that it was.

        y = s_x s_d Σ_c round(x_c / s_x) round(W_dc / s_d)

    Each row d has a scale of its own, fixed once; that of what it is multiplied by is found at each call, for the whole
    tensor, so that a row of a batch may come out a little otherwise beside others. So no layer need know of it.
    """

    turned: bool
    kept: dict[str, Any]  # the rounded matrix, made when it is first multiplied by; a transposed one shares it

    @staticmethod
    def __new__(cls, plain_DC: Tensor, kept: dict[str, Any] | None = None, *, turned: bool = False) -> "Int8Weight":
        """Over the same memory."""
        weight: Int8Weight = torch.Tensor._make_subclass(cls, plain_DC)
        weight.turned, weight.kept = turned, {} if kept is None else kept
        return weight

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Products by the rounded matrix, and whatever else by the plain one."""
        match func, args:
            case (F.linear, [x, Int8Weight() as weight, *bias]):
                y = weight.product(x)
                added = bias[0] if bias else (kwargs or {}).get("bias")
                return y if added is None else y + added
            case (torch.addmm, [sum_BD, x_BC, Int8Weight(turned=True) as weight]):
                return weight.product(x_BC) + sum_BD
            case (Tensor.matmul | torch.matmul, [Int8Weight(turned=False) as weight, x_CB]):
                return weight.product(x_CB.mT).mT
        with torch._C.DisableTorchFunctionSubclass():
            found = func(*args, **(kwargs or {}))
            if func == TRANSPOSED:
                return Int8Weight(found, args[0].kept, turned=not args[0].turned)
            return found

    def product(self, x: Tensor) -> Tensor:
        """X Wᵀ."""
        with torch._C.DisableTorchFunctionSubclass():
            if "packed" not in self.kept:
                self.kept["packed"] = packed(self.T if self.turned else self)
            exact = x.float().contiguous()  # the kernel takes nothing else, also where autocast narrowed x
            y: Tensor = torch.ops.quantized.linear_dynamic(exact, self.kept["packed"], reduce_range=True)
            return y.to(x.dtype)


TRANSPOSED = Tensor.T.__get__  # type: ignore[attr-defined]


def packed(weight_DC: Tensor) -> Any:
    """The rounded matrix as the kernel wants it."""
    plain_DC = weight_DC.as_subclass(Tensor).detach().contiguous()
    scale_D = plain_DC.abs().amax(1).clamp_min(torch.finfo(torch.float32).tiny * STEPS) / STEPS
    zero_D = torch.zeros_like(scale_D, dtype=torch.int64)
    with warnings.catch_warnings():  # that tensors of this kind will go; what takes their place is far slower so far
        warnings.simplefilter("ignore")
        rounded = torch.quantize_per_channel(plain_DC, scale_D.double(), zero_D, 0, torch.qint8)
        return torch.ops.quantized.linear_prepack(rounded, None)


def rounded_inside(module: nn.Module) -> bool:
    """Whether products inside a module are computed in 8 bits."""
    return any(isinstance(each, Int8Weight) for each in module.buffers())


def in_int8(model: ModuleT) -> ModuleT:
    """A copy of a model on the CPU whose products by its matrices are computed in 8 bits."""
    found = copy.deepcopy(model)
    weights: dict[Tensor, Int8Weight] = {}
    for module in found.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter.dim() == 2 and parameter.dtype is torch.float32:
                weight = weights.setdefault(parameter, Int8Weight(parameter.detach()))  # tied ones stay tied
                delattr(module, name)
                module.register_buffer(name, weight, persistent=False)
    return found
