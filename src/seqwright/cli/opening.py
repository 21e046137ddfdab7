"""Opening a run for a verb, alone or with others (`--with`); one that learnt something else is refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args

from seqwright.analysis.reading import context_of
from seqwright.cli.options import EnsembleOptions
from seqwright.cli.terminal import say
from seqwright.decoding.ensemble import Average
from seqwright.errors import DataError, RunError, SettingError
from seqwright.kinds import TASKS
from seqwright.runs import Run, open_run, set_up_cpu

AROUND = 3  # tokens that may stand before, between and after two texts
LANGUAGE_MODEL = "a language model, trained on running text"
PURPOSES = {  # what the run of each verb of a task is
    "translate": "a translator, trained on pairs",
    "align": "a translator with attention, trained on pairs",
    "summarize": "a model trained on texts and their summaries",
    "pronounce": "a model trained on words and their phonemes",
    "reply": "a language model that learnt to answer texts",
    "describe": "a model that writes texts from numbers or labels",
    "caption": "a model that writes captions, trained on images with captions",
    "generate": LANGUAGE_MODEL,
    "score": LANGUAGE_MODEL,
    "prompt": LANGUAGE_MODEL,
    "fill": "a BERT, trained to find masked words",
    "classify": "a classifier, trained on labelled texts, series, images or films",
    "predict": "a regression, trained on texts with values",
    "tag": "a tagger, trained on words with tags",
    "answer": "a model that answers questions about a text",
    "forecast": "a model of time series",
    "track": "a model that follows something through films",
}


def opened_run(folder: Path, which: str = "best") -> Run:
    """A run to be used by this process alone, which computes with as many threads as its recipe says."""
    run = open_run(folder, which=which, notice=say)
    set_up_cpu(run.recipe)
    return run


def opened_for(verb: str, folder: Path, which: str) -> Run:
    """A run that the verb can use; any other is refused before anything is computed."""
    run = opened_run(folder, which)
    task = run.recipe.task
    if verb not in TASKS[task].verbs:
        *others, last = TASKS[task].verbs
        fitting = f"{', '.join(others)} or {last}" if others else last
        raise RunError(f"{folder} learnt {task}; {verb} is for {PURPOSES[verb]}: use {fitting}")
    return run


def opened_together(first: Run, options: EnsembleOptions, which: str) -> tuple[list[Run], Average]:
    """The first run and those that decide together with it, and what of them is averaged."""
    if options.average is not None and not options.beside:
        raise SettingError("--average is how several runs are joined; add --with and another run, or leave it out")
    known = get_args(Average)
    if options.average not in {None, *known}:
        raise SettingError(f"--average is '{options.average}'; choose {' or '.join(known)}")
    others = (opened_run(folder, which) for folder in options.beside or ())
    return [first, *others], cast(Average, options.average or known[0])


def computed_by(run: Run, engine: str | None, *, plain: bool = False) -> Run:
    """The run with an engine by its name; `plain` where only the plain path gives what is asked, so that auto is it."""
    from seqwright.engines import with_engine

    return run if plain and engine == "auto" else with_engine(run, engine)


def ensemble_circumstances(others: Sequence[Run], average: Average) -> dict[str, Any]:
    """What a report says of the other runs."""
    return {"with": {run.folder.name: run.step for run in others}, "average": average} if others else {}


def ensemble_name(others: Sequence[Run], average: Average) -> str:
    """What is added to the name of a file: whom the run was joined with, and how if not as usual."""
    names = "".join(f"-with-{run.folder.name}" for run in others)
    return names + ("-log-probabilities" if average == "log-probabilities" else "")


def refuse_overlong(run: Run, texts: Sequence[str]) -> None:
    """Refuse a text that the model cannot read whole, with the tokens around it."""
    context = context_of(run)
    for number, text in enumerate(texts if context is not None else (), start=1):
        length = len(run.inputs.tokenizer.encode([text])[0])
        if context is not None and length + AROUND > context:
            raise DataError(f"text {number} has {length:,} tokens; {run.folder} reads {context - AROUND:,}: shorten it")
