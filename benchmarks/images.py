"""How well the shipped recipes read images, each trained from several seeds.

    python -m benchmarks.images digits             digits-vit and digits-cnn, three seeds each, some five minutes
    python -m benchmarks.images dots               dots-motion and dots-tracking, three seeds each, some six minutes
    python -m benchmarks.images fashion-mnist      a ViT, a CNN and a ResNet on 54,000 images, 20 minutes each
    python -m benchmarks.images curve              a ViT and a CNN on 1,000, 5,000 and 20,000, three seeds, 85 minutes
    python -m benchmarks.images cifar10            a ViT and a ResNet on 45,000 images, 30 minutes each
    python -m benchmarks.images captions-shapes    captions by soft and hard attention and by a Transformer
    python -m benchmarks.images captions-flickr8k  captions of photographs; --features FILE reads those that
                                                   `python -m benchmarks.image_features` has written

Each run gets a folder of its own; stopped at any moment, the same command goes on from there. The checkpoint with the
best validation is tested; nothing is chosen on the test part. Beside labels stands a logistic regression over pixels,
beside captions a constant one, and one human against the others.
"""

import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import captions, image_figures
from benchmarks.record import REPOSITORY, options, record, show
from seqwright.kinds import task_of
from seqwright.runs import data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark

SEEDS = 3
QUICK = ("training.epochs=1", "training.warmup=0")
LABELS = ("recipe", "parameters", "valid", "test accuracy", "of each seed", "logistic regression", "seconds")


def main() -> None:
    parser = options("images", __doc__)
    parser.add_argument("figure", choices=[*FIGURES, *image_figures.FIGURES])
    parser.add_argument("--seeds", type=int, metavar="N", help="trainings of each recipe (default: as it is published)")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    parser.add_argument("--features", type=Path, metavar="FILE", help="of captions-flickr8k: read these, not pixels")
    given = parser.parse_args()
    if given.figure in image_figures.FIGURES:
        image_figures.run(given, __doc__)
        return
    figure, more = FIGURES[given.figure], tuple[str, ...]()
    if given.features is not None:
        figure = figure._replace(recipes=("flickr8k-captions",))
        more = (f"data.features={given.features.resolve()}", "input.size=")
    named, quick = "" if given.features is None else "-features", "-quick" if given.quick else ""
    found: dict[str, list[dict[str, Any]]] = {}
    settings: dict[str, Any] = {}
    for name in figure.recipes:
        for seed in range(1, 1 + (1 if given.quick else given.seeds or SEEDS)):
            run = given.runs / f"{name}{named}-seed-{seed}{quick}"
            of = figure.begins.get(name)
            begun = () if of is None else (f"model.weights={given.runs / f'{of}-seed-{seed}{quick}'}",)
            trained(name, seed, run, *begun, *more, *((*QUICK, *figure.small) if given.quick else ()))
            found.setdefault(name + named, []).append(figure.judged(run))
            settings[name + named] = tomllib.loads((run / "resolved.toml").read_text(encoding="utf-8"))
    show(figure.columns, figure.rows(found))
    record(
        f"images-{given.figure}{named}",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "numpy", "scikit-learn"],
        settings=settings,
        numbers={"recipes": found},
    )


def trained(name: str, seed: int, run: Path, *more: str) -> None:
    """Train as a user does, or go on with it."""
    words = ["train", name, "--run", str(run), f"training.seed={seed}", "training.threads=1", *more]
    subprocess.run([sys.executable, "-m", "seqwright", *words], check=True)


def judged(folder: Path) -> dict[str, Any]:
    """The scores of a run on the validation and on the test part, its size and how long it took."""
    run, last = open_run(folder), read_mark(folder, "last")
    assert last is not None
    task, data = task_of(run.recipe.task), data_of(run.recipe)
    parts = {
        part: task.evaluated(run.recipe, data, run.inputs, run.model, part, None).scores for part in ("valid", "test")
    }
    return {
        "seed": run.recipe.training.seed,
        **{f"{part}_accuracy": scores["accuracy"] for part, scores in parts.items()},
        "linear_test_accuracy": parts["test"]["baseline_linear_accuracy"],
        "parameters": parameters(run.model),
        "steps": last,
        "best_step": run.step,
        "training_seconds": round(read_checkpoint(folder, last, ("model",)).state["seconds"], 1),
    }


def row(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """A recipe in the table: means over the seeds, and the test accuracy of each."""
    valid, test, seconds = (
        statistics.mean(run[key] for run in runs) for key in ("valid_accuracy", "test_accuracy", "training_seconds")
    )
    each = " ".join(f"{run['test_accuracy']:.2f}" for run in runs)
    linear = f"{runs[0]['linear_test_accuracy']:.2f}"
    return [name, f"{runs[0]['parameters']:,}", f"{valid:.2f}", f"{test:.2f}", each, linear, f"{seconds:.0f}"]


class Figure(NamedTuple):
    """The recipes of a figure, how a run of them is judged, and the table of what was found."""

    recipes: Sequence[str]
    judged: Callable[[Path], dict[str, Any]]
    columns: Sequence[str]
    rows: Callable[[dict[str, list[dict[str, Any]]]], Sequence[Sequence[str]]]
    begins: Mapping[str, str] = {}  # recipes whose runs begin from those of others with the same seed
    small: Sequence[str] = ()  # what makes them small, for a quick look


def of_labels(found: dict[str, list[dict[str, Any]]]) -> Sequence[Sequence[str]]:
    """The table of labels."""
    return [row(name, runs) for name, runs in found.items()]


FIGURES = {
    "digits": Figure(("digits-vit", "digits-cnn"), judged, LABELS, of_labels),
    "captions-shapes": Figure(
        ("shapes-captions", "shapes-captions-hard", "shapes-captions-transformer"),
        captions.judged_shapes,
        captions.SHAPES,
        captions.of_shapes,
        {"shapes-captions-hard": "shapes-captions"},
        ("data.examples=300", "data.valid=30", "data.test=30"),
    ),
    "captions-flickr8k": Figure(
        ("flickr8k-captions",), captions.judged_photographs, captions.PHOTOGRAPHS, captions.rows_of_photographs
    ),
}

if __name__ == "__main__":
    main()
