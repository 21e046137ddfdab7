"""`training.rate = "find"`: a number in its place, before a run begins, and how it was found beside the run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from seqwright.batches import Batches
from seqwright.objectives.objective import Objective
from seqwright.pictures import save
from seqwright.pictures.rates import rate_curve
from seqwright.recipe import Recipe
from seqwright.run_folders import RATE_FOUND
from seqwright.training.distributed import World
from seqwright.training.journal import Journal
from seqwright.training.rate_finder import RateSearch, find_rate
from seqwright.training.reporter import Reporter
from seqwright.whole_file import written_whole


def with_found_rate(
    recipe: Recipe, model: nn.Module, objective: Objective, batches: Batches[Any], folder: Path, reporter: Reporter
) -> Recipe:
    """The recipe with a learning rate where it says "find". Neither the model nor the objective is changed.

    Under torchrun every process finds the same one, and the first writes it down.
    """
    if recipe.training.rate != "find":
        return recipe
    reporter.say("finding a learning rate …")
    search = find_rate(model, objective, batches, recipe.training, reporter)
    rate = search.best
    if not World.rank_here():
        picture = write_search(search, folder)[0]
        reporter.say(
            f"learning rate {rate:g}: a tenth of the one with the lowest loss, by {len(search.rates)} steps that are "
            f"thrown away; the curve is {picture}"
        )
        if search.doubtful:
            reporter.say(f"! the loss fell hardly more than it varies: look at {picture} before you trust this rate")
    return recipe._replace(training=recipe.training.model_copy(update={"rate": rate}))


def write_search(search: RateSearch, folder: Path) -> Sequence[Path]:
    """Put down what was found in the journal, the steps in `rate.jsonl`, and draw them; the pictures."""
    journal = Journal(folder / "journal.jsonl")
    journal.cut_back(-1)  # by a training that died before its first checkpoint
    journal.write({"step": 0, "event": RATE_FOUND, "epoch": 0, "rate": search.best})
    with written_whole(folder / "rate.jsonl") as file:
        for step, (rate, loss) in enumerate(zip(search.rates, search.losses, strict=True), start=1):
            file.write(json.dumps({"step": step, "rate": rate, "loss": loss}) + "\n")
    curve = rate_curve(search.rates, search.losses, search.smoothed, search.best)
    return save(curve, folder / "pictures" / "rate")
