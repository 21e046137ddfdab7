"""Taps: places inside a layer where one may listen without changing what flows through."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn


class Tap(nn.Module):
    """The identity. Inside `with listen(model)` it also records what passes.

    A layer that would not compute the tensor otherwise asks `tap.listening` first, so that the fused kernel
    serves whenever nobody listens.
    """

    def __init__(self) -> None:
        super().__init__()
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
