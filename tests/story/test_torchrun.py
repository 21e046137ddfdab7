"""The same recipe in one process and in two gives the same model, but for rounding."""

import json
import os
import shutil
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
steps = 20
accumulate = 4
tokens = 64
average = "ema"
schedule = "constant"
rate = 0.003
warmup = 2
clip = 1.0
log_every = 1
validate_every = 10
save_every = 10
threads = 1
"""


def started(*overrides: str, run: str = "together") -> list[tuple[int, str]]:
    """Train the recipe in two processes, joined as torchrun joins them: how each ended, and what it said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "seqwright", "train", "small.toml", "--run", f"runs/{run}", *overrides]
    torchrun = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    torchrun |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    running = []
    for rank in ("0", "1"):
        environment = {**os.environ, **torchrun, "RANK": rank, "LOCAL_RANK": rank}
        running.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
    said = [process.communicate(timeout=240)[1] for process in running]
    return [(process.returncode, err) for process, err in zip(running, said, strict=True)]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(recipe: str) -> None:
    words = ["to", "be", "or", "not", "that", "is", "the", "question"]
    lines = [" ".join(words[i % n] for i in range(n, 2 * n)) for n in (3, 5, 7, 8)] * 20
    Path("some.txt").write_text("".join(f"{n} {line}\n" for n, line in enumerate(lines)), encoding="utf-8")
    Path("small.toml").write_text(recipe + TRAINING, encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize(
    ("recipe", "overrides"),
    [pytest.param(PAIRS, [], id="pairs"), pytest.param(TEXT, ["input.rows=documents"], id="documents")],
)
def test_two_processes_train_as_one_and_resume_to_the_same_bytes(recipe: str, overrides: list[str]) -> None:
    write(recipe)
    alone, together, resumed = Path("runs/alone"), Path("runs/together"), Path("runs/resumed")
    train(read_recipe("small.toml", overrides), alone)
    for code, err in started(*overrides):
        assert code == 0, err
        assert "Warning" not in err
    lines = [
        [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()] for run in (alone, together)
    ]
    for one, two in zip(*lines, strict=True):
        assert one["loss"] == pytest.approx(two["loss"], abs=1e-6)
        assert one.get("tokens") == two.get("tokens")
    ends = [sorted((run / "step-000020").glob("*.safetensors")) for run in (alone, together)]
    for one_file, other_file in zip(*ends, strict=True):
        one_end, other_end = load_file(one_file), load_file(other_file)
        assert one_end.keys() == other_end.keys()  # named as in one process
        for name, tensor in one_end.items():
            if one_file.stem != "carry":  # of the last batch that this process has read; all rows begin afresh
                assert (tensor - other_end[name]).abs().max() < 1e-4, name

    shutil.copytree(together, resumed)
    shutil.rmtree(resumed / "step-000020")
    for code, err in started(*overrides, run="resumed"):
        assert code == 0, err
    for file in [together / "journal.jsonl", *ends[1]]:
        assert (resumed / file.relative_to(together)).read_bytes() == file.read_bytes(), file


@pytest.mark.parametrize(
    ("recipe", "overrides", "sentence"),
    [
        pytest.param(
            TEXT,
            [],
            "several processes cannot share; train in one, or keep the documents apart",
            id="joined text, whose state is carried from batch to batch",
        ),
        pytest.param(
            PAIRS,
            ["training.accumulate=3"],
            "training.accumulate is 3, which 2 processes cannot share evenly; set it to a multiple of 2",
            id="batches that cannot be dealt out evenly",
        ),
    ],
)
def test_every_process_refuses_before_it_trains(recipe: str, overrides: list[str], sentence: str) -> None:
    """None of them may be left waiting for one that cannot go on."""
    write(recipe)
    for code, err in started(*overrides):
        assert code == 2, err
        assert sentence in " ".join(err.split())
        assert "Traceback" not in err
