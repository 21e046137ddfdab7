"""How well does each model learn to write Python in equal time: counted 5-grams, an LSTM, a GPT?

    python -m benchmarks.code                 six minutes each on one core, the 5-grams as long as counting takes
    python -m benchmarks.code --minutes 1

They learn the source of Python's standard library in the same sub-words. The learnt models are trained for as many
steps as fit into the time: how long a step takes is measured first. Bits per byte are those of modules that were held
out; completions are of the same beginnings, drawn in the same way. A run folder that is there is gone on with.
"""

import subprocess
import sys
import tomllib
from argparse import Namespace
from pathlib import Path
from typing import Any

from benchmarks.language import judged
from benchmarks.record import REPOSITORY, options, record, show
from seqwright.runs import open_run
from seqwright.training.checkpoint import read_checkpoint

RECIPES = ("python-5gram", "python-lstm", "python-gpt")
TRIED = 30  # steps that are measured
OPENINGS = (
    "def __init__(self,",  # without a space at the end, which the next token brings along
    "import os\nimport sys\n\n\ndef main():\n",
    "class Error(Exception):\n",
    "    for key, value in",
)
WRITING: dict[str, Any] = {"temperature": 0.5, "min_p": 0.05, "longest": 60, "seed": 1}
QUICK = ["training.steps=4", "training.validate_every=4", "training.save_every=4", "data.megabytes=0.5"]


def main() -> None:
    parser = options("code", __doc__)
    parser.add_argument("--minutes", type=float, default=6.0, help="how long each model is trained")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    given = parser.parse_args()
    found, settings = {}, {}
    for name in RECIPES:
        folder = given.runs / f"{name}{'-quick' if given.quick else ''}"
        words = QUICK if given.quick else [] if name == "python-5gram" else [f"training.steps={steps(name, given)}"]
        train(name, folder, words)
        found[name] = {**judged(folder), "completions": completions(folder)}
        settings[name] = tomllib.loads((folder / "resolved.toml").read_text(encoding="utf-8"))
    for name, numbers in found.items():
        print(f"\n{'—' * 20} {name}")
        print("\n\n".join(numbers["completions"]))
    show(
        ["recipe", "parameters", "bits per byte, valid", "bits per byte, test", "epochs", "minutes"],
        [row(name, numbers) for name, numbers in found.items()],
    )
    record(
        "code",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "tokenizers", "numpy"],
        settings={"recipes": settings, "minutes": given.minutes, "writing": WRITING},
        numbers=found,
    )


def train(name: str, folder: Path, words: list[str]) -> None:
    """As a user would, on one thread."""
    command = [sys.executable, "-m", "seqwright", "train", name, "--run", str(folder), "training.threads=1", *words]
    subprocess.run(command, check=True)


def steps(name: str, given: Namespace) -> int:
    """As many as fit into the time, from those of a run that is only measured; of a run that is there, its own."""
    resolved = given.runs / name / "resolved.toml"
    if resolved.is_file():
        return int(tomllib.loads(resolved.read_text(encoding="utf-8"))["training"]["steps"])
    folder = given.runs / f"{name}-measured"
    often = [f"training.{setting}={TRIED}" for setting in ("steps", "save_every", "validate_every")]
    train(name, folder, [*often, f"training.warmup={TRIED}"])
    seconds: float = read_checkpoint(folder, TRIED, ("model",)).state["seconds"]
    return max(1, int(60 * given.minutes * TRIED / seconds))


def completions(folder: Path) -> list[str]:
    """How the model goes on with each beginning."""
    run = open_run(folder)
    return [found.text for found in run(OPENINGS, **WRITING)]


def row(name: str, numbers: dict[str, Any]) -> list[str]:
    """A recipe in the table."""
    bits = (f"{numbers['scores'][part]['bits_per_byte']:.3f}" for part in ("valid", "test"))
    rest = (f"{numbers['epochs']:.1f}", f"{numbers['training_seconds'] / 60:.1f}")
    return [name, f"{numbers['parameters']:,}", *bits, *rest]


if __name__ == "__main__":
    main()
