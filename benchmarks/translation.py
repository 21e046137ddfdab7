"""How well the shipped recipes translate: Multi30k (test_2016) and the embedded dates.

    python -m benchmarks.translation multi30k-de-en      greedy and beam 5; everything is chosen on the validation part
    python -m benchmarks.translation multi30k-en-de
    python -m benchmarks.translation dates-demo

Trains the recipe where the run folder does not hold it trained already, then scores the test part once. BLEU is
sacreBLEU's over plain text; `tokenised` is BLEU over Moses tokens in lower case, as the papers of Multi30k have it.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.recipe import read_recipe, shipped
from seqwright.training.checkpoint import read_checkpoint, read_mark

QUICK = ["training.steps=20", "training.validate_every=20", "training.save_every=20"]


def main() -> None:
    parser = options("translation", __doc__)
    parser.add_argument("recipe", choices=sorted(shipped()), help="the recipe to train and score")
    parser.add_argument("--run", type=Path, help="the run folder (default: runs/RECIPE)")
    given = parser.parse_args()
    run = given.run or REPOSITORY / "runs" / f"{given.recipe}{'-quick' if given.quick else ''}"
    if not given.run or not (run / "last").exists():
        seqwright("train", given.recipe, "--run", str(run), *(QUICK if given.quick else []))
    step = read_mark(run, "last")
    assert step is not None
    state = read_checkpoint(run, step, ("model",)).state
    weights = read_checkpoint(run, step, ("model",)).files["model"]
    penalty = read_recipe(given.recipe).decoding.length_penalty
    found = {f"beam {beam}": scored(run, beam, penalty) for beam in (1, 5)}
    rows = [[search, *(f"{value:.2f}" for value in scores["scores"].values())] for search, scores in found.items()]
    show(["search", *next(iter(found.values()))["scores"]], rows)
    minutes, best = state["seconds"] / 60, read_mark(run, "best")
    until_best = next(saved["seconds"] for saved in pace(run) if saved["step"] == best) / 60
    print(f"{minutes:.1f} minutes of training for {step} steps, {until_best:.1f} until the best, step {best}")
    resolved = (run / "resolved.toml").read_text(encoding="utf-8")
    threads = next((int(line.split("=")[1]) for line in resolved.splitlines() if line.startswith("threads")), 2)
    path = record(
        "translation",
        __doc__,
        given,
        threads=threads,
        libraries=["torch", "tokenizers", "sacrebleu", "sacremoses"],
        settings={"recipe": given.recipe, "resolved": resolved},
        numbers={
            "parameters": sum(tensor.numel() for tensor in weights.values()),
            "steps": step,
            "best_step": best,
            "training_minutes_until_best": round(until_best, 2),
            "training_minutes": round(minutes, 2),
            "test": found,
        },
    )
    path.rename(path.with_name(f"{given.recipe}.json"))


def pace(run: Path) -> list[dict[str, Any]]:
    """When each checkpoint was saved, in seconds of training."""
    return [json.loads(line) for line in (run / "pace.jsonl").read_text(encoding="utf-8").splitlines()]


def scored(run: Path, beam: int, penalty: float) -> dict[str, Any]:
    """The scores on the test part, by `seqwright eval`, and BLEU over Moses tokens beside them."""
    seqwright("eval", str(run), "--part", "test", "--beam", str(beam), "--length-penalty", str(penalty))
    report = max((run / "eval").glob(f"test-*-beam-{beam}*.json"), key=lambda path: path.stat().st_mtime)
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    lines = report.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    answers = [json.loads(line) for line in lines]
    found["scores"]["tokenised"] = tokenised_bleu(
        [answer["hypothesis"] for answer in answers], [answer["reference"] for answer in answers]
    )
    return {name: found[name] for name in ("scores", "signatures", "groups") if found[name]}


def tokenised_bleu(hypotheses: list[str], references: list[str]) -> float:
    """BLEU4 over lower-cased Moses tokens."""
    from sacrebleu.metrics.bleu import BLEU
    from sacremoses import MosesTokenizer

    split = MosesTokenizer(lang="de")
    both = [
        [split.tokenize(text.lower(), return_str=True, escape=False) for text in texts]
        for texts in (hypotheses, references)
    ]
    return float(BLEU(tokenize="none", force=True).corpus_score(both[0], [both[1]]).score)


def seqwright(*words: str) -> None:
    """Run a verb as a user does; its output is ours."""
    subprocess.run([sys.executable, "-m", "seqwright", *words], check=True)


if __name__ == "__main__":
    main()
