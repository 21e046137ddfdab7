"""What flows from batch to batch, as tensors that a checkpoint can hold."""

from typing import Any

from torch import Tensor


def enumerate_tensors(carry: Any) -> list[tuple[str, Tensor]]:
    """The tensors of a nested tuple in a fixed order, numbered."""

    def leaves(part: Any) -> list[Tensor]:
        if part is None:
            return []
        return [part] if isinstance(part, Tensor) else [leaf for inner in part for leaf in leaves(inner)]

    return [(f"{index:04d}", tensor) for index, tensor in enumerate(leaves(carry))]


def refilled(template: Any, tensors: Any) -> Any:
    """A nested tuple of the template's form, with other tensors in the same order."""
    if template is None:
        return None
    if isinstance(template, Tensor):
        return next(tensors).to(template.device, copy=True)
    inner = [refilled(part, tensors) for part in template]
    return type(template)(*inner) if hasattr(template, "_fields") else tuple(inner)
