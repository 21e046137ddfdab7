"""The usual settings to fine-tune a pretrained body with: those of `seqwright new --from`, and of the estimators."""

from collections.abc import Collection, Mapping
from typing import Any

WIDE = 512  # a wider body is disturbed by rates that a narrow one needs
LAYER_DECAY = 0.9  # where the model knows the depth of its layers
USUAL = {
    "optimizer": "adamw",
    "decay": 0.01,
    "betas": [0.9, 0.999],
    "schedule": "linear",
    "clip": 1.0,
    "patience": 8,
    "keep": 1,
}


def fine_tuning(body: Mapping[str, Any], *, few: bool = True) -> dict[str, Any]:
    """Settings of training for a body with such settings of its own; `few` texts need small batches."""
    rate = 1e-3 if "heads" not in body else 1e-4 if body["width"] < WIDE else 3e-5
    return {**USUAL, "rate": rate, "tokens": 512 if few else 2048, "validate_every": 20 if few else 100}


def needs_pooling(model: Collection[str], body: Collection[str]) -> bool:
    """Whether a model pools what a body gives that never learnt to; both are names of settings."""
    return "pooling" in model and "pooling" not in body
