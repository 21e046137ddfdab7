"""The shipped recipe tells waveforms apart, of whose single steps none tells anything."""

from pathlib import Path

import pytest

from seqwright.recipe import read_recipe
from seqwright.runs import open_run, train


@pytest.mark.long
def test_the_recipe_that_ships_tells_waveforms_apart(tmp_path: Path) -> None:
    train(read_recipe("waveforms", ["training.threads=1", "training.device=cpu"]), tmp_path / "run")
    scores = open_run(tmp_path / "run").evaluate("test").scores
    assert scores["accuracy"] >= 98
    assert scores["baseline_linear_accuracy"] < 40
