"""Recurrent layers that read the source between their steps.

B batch · T target · S source · E input · D width · C context width · H heads
G the gates of a cell and its target side by side, D each
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn

from seqwright.layers.alignment import Alignment, Remembered
from seqwright.layers.linear import Linear
from seqwright.layers.recurrence import HiddenState, LSTMState, RecurrentCell
from seqwright.layers.taps import Tap, View, heard_inside

StateT = TypeVar("StateT", bound=tuple[Any, ...])


class AttendingState(NamedTuple):
    """The cell's state, and how many words were read."""

    cell: HiddenState | LSTMState
    position_B: Tensor


class StackState(NamedTuple):
    """The source, the layer that looks at it, and each layer above."""

    source: Remembered
    attending: AttendingState
    above: tuple[Any, ...]


class Attended(NamedTuple):
    """What an attending layer says at each step, what it has read of the source, and what its cell was given."""

    hidden_BTD: Tensor
    context_BTC: Tensor
    input_BTG: Tensor


class AttendingLayer(nn.Module):
    """A cell that looks into the source before each step, as its last state asks (Bahdanau et al. 2015, A.2.2).

        c_i = alignment(s_{i-1}, source)        s_i = cell([x_i; c_i], s_{i-1})

    The next step needs this step's context, so the steps are taken one by one. What does not depend on the state is
    computed for all of them before: the share of x_i in the cell, and the share of the source in the score.
    """

    def __init__(self, cell: RecurrentCell[Any], alignment: Alignment) -> None:
        super().__init__()
        self.cell, self.alignment = cell, alignment
        self.feed = Linear(alignment.form.context_width, len(cell.weights.bias_G), bias=False)
        self.hidden = Tap(View("hidden state", rows="steps", columns="units"))

    def start(self, cell: HiddenState | LSTMState, source: Remembered) -> AttendingState:
        """Before the first step."""
        return AttendingState(cell, torch.zeros_like(source.real_BS[:, 0], dtype=torch.long))

    def forward(
        self, x_BTE: Tensor, state: AttendingState, source: Remembered, real_BT: Tensor
    ) -> tuple[Attended, AttendingState]:
        """All steps; the state is that after each row's last real one. Padding stands on the right."""
        position_BT = state.position_B.unsqueeze(1) + torch.arange(x_BTE.shape[1], device=x_BTE.device)
        states, contexts, weights, inputs = [state.cell], [], [], []
        for t, token_BG in enumerate(self.cell.project(x_BTE).unbind(1)):
            query_B1D = states[-1].hidden_BD.unsqueeze(1)
            context_B1C, weight_BH1S = self.alignment.attend(query_B1D, source, position_BT[:, t : t + 1])
            inputs.append(token_BG + self.feed(context_B1C.squeeze(1)))
            states.append(self.cell.advance(inputs[-1], states[-1]))
            contexts.append(context_B1C)
            weights.append(weight_BH1S)
        join_heard(self.cell, x_BTE.shape[1])
        hidden_BTD = self.hidden(torch.stack([each.hidden_BD for each in states[1:]], dim=1))
        self.alignment.weights(torch.cat(weights, dim=2))
        after = AttendingState(reached(states, lengths(real_BT)), state.position_B + real_BT.sum(1))
        return Attended(hidden_BTD, torch.cat(contexts, dim=1), torch.stack(inputs, dim=1)), after


def lengths(real_BT: Tensor) -> Tensor | None:
    """`length_B`: how many steps of each row are real; None for all."""
    return None if bool(real_BT.all()) else real_BT.sum(1)


def reached(states: Sequence[StateT], length_B: Tensor | None) -> StateT:
    """Of the states before the first step, after it, and so on: that after the `length_B` steps of each row."""
    if length_B is None:
        return states[-1]
    row_B = torch.arange(len(length_B), device=length_B.device)
    parts = (torch.stack(part)[length_B, row_B] for part in zip(*states, strict=True))
    named: Any = type(states[0])
    found: Any = named(parts) if named is tuple else named(*parts)
    return cast(StateT, found)


def join_heard(module: nn.Module, steps: int) -> None:
    """Join along time what the taps inside of a module have heard in the last `steps` steps."""
    for heard in heard_inside(module):
        heard[-steps:] = [torch.stack(heard[-steps:], dim=1)]
