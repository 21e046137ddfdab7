"""Recurrent layers: cells taken through time, forwards or both ways, and stacked.

B batch · T time · E input · D width, of both directions together where there are two
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from seqwright.layers.recurrence import HiddenState, LSTMState, RecurrentCell
from seqwright.layers.taps import Tap, View, heard_inside

LayerState: TypeAlias = tuple[HiddenState | LSTMState, ...]
"""The state of a layer's cell, or of its two: forwards, backwards."""
RecurrentState: TypeAlias = tuple[LayerState, ...]
"""The state of each layer, from the lowest."""


class VariationalDropout(nn.Module):
    """Dropout that leaves out the same values at every step of a sequence (Gal & Ghahramani 2016).

    Differs from the paper: where a text is learnt in segments, the mask is resampled for each segment.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x_BTD: Tensor) -> Tensor:
        """The sequences, each without a share of its values."""
        keep_BD = self.keep(x_BTD, x_BTD.shape[-1])
        return x_BTD if keep_BD is None else x_BTD * keep_BD.unsqueeze(1)

    def keep(self, x_BTD: Tensor, width: int) -> Tensor | None:
        """0 where a value is left out of a row, and where it stays what makes up for the others; None for all."""
        if not self.training or not self.share:
            return None
        left = 1 - self.share
        return x_BTD.new_empty(len(x_BTD), width).bernoulli_(left).div_(left)


class RecurrentLayer(nn.Module):
    """One cell taken through time, or two that go in opposite directions and are shown side by side.

    With `residual`, what the layer read is added to what it says. The tap hears what the cells say; all taps hear it in
    the order of the steps, also those of a cell that goes backwards.
    """

    def __init__(self, *cells: RecurrentCell[Any], residual: bool = False) -> None:
        super().__init__()
        self.cells = nn.ModuleList(cells)
        self.residual = residual
        self.hidden = Tap(View("hidden state", rows="steps", columns="units"))

    def start(self, batch: int) -> LayerState:
        """The state before the first step."""
        return tuple(cell.start(batch) for cell in self.directions())

    def directions(self) -> list[RecurrentCell[Any]]:
        """The cells: forwards, and backwards if there are two."""
        return [cell for cell in self.cells if isinstance(cell, RecurrentCell)]

    def forward(
        self,
        x_BTE: Tensor,
        state: LayerState,
        length_B: Tensor | None = None,
        within: VariationalDropout | None = None,
    ) -> tuple[Tensor, LayerState]:
        """What the layer says at each step, and the state of each row after its `length_B` steps (None: all)."""
        outputs, after = [], []
        for backwards, (cell, before) in enumerate(zip(self.directions(), state, strict=True)):
            keep_BD = None if within is None else within.keep(x_BTE, before.hidden_BD.shape[1])
            read_BTE = turned(x_BTE, length_B) if backwards else x_BTE
            hidden_BTD, reached = cell.scan(read_BTE, before, length_B, keep_BD)
            for heard in heard_inside(cell) if backwards and x_BTE.shape[1] else []:
                heard[-1] = turned(heard[-1], length_B)
            outputs.append(turned(hidden_BTD, length_B) if backwards else hidden_BTD)
            after.append(reached)
        hidden_BTD = self.hidden(outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1))
        return hidden_BTD + x_BTE if self.residual else hidden_BTD, tuple(after)


class Recurrent(nn.Module):
    """Layers of recurrent cells, one above the other (the highest speaks).

    `cell` makes a cell, `cell(inputs=…, width=…)`: `LSTMCell`, or `partial(DeepTransition, GRUCell, layers=2)`.
    Both directions (Schuster & Paliwal 1997) are for reading only, since the future is seen; the way back begins at
    each row's last real step. With `residual`, each layer after the first adds what it read to what it says
    (Wu et al. 2016, section 3.1). `between` is applied to what goes from a layer to the next, for example
    `nn.Dropout` (Zaremba et al. 2014), `within` to what goes from a step to the next.
    """

    def __init__(
        self,
        cell: Callable[..., RecurrentCell[Any]],
        *,
        inputs: int,
        width: int,
        layers: int = 1,
        bidirectional: bool = False,
        residual: bool = False,
        between: nn.Module | None = None,
        within: VariationalDropout | None = None,
    ) -> None:
        super().__init__()
        directions = 2 if bidirectional else 1
        self.width = directions * width
        self.layers = nn.ModuleList()
        for place in range(layers):
            reads = inputs if place == 0 else self.width
            cells = (cell(inputs=reads, width=width) for _ in range(directions))
            self.layers.append(RecurrentLayer(*cells, residual=residual and place > 0))
        self.between = nn.Identity() if between is None else between
        self.within = within

    def start(self, batch: int) -> RecurrentState:
        """The state before the first step."""
        return tuple(layer.start(batch) for layer in self.stack())

    def stack(self) -> list[RecurrentLayer]:
        """The layers from the lowest."""
        return [layer for layer in self.layers if isinstance(layer, RecurrentLayer)]

    def forward(
        self, x_BTE: Tensor, state: RecurrentState | None = None, real_BT: Tensor | None = None
    ) -> tuple[Tensor, RecurrentState]:
        """What the highest layer says at each step, and the state after it.

        Padding stands on the right. The state is that after each row's last real step, and as it was where a row is
        all padding; the output at the padding means nothing.
        """
        state = self.start(len(x_BTE)) if state is None else state
        length_B = None if real_BT is None or bool(real_BT.all()) else real_BT.sum(1)
        after = []
        for place, (layer, before) in enumerate(zip(self.stack(), state, strict=True)):
            x_BTE = self.between(x_BTE) if place else x_BTE
            x_BTE, reached = layer(x_BTE, before, length_B, self.within)
            after.append(reached)
        return x_BTE, tuple(after)

    def carried(self, carry: RecurrentState | None, fresh_B: Tensor) -> RecurrentState:
        """The state in which a batch begins that continues the one before; rows where `fresh_B` start fresh.

        No gradient flows across: back-propagation through time is cut at the border of two batches (Williams & Peng
        1990). Batches that are all fresh may have another number of rows than the one before.
        """
        start = self.start(len(fresh_B))
        if carry is None or len(carry[0][0].hidden_BD) != len(fresh_B):
            assert carry is None or bool(fresh_B.all()), "rows that continue need the rows they continue"
            return start
        fresh_B1 = fresh_B.unsqueeze(1)
        return tuple(
            tuple(_carried(old, new, fresh_B1) for old, new in zip(*layers, strict=True))
            for layers in zip(carry, start, strict=True)
        )


def turned(x_BTE: Tensor, length_B: Tensor | None) -> Tensor:
    """Each row with its `length_B` first steps in reverse (None: all); the padding stays where it is."""
    if length_B is None:
        return x_BTE.flip(1)
    step_T = torch.arange(x_BTE.shape[1], device=x_BTE.device)
    mirrored_BT = length_B.unsqueeze(1) - 1 - step_T
    source_BT = mirrored_BT.where(mirrored_BT >= 0, step_T)
    return x_BTE.gather(1, source_BT.unsqueeze(-1).expand_as(x_BTE))


def _carried(old: Any, new: Any, fresh_B1: Tensor) -> Any:
    parts = (begin_BD.where(fresh_B1, end_BD.detach()) for begin_BD, end_BD in zip(new, old, strict=True))
    return type(old)(*parts)
