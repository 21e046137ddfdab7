"""The same recipe in one process and in two gives the same model, but for rounding."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

RECIPE = """
[data]
kind = "reverse"
symbols = 7
longest = 5
examples = 300
valid = 20
test = 20

[inputs]
kind = "words"

[model]
width = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
feed_forward = 32

[training]
steps = 12
accumulate = 4
tokens = 64
average = "ema"
schedule = "constant"
rate = 0.003
warmup = 2
clip = 1.0
log_every = 3
validate_every = 6
save_every = 6
threads = 1
"""


def train(folder: Path, processes: int) -> Path:
    """Train the recipe in so many processes, joined as torchrun joins them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "seqwright", "train", "small.toml", "--run", f"runs/{processes}"]
    torchrun = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    running = []
    for rank in range(processes):
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank), **torchrun} if processes > 1 else {}
        environment = {**os.environ, **place, "OMP_NUM_THREADS": "1"}
        running.append(subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True))
    for process in running:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    return folder / "runs" / str(processes)


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(RECIPE, encoding="utf-8")
    alone, together = train(tmp_path, 1), train(tmp_path, 2)
    lines = [
        [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()] for run in (alone, together)
    ]
    for one, two in zip(*lines, strict=True):
        assert one["loss"] == pytest.approx(two["loss"], abs=1e-5)
        assert one.get("tokens") == two.get("tokens")
    weights = [load_file(run / "step-000012" / "model.safetensors") for run in (alone, together)]
    for name, tensor in weights[0].items():
        assert (tensor - weights[1][name]).abs().max() < 1e-4
