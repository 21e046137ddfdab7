"""`look --gradients` and `--initialisations`: how far back in time recurrent layers are felt, trained and at first.

L layers · R rows · K steps back
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from seqwright.analysis.gradients import beginnings_of, own_text, passage_of, reaches_of
from seqwright.analysis.reading import foretells, reads_text
from seqwright.cli.looking.examples import examples_of
from seqwright.cli.terminal import add_row, json_text, say, say_drawn
from seqwright.pictures import save
from seqwright.pictures.gradients import Reach, gradient_picture
from seqwright.pictures.initialisations import initialisation_picture
from seqwright.runs import Run

TOLD = (1, 2, 5, 10, 20, 50, 100)  # steps back that the table has


def draw_gradients(runs: Sequence[Run], found: Sequence[str], where: Path, *, as_json: bool) -> None:
    """Draw ‖∂h_t/∂h_{t-k}‖ against k of every layer of some runs, and print some of the numbers, or all as JSON."""
    writers = [run for run in runs if foretells(run)]
    if not found and writers:
        found = [own_text(writers[0])]
        say(f"{writers[0].folder} writes the text itself, since there is none: {found[0][:60]!r} …")
    reaches: list[Reach] = []
    for run, name in zip(runs, names_of(runs), strict=True):
        passage = passage_of(run, longest_example(run, found), say)
        say(f"{run.folder}: following the gradients through {passage.told}")
        reaches += reaches_of(run, passage, name)
    paths = save(gradient_picture(reaches), where / "gradients")
    if as_json:
        for reach in reaches:
            print(json_text(_fields(reach)))
    else:
        _print(reaches)
    say_drawn(paths)


def longest_example(run: Run, found: Sequence[str]) -> Any:
    """The example that is given; of lines that are read each by itself the longest; None where no text is read."""
    examples = examples_of(run, found) if reads_text(run) else []
    if len(examples) > 1:
        say(f"{run.folder} reads each line by itself; the longest of {len(examples):,} is looked at")
    return max(examples, key=lambda given: len(str(given)), default=None)


def names_of(runs: Sequence[Run]) -> list[str]:
    """The names of the runs' folders, or their whole paths where two folders have the same name."""
    count = Counter(run.folder.name for run in runs)
    return [run.folder.name if count[run.folder.name] == 1 else str(run.folder) for run in runs]


def _print(reaches: Sequence[Reach]) -> None:
    """The medians at some distances."""
    furthest = max(reach.norm_RK.shape[1] for reach in reaches) - 1
    distances = [k for k in TOLD if k <= furthest]
    deep = any(reach.layer > 1 for reach in reaches)
    print("‖∂h_t/∂h_{t-k}‖, the median over the places t\n")
    table = Table(box=None, pad_edge=False)
    for heading in ("run", "weights", *(f"k = {k}" for k in distances)):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    for reach in reaches:
        median_K = np.median(reach.norm_RK, axis=0)
        name = f"{reach.run}, layer {reach.layer}" if deep else reach.run
        numbers = [f"{median_K[k]:.2g}" if k < len(median_K) else "" for k in distances]
        add_row(table, name, "trained" if reach.trained else "at first", *numbers)
    console = Console()
    console.print(table, width=None if console.is_terminal else 120, crop=False)


def _fields(reach: Reach) -> dict[str, object]:
    shares = np.percentile(reach.norm_RK, (10, 50, 90), axis=0)
    low, median, high = ([float(f"{value:.4g}") for value in row] for row in shares.tolist())
    told = {"run": reach.run, "layer": reach.layer, "trained": reach.trained, "rows": len(reach.norm_RK)}
    return {**told, "median": median, "low": low, "high": high}


def draw_initialisations(run: Run, found: Sequence[str], where: Path) -> None:
    """Draw how saturated, how spread and how far-reaching the states are, randomly initialised in each way."""
    if not found and foretells(run):
        found = [own_text(run)]
    passage = passage_of(run, longest_example(run, found), say)
    say(f"{run.folder}: initialising again in each way, reading {passage.told}")
    beginnings = beginnings_of(run, passage)
    title = f"{run.recipe.model.kind} of width {run.recipe.model.width} before training, reading {passage.told}"
    paths = save(initialisation_picture(beginnings, title=title), where / "initialisations")
    for each in beginnings:
        share, back = 100 * float(each.saturated_T.mean()), len(each.norm_K) - 1
        print(f"{each.name + each.note:24} {share:5.1f} % saturated, gradient {each.norm_K[-1]:.2g} {back} steps back")
    say_drawn(paths)
