"""What torch cannot follow into a graph, computed in another way while it follows: no model knows of it.

B batch · T time · S source · D width · E experts · N positions · G gates
"""

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from seqwright.layers.experts import Experts
from seqwright.layers.recurrence import RecurrentCell
from seqwright.models.heads import Last

ROWS = 1_000_003  # what stands for the number of rows where a model asks for it as a plain number


class TracedGraph(nn.Module):
    """A graph's module as torch follows it."""

    def __init__(self, computed: nn.Module) -> None:
        super().__init__()
        self.computed = computed

    def forward(self, *inputs: Tensor) -> Any:
        """The same outputs."""
        with Followed(padded=isinstance(inputs[0].shape[1], torch.SymInt)):
            return self.computed(*inputs)


def followable(model: nn.Module) -> nn.Module:
    """A copy on the CPU whose layers torch can follow.

    Recurrent cells take their steps in a loop of the graph, since torch's kernels would fix how many there are. Experts
    are all computed, since which are used changes from input to input.
    """
    twin = copy.deepcopy(model).cpu().float().eval().requires_grad_(False)
    for module in twin.modules():
        for kind, methods in INSTEAD_OF_METHODS.items():
            if isinstance(module, kind):
                for name, method in methods.items():
                    module.__dict__[name] = partial(method, module)
    return twin


# ------------------------------------------------------------------------------------------------ layers


def _started(cell: RecurrentCell[Any], batch: int) -> Any:
    """One row, where any number of rows is meant; the loop makes it as many as there are."""
    return type(cell).start(cell, 1 if batch == ROWS else batch)


def _scanned(
    cell: RecurrentCell[Any], x_BTE: Tensor, state: Any, length_B: Tensor | None = None, keep_BD: Tensor | None = None
) -> tuple[Tensor, Any]:
    """`scan` as a loop of the graph; where a row is over, its state stays."""
    from torch._higher_order_ops import scan

    time: Any = x_BTE.shape[1]
    if not isinstance(time, torch.SymInt):
        return cell.stepped(x_BTE, state, length_B, keep_BD)
    step_T11 = torch.arange(x_BTE.shape[1]).view(-1, 1, 1)
    every_B1 = torch.zeros_like(x_BTE[:, 0, :1], dtype=torch.long) + x_BTE.shape[1]
    real_TB1 = step_T11 < (every_B1 if length_B is None else length_B.unsqueeze(1))
    named = type(state)

    def step(before: tuple[Tensor, ...], now: tuple[Tensor, Tensor]) -> tuple[tuple[Tensor, ...], Tensor]:
        input_BG, real_B1 = now
        reached = cell.advance(input_BG, named(*before), keep_BD)
        after = tuple(new.where(real_B1, old) for new, old in zip(reached, before, strict=True))
        return after, after[0].clone()

    first = tuple(part.expand(x_BTE.shape[0], -1).clone() for part in state)
    last, hidden_TBD = scan(step, first, (cell.project(x_BTE.transpose(0, 1)), real_TB1))
    return hidden_TBD.transpose(0, 1), named(*last)


def _last(pool: Last, h_BTD: Tensor, real_BT: Tensor) -> Tensor:
    """`Last` without the numbers of the rows."""
    last_B11 = (real_BT.sum(1) - 1).view(-1, 1, 1)
    last_BD = h_BTD.gather(1, last_B11.expand(-1, 1, h_BTD.shape[-1])).squeeze(1)
    half = h_BTD.shape[-1] // 2
    return torch.cat((last_BD[:, :half], h_BTD[:, 0, half:]), dim=-1) if pool.bidirectional else last_BD


def _all_computed(experts: Experts, x_BTD: Tensor, real_BT: Tensor | None = None) -> Tensor:
    """Every expert at every position, most with the weight 0."""
    mean_BTE = x_BTD @ experts.gate.mean_DE
    largest_BTK, chosen_BTK = mean_BTE.topk(experts.gate.chosen, dim=-1)
    gate_BTE = torch.zeros_like(mean_BTE).scatter(-1, chosen_BTK, largest_BTK.softmax(-1))
    outputs = [expert(x_BTD) * gate_BTE[..., n : n + 1] for n, expert in enumerate(experts.experts)]
    y_BTD = torch.stack(outputs).sum(0)
    return y_BTD if real_BT is None else y_BTD.masked_fill(~real_BT.unsqueeze(-1), 0.0)


INSTEAD_OF_METHODS: dict[type[nn.Module], dict[str, Callable[..., Any]]] = {
    RecurrentCell: {"start": _started, "scan": _scanned},
    Last: {"forward": _last},
    Experts: {"forward": _all_computed},
}

# ------------------------------------------------------------------------------------------------ functions


class Followed(TorchFunctionMode):
    """Inside, functions of torch that would fix a size, or ask for a value, are answered in another way.

    Models have shorter ways where nothing is padded, and ask whether that is so; here the answer is `padded`.
    """

    def __init__(self, *, padded: bool) -> None:
        super().__init__()
        self.instead: dict[Any, Callable[..., Any]] = {
            Tensor.all: lambda real: not padded,
            Tensor.__len__: lambda rows: ROWS,
            Tensor.tril_: _lower,
            F.scaled_dot_product_attention: _attended,
        }

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.instead.get(func, func)(*args, **(kwargs or {}))


def _lower(order_TC: Tensor, diagonal: int) -> Tensor:
    """`tril_` of ones, whose diagonal may depend on sizes."""
    time, columns = order_TC.shape
    return torch.arange(columns) <= torch.arange(time).unsqueeze(1) + diagonal


def _attended(
    q_BHTK: Tensor,
    k_BHSK: Tensor,
    v_BHSK: Tensor,
    allowed_B1TS: Tensor | None = None,
    dropped: float = 0.0,
    causal: bool = False,
) -> Tensor:
    """The fused kernel in single steps: who may read nothing reads nothing there, which ONNX does not promise."""
    score_BHTS = q_BHTK @ k_BHSK.transpose(-2, -1) / math.sqrt(q_BHTK.shape[-1])
    if causal:
        time_T = torch.arange(q_BHTK.shape[2])
        allowed_B1TS = time_T.unsqueeze(1) >= time_T
    if allowed_B1TS is None:
        return score_BHTS.softmax(dim=-1) @ v_BHSK
    weight_BHTS = score_BHTS.masked_fill(~allowed_B1TS, -math.inf).softmax(dim=-1)
    return weight_BHTS.masked_fill(~allowed_B1TS, 0.0) @ v_BHSK
