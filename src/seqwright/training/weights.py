"""The tensors of a module by name, each once however often it is shared."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from seqwright.errors import RunError


def unique_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and saved buffers under their first name; tied weights appear once."""
    first: dict[int, str] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        first.setdefault(id(tensor), name)
    kept = set(first.values())
    return {name: tensor for name, tensor in module.state_dict().items() if name in kept}


@torch.no_grad()
def load_tensors(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors into a module; every one of the module's must be there, and no other.

    Parameters must have the module's shape. A buffer may be as long as the data made it: what was counted is.
    """
    own, learnt = unique_tensors(module), dict(module.named_parameters())
    for what, names in (("lacks", own.keys() - tensors.keys()), ("has the unknown", tensors.keys() - own.keys())):
        if names:
            raise RunError(f"the checkpoint {what} {', '.join(sorted(names)[:5])}; it is of another model")
    for name, tensor in own.items():
        if tensor.shape != tensors[name].shape and name not in learnt and tensor.dim() == tensors[name].dim():
            owner, _, buffer = name.rpartition(".")
            setattr(module.get_submodule(owner), buffer, tensors[name].to(tensor.device, tensor.dtype, copy=True))
        elif tensor.shape != tensors[name].shape:
            raise RunError(
                f"the checkpoint's {name} is {tuple(tensors[name].shape)}, the model's {tuple(tensor.shape)}"
            )
        else:
            tensor.copy_(tensors[name])
