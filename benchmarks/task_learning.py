"""How well a GPT that was taught by `text <task> answer` does beside an encoder and a decoder, in equal time.

    python -m benchmarks.task_learning                     all four recipes, 20 minutes each on one thread
    python -m benchmarks.task_learning dialogsum-gpt       some of them; the numbers of the others stay

DialogSum: ROUGE on the 500 dialogues of the validation part (the checkpoint is chosen by the loss on them; there is no
other part), beside what the first 30 words of a dialogue would score. Multi30k English to French: BLEU and chrF on the
1,000 sentences of test_2016, in lower case. All are trained from nothing, each into a run folder of its own; stopped at
any moment, the same command goes on from there.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.data.examples import PartName
from seqwright.metrics.summaries import rouge
from seqwright.recipe import read_recipe
from seqwright.runs import data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark

NAME = "task_learning"
PARTS: dict[str, PartName] = {
    "dialogsum-gpt": "valid",
    "dialogsum-transformer": "valid",
    "multi30k-en-fr-gpt": "test",
    "multi30k-en-fr": "test",
}
QUICK = ["training.steps=3", "training.validate_every=3", "training.save_every=3"]
FIRST_WORDS = 30


def main() -> None:
    parser = options(NAME, __doc__)
    parser.add_argument("recipes", nargs="*", metavar="RECIPE", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    given = parser.parse_args()
    before = earlier(given.results or REPOSITORY / ("runs/quick" if given.quick else "results"))
    found: dict[str, Any] = before.get("numbers", {})
    settings: dict[str, Any] = before.get("settings", {})
    for name in given.recipes or PARTS:
        run = given.runs / f"{name}{'-quick' if given.quick else ''}"
        seqwright("train", name, "--run", str(run), *(QUICK if given.quick else []))
        found[name] = judged(run, PARTS[name])
        settings[name] = tomllib.loads((run / "resolved.toml").read_text(encoding="utf-8"))
        if name.startswith("dialogsum"):
            found["first words of a dialogue"] = first_words()
    show(["recipe", "search", "scores"], [row for name, numbers in found.items() for row in rows(name, numbers)])
    record(
        NAME,
        __doc__,
        given,
        threads=1,
        libraries=["torch", "tokenizers", "sacrebleu", "rouge-score"],
        settings=settings,
        numbers=found,
    )


def earlier(folder: Path) -> dict[str, Any]:
    """What was recorded before, so that recipes can be trained one by one."""
    path = folder / f"{NAME}.json"
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return known


def judged(folder: Path, part: PartName) -> dict[str, Any]:
    """The scores, greedy and with a beam, as `seqwright eval` gives them; size and time."""
    run, last = open_run(folder), read_mark(folder, "last")
    assert last is not None
    return {
        "part": part,
        "parameters": parameters(run.model),
        "steps": last,
        "best_step": run.step,
        "training_minutes": round(read_checkpoint(folder, last, ("model",)).state["seconds"] / 60, 2),
        "scores": {f"beam {beam}": scored(folder, part, beam) for beam in (1, 4)},
    }


def scored(folder: Path, part: PartName, beam: int) -> dict[str, float]:
    words = ["eval", str(folder), "--part", part, "--beam", str(beam), "--json"]
    said = subprocess.run(
        [sys.executable, "-m", "seqwright", *words], check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    found: dict[str, float] = json.loads(said.stdout)
    return {name: value for name, value in found.items() if name != "groups"}


def first_words() -> dict[str, Any]:
    """What the beginning of a dialogue scores as its summary."""
    pairs = list(data_of(read_recipe("dialogsum-gpt")).pairs("valid"))
    beginnings = [" ".join(pair.source.split()[:FIRST_WORDS]) for pair in pairs]
    scores = rouge(beginnings, [pair.target for pair in pairs])
    return {"part": "valid", "scores": {f"{FIRST_WORDS} words": {name: s.value for name, s in scores.items()}}}


def rows(name: str, numbers: dict[str, Any]) -> list[list[str]]:
    """A line of the table for each search."""
    return [
        [name, search, "  ".join(f"{score} {value:.2f}" for score, value in scores.items())]
        for search, scores in numbers["scores"].items()
    ]


def seqwright(*words: str) -> None:
    """Run a verb as a user does; its output is ours."""
    subprocess.run([sys.executable, "-m", "seqwright", *words], check=True)


if __name__ == "__main__":
    main()
