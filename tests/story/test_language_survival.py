"""A recurrent training whose state is carried from batch to batch, killed or interrupted, ends in the same bytes.

How a training is killed and compared stands in `benchmarks/survival.py`.
"""

import json
import signal
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from safetensors.torch import load_file

from benchmarks.survival import (
    Plan,
    differences,
    interval_seconds,
    killed_again_and_again,
    newest,
    results,
    training,
    wait_until,
)
from seqwright.batches.text import StreamBatches
from seqwright.kinds import task_of
from seqwright.recipe import Recipe, read_recipe
from seqwright.runs import data_of, train

RECIPE = """
task = "language-modeling"
input = { tokenizer = "characters", segment = 7 }
[data]
train = "text.txt"
[model]
kind = "lstm"
width = 24
layers = 2
dropout = 0.1
[training]
tokens = 90
accumulate = 2
average = "ema"
schedule = "constant"
rate = 0.003
warmup = 5
clip = 0.5
log_every = 1
save_every = 5
validate_every = 15
threads = 1
"""


class Joined(Plan):
    """A small LSTM reads joined text."""

    def command(self, run: Path) -> list[str]:
        steps = f"training.steps={self.steps}"
        return [sys.executable, "-m", "seqwright", "train", "joined.toml", "--run", str(run), steps]


PLAN = Joined(kills=3, inside=1, save_every=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, chance = tmp_path_factory.mktemp("joined"), Random(1)
    words = ["rain", "wind", "a", "grey sea", "the old ship", "sails", "on", "night", "and day"]
    lines = (" ".join(chance.choices(words, k=chance.randint(1, 9))) for _ in range(110))
    (folder / "text.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "joined.toml").write_text(RECIPE, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> Path:
    """The run that was left alone, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        train(recipe(), folder / "undisturbed")
    return folder / "undisturbed"


def recipe() -> Recipe:
    return read_recipe("joined.toml", [f"training.steps={PLAN.steps}"])


def micro_batches() -> int:
    """How many batches make an epoch."""
    wanted, data = recipe(), data_of(recipe())
    task = task_of(wanted.task)
    batches = task.prepared(wanted, data, task.learnt_inputs(wanted, data)).train
    assert isinstance(batches, StreamBatches)
    return batches.in_epoch(0)


def state(run: Path) -> dict[str, Any]:
    """What stands in state.json beside the tensors, but for the time it took."""
    read: dict[str, Any] = json.loads((run / f"step-{newest(run):06d}" / "state.json").read_text(encoding="utf-8"))
    return {name: value for name, value in read.items() if name != "seconds"}


def assert_the_same(run: Path, undisturbed: Path) -> None:
    assert differences(undisturbed, run) == []
    assert state(run) == state(undisturbed)
    for name in ("resolved.toml", "input/tokenizer.json", "input/reading.json"):
        assert (run / name).read_bytes() == (undisturbed / name).read_bytes()


def test_what_is_compared_holds_a_state_in_the_middle_of_a_text(undisturbed: Path) -> None:
    assert {Path(name).name for name in results(undisturbed)} == {
        *("model.safetensors", "optimizer.safetensors", "averages.safetensors", "carry.safetensors"),
        *("journal.jsonl", "best", "last"),
    }
    epoch, batch = state(undisturbed)["place"]
    assert epoch > 0
    assert batch > 0
    carry = load_file(undisturbed / f"step-{PLAN.steps:06d}" / "carry.safetensors")
    assert [tuple(tensor.shape) for tensor in carry.values()] == [(90 // 7, 24)] * 4  # two layers, hidden and memory
    assert all(bool(tensor.any()) for tensor in carry.values())


@pytest.mark.long
def test_killed_inside_a_save_and_in_the_middle_of_an_epoch_it_ends_in_the_same_bytes(undisturbed: Path) -> None:
    run = Path("killed").absolute()
    kills = killed_again_and_again(PLAN, run, interval=interval_seconds(PLAN, undisturbed))
    assert_the_same(run, undisturbed)
    assert any(kill.inside for kill in kills)
    assert all(kill.resumed == kill.whole for kill in kills)
    assert any(2 * kill.resumed % micro_batches() for kill in kills)  # two batches a step
    assert max(kill.repeated for kill in kills) <= PLAN.save_every


def test_stopped_by_ctrl_c_it_saves_and_ends_in_the_same_bytes(undisturbed: Path) -> None:
    run = Path("stopped").absolute()
    with training(PLAN, run) as (process, log):
        wait_until(lambda: newest(run) > 0, process, log)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130, log.read_text(encoding="utf-8")
    assert 0 < newest(run) < PLAN.steps
    assert f"stopped and saved at step {newest(run)}; the same command resumes" in log.read_text(encoding="utf-8")
    train(recipe(), run)
    assert_the_same(run, undisturbed)
