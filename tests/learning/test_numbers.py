"""Recurrent networks learn within seconds to spell numbers out that they have never seen."""

from pathlib import Path
from typing import Any

import pytest

from seqwright.recipe import recipe_from
from seqwright.runs import data_of, open_run, train

SMALL: dict[str, Any] = {
    "task": "vector-to-text",
    "data": {"card": "numbers", "largest": 999, "examples": 2000, "valid": 20, "test": 80},
    "output": {"tokenizer": "characters"},
    "objective": {"label_smoothing": 0.0},
    "training": {
        "steps": 300,
        "tokens": 512,
        "rate": 0.02,
        "schedule": "cosine",
        "warmup": 20,
        "clip": 1.0,
        "validate_every": 300,
    },
}


@pytest.mark.parametrize("kind", [pytest.param("gru", marks=pytest.mark.long), "lstm"])
def test_numbers_that_were_held_out_are_spelled_right(kind: str, tmp_path: Path) -> None:
    recipe = recipe_from({**SMALL, "model": {"kind": kind, "width": 64, "embedding": 16, "dropout": 0.0}})
    trained = train(recipe, tmp_path)
    held_out = list(data_of(recipe).examples("test"))
    given, wanted = [example.source for example in held_out], [example.target for example in held_out]
    before, after = (run(given) for run in (trained, open_run(tmp_path)))
    found = [prediction.text for prediction in after]
    assert sum(map(str.__eq__, found, wanted)) / len(wanted) >= 0.95
    assert before == after  # to the last bit of each log-probability
