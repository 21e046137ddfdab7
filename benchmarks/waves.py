"""How well the shipped recipes forecast the lectures' waves: the mean squared error of the next step.

    python -m benchmarks.waves                         every recipe, three times, in a quarter of an hour
    python -m benchmarks.waves waves-rnn waves-gru     some of them

10,000 series of 50 steps (7,000 to train on, 2,000 to validate, 1,000 to test), 20 epochs of Adam. Each recipe is
trained from several seeds, each into a run folder of its own; stopped at any moment, the same command goes on from
there. The checkpoint with the lowest validation loss is tested. `lectures` are the losses that Payberah's slides print
for Keras, of series drawn in the same way from a seed they do not tell; the simple forecasts stand beside them. The
series are those of Géron's book, seed 42, for whose validation part it prints 0.020211367 for the naive forecast; its
test part is harder. How much the draw decides is shown by the recipe of three parameters, which always finds the same
ones: it also learns and forecasts the series of four other seeds.
"""

import statistics
import subprocess
import sys
import tomllib
from argparse import Namespace
from pathlib import Path
from typing import Any

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.kinds import task_of
from seqwright.recipe import shipped
from seqwright.runs import data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark

QUICK = ["training.steps=20", "training.validate_every=20", "training.save_every=20"]
LECTURES = {
    "waves-dense": 0.003994,
    "waves-rnn": 0.011026,
    "waves-deep-rnn": 0.003197,
    "waves-deep-rnn-dense": 0.002758,
}
DRAWS = ("waves-rnn", range(42, 47))  # the recipe, and the seeds of the series
SIMPLE = ("naive", "seasonal_naive", "least_squares")
SCORES = ("mse", "mae", "mase")
COLUMNS = ("recipe", "parameters", "valid MSE", "test MSE", "of each seed", "lectures", "test MASE", "seconds")


def main() -> None:
    recipes = [*LECTURES, *(name for name in shipped() if name.startswith("waves-") and name not in LECTURES)]
    parser = options("waves", __doc__)
    parser.add_argument("recipes", nargs="*", metavar="RECIPE", help=f"of {', '.join(recipes)} (default: all)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="trainings of each recipe (default: 3)")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    given = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {}
    settings: dict[str, Any] = {}
    simple: dict[str, Any] = {}
    for name in given.recipes or recipes:
        for seed in range(1, 1 + (1 if given.quick else given.seeds)):
            run = given.runs / f"{name}-seed-{seed}{'-quick' if given.quick else ''}"
            trained(name, seed, run, quick=given.quick)
            numbers, simple = judged(run)
            found.setdefault(name, []).append(numbers)
            settings[name] = tomllib.loads((run / "resolved.toml").read_text(encoding="utf-8"))
    draws = {} if given.recipes else {seed: drawn(given, seed) for seed in DRAWS[1]}
    show(COLUMNS, [*(row(name, runs) for name, runs in found.items()), *(beside(who, simple) for who in SIMPLE)])
    for seed, parts in draws.items():
        print(
            f"{DRAWS[0]}, series of seed {seed}: test MSE {parts['mse']:.5f}, naive {parts['baseline_naive_mse']:.5f}"
        )
    record(
        "waves",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "numpy"],
        settings=settings,
        numbers={"recipes": found, "lectures": LECTURES, "simple forecasts": simple, "waves-rnn by draw": draws},
    )


def trained(name: str, seed: int, run: Path, *more: str, quick: bool) -> None:
    """Train as a user does, or go on with it."""
    more = (f"training.seed={seed}", "training.threads=1", *more, *(QUICK if quick else []))
    words = ["train", name, "--run", str(run), *more]
    subprocess.run([sys.executable, "-m", "seqwright", *words], check=True)


def judged(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scores of a run on the validation and on the test part, its size and how long it took; those to beat."""
    run, last = open_run(folder), read_mark(folder, "last")
    assert last is not None
    task, data = task_of(run.recipe.task), data_of(run.recipe)
    parts = {
        part: task.evaluated(run.recipe, data, run.inputs, run.model, part, None).scores for part in ("valid", "test")
    }
    numbers = {
        "seed": run.recipe.training.seed,
        **{name: {score: part[score] for score in SCORES} for name, part in parts.items()},
        "parameters": parameters(run.model),
        "steps": last,
        "best_step": run.step,
        "training_seconds": round(read_checkpoint(folder, last, ("model",)).state["seconds"], 1),
    }
    simple = {
        who: {name: {score: part[f"baseline_{who}_{score}"] for score in SCORES} for name, part in parts.items()}
        for who in SIMPLE
    }
    return numbers, simple


def drawn(given: Namespace, seed: int) -> dict[str, float]:
    """The test error of one recipe, and of the naive forecast, on the series of another seed."""
    run = given.runs / f"{DRAWS[0]}-draw-{seed}{'-quick' if given.quick else ''}"
    trained(DRAWS[0], 1, run, f"data.seed={seed}", quick=given.quick)
    numbers, simple = judged(run)
    return {"mse": numbers["test"]["mse"], "baseline_naive_mse": simple["naive"]["test"]["mse"]}


def row(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """A recipe in the table: means over the seeds, and the test error of each."""
    valid, test, scaled = (
        statistics.mean(run[part][score] for run in runs)
        for part, score in (("valid", "mse"), ("test", "mse"), ("test", "mase"))
    )
    each = " ".join(f"{run['test']['mse']:.5f}" for run in runs)
    lectures = f"{LECTURES[name]:.5f}" if name in LECTURES else ""
    seconds = f"{statistics.mean(run['training_seconds'] for run in runs):.0f}"
    size = f"{runs[0]['parameters']:,}"
    return [name, size, f"{valid:.5f}", f"{test:.5f}", each, lectures, f"{scaled:.3f}", seconds]


def beside(who: str, simple: dict[str, Any]) -> list[str]:
    """A simple forecast in the table."""
    valid, test = simple[who]["valid"], simple[who]["test"]
    return [who.replace("_", " "), "", f"{valid['mse']:.5f}", f"{test['mse']:.5f}", "", "", f"{test['mase']:.3f}", ""]


if __name__ == "__main__":
    main()
