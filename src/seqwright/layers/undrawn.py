"""Models whose weights come from elsewhere, built without drawing any."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

DRAWING = {
    *(Tensor.normal_, Tensor.uniform_),
    *(nn.init.normal_, nn.init.uniform_, nn.init.kaiming_normal_, nn.init.kaiming_uniform_),
}


class Undrawn(TorchFunctionMode):
    """Inside, a weight that would be drawn stays whatever memory held, for it is about to be loaded."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """What a call gives."""
        given = kwargs or {}
        if func in DRAWING:
            return args[0] if args else given["tensor"]
        return func(*args, **{"device": "cpu"} | given) if func is torch.arange else func(*args, **given)


@contextmanager
def without_memory() -> Iterator[None]:
    """Inside, models are built that have shapes and no numbers.

    Nothing is drawn or counted up there either: for tensors without numbers torch does both by way of its compiler,
    whose import takes longer than a translation.
    """
    with torch.device("meta"), Undrawn():
        yield
