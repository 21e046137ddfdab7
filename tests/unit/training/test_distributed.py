"""Training in several processes beside the same in one; tests/story/test_torchrun.py has whole recipes."""

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from seqwright.training.distributed import World
from tests.unit.training import uneven_parts
from tests.unit.training.uneven_parts import ACCUMULATE, STEPS


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.long)])
def test_gradients_are_those_of_one_process_and_what_nobody_uses_has_none(size: int) -> None:
    """The last part is used in the first update alone: the optimizer, which remembers it, must leave it alone."""
    alone = uneven_parts.trained()
    assert [[gradient is None for gradient in update] for update in alone["gradients"]] == [
        [False, False, False, False, False],
        [False, False, False, True, False],
    ]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    joined = {"WORLD_SIZE": str(size), "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [sys.executable, "-W", "error", "-m", "tests.unit.training.uneven_parts"]
    running = [
        subprocess.Popen(
            command,
            env={**os.environ, **joined, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    printed = [process.communicate(timeout=120) for process in running]
    for process, (out, err) in zip(running, printed, strict=True):
        assert process.returncode == 0, err
        found = json.loads(out)
        for ours, expected in zip(found["gradients"], alone["gradients"], strict=True):
            for gradient, one in zip(ours, expected, strict=True):
                assert (gradient is None) == (one is None)
                if one is not None:
                    np.testing.assert_allclose(gradient, one, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["weights"], alone["weights"], rtol=1e-5)
        assert found["kept"] == STEPS * (ACCUMULATE // size - 1)  # sent once for each update


def test_the_micro_batches_of_a_step_are_dealt_out_in_turn() -> None:
    assert [[World(rank, 3).mine(index) for index in range(6)] for rank in range(3)] == [
        [True, False, False] * 2,
        [False, True, False] * 2,
        [False, False, True] * 2,
    ]
