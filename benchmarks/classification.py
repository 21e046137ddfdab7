"""How well the shipped recipes classify texts: test accuracy, and F1 of the rarer label.

    python -m benchmarks.classification                    every recipe, in about half an hour
    python -m benchmarks.classification sst2 sms-spam      some of them

SST-2 (6,920 sentences; the 872 published dev sentences are the test part), the SMS Spam Collection (5,574 messages; a
fifth, chosen by a hash of the text, is the test part) and IMDB (25,000 reviews, and 25,000 to test). The validation
part is a tenth of the training data or of all; the checkpoint that is best on it is tested. Recipes are trained from
several seeds, IMDB from one, each into a run folder of its own; stopped at any moment, the same command goes on from
there. Beside them stands a logistic regression over which words occur, fitted to the same training part.
"""

import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.kinds import task_of
from seqwright.runs import data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark

QUICK = ["training.steps=20", "training.validate_every=20", "training.save_every=20"]
SEEDS = {"sst2": 3, "sms-spam": 3, "imdb": 1}
SCORES = ("accuracy", "macro_f1", "f1")
COLUMNS = ("recipe", "parameters", "valid %", "test %", "each seed", "test F1", "each seed", "seconds")


def main() -> None:
    parser = options("classification", __doc__)
    parser.add_argument("recipes", nargs="*", metavar="RECIPE", help=f"of {', '.join(SEEDS)} (default: all)")
    parser.add_argument("--seeds", type=int, metavar="N", help=f"trainings of each recipe (default: {SEEDS})")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    given = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {}
    beside: dict[str, dict[str, Any]] = {}
    settings: dict[str, Any] = {}
    for name in given.recipes or SEEDS:
        for seed in range(1, 1 + (1 if given.quick else given.seeds or SEEDS[name])):
            run = given.runs / f"{name}-seed-{seed}{'-quick' if given.quick else ''}"
            trained(name, seed, run, quick=given.quick)
            numbers, beside[name] = judged(run)
            found.setdefault(name, []).append(numbers)
            settings[name] = tomllib.loads((run / "resolved.toml").read_text(encoding="utf-8"))
    show(COLUMNS, [line for name, runs in found.items() for line in (row(name, runs), regression(beside[name]))])
    record(
        "classification",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "numpy", "tokenizers"],
        settings=settings,
        numbers={"recipes": found, "beside": beside},
    )


def trained(name: str, seed: int, run: Path, *, quick: bool) -> None:
    """Train as a user does, or go on with it."""
    words = ["train", name, "--run", str(run), f"training.seed={seed}", "training.threads=1", *(QUICK if quick else [])]
    subprocess.run([sys.executable, "-m", "seqwright", *words], check=True)


def judged(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scores of a run on both parts, its size and how long it took; and what it has to beat on the test part."""
    run, last = open_run(folder), read_mark(folder, "last")
    assert last is not None
    task, data = task_of(run.recipe.task), data_of(run.recipe)
    valid, test = (
        task.evaluated(run.recipe, data, run.inputs, run.model, part, None).scores for part in ("valid", "test")
    )
    numbers = {
        "seed": run.recipe.training.seed,
        "valid": {score: valid[score] for score in SCORES},
        "test": {score: test[score] for score in SCORES},
        "parameters": parameters(run.model),
        "steps": last,
        "best_step": run.step,
        "training_seconds": round(read_checkpoint(folder, last, ("model",)).state["seconds"], 1),
    }
    words = {score: test[f"baseline_linear_{score}"] for score in SCORES}
    to_beat = {
        "f1 is of": run.inputs.rarest,
        "regression over words": words,
        "majority": test["baseline_majority_accuracy"],
    }
    return numbers, to_beat


def row(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """A recipe in the table: means over the seeds, and the test scores of each."""
    valid = statistics.mean(run["valid"]["accuracy"] for run in runs)
    tested = {score: [run["test"][score] for run in runs] for score in ("accuracy", "f1")}
    told = [
        text
        for scores in tested.values()
        for text in (f"{statistics.mean(scores):.2f}", " ".join(f"{score:.2f}" for score in scores))
    ]
    seconds = f"{statistics.mean(run['training_seconds'] for run in runs):.0f}"
    return [name, f"{runs[0]['parameters']:,}", f"{valid:.2f}", *told, seconds]


def regression(beside: dict[str, Any]) -> list[str]:
    """What the logistic regression reaches, in the table."""
    words = beside["regression over words"]
    return ["  regression over words", "", "", f"{words['accuracy']:.2f}", "", f"{words['f1']:.2f}", "", ""]


if __name__ == "__main__":
    main()
