"""How long a training is promised to take: from the start of its process to the end of its evaluation."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqwright.comparison import stages, work
from seqwright.comparison.pace import ENDING, Pace
from seqwright.comparison.plan import planned
from seqwright.comparison.settings import read_comparison
from seqwright.comparison.stages import Stages

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


def test_a_training_is_its_start_its_steps_and_its_validations() -> None:
    pace = Pace(start=5.0, step=0.5, validation=2.0, evaluation=3.0)
    assert pace.training(7, validate_every=3) == 5 + 3.5 + 3 * 2 + ENDING  # after 3, 6 and 7 steps
    assert pace.evaluating(beam=4) == 5 + 12


def test_a_measurement_of_an_older_version_knows_the_steps_only() -> None:
    assert Pace.found({"seconds_per_step": 0.25}) == Pace(step=0.25)


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
    assert pace["start"] > 0
    assert pace["validation"] > 0
    assert pace["evaluation"] == pytest.approx(pace["validation"] * 24 / 5)
    steps = 7 * measured["seconds_per_step"] + 3 * pace["validation"] + ENDING
    assert progress.seconds == pytest.approx(2 * pace["start"] + steps + plan.decoding.beam * pace["evaluation"])
