"""Convolutions and experts learn a toy within seconds, from a recipe to answers from the run folder."""

from pathlib import Path
from typing import Any

import pytest

from seqwright.data.toys import Toy
from seqwright.recipe import recipe_from
from seqwright.runs import open_run, train
from seqwright.training.journal import Journal

DATA = {"symbols": 7, "shortest": 2, "longest": 5, "examples": 3000, "valid": 50, "test": 100}
TRAINING = {"steps": 250, "tokens": 384, "rate": 0.01, "schedule": "cosine", "warmup": 25, "device": "cpu"}
MODELS: dict[str, dict[str, Any]] = {
    "convs2s": {"width": 32, "embedding": 32, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0},
    "bytenet": {"channels": 24, "encoder_sets": 1, "decoder_sets": 1, "dilations": [1, 2, 4], "dropout": 0.0},
    "moe-transformer": {
        **{"width": 64, "heads": 4, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 64, "dropout": 0.0},
        **{"block": "pre-norm", "experts": 4, "experts_per_token": 2},
    },
}
LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("kind", "toy"),
    [
        pytest.param("convs2s", "reverse", marks=LONG),
        ("bytenet", "copy"),
        pytest.param("moe-transformer", "reverse", marks=LONG),
    ],
)
def test_a_toy_is_learnt_by(kind: str, toy: str, tmp_path: Path) -> None:
    """No test sequence occurs in training, so what is counted here was not learnt by heart.

    ByteNet copies: what comes last first is far for a network whose columns stand side by side.
    """
    objective = {"kind": "balanced-next-token" if kind.startswith("moe") else "next-token"}
    plain: dict[str, Any] = {"data": {"card": toy, **DATA}, "input": {"tokenizer": "words"}, "objective": objective}
    plain["task"] = "translation"
    training = {**TRAINING, "average": "ema", "ema_decay": 0.98}
    if kind == "moe-transformer":  # as long as the plain one
        training |= {"steps": 500, "rate": 0.004}
    recipe = recipe_from({**plain, "model": {"kind": kind, **MODELS[kind]}, "training": training})
    train(recipe, tmp_path)
    run = open_run(tmp_path)
    pairs = list(Toy(recipe.data).examples("test"))
    found = run.inputs.predict(run.model, [pair.source for pair in pairs], run.recipe.decoding)
    answers = [each.text for each in found]
    exact = sum(answer == pair.target for answer, pair in zip(answers, pairs, strict=True))
    assert exact / len(pairs) >= 0.9
    last = [line for line in Journal(tmp_path / "journal.jsonl").lines() if line["event"] == "train"][-1]
    assert {"importance", "load"} <= last.keys() or not kind.startswith("moe")
