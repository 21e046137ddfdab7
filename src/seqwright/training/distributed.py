"""Several processes, one training: each takes its share of a step's batches, the gradients are added up.

Under `torchrun` a step's `accumulate` batches are dealt out in turn, so the order of examples and (to rounding)
the result do not depend on the number of processes. Alone, nothing happens here.
"""

import os
from collections.abc import Callable, Iterable, Mapping

import torch
import torch.distributed as dist
from torch import nn

from seqwright.training.sums import AllReduce, Sums, make_all_reduce


class World:
    """The processes that train together; `World()` is one process alone."""

    def __init__(self, rank: int = 0, size: int = 1, *, one_machine: bool = False) -> None:
        self.rank, self.size, self.one_machine = rank, size, one_machine
        self._sums: Sums | None = None

    @classmethod
    def from_environment(cls, device: torch.device) -> "World":
        """Joined with the others where torchrun started this process; alone otherwise."""
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls()
        if not dist.is_initialized():
            dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
        here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        return cls(dist.get_rank(), dist.get_world_size(), one_machine=here == dist.get_world_size())

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
        """Begin to add the numbers up without waiting; what comes back waits for the sums and gives them."""
        numbers = dict(numbers)
        if self.size == 1:
            return lambda: numbers
        names = sorted(numbers)
        tensor = torch.tensor([numbers[name] for name in names], dtype=torch.float64)
        pending = dist.all_reduce(tensor, async_op=True)

        def sums() -> dict[str, float]:
            pending.wait()
            return dict(zip(names, tensor.tolist(), strict=True))

        return sums

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its sum over all processes; a parameter that none of them used has none."""
        if self.size == 1:
            return
        parameters = list(parameters)
        used = [float(parameter.grad is not None) for parameter in parameters]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = torch.cat([*(g.flatten() for g in gradients), gradients[0].new_tensor(used)])
        if self._sums is None:
            self._sums = make_all_reduce(flat, self.rank, self.size) if self.one_machine else AllReduce()
        *sums, users = torch.split(self._sums.added(flat), [*(p.numel() for p in parameters), len(parameters)])
        for parameter, gradient, somebody in zip(parameters, sums, users.tolist(), strict=True):
            parameter.grad = gradient.view_as(parameter) if somebody else None

    def broadcast_flag(self, flag: bool) -> bool:
        """What the first process says; also a point where all wait for it."""
        if self.size == 1:
            return flag
        tensor = torch.tensor([int(flag)])
        dist.broadcast(tensor, src=0)
        return bool(tensor.item())
