"""How well 300 labelled rows teach a classifier: a fine-tuned MiniLM beside words and a model from scratch.

    python -m benchmarks.few_rows --from runs/minilm       after `seqwright import FOLDER --run runs/minilm`

Of SST-2 and of the SMS Spam Collection each seed draws 300 rows of the training part; `seqwright new` writes the
recipes for them, with and without `--from`, and nothing of them is changed. A fifth of the 300 rows validates and
chooses the checkpoint; the test parts (872 sentences, a fifth of the messages) are read once, at the end. The settings
are what `new` writes: those of the shipped `sst2-bert`, with epochs by the number of rows; none was chosen by these
test parts. Beside both stands a logistic regression over which words occur, fitted to the same 240 rows. The numbers
are written after each seed, and stopped at any moment the same command goes on from there.
"""

import json
import random
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.data.labelled import with_labels
from seqwright.recipe import read_recipe
from seqwright.runs import data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark

ROWS, VALID = 300, 60
SCORES = {"sst2": "accuracy", "sms-spam": "macro_f1"}  # the shipped recipe whose data it is, and what is compared
QUICK = ["training.steps=2", "training.validate_every=2", "training.save_every=2"]
COLUMNS = ("", "rows", "seeds", "MiniLM, fine-tuned", "LSTM from scratch", "logistic regression")


def main() -> None:
    parser = options("few_rows", __doc__)
    parser.add_argument("--from", dest="pretrained", type=Path, default=REPOSITORY / "runs" / "minilm", metavar="RUN")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="samples of rows, and trainings (default: 5)")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs" / "few-rows", help="where the run folders are")
    given = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in SCORES}
    settings: dict[str, Any] = {}
    for seed in range(1, 1 + (1 if given.quick else given.seeds)):
        for name in SCORES:
            folder = given.runs / f"{name}-{seed}{'-quick' if given.quick else ''}"
            write_rows(name, seed, folder)
            models = {
                "fine-tuned": trained(folder, "tuned", seed, given.quick, "--from", str(given.pretrained)),
                "from scratch": trained(folder, "scratch", seed, given.quick),
            }
            found[name].append({"seed": seed, **models})
            settings[name] = {each: plain(folder / each) for each in ("tuned", "scratch")}
        record(
            "few_rows",
            __doc__,
            given,
            threads=1,
            libraries=["torch", "numpy", "tokenizers", "scikit-learn"],
            settings=settings,
            numbers=found,
        )
    show(COLUMNS, [row(name, seeds) for name, seeds in found.items()])


def write_rows(name: str, seed: int, folder: Path) -> None:
    """A sample of the training part, and the test part, as a user would have them."""
    if (folder / "test.jsonl").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    data = data_of(read_recipe(name))
    parts = {part: list(with_labels(data.examples(part))) for part in ("train", "test")}
    rows = random.Random(seed).sample(parts["train"], ROWS)
    parts |= {"train": rows[VALID:], "valid": rows[:VALID]}  # by ourselves: the card has cut by a hash, as shares do
    for part, examples in parts.items():
        lines = (json.dumps({"text": each.text, "label": each.label}) for each in examples)
        (folder / f"{part}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def trained(folder: Path, name: str, seed: int, quick: bool, *begun: str) -> dict[str, Any]:
    """The scores of what `new` and `train` make of the rows, without a change of settings."""
    recipe, run = folder / f"{name}.toml", folder / name
    if not recipe.exists():
        data = [
            "--data",
            str(folder / "train.jsonl"),
            *(f"data.{part}={folder / part}.jsonl" for part in ("valid", "test")),
        ]
        seqwright("new", "text-classification", *data, *begun, "-o", str(recipe))
    words = [f"training.seed={seed}", "training.threads=1", *(QUICK if quick else [])]
    seqwright("train", str(recipe), "--run", str(run), *words)
    opened, last = open_run(run), read_mark(run, "last")
    assert last is not None
    return {
        "test": {score: round(value, 3) for score, value in opened.evaluate("test").scores.items()},
        "valid": {score: round(value, 3) for score, value in opened.evaluate("valid").scores.items()},
        "parameters": parameters(opened.model),
        "steps": last,
        "best_step": opened.step,
        "training_seconds": round(read_checkpoint(run, last, ("model",)).state["seconds"], 1),
    }


def seqwright(*words: str) -> None:
    """Type a command."""
    print(f"\nseqwright {' '.join(words)}", flush=True)
    subprocess.run([sys.executable, "-m", "seqwright", *words], check=True)


def plain(run: Path) -> dict[str, Any]:
    """The model and the training of a run."""
    settings = tomllib.loads((run / "resolved.toml").read_text(encoding="utf-8"))
    settings["model"].pop("weights", None)  # a place on this machine
    return {section: settings[section] for section in ("model", "training")}


def row(name: str, seeds: list[dict[str, Any]]) -> list[str]:
    """Means over the seeds, and their standard deviations."""
    score = SCORES[name]
    tests = {
        "fine-tuned": [each["fine-tuned"]["test"][score] for each in seeds],
        "from scratch": [each["from scratch"]["test"][score] for each in seeds],
        "words": [each["fine-tuned"]["test"][f"baseline_linear_{score}"] for each in seeds],
    }
    told = [
        f"{statistics.mean(some):.1f}" + (f" ± {statistics.stdev(some):.1f}" if len(some) > 1 else "")
        for some in tests.values()
    ]
    return [f"{name} ({score})", str(ROWS), str(len(seeds)), *told]


if __name__ == "__main__":
    main()
