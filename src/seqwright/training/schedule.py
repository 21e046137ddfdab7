"""Learning rates as functions of the step, counted from 1."""

import math
from collections.abc import Callable
from typing import Any

from seqwright.batches import Batches
from seqwright.errors import SettingError
from seqwright.training.settings import TrainingSettings

PAPER_WARMUP = 4000  # Vaswani et al. 2017, section 5.3


def noam(step: int, *, width: int, warmup: int) -> float:
    """width^-0.5 · min(step^-0.5, step · warmup^-1.5) (Vaswani et al. 2017, equation 3)."""
    return float(width**-0.5 * min(step**-0.5, step * max(warmup, 1) ** -1.5))


def inverse_sqrt(step: int, *, warmup: int) -> float:
    """Linear to 1 over the warm-up, then falling with the root of the step."""
    return min(step / max(warmup, 1), math.sqrt(max(warmup, 1) / step))


def cosine_decay(step: int, *, warmup: int, steps: int) -> float:
    """Linear to 1 over the warm-up, then half a cosine down to 0 at the last step (Loshchilov & Hutter 2017)."""
    if step <= warmup:
        return step / max(warmup, 1)
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    return 0.5 * (1 + math.cos(math.pi * done))


def linear(step: int, *, warmup: int, steps: int) -> float:
    """Linear to 1 over the warm-up, then linear down to 0 at the last step (Devlin et al. 2019, appendix A.2)."""
    if step <= warmup:
        return step / max(warmup, 1)
    return 1 - min(1.0, (step - warmup) / max(1, steps - warmup))


def constant(step: int, *, warmup: int) -> float:
    """Linear to 1 over the warm-up, then 1."""
    return min(1.0, step / max(warmup, 1))


def expected_steps(settings: TrainingSettings, batches: Batches[Any]) -> int:
    """The steps a training will take: as many as it says, or as its epochs hold if those are fewer."""
    if settings.epochs is None:
        return settings.steps
    return min(settings.steps, math.ceil(settings.epochs * batches.in_epoch(0) / settings.accumulate))


def warmup_steps(settings: TrainingSettings, steps: int) -> int:
    """The steps over which the learning rate rises, of so many that a training takes."""
    return round(settings.warmup_share * steps) if settings.warmup is None else settings.warmup


def unfinished_warmup(settings: TrainingSettings, steps: int) -> str | None:
    """A sentence where training ends before the learning rate has reached its height."""
    warmup = warmup_steps(settings, steps)
    if warmup == 0 or warmup < steps:
        return None
    return (
        f"the warm-up of {warmup:,} steps is not over when training ends after {steps:,}, so the learning rate only "
        "rises: leave training.warmup out, which makes it a share of the steps, or lower it"
    )


def learning_rate(settings: TrainingSettings, *, steps: int, width: int | None = None) -> Callable[[int], float]:
    """The schedule that the settings name, times their rate; cosine and linear end at `steps`, noam needs a width."""
    rate, warmup, lowest = settings.rate, warmup_steps(settings, steps), settings.lowest
    if isinstance(rate, str):
        raise SettingError("training.rate is 'find', but here no learning rate is searched for; give a number")
    match settings.schedule:
        case "noam":
            if width is None:
                raise SettingError("training.schedule is 'noam', which needs the model's width; choose another")
            peak = rate if settings.warmup is not None else rate * math.sqrt(max(warmup, 1) / PAPER_WARMUP)
            return lambda step: peak * noam(step, width=width, warmup=warmup)
        case "inverse-sqrt":
            return lambda step: rate * inverse_sqrt(step, warmup=warmup)
        case "cosine":
            return lambda step: rate * _above(lowest, cosine_decay(step, warmup=warmup, steps=steps), step, warmup)
        case "linear":
            return lambda step: rate * _above(lowest, linear(step, warmup=warmup, steps=steps), step, warmup)
        case "constant":
            return lambda step: rate * constant(step, warmup=warmup)


def _above(lowest: float, share: float, step: int, warmup: int) -> float:
    """A share that falls to 0 after the warm-up made to fall to `lowest`."""
    return share if step <= warmup else lowest + (1 - lowest) * share
