"""Every recurrent encoder and decoder learns a toy within seconds: from a recipe to its answers."""

from pathlib import Path
from typing import Any

import pytest

from seqwright.data.toys import Toy
from seqwright.recipe import recipe_from
from seqwright.runs import open_run, train

DATA = {"symbols": 9, "shortest": 2, "longest": 4, "examples": 3000, "valid": 20, "test": 60}
TRAINING = {"tokens": 256, "rate": 0.005, "schedule": "cosine", "warmup": 20, "device": "cpu"}
# Without attention the whole sequence must fit into a vector, which takes longer to learn.
LEARNERS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "seq2seq": ("reverse", {"kind": "seq2seq", "width": 128, "reversed": False}, {"steps": 350, "tokens": 384}),
    "context-rnn": ("reverse", {"kind": "context-rnn", "width": 128}, {"steps": 350, "tokens": 384}),
    "bahdanau": ("reverse", {"kind": "bahdanau", "width": 64}, {"steps": 150}),
    "luong": ("reverse", {"kind": "luong", "width": 64}, {"steps": 150}),
    "luong at once": ("reverse", {"kind": "luong", "width": 64, "input_feeding": False}, {"steps": 150}),
    "gnmt": ("reverse", {"kind": "gnmt", "width": 64, "encoder_layers": 3, "decoder_layers": 3}, {"steps": 200}),
    "deep-att": ("sort", {"kind": "deep-att", "width": 64, "encoder_layers": 2, "decoder_layers": 2}, {"steps": 350}),
}
LONG = {"seq2seq", "context-rnn", "gnmt", "deep-att"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in LEARNERS]
)
def test_it_learns_a_toy(name: str, tmp_path: Path) -> None:
    """No test sequence occurs in training, so what is counted here was not learnt by heart."""
    toy, model, training = LEARNERS[name]
    recipe = recipe_from(
        {
            "task": "translation",
            "data": {"card": toy, **DATA},
            "input": {"tokenizer": "words"},
            "model": {"dropout": 0.0, **model},
            "training": {**TRAINING, **training},
        }
    )
    train(recipe, tmp_path)
    run = open_run(tmp_path)
    pairs = list(Toy(recipe.data).examples("test"))
    found = run.inputs.predict(run.model, [pair.source for pair in pairs], run.recipe.decoding)
    answers = [each.text for each in found]
    exact = sum(answer == pair.target for answer, pair in zip(answers, pairs, strict=True))
    assert exact / len(pairs) >= 0.9
