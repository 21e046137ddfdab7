"""How well the shipped recipes forecast the lectures' waves: test MSE of the next step.

    python -m benchmarks.waves                         every recipe, in a few minutes
    python -m benchmarks.waves waves-rnn waves-gru     some of them

10,000 series of 50 steps (7,000 to train on, 2,000 to validate, 1,000 to test), 20 epochs of Adam. Each recipe is
trained into a run folder of its own; stopped at any moment, the same command goes on from there. The checkpoint with
the lowest validation loss is tested. `lectures` are the losses that Payberah's slides print for Keras; the simple
forecasts stand beside them.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.recipe import shipped
from seqwright.training.checkpoint import read_checkpoint, read_mark

QUICK = ["training.steps=20", "training.validate_every=20", "training.save_every=20"]
LECTURES = {
    "waves-dense": 0.0040,
    "waves-rnn": 0.0110,
    "waves-deep-rnn": 0.0032,
    "waves-deep-rnn-dense": 0.0028,
}
SIMPLE = ("naive", "seasonal_naive", "least_squares")
SCORES = ("mse", "mae", "mase")


def main() -> None:
    recipes = [*LECTURES, *(name for name in shipped() if name.startswith("waves-") and name not in LECTURES)]
    parser = options("waves", __doc__)
    parser.add_argument("recipes", nargs="*", metavar="RECIPE", help=f"of {', '.join(recipes)} (default: all)")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    given = parser.parse_args()
    found, resolved, simple = {}, {}, {}
    for name in given.recipes or recipes:
        run = given.runs / f"{name}{'-quick' if given.quick else ''}"
        seqwright("train", name, "--run", str(run), "training.threads=1", *(QUICK if given.quick else []))
        scores = json.loads(seqwright("eval", str(run), "--part", "test", "--json"))
        found[name] = {**{score: scores[score] for score in SCORES}, **facts(run), "lectures": LECTURES.get(name)}
        simple = {who: {score: scores[f"{who}_{score}"] for score in SCORES} for who in SIMPLE}
        resolved[name] = tomllib.loads((run / "resolved.toml").read_text(encoding="utf-8"))
    rows = [[name, *(f"{numbers[score]:.4f}" for score in SCORES), *told(numbers)] for name, numbers in found.items()]
    rows += [[who.replace("_", " "), *(f"{scores[score]:.4f}" for score in SCORES)] for who, scores in simple.items()]
    show(["recipe", "test MSE", "MAE", "MASE", "lectures' MSE", "parameters", "best step", "seconds"], rows)
    record(
        "waves",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "numpy"],
        settings=resolved,
        numbers={"recipes": found, "simple forecasts": simple},
    )


def facts(run: Path) -> dict[str, Any]:
    """The size of a run and how long it took."""
    last, best = read_mark(run, "last"), read_mark(run, "best")
    assert last is not None
    checkpoint = read_checkpoint(run, last, ("model",))
    parameters = sum(tensor.numel() for tensor in checkpoint.files["model"].values())
    seconds = round(checkpoint.state["seconds"], 1)
    return {"parameters": parameters, "steps": last, "best_step": best, "training_seconds": seconds}


def told(numbers: dict[str, Any]) -> list[str]:
    lectures = "" if numbers["lectures"] is None else f"{numbers['lectures']:.4f}"
    return [lectures, *(str(numbers[name]) for name in ("parameters", "best_step", "training_seconds"))]


def seqwright(*words: str) -> str:
    """Run a verb as a user does; what it prints as its result."""
    done = subprocess.run([sys.executable, "-m", "seqwright", *words], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


if __name__ == "__main__":
    main()
