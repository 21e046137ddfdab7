"""How well the run of a recipe does: trained and evaluated as a user does it, a row among those of other runs.

    python -m benchmarks.scores wikitext2-bert
    python -m benchmarks.scores subjqa-bert --run runs/subjqa-minilm model.weights=runs/minilm
    python -m benchmarks.scores sst2-bert --run runs/student --teacher runs/one --teacher runs/two model.layers=3
    python -m benchmarks.scores cmudict-transformer --processes 2 training.threads=1

The checkpoint that is best on the validation part is judged, or the last, on the test part; where there is none, on the
validation part too. A run with teachers is trained by `seqwright distil`. A run folder that is there already is gone on
with, or only judged where its training is over; in `results/scores.json` the rows of other runs stay.
"""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.runs import data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark

NAME = "scores"
QUICK = ["training.steps=3", "training.validate_every=3", "training.save_every=3"]


def main() -> None:
    parser = options(NAME, __doc__)
    parser.add_argument("recipe", help="a recipe that ships, or a file")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="as `seqwright train` takes them")
    parser.add_argument("--run", type=Path, help="the run folder (default: runs/RECIPE)")
    parser.add_argument("--part", help="the part that is judged (default: test, where there is one, else valid)")
    parser.add_argument("--which", choices=["best", "last"], default="best", help="the checkpoint that is judged")
    parser.add_argument("--teacher", action="append", default=[], metavar="RUN", help="one to distil; several times")
    parser.add_argument("--processes", type=int, default=1, help="train in so many, under torchrun")
    given = parser.parse_intermixed_args()
    folder = given.run or Path("runs") / f"{Path(given.recipe).stem}{'-quick' if given.quick else ''}"
    training = ["train", given.recipe]
    if given.teacher:
        first, *others = given.teacher
        training = ["distil", first, given.recipe, *(word for other in others for word in ("--with", other))]
    training += ["--run", str(folder), *given.settings, *(QUICK if given.quick else [])]
    command = ["seqwright", *training]
    if given.processes > 1:
        torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(given.processes)]
        command = [*torchrun, "-m", "--", *command]
    subprocess.run([sys.executable, "-m", *command], check=True)
    before = earlier(given.results or REPOSITORY / ("runs/quick" if given.quick else "results"))
    found: dict[str, Any] = before.get("numbers", {})
    how = shlex.join(command).replace("torch.distributed.run", "torchrun")
    found[folder.name] = {"training": how, "processes": given.processes, **judged(folder, given.part, given.which)}
    settings: dict[str, Any] = before.get("settings", {})
    settings[folder.name] = tomllib.loads((folder / "resolved.toml").read_text(encoding="utf-8"))
    show(["run", "part", "minutes", "scores"], [row(name, numbers) for name, numbers in found.items()])
    threads = found[folder.name]["threads"]
    record(NAME, __doc__, given, threads=threads, libraries=["torch", "tokenizers"], settings=settings, numbers=found)


def earlier(folder: Path) -> dict[str, Any]:
    """What was recorded before: the rows of other runs."""
    path = folder / f"{NAME}.json"
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return known


def judged(folder: Path, part: str | None, which: str) -> dict[str, Any]:
    """The scores as `seqwright eval` gives them, size and time."""
    run, last = open_run(folder, which=which), read_mark(folder, "last")
    assert last is not None
    part = part or ("test" if "test" in data_of(run.recipe).parts() else "valid")
    words = ["eval", str(folder), "--part", part, "--which", which, "--json"]
    said = subprocess.run([sys.executable, "-m", "seqwright", *words], check=True, stdout=subprocess.PIPE)
    return {
        "part": part,
        "threads": run.recipe.training.threads or os.cpu_count(),
        "parameters": parameters(run.model),
        "steps": last,
        f"{which}_step": run.step,
        "training_minutes": round(read_checkpoint(folder, last, ("model",)).state["seconds"] / 60, 2),
        "scores": json.loads(said.stdout),
    }


def row(name: str, numbers: dict[str, Any]) -> list[str]:
    """A line of the table, with the scores that are numbers."""
    said = [f"{score} {value:.2f}" for score, value in numbers["scores"].items() if isinstance(value, float)]
    return [name, numbers["part"], f"{numbers['training_minutes']:.1f}", "  ".join(said)]


if __name__ == "__main__":
    main()
