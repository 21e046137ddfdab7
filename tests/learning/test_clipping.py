"""A network whose gradients explode learns where they are clipped, and forgets how to where they are not.

The first letter of a line comes again at its end, after forty marks. A recurrent network of rectified units whose
recurrent weights begin as the identity (Le et al. 2015) can keep it; but as soon as those weights grow a little, its
state grows at every mark, and the gradient with it (Pascanu et al. 2013). One such gradient is enough: Adam remembers
its square, and for hundreds of steps all others are too small to matter beside it.
"""

import json
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from seqwright.decoding.settings import DecodingSettings
from seqwright.errors import UserError
from seqwright.recipe import Recipe, recipe_from
from seqwright.runs import open_run, train
from seqwright.training.checkpoint import newest_whole

LETTERS, DELAY, STEPS, THRESHOLD = "abcdef", 40, 200, 1.0
SEEDS = (1, 2, 3, 4, 5)


def openings(count: int, seed: int) -> list[str]:
    """Lines without their last letter, which is their first."""
    draw = Random(seed)
    return [f"{draw.choice(LETTERS)}{''.join(draw.choices('-+', k=DELAY))}=" for _ in range(count)]


def recipe(folder: Path, **training: Any) -> Recipe:
    text = folder / "memory.txt"
    text.write_text("".join(f"{line}{line[0]}\n" for line in openings(400, seed=1)), encoding="utf-8")
    usual = {"steps": STEPS, "tokens": 1536, "rate": 0.01, "schedule": "cosine", "warmup": 0, "log_every": 1, "seed": 5}
    return recipe_from(
        {
            "task": "language-modeling",
            "data": {"train": str(text)},
            "input": {"tokenizer": "characters", "rows": "documents"},
            "model": {"kind": "rnn", "activation": "relu", "initialisation": "identity", "width": 32, "dropout": 0.0},
            "objective": {"label_smoothing": 0.0, "last": 2},  # the letter, and the end
            "training": {**usual, "device": "cpu", **training},
        }
    )


class Course(NamedTuple):
    """How a training went: the losses and gradient norms of its steps, and the share of lines it can end."""

    losses: list[float]
    norms: list[float]
    right: float


def trained(folder: Path, **training: Any) -> Course:
    train(recipe(folder, **training), folder / "run")
    lines = [json.loads(line) for line in (folder / "run" / "journal.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if line["event"] == "train"]
    run, asked = open_run(folder / "run"), openings(100, seed=7)
    answers = run.inputs.predict(run.model, asked, DecodingSettings(longest=1), method="write")
    right = sum(found.text == line + line[0] for line, found in zip(asked, answers, strict=True)) / len(asked)
    return Course([line["loss"] for line in steps], [line["norm"] for line in steps], right)


def courses(folder: Path, **training: Any) -> list[Course]:
    """Of several seeds: after an explosion the last bit of a sum decides how one of them goes on."""
    return [trained(_made(folder / str(seed)), seed=seed, **training) for seed in SEEDS]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_without_clipping_one_explosion_ends_all_learning(tmp_path: Path) -> None:
    course = trained(tmp_path)
    assert max(course.losses) > 20 * course.losses[0]
    assert max(course.norms) > 1000
    assert course.right <= 2 / len(LETTERS)


def test_with_clipping_such_runs_survive_it_and_learn(tmp_path: Path) -> None:
    found = courses(tmp_path, clip=THRESHOLD)
    assert all(max(each.norms) > 1000 * THRESHOLD for each in found)  # they explode too: the norm is logged as it was
    learnt = [each for each in found if each.losses[-1] < 0.05 and each.right >= 0.98]
    assert len(learnt) >= len(SEEDS) - 1


def test_a_run_that_ends_in_nonsense_says_so_and_keeps_its_last_good_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(UserError) as found:
        train(recipe(tmp_path, rate=0.5, save_every=1), tmp_path / "run")
    assert "not a number at step" in str(found.value)
    assert "set training.clip=1.0 or lower training.rate" in str(found.value)
    kept = newest_whole(tmp_path / "run")
    assert kept is not None
    assert f"step {kept[0] + 1};" in str(found.value)
    assert all(bool(tensor.isfinite().all()) for tensor in kept[1].files["model"].values())
