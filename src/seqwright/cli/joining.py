"""Several runs that decide together: `--with RUN` beside the first."""

from collections.abc import Sequence
from typing import Any, get_args

from seqwright.cli.opening import opened_for
from seqwright.cli.options import EnsembleOptions
from seqwright.cli.terminal import shown
from seqwright.decoding.ensemble import Average
from seqwright.errors import RunError, SettingError
from seqwright.kinds import TASKS
from seqwright.outputs.text import TextOutput
from seqwright.runs import Run
from seqwright.tasks.wired import Wires


def opened_together(first: Run, options: EnsembleOptions, which: str) -> tuple[list[Run], Average]:
    """The first run and those that decide together with it, and what of them is averaged."""
    if options.average is not None and not options.beside:
        raise SettingError("--average is how several runs are joined; add --with and another run, or leave it out")
    average = _average(options)
    if not options.beside:
        return [first], average
    output = first.inputs.output if isinstance(first.inputs, Wires) else None
    if not (isinstance(output, TextOutput) and output.source is not None):
        raise RunError(
            f"{shown(first.folder)} learnt {first.recipe.task}; --with joins runs that write a text from another with "
            "an encoder and a decoder: leave it out"
        )
    verb = TASKS[first.recipe.task].verbs[0]
    return [first, *(opened_for(verb, folder, which) for folder in options.beside)], average


def _average(options: EnsembleOptions) -> Average:
    for known in get_args(Average):
        if options.average in {None, known}:
            found: Average = known
            return found
    raise SettingError(f"--average is '{options.average}'; choose {' or '.join(get_args(Average))}")


def ensemble_circumstances(others: Sequence[Run], average: Average) -> dict[str, Any]:
    """What a report says of the other runs."""
    return {"with": {run.folder.name: run.step for run in others}, "average": average} if others else {}


def ensemble_name(others: Sequence[Run], average: Average) -> str:
    """What is added to the name of a file: whom the run was joined with, and how if not as usual."""
    names = "".join(f"-with-{run.folder.name}" for run in others)
    return names + ("-log-probabilities" if average == "log-probabilities" else "")
