"""How long a training is promised to take: from the start of its process to the end of its evaluation."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from seqwright.comparison import pace as paces
from seqwright.comparison import stages, work
from seqwright.comparison.pace import Clock, Pace, measured_pace
from seqwright.comparison.plan import planned
from seqwright.comparison.settings import read_comparison
from seqwright.comparison.stages import Stages
from seqwright.kinds import task_of
from seqwright.recipe import read_recipe
from seqwright.runs import data_of, model_of
from seqwright.training.loop import fit
from seqwright.training.rate_finder import STEPS
from seqwright.training.settings import TrainingSettings

TRANSLATION = """
baseline = "narrow"
threads = 1
data = { examples = 60, valid = 5, test = 24, symbols = 7, longest = 4 }
training = { steps = 7, tokens = 120, warmup = 1, validate_every = 3 }
[[rows]]
recipe = "reverse"
name = "narrow"
model = { width = 8, heads = 2, feed_forward = 16, encoder_layers = 1, decoder_layers = 1 }
"""
FORECASTS = ["data.examples=41", "data.valid=23", "data.test=5", "model.width=3", "training.tokens=700"]


def test_a_training_is_its_start_its_steps_its_validations_and_its_checkpoints() -> None:
    pace = Pace(start=5.0, step=0.5, validation=2.0, saving=0.25, first=1.5, ending=0.75, evaluation=3.0)
    often = TrainingSettings(validate_every=3, save_every=2)
    validated, saved = 3, 5  # after 3, 6 and 7 steps; after 2, 3, 4, 6 and 7
    assert pace.training(7, often) == 5 + 3.5 + validated * 2 + saved * 0.25 + 1.5 + 0.75
    assert pace.evaluating(beam=4) == 5 + 12


def test_steps_that_find_a_learning_rate_are_promised_too() -> None:
    found = TrainingSettings(rate="find", schedule="cosine")
    given = found.model_copy(update={"rate": 0.1})
    pace = Pace(step=0.5)
    assert pace.training(7, found) - pace.training(7, given) == STEPS * 0.5


def test_a_measurement_of_an_older_version_knows_the_steps_only() -> None:
    assert Pace.found({"seconds_per_step": 0.25}) == Pace(step=0.25)


def test_waiting_for_others_is_no_work_on_a_cpu() -> None:
    here, elsewhere = Clock(torch.device("cpu")), Clock(torch.device("cuda"))
    time.sleep(0.2)
    assert here.seconds() < 0.1
    assert elsewhere.seconds() >= 0.2


def test_every_part_of_a_training_is_timed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By a clock that ticks once whenever it is asked or something is done, so that each part has its own number."""
    ticks = {"imports": 20.0, "validation": 7.0, "calibrate": 100.0, "finish": 1000.0}
    now = 0.0

    def passing(name: str) -> None:
        nonlocal now
        now += ticks[name]

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(time, "process_time", lambda: now)
    recipe = read_recipe("waves-lstm", FORECASTS)
    task, data = task_of(recipe.task), data_of(recipe)
    wires = task.learnt_inputs(recipe, data)
    prepared = task.prepared(recipe, data, wires)

    def evaluate(model: Any) -> dict[str, float]:
        passing("validation")
        ticks["validation"] = 3.0  # what is done for the first time takes longer
        scores: dict[str, float] = prepared.evaluate(model)
        return scores

    def fitted(*given: Any, **named: Any) -> Any:
        passing("imports")
        ticks["imports"] = 0.0
        return fit(*given, **named)

    calibrate = type(task).calibrate

    def calibrated(*given: Any, **named: Any) -> None:
        passing("calibrate")
        calibrate(*given, **named)
        assert list(named["folder"].glob("output/*.json"))

    monkeypatch.setattr(paces, "SHORT", 10.0)
    monkeypatch.setattr(paces, "fit", fitted)
    monkeypatch.setattr(type(task), "calibrate", calibrated)
    found = measured_pace(
        recipe,
        data,
        wires,
        prepared._replace(evaluate=evaluate),
        model_of(recipe, wires.sizes()),
        start=2.0,
        finish=lambda folder: passing("finish"),
    )
    assert found.evaluation == pytest.approx(3 * 5 / 23)
    assert found._replace(step=0.0, evaluation=0.0) == Pace(start=2.0, validation=3.0, first=24.0, ending=1100.0)


def test_a_comparison_promises_start_validation_and_evaluation_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: dict[str, Any] = {}

    def done(job: dict[str, Any]) -> dict[str, Any]:
        measured.update(json.loads(json.dumps(work._done(json.loads(json.dumps(job))))))
        return measured

    monkeypatch.setattr(stages, "done", done)
    (tmp_path / "mine.toml").write_text(TRANSLATION, encoding="utf-8")
    plan = planned(*read_comparison(str(tmp_path / "mine.toml")), tmp_path / "runs")
    (progress,) = Stages(plan, lambda sentence: None).prospects()
    pace = measured["pace"]
    assert all(pace[part] > 0 for part in ("start", "validation", "saving"))
    assert pace["evaluation"] == pytest.approx(pace["validation"] * 24 / 5)
    once = pace["first"] + pace["ending"]
    repeated = 7 * measured["seconds_per_step"] + 3 * pace["validation"] + 3 * pace["saving"]
    assert progress.seconds == pytest.approx(
        2 * pace["start"] + repeated + once + plan.decoding.beam * pace["evaluation"]
    )
