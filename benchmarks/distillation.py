"""Does a student of half the layers learn more from its teacher than from the labels alone?

    python -m benchmarks.distillation --teacher runs/sst2-minilm          about half an hour
    python -m benchmarks.distillation --teacher runs/sst2-minilm --weights runs/minilm

The teacher is a BERT that was fine-tuned on SST-2. The student has every second of its layers and begins with them, or
with --weights with those of another run. Three seeds, each twice: distilled (soft targets of the teacher on training
sentences and on sentences of IMDB reviews whose labels nobody looks at, and the labels of the former) and plain (the
labels of the training sentences), with the same beginning, the same number of steps and the same settings. The
checkpoint that is best on the validation part is judged on the published dev sentences, which none has seen. Stopped at
any moment, the same command goes on from there. At the end teacher and student read the dev sentences in turn, each
alone on one thread.
"""

import os
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import torch

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.data.cards import card
from seqwright.data.files import place_of
from seqwright.data.sentences import sentences
from seqwright.kinds import task_of
from seqwright.recipe import written
from seqwright.runs import Run, data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark, step_folder

STUDENT: dict[str, Any] = {
    "task": "text-classification",
    "data": {"card": "sst2"},
    "input": {"longest": 64},
    "model": {"kind": "bert", "pooling": "mean", "dropout": 0.1, "attention_dropout": 0.0},
    "training": {
        "steps": 800,
        "tokens": 1024,
        "optimizer": "adamw",
        "decay": 0.01,
        "betas": [0.9, 0.999],
        "epsilon": 1e-8,
        "rate": 1e-4,
        "schedule": "linear",
        "warmup": 80,
        "clip": 1.0,
        "validate_every": 200,
        "save_every": 200,
        "keep": 1,
        "metric": "accuracy",
        "threads": 1,
        "precision": "bfloat16",
    },
}
QUICK = ["training.steps=4", "training.validate_every=4", "training.warmup=1"]
SENTENCES = 24_000  # of the reviews; with those of the training part hardly more than the steps can read
WORDS = range(4, 26)  # in a sentence: as long as those of SST-2 are
TIMES = 5  # the dev sentences are read by each model
COLUMNS = ("", "parameters", "outside embeddings", "MB", "sentences/s", "test %", "each seed", "steps", "seconds")


def main() -> None:
    parser = options("distillation", __doc__)
    parser.add_argument("--teacher", type=Path, required=True, metavar="RUN", help="a BERT fine-tuned on SST-2")
    parser.add_argument("--weights", type=Path, metavar="RUN", help="whose layers the student has (default: --teacher)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="trainings of each kind (default: 3)")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    parser.add_argument("override", nargs="*", metavar="KEY=VALUE", help="settings of the student, distilled and plain")
    given = parser.parse_args()
    torch.set_num_threads(1)
    teacher = open_run(given.teacher)
    home = given.runs / f"distillation{'-quick' if given.quick else ''}"
    home.mkdir(parents=True, exist_ok=True)
    texts = unlabelled(Path(os.path.relpath(home)) / "sentences.txt", 200 if given.quick else SENTENCES)
    (home / "student.toml").write_text(written(STUDENT), encoding="utf-8")
    layers = list(range(0, teacher.recipe.model.layers, 2))
    begun = [
        f"model.weights={given.weights or given.teacher}",
        f"model.layers={len(layers)}",
        f"model.init_layers={layers}",
    ]
    found: dict[str, list[dict[str, Any]]] = {"distilled": [], "plain": []}
    verbs = {"distilled": ["distil", str(given.teacher)], "plain": ["train"]}
    for seed in range(1, 1 + (1 if given.quick else given.seeds)):
        for kind, verb in verbs.items():
            run = home / f"{kind}-seed-{seed}"
            more = [f"objective.unlabelled={texts}"] if kind == "distilled" else []
            more += [*begun, f"training.seed={seed}", *(QUICK if given.quick else []), *given.override]
            words = [*verb, str(home / "student.toml"), "--run", str(run), *more]
            subprocess.run([sys.executable, "-m", "seqwright", *words], check=True)
            found[kind].append({"seed": seed, **judged(run)})
    student = open_run(home / "distilled-seed-1")
    about = {name: size(run) for name, run in (("teacher", teacher), ("student", student))}
    for name, pace in speeds({"teacher": teacher, "student": student}, 40 if given.quick else None).items():
        about[name]["sentences_per_second"] = pace
    about["teacher"]["test"] = tested(teacher)
    print_table(about, found)
    record(
        "distillation",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "numpy", "tokenizers"],
        settings={
            "student": tomllib.loads((home / "distilled-seed-1" / "resolved.toml").read_text(encoding="utf-8")),
            "teacher": tomllib.loads((given.teacher / "resolved.toml").read_text(encoding="utf-8")),
            "unlabelled sentences": texts.read_text(encoding="utf-8").count("\n"),
        },
        numbers={**about, **found, **marks(about, found)},
    )


def unlabelled(path: Path, count: int) -> Path:
    """Sentences of the training reviews of IMDB, without their labels; which ones, a hash of each decides."""
    if not path.exists():
        reviews = card("imdb").open().examples("train")
        every = {
            " ".join(sentence.split())
            for review in reviews
            for sentence in sentences(review.text.replace("<br />", "\n"))
            if len(sentence.split()) in WORDS
        }
        path.write_text("".join(f"{sentence}\n" for sentence in sorted(every, key=place_of)[:count]), encoding="utf-8")
    return path


def judged(folder: Path) -> dict[str, Any]:
    """The accuracy of a student on both parts, and how long it took."""
    run, last = open_run(folder), read_mark(folder, "last")
    assert last is not None
    seconds = read_checkpoint(folder, last, ("model",)).state["seconds"]
    valid = task_of(run.recipe.task).evaluated(run.recipe, data_of(run.recipe), run.inputs, run.model, "valid", None)
    return {
        "valid": round(valid.scores["accuracy"], 3),
        "test": tested(run),
        "steps": last,
        "best_step": run.step,
        "training_seconds": round(seconds, 1),
    }


def tested(run: Run) -> float:
    """The accuracy on the published dev sentences."""
    scores = task_of(run.recipe.task).evaluated(run.recipe, data_of(run.recipe), run.inputs, run.model, "test", None)
    return round(float(scores.scores["accuracy"]), 3)


def size(run: Run) -> dict[str, Any]:
    """How large a model is, in numbers and on the disk."""
    body: Any = run.model.get_submodule("body")
    embeddings = sum(parameters(body.get_submodule(name)) for name in ("tokens", "positions", "segments"))
    weights = step_folder(run.folder, run.step) / "model.safetensors"
    return {
        "parameters": parameters(run.model),
        "outside_embeddings": parameters(run.model) - embeddings,
        "megabytes": round(weights.stat().st_size / 1e6, 1),
    }


def speeds(runs: dict[str, Run], count: int | None) -> dict[str, float]:
    """How many dev sentences a second each model classifies, in turn, the median of several times."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    texts = [example.text for example in data_of(next(iter(runs.values())).recipe).examples("test")][:count]
    for _ in range(TIMES):
        for name, run in runs.items():
            began = time.perf_counter()
            run.inputs.predict(run.model, texts)
            seconds[name].append(time.perf_counter() - began)
    return {name: round(len(texts) / statistics.median(took), 1) for name, took in seconds.items()}


def marks(about: dict[str, dict[str, Any]], found: dict[str, list[dict[str, Any]]]) -> dict[str, float]:
    """What the figure is about: means of the seeds, and how far they are apart."""
    mean = {kind: statistics.mean(run["test"] for run in runs) for kind, runs in found.items()}
    share = about["student"]["outside_embeddings"] / about["teacher"]["outside_embeddings"]
    return {
        "share_of_parameters_outside_embeddings": round(share, 3),
        "distilled_mean": round(mean["distilled"], 3),
        "plain_mean": round(mean["plain"], 3),
        "below_teacher": round(about["teacher"]["test"] - mean["distilled"], 3),
        "above_plain": round(mean["distilled"] - mean["plain"], 3),
    }


def print_table(about: dict[str, dict[str, Any]], found: dict[str, list[dict[str, Any]]]) -> None:
    """Teacher and students beside each other."""

    def sizes(model: dict[str, Any]) -> list[str]:
        numbers = [f"{model['parameters']:,}", f"{model['outside_embeddings']:,}", f"{model['megabytes']:.1f}"]
        return [*numbers, f"{model['sentences_per_second']:.0f}"]

    rows = [["teacher", *sizes(about["teacher"]), f"{about['teacher']['test']:.2f}", "", "", ""]]
    for kind, runs in found.items():
        tests = [run["test"] for run in runs]
        took = f"{statistics.mean(run['training_seconds'] for run in runs):.0f}"
        scores = [f"{statistics.mean(tests):.2f}", " ".join(f"{test:.2f}" for test in tests), str(runs[0]["steps"])]
        rows.append([f"{kind} student", *sizes(about["student"]), *scores, took])
    show(COLUMNS, rows)


if __name__ == "__main__":
    main()
