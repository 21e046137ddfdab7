"""Runs that the verbs of language models can use."""

from pathlib import Path

from seqwright.cli.terminal import say
from seqwright.errors import RunError
from seqwright.lineage import task_name
from seqwright.runs import Run, open_run


def opened_language_run(folder: Path, which: str, verb: str) -> Run:
    """A run of a language model; any other is refused before anything is computed."""
    run = open_run(folder, which=which, notice=say)
    task = task_name(run.recipe.data.kind)
    if task != "language":
        raise RunError(f"{folder} learnt {task}; {verb} is for a language model, trained on running text")
    return run
