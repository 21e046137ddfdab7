"""What a layer wants to be small beside the loss of the task: a place where it says so, and where one may ask."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn


class SideLosses(nn.Module):
    """Keeps, inside `with collected(model)` and only there, what its layer notes: tensors with a gradient, by name.

    Usually they are scalars; what has to be weighed by the loss of each row has a number for each row. As with a tap, a
    layer asks `asked` first where it would not compute them otherwise. `names` are what it notes.
    """

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names
        self.noted: dict[str, list[Tensor]] | None = None

    @property
    def asked(self) -> bool:
        """Whether somebody collects now."""
        return self.noted is not None

    def note(self, **losses: Tensor) -> None:
        """Remember losses, if somebody collects."""
        if self.noted is not None:
            for name, loss in losses.items():
                self.noted[name].append(loss)


def side_losses(model: nn.Module) -> list[SideLosses]:
    """The places of a model where a layer has something to say beside the task."""
    return [module for module in model.modules() if isinstance(module, SideLosses)]


def may_note(model: nn.Module, name: str) -> bool:
    """Whether a layer of the model notes something of that name."""
    return any(name in place.names for place in side_losses(model))


@contextmanager
def collected(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """What all layers note, by name, one tensor for each call of a layer.

    with collected(model) as noted:
        model(batch, carry)
    sum(noted["importance"])
    """
    places = side_losses(model)
    noted: dict[str, list[Tensor]] = defaultdict(list)
    for place in places:
        place.noted = noted
    try:
        yield noted
    finally:
        for place in places:
            place.noted = None
