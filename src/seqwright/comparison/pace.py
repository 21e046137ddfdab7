"""How long a training takes in all: until its first step, its steps, its validations, and an evaluation after it."""

import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from seqwright.data.examples import PartName
from seqwright.recipe import Recipe
from seqwright.tasks import VALIDATED
from seqwright.tasks.wired import Part, Wires, validation

ENDING = 1.5  # seconds after the last step: its checkpoint, the card and the curve
USUAL_LENGTH = 90  # percentile of the targets' lengths: about what the longest of a batch comes to


class Pace(NamedTuple):
    """Seconds for each part of a training, as measured."""

    start: float = 0.0  # until the first step, from the start of a process of its own
    step: float = 0.0
    validation: float = 0.0
    evaluation: float = 0.0  # of the part that is kept for tests, greedily; its process starts like that of training

    @classmethod
    def found(cls, measured: Mapping[str, Any]) -> "Pace":
        """What a measurement found, of the older ones only the steps."""
        return cls(**{"step": measured["seconds_per_step"], **measured.get("pace", {})})

    def training(self, steps: int, validate_every: int) -> float:
        """From the start to what is written after so many steps."""
        return self.start + steps * self.step + math.ceil(steps / validate_every) * self.validation + ENDING

    def evaluating(self, beam: int) -> float:
        """An evaluation in a process of its own, with so wide a beam."""
        return self.start + beam * self.evaluation


def measured_pace(recipe: Recipe, data: Any, wires: Wires, model: nn.Module, *, start: float) -> Pace:
    """The pace of everything but the steps, with a model that has learnt nothing yet.

    It would not end its texts, so those are as long as the targets mostly are.
    """
    part = Part(data, "valid")
    rows = wires.input.encode(part)
    if wires.output.decodes:
        lengths = wires.output.encode(part, rows).rows.lengths(None).sum(1)
        usual = max(1, round(float(np.percentile(lengths, USUAL_LENGTH))))
        recipe = recipe._replace(decoding=recipe.decoding.model_copy(update={"longest": usual}))
    evaluate = validation(recipe, wires, part, rows)
    began = time.perf_counter()
    evaluate(model)
    seconds = time.perf_counter() - began
    scored, asked = _count(data, "valid"), _count(data, "test" if "test" in data.parts() else "valid")
    scored = min(scored, VALIDATED) if wires.output.decodes else scored
    return Pace(start, 0.0, seconds, seconds * asked / max(1, scored))


def until_now() -> float:
    """Seconds that this process has computed since it was started: imports, reading, encoding, baselines.

    The clock on the wall would also count how long others kept it waiting.
    """
    return time.process_time()


def _count(data: Any, part: PartName) -> int:
    return sum(1 for _ in data.examples(part))
