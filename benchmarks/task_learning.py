"""How well does a GPT that was fine-tuned on `text <task> answer`, beside GPTs from nothing and encoder-decoders?

    python -m benchmarks.task_learning                          all eight, 15 to 35 minutes each on one thread
    python -m benchmarks.task_learning dialogsum-gpt-tuned      some of them; the numbers of the others stay

DialogSum: ROUGE on the 500 dialogues of the validation part (the checkpoint is chosen by the loss on them; there is no
other part), beside what the first 30 words of a dialogue would score. Multi30k English to French: BLEU and chrF on the
1,000 sentences of test_2016, in lower case.

`…-gpt-tuned` has first read English and French: the articles of WikiText-2 and the sentences of Tatoeba, each language
apart, no sentence beside its translation (`$SEQWRIGHT_DATA/tatoeba/fra-eng_2019-04.zip`, of manythings.org/anki).
`…-gpt-untuned` is the same with other weights at the beginning, so that the two tell what the reading was worth.
`…-gpt` is a GPT from nothing with the tokenizer and the sizes that its recipe has for the task. Each has a run folder
of its own; stopped at any moment, the same command goes on from there.
"""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.data.cards import card
from seqwright.data.examples import PartName
from seqwright.data.files import place_of
from seqwright.metrics.summaries import rouge
from seqwright.metrics.text import bleu, chrf, exact_match
from seqwright.recipe import read_recipe, written
from seqwright.runs import data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark

NAME = "task_learning"
WEIGHTS, TOKENIZER = "weights", "tokenizer"  # what a row takes over from the GPT that has read before


class Row(NamedTuple):
    """A training and where it is judged."""

    recipe: str
    part: PartName
    taken: str = ""


ROWS = {
    "dialogsum-gpt-tuned": Row("dialogsum-gpt-tuned", "valid", WEIGHTS),
    "dialogsum-gpt-untuned": Row("dialogsum-gpt-tuned", "valid", TOKENIZER),
    "dialogsum-gpt": Row("dialogsum-gpt", "valid"),
    "dialogsum-transformer": Row("dialogsum-transformer", "valid"),
    "multi30k-en-fr-gpt-tuned": Row("multi30k-en-fr-gpt-tuned", "test", WEIGHTS),
    "multi30k-en-fr-gpt-untuned": Row("multi30k-en-fr-gpt-tuned", "test", TOKENIZER),
    "multi30k-en-fr-gpt": Row("multi30k-en-fr-gpt", "test"),
    "multi30k-en-fr": Row("multi30k-en-fr", "test"),
}
SIZES = {"width": 160, "heads": 5, "layers": 5, "context": 520}
READER = "task-learning-gpt"
PRETRAINING: dict[str, Any] = {
    "task": "language-modeling",
    "data": {"valid": "1%"},
    "input": {"tokenizer": "bpe", "vocabulary": 8000, "segment": 256},
    "model": {"kind": "gpt", **SIZES, "dropout": 0.0},
    "training": {
        "steps": 2000,
        "tokens": 2048,
        "optimizer": "adamw",
        "decay": 0.01,
        "schedule": "cosine",
        "rate": 0.002,
        "warmup": 200,
        "clip": 1.0,
        "validate_every": 1000,
        "save_every": 500,
        "threads": 1,
        "precision": "bfloat16",
    },
}
TOGETHER = 30  # sentences of Tatoeba in a document
QUICK = ["training.steps=3", "training.validate_every=3", "training.save_every=3"]
FIRST_WORDS = 30


def main() -> None:
    parser = options(NAME, __doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)} (default: all)")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    given = parser.parse_args()
    if unknown := set(given.rows) - set(ROWS):
        parser.error(f"there is no row {', '.join(sorted(unknown))}")
    before = earlier(given.results or REPOSITORY / ("runs/quick" if given.quick else "results"))
    found: dict[str, Any] = before.get("numbers", {})
    settings: dict[str, Any] = before.get("settings", {})
    for name in given.rows or ROWS:
        recipe, part, taken = ROWS[name]
        run = given.runs / f"{name}{'-quick' if given.quick else ''}"
        begun = beginning(taken, given) if taken else []
        seqwright("train", recipe, "--run", str(run), *begun, *(QUICK if given.quick else []))
        found[name] = {"command": f"python -m benchmarks.{NAME} {name}", **judged(run, part)}
        settings[name] = tomllib.loads((run / "resolved.toml").read_text(encoding="utf-8"))
        if taken:
            settings[READER] = PRETRAINING
            found[READER] = {"part": "valid", **read_before(given), "scores": {}}
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


def reader(given: Namespace) -> Path:
    """Where the GPT is that has read English and French."""
    return Path(os.path.relpath(given.runs / f"{READER}{'-quick' if given.quick else ''}"))


def beginning(taken: str, given: Namespace) -> list[str]:
    """The settings that take something over from the GPT that has read; it is trained if it is not there yet."""
    run = reader(given)
    run.parent.mkdir(parents=True, exist_ok=True)
    text, recipe = run.with_suffix(".txt"), run.with_suffix(".toml")
    if not text.exists():
        articles = card("wikitext2").open().examples("train")
        documents = sorted({*(line.strip() for line in articles if line.strip()), *tatoeba()}, key=place_of)
        part = text.with_suffix(".part")  # a text that was cut off would be read as if it were whole
        part.write_text("".join(f"{document}\n" for document in documents[: 2000 if given.quick else None]), "utf-8")
        part.replace(text)
    recipe.write_text(written({**PRETRAINING, "data": {**PRETRAINING["data"], "train": str(text)}}), encoding="utf-8")
    seqwright("train", str(recipe), "--run", str(run), *(QUICK if given.quick else []))
    if taken == WEIGHTS:
        return [f"model.weights={run}"]
    return [f"input.like={run}", *(f"model.{name}={size}" for name, size in SIZES.items())]


def read_before(given: Namespace) -> dict[str, Any]:
    """What the GPT that has read took, and what it came to."""
    last = read_mark(reader(given), "last")
    assert last is not None
    state = read_checkpoint(reader(given), last, ("model",)).state
    return {
        "steps": last,
        "training_minutes": round(state["seconds"] / 60, 2),
        "loss": round(state["best"]["score"], 4),
    }


def tatoeba() -> Iterator[str]:
    """Documents of some sentences each, in English and in French, in an order that tears translations apart."""
    path = Path(os.environ.get("SEQWRIGHT_DATA", "")) / "tatoeba" / "fra-eng_2019-04.zip"
    if not path.is_file():
        raise SystemExit("Tatoeba's sentences are not there: put fra-eng_2019-04.zip into $SEQWRIGHT_DATA/tatoeba.")
    with zipfile.ZipFile(path) as archive:
        pairs = [line.split("\t") for line in archive.read("fra-eng/fra.txt").decode("utf-8").splitlines()]
    for sentences in zip(*pairs, strict=True):
        each = sorted(set(sentences), key=place_of)
        yield from (" ".join(each[start : start + TOGETHER]) for start in range(0, len(each), TOGETHER))


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
    scores = {name: value for name, value in found.items() if name != "groups"}
    return {**scores, **in_lower_case(folder, part, beam)} if "bleu" in scores else scores


def in_lower_case(folder: Path, part: PartName, beam: int) -> dict[str, float]:
    """The scores of a translation where capitals do not count: some of the recipes write them, others do not."""
    answers = max((folder / "eval").glob(f"{part}-step-*-beam-{beam}.jsonl"))
    lines = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
    said, wanted = ([line[side] for line in lines] for side in ("hypothesis", "reference"))
    metrics = {"bleu": bleu, "chrf": chrf, "exact": exact_match}
    return {name: round(metric(said, wanted, lowercase=True).value, 4) for name, metric in metrics.items()}


def first_words() -> dict[str, Any]:
    """What the beginning of a dialogue scores as its summary."""
    pairs = list(data_of(read_recipe("dialogsum-gpt")).examples("valid"))
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
