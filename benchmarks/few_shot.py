"""Whether a small GPT finds out from examples in its prompt what is to be done: mappings it never saw in training.

    python -m benchmarks.few_shot                          trains the recipe mappings-gpt first, 20 minutes on a thread

Right answers, to the letter, to the same questions of the test part after 0, 1, 2, 4 and 8 examples, by family of
mappings. No pairing of opposites and no set of starred words that is asked about occurs in training. Copying, reversing
and shuffling replace no word and are trained on: they stand beside, from other prompts than those of training. Chance
is the share of the answers that the best guess without any example gets right.
"""

import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.record import REPOSITORY, options, record, show
from seqwright.data.examples import Pair
from seqwright.data.mappings import PLAIN, STAR, WORDS, Mappings
from seqwright.outputs.answer import doubling
from seqwright.pictures import save
from seqwright.pictures.few_shot import shots_picture
from seqwright.runs import Run, data_of, open_run, parameters
from seqwright.tasks.few_shot import Accuracy, accuracy_by_shots, answered_in_turns
from seqwright.training.checkpoint import read_checkpoint, read_mark

QUICK = ["data.examples=200", "data.valid=10", "data.test=30", "training.steps=5", "training.validate_every=5"]
BESIDE = 600  # prompts of mappings that replace no word


def main() -> None:
    parser = options("few_shot", __doc__)
    parser.add_argument("--run", type=Path, help="the run folder (default: runs/mappings-gpt)")
    given = parser.parse_args()
    name = f"mappings-gpt{'-quick' if given.quick else ''}"
    folder = given.run or REPOSITORY / "runs" / name
    words = ["train", "mappings-gpt", "--run", str(folder), *(QUICK if given.quick else [])]
    subprocess.run([sys.executable, "-m", "seqwright", *words], check=True)
    run = open_run(folder)
    unseen, beside, chance = judged(run)
    shots = [accuracy.shots for accuracy in unseen]
    rows = {"never seen": [accuracy.share for accuracy in unseen], **by_family(unseen), **by_family(beside)}
    show(["mappings", *map(str, shots)], [[kind, *(f"{100 * s:.1f}" for s in shares)] for kind, shares in rows.items()])
    print(f"right answers in percent, after so many examples; chance: {100 * chance:.1f}")
    last = read_mark(folder, "last")
    assert last is not None
    numbers: dict[str, Any] = {
        "parameters": parameters(run.model),
        "steps": last,
        "training_minutes": round(read_checkpoint(folder, last, ("model",)).state["seconds"] / 60, 2),
        "questions": sum(unseen[0].total.values()),
        "chance": round(chance, 4),
        "shots": shots,
        "never seen": {kind: rounded(rows[kind]) for kind in ("never seen", *by_family(unseen))},
        "trained on, beside": {kind: rounded(shares) for kind, shares in by_family(beside).items()},
    }
    settings = tomllib.loads((folder / "resolved.toml").read_text(encoding="utf-8"))
    path = record(
        "few_shot", __doc__, given, threads=1, libraries=["torch", "tokenizers"], settings=settings, numbers=numbers
    )
    lines = {**by_family(unseen), "all": rows["never seen"]}
    for drawn in save(shots_picture(shots, lines, chance=chance), path.with_suffix(""), ("png",)):
        print(f"drawn: {drawn.name}")


def judged(run: Run) -> tuple[list[Accuracy], list[Accuracy], float]:
    """The accuracies on mappings that were never seen and on those that replace nothing, and chance on the first."""
    data: Mappings = data_of(run.recipe)
    answers = answered_in_turns(run.model, run.inputs, run.recipe.decoding)
    asked, counts = list(data.examples("test")), doubling(run.recipe.data.shots)
    other = Mappings(run.recipe.data.model_copy(update={"seed": run.recipe.data.seed + 1}))
    plain = (question for question in other.examples("train") if question.kind in PLAIN)
    beside = list(islice(plain, len(asked) * BESIDE // 1000))
    return (
        list(accuracy_by_shots(answers, asked, counts)),
        list(accuracy_by_shots(answers, beside, counts)),
        chance_of(asked),
    )


def chance_of(asked: list[Pair]) -> float:
    """What the best guess gets right that knows how answers are made, but no example of the mapping.

    An answer says, place by place, a word of the question, a star, or a word that is not in it; the best guess says
    the same for every question of a length, and one of the other words.
    """
    guesses: dict[int, Counter[tuple[int | str, ...]]] = defaultdict(Counter)
    for question in asked:
        given, wanted = question.source.split(), question.target.split()
        guesses[len(given)][
            tuple(given.index(word) if word in given else STAR if word == STAR else "" for word in wanted)
        ] += 1
    right = 0.0
    for length, counts in guesses.items():
        right += max(count / (len(WORDS) - length) ** guess.count("") for guess, count in counts.items())
    return right / len(asked)


def by_family(accuracies: list[Accuracy]) -> dict[str, list[float]]:
    """Of each family the shares of right answers."""
    return {family: [accuracy.shares()[family] for accuracy in accuracies] for family in accuracies[0].total}


def rounded(shares: list[float]) -> list[float]:
    return [round(share, 4) for share in shares]


if __name__ == "__main__":
    main()
