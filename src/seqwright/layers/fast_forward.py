"""Recurrent layers with fast-forward connections (Zhou et al. 2016, section 3.1).

B batch · T time · E input · D width · G the gates of a cell and its target side by side, D each
"""

from typing import Any

import torch
from torch import Tensor, nn

from seqwright.layers.recurrence import RecurrentCell
from seqwright.layers.scanning import turned
from seqwright.layers.taps import Tap, View, heard_inside


class FastForwardLayer(nn.Module):
    """A cell that also hands on what it was given, before anything recurrent or nonlinear happened to it.

        f_t = W_f x_t        h_t = cell(f_t, h_{t-1})

    x_t is [Half(f_t); h_t] of the layer below, so a path of linear layers leads through the whole stack. With
    `backwards` the cell goes from the last step to the first.
    """

    def __init__(self, cell: RecurrentCell[Any], *, backwards: bool = False) -> None:
        super().__init__()
        self.cell, self.backwards = cell, backwards
        self.hidden = Tap(View("hidden state", rows="steps", columns="units"))

    def start(self, batch: int) -> Any:
        """The state before the first step."""
        return self.cell.start(batch)

    def forward(self, x_BTE: Tensor, state: Any, length_B: Tensor | None) -> tuple[Tensor, Tensor, Any]:
        """`f_BTG`, `h_BTD`, and the state after the `length_B` steps of each row (None: all)."""
        f_BTG = self.cell.project(x_BTE)  # the fused kernel makes it once more, which takes less time than steps would
        read_BTE = turned(x_BTE, length_B) if self.backwards else x_BTE
        h_BTD, state = self.cell.scan(read_BTE, state, length_B)
        if self.backwards:
            h_BTD = turned(h_BTD, length_B)
            for heard in heard_inside(self.cell):
                heard[-1] = turned(heard[-1], length_B)
        return f_BTG, self.hidden(h_BTD), state


def fast_forwarded(f_BTG: Tensor, h_BTD: Tensor) -> Tensor:
    """[Half(f); h]: what the next layer reads; only the first half of f is passed on, which saves weights."""
    return torch.cat((f_BTG[..., : half(f_BTG.shape[-1])], h_BTD), dim=-1)


def half(size: int) -> int:
    """How much of f is passed on."""
    return size // 2
