"""Several processes, one training: each takes its share of a step's batches, torch adds the gradients up.

Under `torchrun` a step's `accumulate` batches are dealt out in turn, so the order of examples and (to rounding)
the result do not depend on the number of processes. Alone, nothing happens here.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from seqwright.objectives.objective import Loss, Objective


class Learner(nn.Module):
    """A model and its objective as one module, for whatever is put around both: what is learnt may be in either."""

    def __init__(self, model: nn.Module, objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """`objective(model, batch, carry)`; only what is learnt from has a gradient."""
        loss, carry = self.objective(self.model, batch, carry)
        told = {name: part._replace(sum=part.sum.detach()) for name, part in loss.parts.items() if not part.weight}
        return Loss(loss.parts | told), carry


class WithOneUnused(nn.Module):
    """A learner beside a number that it does not use: where there is none, torch warns of having looked for it."""

    def __init__(self, learner: nn.Module) -> None:
        super().__init__()
        self.learner, self.unused = learner, nn.Parameter(torch.zeros(()))

    def forward(self, batch: Any, carry: Any) -> Any:
        """The learner's."""
        return self.learner(batch, carry)


class World:
    """The processes that train together; `World()` is one process alone."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

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

    def joined(self, learner: nn.Module) -> nn.Module:
        """The learner, whose backward pass leaves in each process the mean of the gradients of all.

        What a process does not use differs from batch to batch, and what none of them used has no gradient, as in one
        process. Buffers are each process's own: whoever writes into them writes the same everywhere.
        """
        if self.size == 1:
            return learner
        return DistributedDataParallel(
            WithOneUnused(learner),
            find_unused_parameters=True,
            forward_sync_buffers=False,
            gradient_as_bucket_view=True,
        )

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

    def broadcast_flag(self, flag: bool) -> bool:
        """What the first process says; also a point where all wait for it."""
        if self.size == 1:
            return flag
        tensor = torch.tensor([int(flag)])
        dist.broadcast(tensor, src=0)
        return bool(tensor.item())


def without_adding(joined: nn.Module) -> AbstractContextManager[None]:
    """Gradients stay in their process, to which those of a later micro-batch are added before they are sent."""
    return joined.no_sync() if isinstance(joined, DistributedDataParallel) else nullcontext()
