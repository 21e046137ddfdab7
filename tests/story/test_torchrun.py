"""The same recipe in one process and in two gives the same model, but for rounding."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from seqwright.recipe import read_recipe
from seqwright.runs import train

PAIRS = """
task = "translation"
[data]
card = "reverse"
symbols = 7
longest = 5
examples = 300
valid = 20
test = 20

[input]
tokenizer = "words"

[model]
width = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
feed_forward = 32
"""
TEXT = """
task = "language-modeling"
[data]
train = "some.txt"
valid = "10%"

[input]
tokenizer = "characters"

[model]
kind = "lstm"
width = 16
"""
TRAINING = """
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


def started(*overrides: str, run: str = "together", here: int = 2) -> list[tuple[int, str]]:
    """Train the recipe in two processes, joined as torchrun joins them: how each ended, and what it said.

    They are told that so many of them are on this machine.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "seqwright", "train", "small.toml", "--run", f"runs/{run}", *overrides]
    torchrun = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": str(here), "OMP_NUM_THREADS": "1"}
    torchrun |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    running = []
    for rank in ("0", "1"):
        environment = {**os.environ, **torchrun, "RANK": rank, "LOCAL_RANK": rank}
        running.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
    said = [process.communicate(timeout=120)[1] for process in running]
    return [(process.returncode, err) for process, err in zip(running, said, strict=True)]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(recipe: str) -> None:
    words = ["to", "be", "or", "not", "that", "is", "the", "question"]
    lines = [" ".join(words[i % n] for i in range(n, 2 * n)) for n in (3, 5, 7, 8)] * 20
    Path("some.txt").write_text("".join(f"{n} {line}\n" for n, line in enumerate(lines)), encoding="utf-8")
    Path("small.toml").write_text(recipe + TRAINING, encoding="utf-8")


@pytest.mark.parametrize(
    ("recipe", "overrides"),
    [
        pytest.param(PAIRS, [], id="pairs"),
        pytest.param(TEXT, ["input.rows=documents"], id="documents", marks=pytest.mark.long),
    ],
)
def test_two_processes_train_as_one(recipe: str, overrides: list[str]) -> None:
    write(recipe)
    alone, together = Path("runs/alone"), Path("runs/together")
    train(read_recipe("small.toml", overrides), alone)
    for code, err in started(*overrides):
        assert code == 0, err
    lines = [
        [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()] for run in (alone, together)
    ]
    for one, two in zip(*lines, strict=True):
        assert one["loss"] == pytest.approx(two["loss"], abs=1e-5)
        assert one.get("tokens") == two.get("tokens")
    weights = [load_file(run / "step-000012" / "model.safetensors") for run in (alone, together)]
    for name, tensor in weights[0].items():
        assert (tensor - weights[1][name]).abs().max() < 1e-4


@pytest.mark.long
def test_on_two_machines_it_is_the_same_to_the_bit() -> None:
    """There the gradients are sent, here they are added up in memory that both processes see."""
    write(PAIRS)
    for run, here in (("here", 2), ("apart", 1)):
        for code, err in started(run=run, here=here):
            assert code == 0, err
    ends = [Path("runs", run, "step-000012", "model.safetensors").read_bytes() for run in ("here", "apart")]
    assert ends[0] == ends[1]


def test_joined_text_is_refused_by_every_process_before_it_trains() -> None:
    """Its state is carried from batch to batch: none of the processes may be left waiting for one that cannot go on."""
    write(TEXT)
    for code, err in started():
        assert code == 2, err
        assert "several processes cannot share; train in one, or keep the documents apart" in err
        assert "Traceback" not in err
