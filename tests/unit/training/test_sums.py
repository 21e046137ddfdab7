"""Where processes cannot share memory they send their values; nothing is left behind."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from seqwright.training import sums
from seqwright.training.sums import SentSums, sums_of


def no_room(*_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def no_folder(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(sums, "FOLDER", str(folder / "none"))


def no_memory(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(sums, "FOLDER", str(folder))
    patch.setattr(os, "posix_fallocate", no_room)


@pytest.mark.parametrize("without", [no_folder, no_memory])
def test_without_memory_to_share_values_are_sent(
    without: Callable[[pytest.MonkeyPatch, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[list[str]] = []
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setattr("torch.distributed.broadcast_object_list", lambda objects, src: told.append(objects))
    without(monkeypatch, tmp_path)
    assert isinstance(sums_of(torch.zeros(3), rank=0, size=2), SentSums)
    assert told == [[""]]  # so the other process, which waits for the name, does the same
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("here", "size", "values"), [(1, 2, 3), (8, 8, 3), (2, 2, 2**24 + 1)])
def test_values_of_other_machines_of_many_processes_or_of_large_models_are_sent(
    here: int, size: int, values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(here))
    assert isinstance(sums_of(torch.empty(values), rank=0, size=size), SentSums)
