"""How far a gradient reaches back in time.

B batch · T time · E input · D width · S the whole state of a cell · L layers · R rows: the batch from each last step ·
K steps back
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from seqwright.layers.recurrence import RecurrentCell
from seqwright.layers.scanning import Recurrent, RecurrentState


@torch.no_grad()
def gradient_norms(
    recurrent: Recurrent, x_BTE: Tensor, state: RecurrentState | None = None, *, last: Sequence[int] | None = None
) -> Tensor:
    """`norm_LRK`: ‖∂h_t/∂h_{t-k}‖ from the last step t, k = 0 … T steps back (Pascanu et al. 2013, eq. 5).

        ∂h_t/∂h_{t-k} = Π_{i=t-k+1}^{t} ∂h_i/∂h_{i-1}

    The norm is the largest stretch of any direction. Each layer is followed through time by itself, its inputs held
    fixed; dropout is left out, and so is what goes backwards in time. An LSTM reaches back through its hidden state and
    its memory, so h_{t-k} is both. `last` names other steps to look back from, each as far as the first of them can.
    """
    state = recurrent.start(len(x_BTE)) if state is None else state
    last = [x_BTE.shape[1]] if last is None else last
    norms = []
    for layer, before in zip(recurrent.stack(), state, strict=True):
        norms.append(_norms(layer.directions()[0], x_BTE, before[0], last))
        x_BTE, _ = layer(x_BTE, before)
    return torch.stack(norms)


@torch.no_grad()
def gradient_norms_within(model: nn.Module, batch: Any, *, last: Callable[[int], Sequence[int]]) -> list[Tensor]:
    """`norm_RK` of every recurrent layer of a model that reads a batch without padding, from the lowest layer.

    `last` says, of the number of steps, from which to look back.
    """
    passed: list[tuple[Recurrent, Tensor]] = []
    stacks = [module for module in model.modules() if isinstance(module, Recurrent) and module.stack()]
    hooks = [stack.register_forward_pre_hook(lambda stack, given: passed.append((stack, given[0]))) for stack in stacks]
    try:
        model(batch)
    finally:
        for hook in hooks:
            hook.remove()
    return [norm_RK for stack, x_BTE in passed for norm_RK in gradient_norms(stack, x_BTE, last=last(x_BTE.shape[1]))]


def _norms(cell: RecurrentCell[Any], x_BTE: Tensor, state: Any, last: Sequence[int]) -> Tensor:
    """`norm_RK` of one cell, which takes its steps forwards."""
    inputs = cell.project(x_BTE).unbind(1)
    states = [state]
    for input_BG in inputs:
        states.append(cell.advance(input_BG, states[-1]))
    width, rows = state.hidden_BD.shape[1], len(x_BTE) * len(last)
    back_RDS = torch.eye(width, width * len(state), dtype=x_BTE.dtype, device=x_BTE.device).expand(rows, -1, -1)
    size_R = torch.ones(rows, dtype=torch.float64)  # what the product was rid of: it can be too extreme for it
    norms = [size_R]
    for k in range(1, min(last) + 1):
        input_RG = torch.cat([inputs[t - k] for t in last])
        before = type(state)(*map(torch.cat, zip(*(states[t - k] for t in last), strict=True)))
        back_RDS = _one_further(cell, input_RG, before, back_RDS)
        largest_R11 = back_RDS.abs().amax((1, 2), keepdim=True).clamp_min(torch.finfo(back_RDS.dtype).tiny)
        back_RDS, size_R = back_RDS / largest_R11, size_R * largest_R11.flatten().cpu()
        norms.append(size_R * _stretch(back_RDS))
    return torch.stack(norms, dim=1)


def _one_further(cell: RecurrentCell[Any], input_RG: Tensor, state: Any, back_RDS: Tensor) -> Tensor:
    """∂h_t/∂h_{i-1} = ∂h_t/∂h_i ∂h_i/∂h_{i-1} in each row, from the input and the state of the step before i."""

    def pulled(input_G: Tensor, state_S: Tensor, back_DS: Tensor) -> Tensor:
        def step(state_S: Tensor) -> Tensor:
            before = type(state)(*state_S.unsqueeze(0).chunk(len(state), dim=1))
            return torch.cat(cell.advance(input_G.unsqueeze(0), before), dim=1).squeeze(0)

        pull = torch.func.vjp(step, state_S)[1]
        further_DS: Tensor = torch.func.vmap(pull)(back_DS)[0]
        return further_DS

    further_RDS: Tensor = torch.func.vmap(pulled)(input_RG, torch.cat(state, dim=1), back_RDS)
    return further_RDS


def _stretch(back_RDS: Tensor) -> Tensor:
    """The largest singular value, by way of the smaller of the two squares: several times faster than all of them."""
    back_RDS = back_RDS.cpu().double()  # squares of what single precision can just hold
    stretch_R: Tensor = torch.linalg.eigvalsh(back_RDS @ back_RDS.mT)[:, -1].clamp_min(0).sqrt()
    return stretch_R
