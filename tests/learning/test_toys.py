"""The Transformer learns to copy, reverse and sort within seconds: from a recipe to answers from the run folder."""

from pathlib import Path
from typing import Any

import pytest

from seqwright.data.toys import Toy
from seqwright.recipe import recipe_from
from seqwright.runs import open_run, train

SMALL: dict[str, dict[str, Any]] = {
    "data": {"symbols": 7, "shortest": 2, "longest": 5, "examples": 3000, "valid": 50, "test": 100},
    "input": {"tokenizer": "words"},
    "model": {"width": 64, "heads": 4, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 128, "dropout": 0.0},
    "training": {"steps": 500, "tokens": 512, "rate": 0.003, "schedule": "cosine", "warmup": 50, "device": "cpu"},
}
LONG = pytest.mark.long


@pytest.mark.parametrize("kind", [pytest.param("copy", marks=LONG), "reverse", pytest.param("sort", marks=LONG)])
def test_the_transformer_learns_to(kind: str, tmp_path: Path) -> None:
    """No test sequence occurs in training, so what is counted here was not learnt by heart."""
    plain: dict[str, Any] = {section: dict(values) for section, values in SMALL.items()}
    plain["task"] = "translation"
    plain["data"]["card"] = kind
    plain["model"]["block"] = "pre-norm"
    recipe = recipe_from(plain)
    train(recipe, tmp_path)
    run = open_run(tmp_path)
    pairs = list(Toy(recipe.data).examples("test"))
    found = run.inputs.predict(run.model, [pair.source for pair in pairs], run.recipe.decoding)
    answers = [each.text for each in found]
    exact = sum(answer == pair.target for answer, pair in zip(answers, pairs, strict=True))
    assert exact / len(pairs) >= 0.95
