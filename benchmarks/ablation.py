"""GPT-1's ablations (Radford et al. 2018, table 5) with small models: what pretraining and auxiliary loss are worth.

    python -m benchmarks.ablation                      in fifty minutes on one core, pretraining included
    python -m benchmarks.ablation --tasks rte mrpc     some of the columns

Four rows: a GPT that was pretrained, fine-tuned with the language model's loss beside the task's; the same without
pretraining; without the auxiliary loss; and an LSTM in place of the GPT. Both language models are trained on WikiText-2
with one tokenizer for the same time, `wikitext2-gpt-small` and `wikitext2-lstm-small`, if runs of these names are not
there already. Columns are our tasks of GLUE; their published dev parts are the test parts here, a tenth of the training
part validates and chooses the checkpoint. Each cell is a run folder of its own; stopped at any moment, the same command
goes on from there. Beside the table in `results/ablation.json` there is one to print, `results/ablation.md`.
"""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.glue import QUICK, TASKS, judged, plain, score_of, trained
from benchmarks.record import REPOSITORY, options, record, show
from seqwright.recipe import written

LANGUAGE_MODELS = ("wikitext2-gpt-small", "wikitext2-lstm-small")
# The paper's, of a GPT with 117 million parameters; the mean is over these five.
PAPER = {
    "full": {"cola": 45.4, "sst2": 91.3, "mrpc": 82.3, "stsb": 82.0, "rte": 56.0},
    "no-pretraining": {"cola": 18.9, "sst2": 84.0, "mrpc": 79.4, "stsb": 30.9, "rte": 53.8},
    "no-auxiliary": {"cola": 47.9, "sst2": 92.0, "mrpc": 84.9, "stsb": 83.2, "rte": 54.4},
    "lstm": {"cola": 30.3, "sst2": 90.5, "mrpc": 83.2, "stsb": 71.8, "rte": 54.6},
}
TRAINING = {
    "epochs": 2,
    "tokens": 1024,
    "optimizer": "adamw",
    "decay": 0.01,
    "schedule": "linear",
    "betas": [0.9, 0.999],
    "warmup": 50,
    "clip": 1.0,
    "validate_every": 100,
    "keep": 1,
    "threads": 1,
    "precision": "bfloat16",
}
RATES = {"gpt": 5e-4, "lstm-lm": 3e-3}  # with the GPT's, the LSTM learns next to nothing in two epochs
METRICS = {"cola": "matthews", "sst2": "accuracy", "mrpc": "accuracy", "stsb": "pearson", "rte": "accuracy"}
LONGEST = 125  # tokens of a text or pair: with three marks, the context of the small GPT


class Row(NamedTuple):
    """What is the same in all cells of a row."""

    title: str
    model: str
    pretrained: bool
    auxiliary: bool


ROWS = {
    "full": Row("Transformer w/ aux LM (full)", "gpt", pretrained=True, auxiliary=True),
    "no-pretraining": Row("Transformer w/o pre-training", "gpt", pretrained=False, auxiliary=True),
    "no-auxiliary": Row("Transformer w/o aux LM", "gpt", pretrained=True, auxiliary=False),
    "lstm": Row("LSTM w/ aux LM", "lstm-lm", pretrained=True, auxiliary=True),
}


def main() -> None:
    parser = options("ablation", __doc__)
    parser.add_argument("--rows", nargs="*", default=list(ROWS), metavar="ROW", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), metavar="TASK", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="trainings of each cell (default: 1)")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    given = parser.parse_args()
    languages = {
        model: language_model(name, given) for model, name in zip(("gpt", "lstm-lm"), LANGUAGE_MODELS, strict=True)
    }
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in given.rows:
        for task in given.tasks:
            found.setdefault(row, {})[task] = cell(row, task, languages[ROWS[row].model], given)
    columns = ("method", "mean", *(TASKS[task].title for task in given.tasks))
    lines = [
        line(ROWS[row].title, {task: score_of(task, runs) for task, runs in scores.items()})
        for row, scores in found.items()
    ]
    beside = [line(f"{ROWS[row].title}, paper", {task: PAPER[row][task] for task in given.tasks}) for row in found]
    show(columns, [*lines, *beside])
    path = record(
        "ablation",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "numpy", "tokenizers"],
        settings={
            "language models": {model: plain(run) for model, run in languages.items()},
            "training": TRAINING,
            "rates": RATES,
        },
        numbers={"rows": found, "paper": PAPER},
    )
    path.with_suffix(".md").write_text(markdown(columns, [*lines, *beside]), encoding="utf-8")


def language_model(name: str, given: Any) -> Path:
    """The run of a language model, trained now if it is not there."""
    run: Path = given.runs / (f"{name}-quick" if given.quick else name)
    trained(name, run, ["training.threads=1", *(QUICK if given.quick else [])])
    return run


def cell(row: str, task: str, language: Path, given: Any) -> list[dict[str, Any]]:
    """What one model reaches on one task, from each seed."""
    found = []
    for seed in range(1, 1 + (1 if given.quick else given.seeds)):
        run: Path = given.runs / "ablation" / f"{task}-{row}-seed-{seed}{'-quick' if given.quick else ''}"
        recipe = run.with_suffix(".toml")
        recipe.parent.mkdir(parents=True, exist_ok=True)
        recipe.write_text(written(settings_of(ROWS[row], task, language)), encoding="utf-8")
        trained(str(recipe), run, [f"training.seed={seed}", *(QUICK if given.quick else [])])
        found.append(judged(run))
    return found


def settings_of(row: Row, task: str, language: Path) -> dict[str, Any]:
    """The recipe of a cell."""
    goal = "regression" if task == "stsb" else "labels"
    model: dict[str, Any] = {"kind": row.model, "dropout": 0.1}
    inputs: dict[str, Any] = {"longest": LONGEST}
    if row.pretrained:
        model["weights"] = str(language)
    else:  # the same sizes and the same tokenizer
        known = plain(language)["model"]
        model |= {name: known[name] for name in ("width", "heads", "layers", "context", "feed_forward")}
        inputs["like"] = str(language)
    return {
        "description": f"{TASKS[task].title}: {row.title}",
        "task": "text-regression" if goal == "regression" else "text-classification",
        "data": {"card": task},
        "input": inputs,
        "model": model,
        "objective": {"kind": f"{goal}-and-next-token" if row.auxiliary else goal},
        "training": {**TRAINING, "rate": RATES[row.model], "metric": METRICS[task]},
    }


def line(title: str, scores: Mapping[str, float]) -> list[str]:
    """A row of the table, the mean first."""
    return [title, *(f"{score:.1f}" for score in (statistics.mean(scores.values()), *scores.values()))]


def markdown(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """The table for a page."""
    rows = [columns, ["---", *["---:"] * (len(columns) - 1)], *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    main()
