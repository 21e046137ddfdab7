"""Interrupted, killed or damaged: a run that is taken up again ends in the same bytes as one that never stopped."""

import json
import shutil
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from seqwright.batches import InMemory, Zipped
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.pairs import pairs
from seqwright.objectives.next_token import NextToken
from seqwright.training.checkpoint import newest_whole, read_checkpoint, read_mark, step_folder, steps_on_disk
from seqwright.training.interruption import Interrupted, Interruption
from seqwright.training.loop import fit
from seqwright.training.reporter import Quiet
from seqwright.training.settings import TrainingSettings
from seqwright.training.weights import unique_tensors
from tests.columns import by_column
from tests.small_models import small


def sentences(seed: int, vocabulary: int) -> InMemory:
    """Token rows of a few lengths."""
    draw = np.random.default_rng(seed)
    return InMemory([draw.integers(4, vocabulary, length) for length in draw.integers(1, 8, 17)])


class StopAt(Quiet):
    """Sends this process a signal during a step, as Ctrl-C does."""

    def __init__(self, step: int | None, number: signal.Signals = signal.SIGINT) -> None:
        self.at, self.number, self.said = step, number, [""]

    def step(self, step: int, loss: float, speed: float) -> None:
        if step == self.at:
            signal.raise_signal(self.number)

    def say(self, sentence: str) -> None:
        self.said.append(sentence)


def translating(
    run: Path, average: str, reporter: Quiet, scores: Iterator[float] | None = None, **changes: Any
) -> nn.Module:
    """A Transformer with dropout, two micro-batches a step, and an epoch of two and a half steps.

    Validation gives the next of `scores`, or else the loss.
    """
    torch.manual_seed(5)
    settings: dict[str, Any] = {"steps": 11, "accumulate": 2, "log_every": 3, "validate_every": 4, "save_every": 5}
    settings |= {"clip": 1.0, "seed": 3, "average": average, "average_last": 3, "keep": 3, "ema_decay": 0.7}
    both, collate = Zipped(sentences(1, 17), sentences(2, 11)), by_column(partial(pairs, begin=2, end=3))
    batches = Bucketed(both, collate, tokens=32, seed=3, marks=1)
    assert len(batches.plan(0)) == 5

    def evaluate(model: nn.Module) -> dict[str, float]:
        if scores is not None:
            return {"loss": next(scores)}
        parts = [NextToken()(model, batch, None)[0].parts["loss"] for batch in batches.once()]
        return {"loss": float(sum(part.sum for part in parts)) / sum(part.over for part in parts)}

    return fit(
        small("transformer", "translation"),
        NextToken(),
        batches,
        settings=TrainingSettings.model_validate(settings | changes),
        rate=lambda step: 0.01,
        run=run,
        evaluate=evaluate,
        reporter=reporter,
    )


def trace(run: Path, step: int = 11) -> dict[str, Any]:
    """Everything a training leaves that does not depend on the clock."""
    left: dict[str, Any] = {path.name: path.read_bytes() for path in step_folder(run, step).glob("*.safetensors")}
    left |= {name: (run / name).read_bytes() for name in ("journal.jsonl", "best", "last")}
    state = json.loads((step_folder(run, step) / "state.json").read_text())
    return left | {name: state[name] for name in ("step", "place", "sums", "best")}


@pytest.fixture(scope="module", params=["none", "ema", "last"])
def average(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def straight(average: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted."""
    run = tmp_path_factory.mktemp("straight")
    translating(run, average, Quiet())
    assert trace(run)["place"] == [4, 2]
    return run


@pytest.mark.parametrize("stops", [(1,), (4,), (2, 7, 10)])
def test_an_interrupted_run_ends_in_the_same_bytes(
    tmp_path: Path, straight: Path, average: str, stops: tuple[int, ...]
) -> None:
    for stop in stops:
        with pytest.raises(Interrupted) as interrupted:
            translating(tmp_path, average, StopAt(stop))
        assert interrupted.value.step == stop
        assert read_mark(tmp_path, "last") == stop
    translating(tmp_path, average, Quiet())
    assert trace(tmp_path) == trace(straight)


class Killed(Quiet):
    """Breaks training off during step 7, when the newest checkpoint is of step 5."""

    def step(self, step: int, loss: float, speed: float) -> None:
        if step == 7:
            raise MemoryError


def test_a_killed_run_does_again_what_came_after_its_last_checkpoint(
    tmp_path: Path, straight: Path, average: str
) -> None:
    with pytest.raises(MemoryError):
        translating(tmp_path, average, Killed())
    assert '{"step": 6, ' in (tmp_path / "journal.jsonl").read_text()
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write('{"step": 7, "ev')
    translating(tmp_path, average, Quiet())
    assert trace(tmp_path) == trace(straight)


def damage(run: Path, step: int) -> None:
    path = step_folder(run, step) / "optimizer.safetensors"
    path.write_bytes(path.read_bytes()[:-1])


def test_a_run_resumed_from_before_a_damaged_checkpoint_ends_in_the_same_bytes(
    tmp_path: Path, straight: Path, average: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(straight, run)
    damage(run, 11)
    reporter = StopAt(None)
    translating(run, average, reporter)
    assert any("step-000011" in said and "resuming from step 10" in said for said in reporter.said)
    assert trace(run) == trace(straight)


def test_what_is_saved_after_a_damaged_checkpoint_stays(tmp_path: Path) -> None:
    """The damaged one has the higher number, but must not push out the new one."""
    settings: dict[str, Any] = {"steps": 8, "save_every": 2, "validate_every": 2, "keep": 1}
    translating(tmp_path, "none", Quiet(), iter([1.0, 2.0, 2.0, 2.0]), **settings)
    assert steps_on_disk(tmp_path) == [2, 8]
    damage(tmp_path, 8)
    with pytest.raises(Interrupted):
        translating(tmp_path, "none", StopAt(5), iter([2.0, 2.0, 2.0]), **settings)
    found = newest_whole(tmp_path)
    assert found is not None
    assert (found[0], read_mark(tmp_path, "last")) == (5, 5)


def test_raising_the_steps_goes_on_from_where_it_was(tmp_path: Path, straight: Path, average: str) -> None:
    translating(tmp_path, average, Quiet(), steps=8)
    translating(tmp_path, average, Quiet())
    assert trace(tmp_path)["model.safetensors"] == trace(straight)["model.safetensors"]


def test_a_run_that_is_done_is_loaded_and_not_trained_further(tmp_path: Path, straight: Path, average: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(straight, run)
    used = translating(run, average, Killed())
    assert trace(run) == trace(straight)
    saved = read_checkpoint(run, 11).files
    tensors = saved.get("averages") or saved["model"]
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in unique_tensors(used).items())


def test_the_first_signal_asks_and_the_second_stops_at_once() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interruption() as interruption:
        asked = [interruption.asked]
        signal.raise_signal(signal.SIGTERM)
        asked.append(interruption.asked)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert asked == [False, True]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_signal_during_the_last_step_changes_nothing(tmp_path: Path) -> None:
    translating(tmp_path, "none", StopAt(2, signal.SIGTERM), steps=2)
    assert read_mark(tmp_path, "last") == 2
