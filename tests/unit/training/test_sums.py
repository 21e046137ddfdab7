"""Sums over processes: threads play the processes here, tests/story/test_torchrun.py has real ones."""

import errno
import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
import torch
from torch import Tensor, nn

from seqwright.training.distributed import World
from seqwright.training.sums import AllReduce, SharedSums, Sums, make_all_reduce

Found = TypeVar("Found")


class Table:
    """Two ranks around a table: what torch.distributed does, for threads."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.meeting, self.told, self.least = threading.Barrier(2, timeout=30), [""], [1]
        patch.setattr("torch.distributed.barrier", self.meeting.wait)
        patch.setattr("torch.distributed.broadcast_object_list", self.broadcast)
        patch.setattr("torch.distributed.all_reduce", self.smallest)

    def broadcast(self, objects: list[str], src: int) -> None:
        assert src == 0
        self.told = [name for name in (*objects, *self.told) if name] or [""]
        self.meeting.wait()
        objects[0] = self.told[0]
        self.meeting.wait()

    def smallest(self, tensor: Tensor, op: object) -> None:
        assert op == torch.distributed.ReduceOp.MIN
        self.least.append(int(tensor))
        self.meeting.wait()
        tensor.fill_(min(self.least))
        self.meeting.wait()

    def both(self, do: Callable[[int], Found]) -> list[Found]:
        """What each rank finds."""
        with ThreadPoolExecutor(2) as ranks:
            return list(ranks.map(do, (0, 1)))


def open_files() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


def no_such_files(name: str) -> int:
    raise AttributeError(name)


def no_room(*_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_row_is_not_written_again_before_all_have_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    table, rows, pace = Table(monkeypatch), torch.zeros(2, 2, 3), random.Random(1)

    def wait_and_dawdle() -> None:
        table.meeting.wait()
        time.sleep(pace.choice([0, 0.002]))

    def add(rank: int) -> list[float]:
        sums = SharedSums(rows, rank)
        return [float(sums.added(torch.full((3,), float(1000 * rank + turn)))[2]) for turn in range(100)]

    monkeypatch.setattr("torch.distributed.barrier", wait_and_dawdle)
    for found in table.both(add):
        assert found == [1000.0 + 2 * turn for turn in range(100)]


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="files without a name are Linux's")
def test_processes_of_one_machine_share_memory_and_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    table, before = Table(monkeypatch), open_files()
    ways = table.both(lambda rank: make_all_reduce(torch.zeros(3), rank, 2))
    assert [type(way) for way in ways] == [SharedSums, SharedSums]
    assert open_files() <= before
    values = torch.tensor([1.0, 2.0, 3.0])
    for found in table.both(lambda rank: ways[rank].added(values * (1 + rank))):
        assert found.tolist() == [3.0, 6.0, 9.0]


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="files without a name are Linux's")
@pytest.mark.parametrize("missing", ["files", "room", "sight"])
def test_without_memory_that_all_see_values_are_sent(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, before = Table(monkeypatch), open_files()
    if missing == "files":
        monkeypatch.setattr(os, "memfd_create", no_such_files)
    elif missing == "room":
        monkeypatch.setattr(os, "posix_fallocate", no_room)
    else:
        table.least.append(0)  # a third process does not see it
    ways = table.both(lambda rank: make_all_reduce(torch.zeros(3), rank, 2))
    assert [type(way) for way in ways] == [AllReduce, AllReduce]
    assert open_files() <= before


@pytest.mark.parametrize(("size", "values", "device"), [(8, 3, "cpu"), (2, 2**24 + 1, "cpu"), (2, 3, "meta")])
def test_values_of_many_processes_of_large_models_and_of_other_devices_are_sent(
    size: int, values: int, device: str
) -> None:
    assert isinstance(make_all_reduce(torch.empty(values, device=device), 0, size), AllReduce)


class TheOther(Sums):
    """Adds what another process says, which has used the second and the third of three parameters."""

    def added(self, values: Tensor) -> Tensor:
        return values + torch.tensor([0.0, 5.0, 7.0, 0.0, 0.0, 1.0, 1.0, 0.0])


def test_a_parameter_that_no_process_used_has_no_gradient() -> None:
    """The optimizer would move it by what it remembers, as it does not in one process."""
    world = World(0, 2)
    world._sums = TheOther()
    parameters = [nn.Parameter(torch.zeros(1)) for _ in range(4)]
    for number, parameter in enumerate(parameters[:2]):
        parameter.grad = torch.full((1,), 1.0 + number)
    world.add_gradients(parameters)
    assert [None if p.grad is None else p.grad.item() for p in parameters] == [1.0, 7.0, 7.0, None]
