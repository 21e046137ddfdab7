"""How far a gradient reaches back in time.

B batch · T time · E input · D width · S the whole state of a cell · L layers · K steps back
"""

from typing import Any

import torch
from torch import Tensor

from seqwright.layers.recurrence import Cell
from seqwright.layers.scanning import Recurrent, RecurrentState


@torch.no_grad()
def gradient_norms(recurrent: Recurrent, x_BTE: Tensor, state: RecurrentState | None = None) -> Tensor:
    """`norm_LBK`: ‖∂h_t/∂h_{t-k}‖ from the last step t, k = 0 … T steps back (Pascanu et al. 2013, eq. 5).

        ∂h_t/∂h_{t-k} = Π_{i=t-k+1}^{t} ∂h_i/∂h_{i-1}

    The norm is the largest stretch of any direction. Each layer is followed through time by itself, its inputs held
    fixed; dropout is left out. An LSTM reaches back through its hidden state and its memory, so h_{t-k} is both.
    """
    state = recurrent.start(len(x_BTE)) if state is None else state
    norms = []
    for layer, before in zip(recurrent.stack(), state, strict=True):
        norms.append(_norms(layer.directions()[0], x_BTE, before[0]))
        x_BTE, _ = layer(x_BTE, before)
    return torch.stack(norms)


def _norms(cell: Cell[Any], x_BTE: Tensor, state: Any) -> Tensor:
    """`norm_BK` of one cell, which takes its steps forwards."""
    inputs = cell.project(x_BTE).unbind(1)
    states = [state]
    for input_BG in inputs:
        states.append(cell.advance(input_BG, states[-1]))
    batch, width = state.hidden_BD.shape
    back_BDS = torch.eye(width, width * len(state), dtype=x_BTE.dtype, device=x_BTE.device).expand(batch, -1, -1)
    norms = [torch.linalg.matrix_norm(back_BDS, ord=2)]
    for input_BG, before in zip(reversed(inputs), reversed(states[:-1]), strict=True):
        back_BDS = back_BDS @ _jacobian(cell, input_BG, before)
        norms.append(torch.linalg.matrix_norm(back_BDS, ord=2))
    return torch.stack(norms, dim=1)


def _jacobian(cell: Cell[Any], input_BG: Tensor, state: Any) -> Tensor:
    """`change_BSS`: how the state after a step follows from the state before it, in each row."""
    parts = len(state)

    def step(input_G: Tensor, state_S: Tensor) -> Tensor:
        before = type(state)(*state_S.unsqueeze(0).chunk(parts, dim=1))
        return torch.cat(cell.advance(input_G.unsqueeze(0), before), dim=1).squeeze(0)

    change_BSS: Tensor = torch.func.vmap(torch.func.jacrev(step, argnums=1))(input_BG, torch.cat(state, dim=1))
    return change_BSS
