"""Taps: places inside a layer where one may listen without changing what flows through."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from torch import Tensor, nn


class View(NamedTuple):
    """What a picture of a tap shows: the name of the picture, and what stands along its rows and its columns.

    These are the last two axes of the tensor; between them and the batch there may be heads. An axis is named after
    the tokens of the batch that stand along it (`source`, `input`, `target`), or after whatever else is numbered
    there (`experts`). Taps of one view are the layers of one picture. What has `units` along its columns is what a
    recurrent layer does, and is drawn over the text that it reads.
    """

    name: str
    rows: str
    columns: str


class Tap(nn.Module):
    """The identity. Inside `with listen(model)` it also records what passes; a tap that has a `view` can be drawn.

    A layer that would not compute the tensor otherwise asks `tap.listening` first, so that the fused kernel
    serves whenever nobody listens.
    """

    def __init__(self, view: View | None = None) -> None:
        super().__init__()
        self.view = view
        self.heard: list[Tensor] | None = None

    @property
    def listening(self) -> bool:
        """Whether somebody listens now."""
        return self.heard is not None

    def forward(self, x: Tensor) -> Tensor:
        """`x` itself."""
        if self.heard is not None:
            self.heard.append(x.detach())
        return x


@contextmanager
def listen(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Everything that passes the model's taps, by the tap's name, in the order in which it passed.

    with listen(model) as heard:
        model(batch)
    heard["decoder.0.source_attention.weights"]  # one tensor per call
    """
    taps = {name: module for name, module in model.named_modules() if isinstance(module, Tap)}
    heard: dict[str, list[Tensor]] = defaultdict(list)
    for name, tap in taps.items():
        tap.heard = heard[name]
    try:
        yield heard
    finally:
        for tap in taps.values():
            tap.heard = None


def heard_inside(module: nn.Module) -> list[list[Tensor]]:
    """What each tap inside a module has heard so far; nothing where nobody listens."""
    return [each.heard for each in module.modules() if isinstance(each, Tap) and each.heard is not None]


def views(model: nn.Module) -> dict[View, list[str]]:
    """What of a model can be drawn: each view with the names of its taps, in the order of the layers."""
    found: dict[View, list[str]] = {}
    for name, module in model.named_modules():
        if isinstance(module, Tap) and module.view is not None:
            found.setdefault(module.view, []).append(name)
    return found
