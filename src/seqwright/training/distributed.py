"""Several processes, one training: each takes its share of a step's batches, the gradients are added up.

Under `torchrun` a step's `accumulate` batches are dealt out in turn, so the order of examples and (to rounding)
the result do not depend on the number of processes. Alone, nothing happens here.
"""

import os
from collections.abc import Callable, Iterable, Mapping

import torch
import torch.distributed as dist
from torch import Tensor, nn

from seqwright.training.sums import Sums, sums_of


class World:
    """The processes that train together; `World()` is one process alone."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self._sums: Sums | None = None

    @classmethod
    def from_environment(cls, device: torch.device) -> "World":
        """Joined with the others where torchrun started this process; alone otherwise."""
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls()
        if not dist.is_initialized():
            dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
        return cls(dist.get_rank(), dist.get_world_size())

    @staticmethod
    def rank_here() -> int:
        """This process's number as torchrun says it, before anything is joined; 0 alone."""
        return int(os.environ.get("RANK", "0")) if int(os.environ.get("WORLD_SIZE", "1")) > 1 else 0

    def leave(self) -> None:
        """Part from the others."""
        if self.size > 1:
            dist.destroy_process_group()

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def mine(self, index: int) -> bool:
        """Whether the micro-batch with this index is this process's."""
        return index % self.size == self.rank

    def summed(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """The numbers added up over all processes; each has the same names."""
        return self.summing(numbers)()

    def summing(self, numbers: Mapping[str, float]) -> Callable[[], dict[str, float]]:
        """Begin to add the numbers up and go on at once; what comes back waits for the sums and gives them."""
        if self.size == 1:
            return lambda: dict(numbers)
        names = sorted(numbers)
        tensor = torch.tensor([numbers[name] for name in names], dtype=torch.float64)
        pending = dist.all_reduce(tensor, async_op=True)

        def sums() -> dict[str, float]:
            pending.wait()
            return dict(zip(names, tensor.tolist(), strict=True))

        return sums

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its sum over all processes."""
        if self.size == 1:
            return
        parameters = list(parameters)
        flat = torch.cat([_gradient(parameter).flatten() for parameter in parameters])
        self._sums = self._sums or sums_of(flat, self.rank, self.size)
        flat = self._sums.added(flat)
        for parameter, part in zip(parameters, torch.split(flat, [p.numel() for p in parameters]), strict=True):
            parameter.grad = part.view_as(parameter)

    def told_by_first(self, flag: bool) -> bool:
        """What the first process says; also a point where all wait for it."""
        if self.size == 1:
            return flag
        tensor = torch.tensor([int(flag)])
        dist.broadcast(tensor, src=0)
        return bool(tensor.item())


def _gradient(parameter: nn.Parameter) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
