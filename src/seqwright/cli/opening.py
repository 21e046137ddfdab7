"""Opening a run for a verb; of one that learnt something else it is said which verb to use."""

from pathlib import Path

from seqwright.cli.terminal import say
from seqwright.errors import RunError
from seqwright.lineage import task_name
from seqwright.runs import Run, open_run

LANGUAGE_MODEL = "a language model, trained on running text"
# What each verb is for, and the tasks whose runs it can use.
USES: dict[str, tuple[str, set[str]]] = {
    "translate": ("a translator, trained on pairs", {"translation"}),
    "generate": (LANGUAGE_MODEL, {"language", "description"}),
    "score": (LANGUAGE_MODEL, {"language"}),
    "classify": ("a classifier, trained on labelled text", {"classification"}),
    "tag": ("a tagger, trained on words with tags", {"tagging"}),
    "forecast": ("a model of time series", {"forecasting"}),
}


def opened_for(verb: str, folder: Path, which: str) -> Run:
    """A run that the verb can use; any other is refused before anything is computed."""
    run = open_run(folder, which=which, notice=say)
    task = task_name(run.recipe.data.kind)
    purpose, tasks = USES[verb]
    if task not in tasks:
        fitting = " or ".join(other for other, (_, known) in USES.items() if task in known)
        raise RunError(f"{folder} learnt {task}; {verb} is for {purpose}: use {fitting}")
    return run
