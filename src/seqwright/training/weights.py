"""The tensors of a module by name, each once however often it is shared."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class Resamples(Protocol):
    """A part of a model that can make a tensor of its own size from one of another: positions on another grid."""

    def resampled(self, name: str, given: Tensor) -> Tensor | None:
        """Its tensor of that name, as another model's says it; None where that cannot be."""


BODY = "body."
OF_TOKENS = ("tokens.weight", "embedding.weight", "bias_V")  # what has a row for each token
BLOCK = re.compile(r"(.*blocks\.)(\d+)(\..*)")


@torch.no_grad()
def transferred(source: nn.Module, target: nn.Module, where: str, blocks: Sequence[int] | None = None) -> list[str]:
    """Copy into a module what another one has learnt, tensor by tensor; what became of the rest, a sentence each.

    A tensor is the same if it has the same name; the whole of a language model, or the body of a model with a head,
    may become the `body` of another. All of a body must be found; an output for other classes is new. Where the target
    knows more tokens than the source, the rows of the new ones stay as they are; what it can resample, it does.
    `blocks` are those of the source that become the target's, in order.
    """
    found, own = unique_tensors(source), unique_tensors(target)
    if blocks is not None:
        found = _chosen_blocks(found, blocks, where)
    left, headed = set(found), any(name.startswith(BODY) for name in own)
    new, other_sizes = list[str](), list[str]()
    for name, tensor in own.items():
        theirs = next((each for each in (name, name.removeprefix(BODY), BODY + name) if each in found), None)
        if theirs is None:
            new.append(name)
            continue
        given = found[theirs]
        grown = name.endswith(OF_TOKENS) and given.shape[1:] == tensor.shape[1:] and len(given) < len(tensor)
        if given.shape == tensor.shape:
            tensor.copy_(given)
        elif grown:
            tensor[: len(given)].copy_(given)
        elif (resampled := _resampled(target, name, given)) is not None:
            tensor.copy_(resampled)
            other_sizes.append(f"{name} from {_size(given)} to {_size(tensor)}")
        elif headed and not name.startswith(BODY):  # an output for other classes
            new.append(name)
            continue
        else:
            raise RunError(
                f"{theirs} of {where} is {tuple(given.shape)}, but {name} must be {tuple(tensor.shape)}; leave the "
                "sizes out of [model], so that they are taken from there"
            )
        left.discard(theirs)
    lacking = [name for name in new if name.startswith(BODY)]
    if lacking or len(new) == len(own):
        raise RunError(f"{where} lacks {_some(lacking or new)}; it is of another model: start from one of the same")
    notes = [f"weights from {where}: {len(own) - len(new)} tensors"]
    notes += [f"resampled: {_some(other_sizes)}"] if other_sizes else []
    notes += [f"randomly initialised: {_some(new)}"] if new else []
    return notes + ([f"not used: {_some(sorted(left))}"] if left else [])


def _resampled(target: nn.Module, name: str, given: Tensor) -> Tensor | None:
    owner, _, part = name.rpartition(".")
    module = target.get_submodule(owner)
    return module.resampled(part, given) if isinstance(module, Resamples) else None


def _size(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape))


def _chosen_blocks(tensors: Mapping[str, Tensor], blocks: Sequence[int], where: str) -> dict[str, Tensor]:
    """Tensors of some blocks only, and of what is in none; the blocks renumbered in the order asked for."""
    place = {block: number for number, block in enumerate(blocks)}
    split = {name: BLOCK.fullmatch(name) for name in tensors}
    there = {int(found[2]) for found in split.values() if found}
    if not there >= set(blocks):
        raise RunError(
            f"model.init_layers is {list(blocks)}, but the blocks of {where} are 0 to {max(there)}"
            if there
            else f"model.init_layers is given, but {where} has no blocks to choose from; leave it out"
        )
    kept: dict[str, Tensor] = {}
    for name, found in split.items():
        if found is None:
            kept[name] = tensors[name]
        elif int(found[2]) in place:
            kept[f"{found[1]}{place[int(found[2])]}{found[3]}"] = tensors[name]
    return kept


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
