"""How long a training takes in all: until its first step, its steps, its validations, and an evaluation after it.

Nothing is assumed: each part is done once, in a folder that is thrown away, and timed.
"""

import math
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from seqwright.batches import Batches
from seqwright.data.examples import PartName
from seqwright.devices import device_of
from seqwright.kinds import task_of
from seqwright.recipe import Recipe
from seqwright.run_folders import write_beginning
from seqwright.runs import objective_of, open_run
from seqwright.tasks import VALIDATED, Prepared
from seqwright.tasks.parts import Part
from seqwright.tasks.wired import Wires, validation
from seqwright.training.loop import Evaluate, fit
from seqwright.training.rate_finder import STEPS as RATE_STEPS
from seqwright.training.reporter import Quiet
from seqwright.training.settings import TrainingSettings

WARMING, TRIED = 3, 30  # steps before the clock starts, and steps that are timed
PATIENCE = 20.0  # seconds after which fewer timed steps will do
SHORT = 5.0  # seconds: a validation that takes less is timed a second time, without what only the first one does


class Clock:
    """Seconds of work since it was made.

    On a CPU they are never more than those that this process has computed: the clock on the wall also counts how long
    others kept it waiting. Nor are they more than those on the wall: two threads compute two seconds in one.
    """

    def __init__(self, device: torch.device | None = None) -> None:
        self.computes = device is None or device.type == "cpu"
        self.wall, self.busy = time.perf_counter(), time.process_time()

    def seconds(self) -> float:
        """Until now."""
        wall, busy = time.perf_counter() - self.wall, time.process_time() - self.busy
        return min(wall, busy) if self.computes else wall


class Pace(NamedTuple):
    """Seconds for each part of a training, as measured."""

    start: float = 0.0  # until the first step, from the start of a process of its own
    step: float = 0.0
    validation: float = 0.0
    saving: float = 0.0  # of a checkpoint
    first: float = 0.0  # what is done once: the optimizer's imports, more for the first validation than for others
    ending: float = 0.0  # after the last step: what is learnt from the best checkpoint, and what is written for people
    evaluation: float = 0.0  # of the part that is kept for tests, greedily; its process starts like that of training

    @classmethod
    def found(cls, measured: Mapping[str, Any]) -> "Pace":
        """What a measurement found, of the older ones only the steps."""
        return cls(**{"step": measured["seconds_per_step"], **measured.get("pace", {})})

    def training(self, steps: int, settings: TrainingSettings) -> float:
        """From the start to what is written after so many steps."""
        validations = math.ceil(steps / settings.validate_every)
        saved = len({*range(0, steps, settings.validate_every), *range(0, steps, settings.save_every)} | {steps}) - 1
        tried = RATE_STEPS if settings.rate == "find" else 0
        repeated = (steps + tried) * self.step + validations * self.validation + saved * self.saving
        return self.start + repeated + self.first + self.ending

    def evaluating(self, beam: int) -> float:
        """An evaluation in a process of its own, with so wide a beam."""
        return self.start + beam * self.evaluation


def measured_pace(
    recipe: Recipe,
    data: Any,
    wires: Wires,
    prepared: Prepared,
    model: nn.Module,
    *,
    start: float,
    finish: Callable[[Path], object] = lambda folder: None,
) -> Pace:
    """The pace of a training, with a model that has learnt nothing yet; `start` is how long it takes to get there.

    `finish` is done after the training with its folder.
    """
    device, task = device_of(model), task_of(recipe.task)
    evaluate = _evaluate(recipe, wires, Part(data, "valid"), prepared)
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside)
        write_beginning(recipe, folder, "", wires, {})
        first = usual = _tried(recipe, model, prepared.train, evaluate, folder, 1)
        if first.validation < SHORT:
            usual = _tried(recipe, model, prepared.train, evaluate, folder, 2)
        clock = Clock(device)
        if task.output.calibrates:
            best = open_run(folder)
            task.calibrate(recipe, data, best.inputs, best.model, step=best.step, folder=folder)
        finish(folder)
        ending = clock.seconds()
    asked = _count(data, "test" if "test" in data.parts() else "valid")
    valid = _count(data, "valid")
    scored = min(valid, VALIDATED) if wires.output.decodes else valid
    return Pace(
        start=start,
        step=seconds_per_step(recipe, model, prepared.train),
        validation=usual.validation,
        saving=usual.saving,
        first=max(0.0, first.whole - usual.whole),
        ending=ending,
        evaluation=usual.validation * asked / max(1, scored),
    )


def until_now() -> float:
    """Seconds that this process has computed since it was started: above all imports.

    The clock on the wall would also count how long others kept it waiting.
    """
    return time.process_time()


def seconds_per_step(recipe: Recipe, model: nn.Module, batches: Batches[Any]) -> float:
    """From steps of a training whose rate is 0."""
    watch = StepTimes(device_of(model))
    short = {"steps": WARMING + TRIED + 1, "epochs": None, "average": "none"}
    try:
        objective = objective_of(recipe).to(device_of(model))
        settings = recipe.training.model_copy(update=short)
        fit(model, objective, batches, settings=settings, rate=lambda step: 0.0, reporter=watch)
    except Enough:
        pass
    return watch.pace()


class Enough(Exception):  # noqa: N818 - it is not an error
    """So much was timed."""


class StepTimes(Quiet):
    """Times steps of a training, and ends it."""

    def __init__(self, device: torch.device | None = None) -> None:
        self.clock = Clock(device)
        self.times: list[float] = []

    def step(self, step: int, loss: float, speed: float) -> None:
        """A step is done."""
        self.times.append(self.clock.seconds())
        timed = len(self.times) - WARMING
        if timed >= TRIED or (timed > WARMING and self.times[-1] - self.times[0] > PATIENCE):
            raise Enough

    def pace(self) -> float:
        """Seconds per step."""
        kept = self.times[min(WARMING, len(self.times) - 2) :]
        return (kept[-1] - kept[0]) / (len(kept) - 1)


class Validated(Quiet):
    """Times the last validation of a training, what is written after it, and the whole training."""

    def __init__(self, evaluate: Evaluate, device: torch.device) -> None:
        self._evaluate, self.device = evaluate, device
        self.validation = self.saving = self.whole = 0.0
        self.begun = self.clock = Clock(device)

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """The scores."""
        clock = Clock(self.device)
        scores = self._evaluate(model)
        self.validation, self.clock = clock.seconds(), Clock(self.device)
        return scores

    def end(self) -> None:
        """The checkpoint is written."""
        self.saving, self.whole = self.clock.seconds(), self.begun.seconds()


def _tried(
    recipe: Recipe, model: nn.Module, batches: Batches[Any], evaluate: Evaluate, folder: Path, step: int
) -> Validated:
    """One step, its validation and its checkpoint, in a training that ends with it."""
    watch = Validated(evaluate, device_of(model))
    settings = recipe.training.model_copy(update={"steps": step, "epochs": None, "patience": None})
    objective = objective_of(recipe).to(device_of(model))
    fit(
        model,
        objective,
        batches,
        settings=settings,
        rate=lambda step: 0.0,
        run=folder,
        evaluate=watch.evaluate,
        reporter=watch,
        metadata={},
    )
    return watch


def _evaluate(recipe: Recipe, wires: Wires, part: Part, prepared: Prepared) -> Evaluate:
    """A validation by a model that has learnt nothing yet.

    It would not end its texts, so those are as long as the longest target of their batch, in the mean.
    """
    if not wires.output.decodes:
        return prepared.evaluate
    rows = wires.input.encode(part)
    targets = wires.output.encode(part, rows)
    longest = dict(zip(rows.example_N.tolist(), targets.rows.lengths(None).sum(1).tolist(), strict=True))
    asked = wires.batches(part, recipe.training.tokens)
    usual = np.mean([max(longest.get(number, 0) for number in batch.example_B.tolist()) for batch in asked.once()])
    decoding = recipe.decoding.model_copy(update={"longest": max(1, round(float(usual)))})
    return validation(recipe._replace(decoding=decoding), wires, part, rows)


def _count(data: Any, part: PartName) -> int:
    return sum(1 for _ in data.examples(part))
