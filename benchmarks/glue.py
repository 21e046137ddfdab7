"""What pretraining is worth on five tasks of GLUE: the same small BERT from scratch, frozen, and fine-tuned.

    python -m benchmarks.glue                             after `seqwright train wikitext2-bert`, half an hour on a core
    python -m benchmarks.glue --imported runs/minilm      the same, and an imported BERT on SST-2, STS-B and WNUT 17
    python -m benchmarks.glue --only imported --imported runs/minilm --tasks sst2 stsb

CoLA, SST-2, MRPC, STS-B and RTE. Their published dev parts are the test parts here, since nobody has the real ones; a
tenth of each training part validates, and the checkpoint that is best on it is tested. `scratch` is the same model with
the same tokenizer and other weights at the beginning, `frozen` the pretrained one whose body stays as it is under an
output that learns. What stands for a text is the first token's vector, which the pretraining taught to tell whether two
texts follow each other; where the body is frozen, and for the imported one, it is the mean. Each training is a run
folder of its own; stopped at any moment, the same command goes on from there. Beside them stands a regression over
which words occur.
"""

import statistics
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.kinds import task_of
from seqwright.runs import data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark

QUICK = ["training.steps=2", "training.validate_every=2", "training.save_every=2"]


class Cell(NamedTuple):
    """A task: its recipe, the score that its papers print, and the same of the regression over words."""

    title: str
    recipe: str
    score: str
    words: str


TASKS = {
    "cola": Cell("CoLA (mc)", "glue-cola", "matthews", "baseline_linear_matthews"),
    "sst2": Cell("SST-2 (acc)", "sst2-bert", "accuracy", "baseline_linear_accuracy"),
    "mrpc": Cell("MRPC (F1)", "glue-mrpc", "f1_equivalent", ""),
    "stsb": Cell("STS-B (pc)", "glue-stsb", "pearson", "baseline_linear_pearson"),
    "rte": Cell("RTE (acc)", "glue-rte", "accuracy", "baseline_linear_accuracy"),
}
OTHERS = {"wnut17": Cell("WNUT 17 (F1)", "wnut17-bert", "f1", "")}
IMPORTED = ("sst2", "stsb", "wnut17")
SIZES = ("size", "width", "heads", "layers", "feed_forward", "context", "segments", "pooler")
FIRST, MEAN = "model.pooling=first", "model.pooling=mean"
FROZEN = ["model.frozen=true", "training.rate=0.003", MEAN]


def main() -> None:
    parser = options("glue", __doc__)
    parser.add_argument("--pretrained", type=Path, default=REPOSITORY / "runs" / "wikitext2-bert", metavar="RUN")
    parser.add_argument("--imported", type=Path, metavar="RUN", help="an imported BERT, such as runs/minilm")
    parser.add_argument("--only", nargs="*", metavar="ROW", help="of scratch, frozen, pretrained, imported")
    parser.add_argument("--tasks", nargs="*", metavar="TASK", help=f"of {', '.join([*TASKS, *OTHERS])} (default: all)")
    parser.add_argument("--rate", default="3e-4", help="learning rate of our own BERT (default: 3e-4)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="trainings of each (default: 1)")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs" / "glue", help="where the run folders are")
    given = parser.parse_args()
    rows: dict[str, tuple[Sequence[str], list[str]]] = {}
    if given.only == ["imported"]:
        given.pretrained = None
    else:
        own = ["training.threads=1", f"training.rate={given.rate}", FIRST]
        rows["scratch"] = (list(TASKS), [*own, *same_model(given.pretrained)])
        rows["frozen"] = (list(TASKS), [f"model.weights={given.pretrained}", "training.threads=1", *FROZEN])
        rows["pretrained"] = (list(TASKS), [f"model.weights={given.pretrained}", *own])
    if given.imported is not None:
        rows["imported"] = (IMPORTED, [f"model.weights={given.imported}", "training.threads=1"])
    found: dict[str, dict[str, Any]] = {}
    for row, (tasks, settings) in rows.items():
        if given.only and row not in given.only:
            continue
        for task in tasks:
            if not given.tasks or task in given.tasks:
                found.setdefault(row, {})[task] = seeds_of(row, task, settings, given)
    if not found:
        raise SystemExit("nothing was asked for: --only and --tasks name no row, and `imported` needs --imported RUN.")
    table = [cells(row, scores) for row, scores in found.items()]
    show(("", *(cell.title for cell in (TASKS | OTHERS).values()), "mean of five"), [*table, regression(found)])
    record(
        "glue_imported" if given.only == ["imported"] else "glue",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "numpy", "tokenizers"],
        settings={"pretrained": plain(given.pretrained), "imported": plain(given.imported)},
        numbers=found,
    )


def same_model(run: Path) -> list[str]:
    """Settings of a model like that of a run, with its tokenizer and weights of its own."""
    model = plain(run)["model"]
    return [f"input.like={run}", *(f"model.{name}={str(model[name]).lower()}" for name in SIZES)]


def plain(run: Path | None) -> dict[str, Any]:
    """Every setting of a run."""
    return {} if run is None else tomllib.loads((run / "resolved.toml").read_text(encoding="utf-8"))


def seeds_of(row: str, task: str, settings: Sequence[str], given: Any) -> list[dict[str, Any]]:
    """What a task's recipe reaches with some settings, from each seed."""
    cell = (TASKS | OTHERS)[task]
    settings = [*settings, MEAN] if row == "imported" and task in TASKS else settings
    found = []
    for seed in range(1, 1 + (1 if given.quick else given.seeds)):
        run = given.runs / f"{task}-{row}-seed-{seed}{'-quick' if given.quick else ''}"
        trained(cell.recipe, run, [*settings, f"training.seed={seed}", *(QUICK if given.quick else [])])
        found.append(judged(run))
    return found


def trained(recipe: str, run: Path, settings: Sequence[str]) -> None:
    """Train as a user does, or go on with it."""
    print(f"\n{run.name}", flush=True)
    subprocess.run([sys.executable, "-m", "seqwright", "train", recipe, "--run", str(run), *settings], check=True)


def judged(folder: Path) -> dict[str, Any]:
    """The scores of a run on its test part, or where it has none on the validation part, its size and its time."""
    run, last = open_run(folder), read_mark(folder, "last")
    assert last is not None
    data = data_of(run.recipe)
    part = "test" if "test" in data.parts() else "valid"
    scores = task_of(run.recipe.task).evaluated(run.recipe, data, run.inputs, run.model, part, None).scores
    return {
        "seed": run.recipe.training.seed,
        "part": part,
        "scores": {name: round(score, 3) for name, score in scores.items()},
        "parameters": parameters(run.model),
        "steps": last,
        "best_step": run.step,
        "training_seconds": round(read_checkpoint(folder, last, ("model",)).state["seconds"], 1),
    }


def score_of(task: str, runs: Sequence[Mapping[str, Any]]) -> float:
    """The mean over the seeds of the score that counts."""
    scores: list[float] = [run["scores"][(TASKS | OTHERS)[task].score] for run in runs]
    return statistics.mean(scores)


def cells(row: str, scores: Mapping[str, Any]) -> list[str]:
    """A row of the table; the mean only where all five are there."""
    found = {task: score_of(task, runs) for task, runs in scores.items()}
    mean = f"{statistics.mean(found[task] for task in TASKS):.1f}" if TASKS.keys() <= found.keys() else ""
    return [row, *(f"{found[task]:.1f}" if task in found else "" for task in (TASKS | OTHERS)), mean]


def regression(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What the regression over words reaches, as every run tells."""
    told = []
    for task, cell in (TASKS | OTHERS).items():
        runs: list[Any] = next((scores[task] for scores in found.values() if task in scores), [])
        told.append(f"{runs[0]['scores'][cell.words]:.1f}" if runs and cell.words else "")
    return ["regression over words", *told, ""]


if __name__ == "__main__":
    main()
