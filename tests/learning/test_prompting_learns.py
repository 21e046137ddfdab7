"""A GPT learns within seconds to answer after a task token."""

from pathlib import Path
from typing import Any

import pytest

from seqwright.data.toys import Toy
from seqwright.decoding.settings import DecodingSettings
from seqwright.recipe import recipe_from
from seqwright.runs import open_run, train

SMALL: dict[str, dict[str, Any]] = {
    "data": {"symbols": 9, "shortest": 3, "longest": 3, "examples": 3000, "valid": 40, "test": 60},
    "input": {"tokenizer": "words", "longest": 8},
    "objective": {"kind": "answer-only", "label_smoothing": 0.0},
    "model": {"kind": "gpt", "width": 64, "heads": 2, "layers": 2, "context": 16, "dropout": 0.0},
    "training": {
        "steps": 400, "tokens": 512, "optimizer": "adamw", "rate": 0.005, "schedule": "cosine", "warmup": 50,
        "validate_every": 400, "device": "cpu",
    },
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("kind", ["reverse"])
def test_a_gpt_learns_to(kind: str, tmp_path: Path) -> None:
    """No test sequence occurs in training, so what is counted here was not learnt by heart."""
    recipe = recipe_from({**SMALL, "task": "instruction", "data": {"card": kind, **SMALL["data"]}})
    train(recipe, tmp_path)
    run = open_run(tmp_path)
    pairs = list(Toy(recipe.data).examples("test"))
    for settings in (DecodingSettings(), DecodingSettings(no_repeat=4)):  # what was asked may be answered
        found = run.inputs.predict(run.model, [pair.source for pair in pairs], settings)
        answers = [each.text for each in found]
        exact = sum(answer == pair.target for answer, pair in zip(answers, pairs, strict=True))
        assert exact / len(pairs) >= 0.95
