"""A learning-rate range test: how high may the rate be before the loss diverges? (Smith 2017, section 3.3)

    rate_i = lowest · (highest / lowest)^(i / steps)

One short training whose rate rises geometrically, on copies: the run that follows begins as if it had not been. The
rate of choice is a tenth of the one at which the smoothed loss was lowest (Howard & Gugger 2020, chapter 5): where the
loss is lowest, it is about to diverge.

Differs from the paper: there the rate rises linearly over several epochs and the accuracy is watched.
"""

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from seqwright.batches import Batches
from seqwright.errors import DivergedError, SettingError
from seqwright.objectives.objective import Objective
from seqwright.training.interruption import Interrupted, Interruption
from seqwright.training.loop import Fitting, Validation
from seqwright.training.reporter import Quiet, Reporter
from seqwright.training.settings import TrainingSettings

LOWEST, HIGHEST, STEPS = 1e-7, 10.0, 100
REACH = 3.0  # steps: the standard deviation of the Gaussian kernel that smooths the losses, about a quarter of a decade
DIVERGED = 4.0  # times the lowest smoothed loss
NOISE = 1.0  # times the deviation of single losses from the smoothed ones: what chance alone makes them fall by
FIRST = 12  # steps, a decade: what the loss is before it falls
BELOW = 10.0  # what the rate of the lowest loss is divided by


class RateSearch(NamedTuple):
    """The rate and the loss of each step, up to where the loss diverged."""

    rates: tuple[float, ...]
    losses: tuple[float, ...]

    @property
    def smoothed(self) -> list[float]:
        """Each loss with its neighbours on both sides: a moving average of those before would lag half a decade."""
        place_N = np.arange(len(self.losses))
        weight_NN = np.exp(-0.5 * ((place_N[:, None] - place_N) / REACH) ** 2)
        found: list[float] = (weight_NN @ np.array(self.losses) / weight_NN.sum(1)).tolist()
        return found

    @property
    def diverged(self) -> bool:
        """Whether the last loss is far above the lowest, also where losses may be negative."""
        smoothed = self.smoothed
        lowest = min(smoothed, default=0.0)
        return bool(smoothed) and smoothed[-1] - lowest > (DIVERGED - 1) * abs(lowest)

    @property
    def lowest(self) -> int:
        """Which of the smoothed losses is the lowest, from 0; the first of several."""
        smoothed = self.smoothed
        return min(range(len(smoothed)), key=smoothed.__getitem__, default=0)

    @property
    def best(self) -> float:
        """The rate to train with, in two digits, so that it can be written into a recipe."""
        if self.lowest == 0:
            raise SettingError(
                f"training.rate is 'find', but no learning rate from {LOWEST:g} to {HIGHEST:g} made the loss fall; "
                "look at the data with `seqwright check`, or give a number"
            )
        return float(f"{self.rates[self.lowest] / BELOW:.2g}")

    @property
    def doubtful(self) -> bool:
        """Whether the loss fell by no more than chance alone may have made it."""
        losses, smoothed = (np.array(each[: self.lowest + 1]) for each in (self.losses, self.smoothed))
        return bool(np.median(smoothed[:FIRST]) - smoothed[-1] < NOISE * np.std(losses - smoothed))


def find_rate(
    model: nn.Module,
    objective: Objective,
    batches: Batches[Any],
    settings: TrainingSettings,
    reporter: Reporter | None = None,
) -> RateSearch:
    """Train copies of model and objective on the first batches as the settings say, at a rate that rises.

    What follows from the step and the seed is as in training: the batches, what is dropped, the optimizer. Asked to
    stop, it raises `Interrupted` of step 0.
    """
    reporter = reporter or Quiet()
    model, objective = copy.deepcopy((model, objective))
    short = {"steps": STEPS, "epochs": None, "average": "none", "compile": False}
    fitting = Fitting(
        model, objective, batches, settings.model_copy(update=short), rising, None, Validation(None, True), reporter, {}
    )
    losses: list[float] = []
    reporter.begin(0, STEPS, "find rate")
    try:
        with Interruption() as interruption:
            while len(losses) < STEPS and not _search(losses).diverged:
                losses.append(fitting.update())
                if fitting.world.broadcast_flag(interruption.asked):
                    raise Interrupted(0)
    except DivergedError:  # the rates before say enough
        pass
    finally:
        fitting.ahead.close()
        reporter.end()
    return _search(losses)


def rising(step: int) -> float:
    """The learning rate of a step, from 1."""
    return float(LOWEST * (HIGHEST / LOWEST) ** (step / STEPS))


def _search(losses: Sequence[float]) -> RateSearch:
    return RateSearch(tuple(rising(step) for step in range(1, 1 + len(losses))), tuple(losses))
