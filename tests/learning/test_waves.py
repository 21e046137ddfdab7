"""The forecasters learn the next step of a wave within seconds: better than repeating the last value."""

from pathlib import Path
from typing import Any

import pytest

from seqwright.kinds import task_of
from seqwright.recipe import recipe_from
from seqwright.runs import data_of, open_run, train

SMALL: dict[str, Any] = {
    "task": "forecasting",
    "data": {"card": "waves", "examples": 1000, "valid": 100, "test": 300, "history": 20},
    "input": {"scaling": "none"},
    "training": {"steps": 200, "tokens": 1000, "rate": 0.01, "schedule": "cosine", "warmup": 10, "device": "cpu"},
}


@pytest.mark.parametrize("kind", ["dense", "mlp", "rnn", "ugrnn", "gru", "lstm"])
def test_a_forecaster_beats_the_last_value(kind: str, tmp_path: Path) -> None:
    recipe = recipe_from({**SMALL, "model": {"kind": kind}})
    train(recipe, tmp_path)
    run = open_run(tmp_path)
    found = task_of(recipe.task).evaluated(recipe, data_of(recipe), run.inputs, run.model, "test", None).scores
    assert found["mse"] < found["baseline_naive_mse"] / 2


def test_a_network_of_one_unit_learns_from_every_step(tmp_path: Path) -> None:
    """Sequence to sequence: each of the steps teaches what follows it."""
    model = {"kind": "rnn", "layers": 0, "output_layer": "recurrent"}
    recipe = recipe_from({**SMALL, "model": model, "objective": {"after": "every"}})
    train(recipe, tmp_path)
    run = open_run(tmp_path)
    found = task_of(recipe.task).evaluated(recipe, data_of(recipe), run.inputs, run.model, "test", None).scores
    assert found["mse"] < found["baseline_naive_mse"]
