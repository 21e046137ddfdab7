"""How the weights of recurrent cells begin, so that tanh does not saturate, and how to see whether it does.

B batch · T time · D width · G the gates of a cell and its target side by side, D each
"""

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from seqwright.layers.recurrence import Weights

Initialisation = Literal["uniform", "xavier", "orthogonal", "identity"]


def uniform(weights: Weights) -> None:
    """All between -1/√D and 1/√D, as torch has it."""
    for parameter in weights.parameters():
        nn.init.uniform_(parameter, -(weights.width**-0.5), weights.width**-0.5)


def xavier(weights: Weights) -> None:
    """Each block so that its sums are as wide as what is summed (Glorot & Bengio 2010, eq. 16); biases zero."""
    for block in _blocks(weights, weights.input_GE) + _blocks(weights, weights.hidden_GD):
        nn.init.xavier_uniform_(block)
    nn.init.zeros_(weights.bias_G)


def orthogonal(weights: Weights) -> None:
    """A_h turns the state and neither stretches nor shrinks it (Saxe et al. 2014); else as `xavier`."""
    xavier(weights)
    for block in _blocks(weights, weights.hidden_GD):
        nn.init.orthogonal_(block)


def identity(weights: Weights) -> None:
    """A_h keeps the state as it is, inputs only touch it: for ReLU (Le et al. 2015, sections 2 and 4); biases zero."""
    for block in _blocks(weights, weights.input_GE):
        nn.init.normal_(block, std=0.001)
    for block in _blocks(weights, weights.hidden_GD):
        nn.init.eye_(block)
    nn.init.zeros_(weights.bias_G)


def too_wide(weights: Weights) -> None:
    """Normal with deviation 1, as no recipe can have it: the sums of many such weights saturate tanh and the gates."""
    for parameter in weights.parameters():
        nn.init.normal_(parameter)


WAYS: dict[Initialisation, Callable[[Weights], None]] = {
    "uniform": uniform,
    "xavier": xavier,
    "orthogonal": orthogonal,
    "identity": identity,
}


@torch.no_grad()
def initialise(module: nn.Module, way: Initialisation | Callable[[Weights], None], *, forget_bias: float = 1.0) -> None:
    """Draw the weights of every cell in a module, in a way that has a name or in any other.

    `forget_bias` is added to the bias of the gate that keeps the old state, so that at first it stands open
    (Gers et al. 2000; Jozefowicz et al. 2015): the forget gate of an LSTM, the update gate of a GRU or UGRNN.
    """
    draw = way if callable(way) else WAYS[way]
    for weights in module.modules():
        if isinstance(weights, Weights):
            draw(weights)
            if weights.keeping is not None:
                _blocks(weights, weights.bias_G)[weights.blocks.index(weights.keeping)].add_(forget_bias)


def saturated(value_BTD: Tensor, real_BT: Tensor | None = None, *, beyond: float = 0.95) -> Tensor:
    """`share_T`: how many values of tanh lie beyond ±`beyond` at each step, where it hardly lets a gradient through.

    At 0.95 a tenth of the gradient is left. A gate g, which lies between 0 and 1, is asked about as 2g - 1.
    """
    real_BT = _everywhere(value_BTD) if real_BT is None else real_BT
    beyond_BT = (value_BTD.abs() > beyond).float().mean(-1)
    return (beyond_BT * real_BT).sum(0) / real_BT.sum(0)


def quantiles(
    value_BTD: Tensor, real_BT: Tensor | None = None, *, shares: Sequence[float] = (0.05, 0.5, 0.95)
) -> Tensor:
    """`value_TQ`: the values below which the given shares of all values lie at each step."""
    real_BT = _everywhere(value_BTD) if real_BT is None else real_BT
    share_Q = torch.tensor(shares, dtype=value_BTD.dtype, device=value_BTD.device)
    steps = zip(value_BTD.unbind(1), real_BT.unbind(1), strict=True)
    return torch.stack([value_BD[real_B].quantile(share_Q) for value_BD, real_B in steps])


def _everywhere(value_BTD: Tensor) -> Tensor:
    return torch.ones(value_BTD.shape[:2], dtype=torch.bool, device=value_BTD.device)


def _blocks(weights: Weights, whole: Tensor | None) -> list[Tensor]:
    """The parts of a weight that belong to each gate and to the target; none where there is no weight."""
    return [] if whole is None else [*whole.chunk(len(weights.blocks))]
