"""Averages of weights: often better than the last ones, never trained themselves."""

import copy
from typing import Protocol

import torch
from torch import Tensor, nn

from seqwright.training.weights import load_tensors, unique_tensors

Tensors = dict[str, Tensor]


class Average(Protocol):
    """Follows a model through training; `model` holds the averaged weights."""

    model: nn.Module

    def follow(self, model: nn.Module, step: int) -> None:
        """After each update."""

    def settle(self, model: nn.Module, earlier: list[Tensors]) -> None:
        """Before validating or saving; `earlier` are the weights of the regular checkpoints on disk, oldest first."""

    def restore(self, tensors: Tensors) -> None:
        """Go on from saved averages."""


class Moving:
    """Exponential moving average: a ← d·a + (1-d)·w, with d = min(decay, (1+step)/(10+step)) so it starts quickly."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = _frozen_copy(model), decay

    @torch.no_grad()
    def follow(self, model: nn.Module, step: int) -> None:
        """Move a little towards the model."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.model.parameters()), list(model.parameters()), 1 - decay)

    def settle(self, model: nn.Module, earlier: list[Tensors]) -> None:
        """Buffers are the model's own."""
        for mine, its in zip(self.model.buffers(), model.buffers(), strict=True):
            mine.copy_(its)

    def restore(self, tensors: Tensors) -> None:
        """Go on from saved averages."""
        load_tensors(self.model, tensors)


class LastCheckpoints:
    """The mean of the last checkpoints and the present weights (Vaswani et al. 2017, section 6.1)."""

    def __init__(self, model: nn.Module, count: int) -> None:
        self.model, self.count = _frozen_copy(model), count

    def follow(self, model: nn.Module, step: int) -> None:
        """Nothing between checkpoints."""

    @torch.no_grad()
    def settle(self, model: nn.Module, earlier: list[Tensors]) -> None:
        """Average the present weights with the last `count - 1` earlier ones."""
        every = [*earlier, unique_tensors(model)][-self.count :]
        for name, mine in unique_tensors(self.model).items():
            same = [tensors[name].to(mine.device) for tensors in every]
            mine.copy_(torch.stack(same).mean(0) if mine.is_floating_point() else same[-1])

    def restore(self, tensors: Tensors) -> None:
        """The mean as it was saved, until it settles again."""
        load_tensors(self.model, tensors)


def _frozen_copy(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model).requires_grad_(False).eval()
