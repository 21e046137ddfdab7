"""What may be asked of a run beyond the first verb of its task: more steps, so many candidates, an evaluation."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from seqwright.data.cards import opened_data, other_files
from seqwright.data.examples import PartName
from seqwright.errors import DataError, MissingFileError, SettingError, brief
from seqwright.inputs import Given
from seqwright.kinds import TASKS, task_of
from seqwright.outputs.label import LabelOutput
from seqwright.outputs.masked import MaskedOutput
from seqwright.outputs.span import SpanOutput
from seqwright.outputs.values import ValuesOutput, iterated
from seqwright.recipe import validated
from seqwright.tasks import Evaluation

if TYPE_CHECKING:
    from seqwright.runs import Run

Files: TypeAlias = str | Path | Sequence[str | Path]


def asked(run: "Run", given: Any, steps: int | None, top: int | None, decoding: Any) -> Any:
    """A prediction for what is given; a list of them for a list, an array of strings or a column of pandas."""
    plain = _listed(given)
    several = isinstance(plain, list)
    things = plain if several else [plain]
    if not several:
        _refuse_blank(run, plain)
    if steps is not None and top is not None:
        raise SettingError("steps is how far a forecast reaches and top ranks candidates; give one of them")
    if steps is not None:
        found = forecasts(run, things, steps)
    elif top is not None:
        found = best_of(run, things, top)
    else:
        found = run.inputs.predict(run.model, things, decoding, method=task_of(run.recipe.task).method)
    return found if several else found[0]


def listed_texts(given: Any) -> list[str]:
    """One text, or several, as a list."""
    plain = [given] if isinstance(given, str) else _listed(given)
    if not isinstance(plain, list | tuple) or not plain or not all(isinstance(each, str) for each in plain):
        raise DataError(f"{brief(given)} is no text; give one, or a list of them")
    return list(plain)


def _listed(given: Any) -> Any:
    """A list for an array of strings or a column of pandas, otherwise what is given."""
    plain = given.to_numpy() if hasattr(given, "to_numpy") else given
    return plain.tolist() if isinstance(plain, np.ndarray) and plain.dtype.kind in "UTO" else plain


def _refuse_blank(run: "Run", given: Any) -> None:
    """Among others a blank example gets an empty prediction; asked for alone, it is a mistake."""
    if run.input.blank_remarks(Given([run.input.parse(given)])):
        raise DataError(f"{brief(given)} is blank: there is nothing to read")


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
        widened = replace(run.inputs, output=replace(run.output, most=top))
        return list(run._replace(inputs=widened)(list(things)))
    if isinstance(run.output, LabelOutput):
        found = run(list(things))
        return [each._replace(probabilities=dict(list(each.probabilities.items())[:top])) for each in found]
    raise SettingError(f"{run.folder} learnt {run.recipe.task}, which ranks no candidates; leave top out")


def evaluation_of(run: "Run", part: PartName | None, files: Files | None, decoding: Any) -> Evaluation:
    """How good a run is on a part of its data, or on other files."""
    recipe, kind = run.recipe, TASKS[run.recipe.task].examples[0]
    if files is not None:
        if part is not None:
            raise SettingError("part chooses from the run's own data and data names other files; give one of them")
        paths = [Path(each) for each in ([files] if isinstance(files, str | Path) else files)]
        if not paths:
            raise SettingError("data names no file; name at least one, or leave it out for the run's own data")
        recipe = recipe._replace(data=validated("data", other_files(paths, recipe.data, kind), recipe.task))
    data = opened_data(recipe.data, kind) if files is not None else own_data(run)
    chosen: PartName = part or ("test" if "test" in data.parts() else "valid")
    found: Evaluation = task_of(recipe.task).evaluated(recipe, data, run.inputs, run.model, chosen, decoding)
    return found


def own_data(run: "Run") -> Any:
    """The data that a run was trained on; where it is not here, a sentence on how to name it."""
    try:
        return opened_data(run.recipe.data, TASKS[run.recipe.task].examples[0])
    except MissingFileError as error:
        told = f"{run.folder} was trained on it: put it there, or give it or another file with --data"
        raise MissingFileError(f"{error} {told}") from error


def _refuse_none(name: str, count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise SettingError(f"{name} is {count!r}; ask for one or more")
