"""What a call of a run may ask beyond the first verb of its task: more steps of a forecast, so many candidates."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqwright.errors import SettingError
from seqwright.inputs import Given
from seqwright.outputs.label import LabelOutput
from seqwright.outputs.masked import MaskedOutput
from seqwright.outputs.span import SpanOutput
from seqwright.outputs.values import ValuesOutput, iterated

if TYPE_CHECKING:
    from seqwright.runs import Run


def forecasts(run: "Run", series: Sequence[Any], steps: int) -> list[Any]:
    """`value_NC` for so many steps after each series; beyond its horizon a model continues its own forecasts."""
    if not isinstance(run.output, ValuesOutput):
        raise SettingError(f"{run.folder} learnt {run.recipe.task} and forecasts nothing; leave steps out")
    _refuse_none("steps", steps)

    def once(past_BTC: Any) -> Any:
        return np.stack(run.inputs.predict(run.model, list(past_BTC)))

    pasts = [run.input.parse(each).values_TC for each in series]
    return [iterated(once, past_TC[None], steps, history=run.output.history)[0] for past_TC in pasts]


def best_of(run: "Run", things: Sequence[Any], top: int) -> list[Any]:
    """Predictions with the `top` best labels, answers or tokens."""
    _refuse_none("top", top)
    if isinstance(run.output, MaskedOutput):
        examples = Given(map(run.input.parse, things))
        return list(run.output.fill(run.model, run.inputs.batches(examples), examples, top=top))
    if isinstance(run.output, SpanOutput):
        widened = run.inputs._replace(output=replace(run.output, most=top))
        return list(run._replace(inputs=widened)(list(things)))
    if isinstance(run.output, LabelOutput):
        found = run(list(things))
        return [each._replace(probabilities=dict(list(each.probabilities.items())[:top])) for each in found]
    raise SettingError(f"{run.folder} learnt {run.recipe.task}, which ranks no candidates; leave top out")


def _refuse_none(name: str, count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise SettingError(f"{name} is {count!r}; ask for one or more")
