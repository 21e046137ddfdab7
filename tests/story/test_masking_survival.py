"""The pretraining of a BERT, killed again and again, ends in the same bytes: masks and next sentences are drawn anew.

How a training is killed and compared stands in `benchmarks/survival.py`.
"""

import sys
from pathlib import Path
from random import Random

import pytest

from benchmarks.survival import Plan, differences, interval_seconds, killed_again_and_again, results
from seqwright.recipe import read_recipe
from seqwright.runs import train

RECIPE = """
task = "masked-language-modeling"
input = { tokenizer = "bpe", vocabulary = 80, longest = 24 }
objective = { kind = "masked-token" }
[data]
train = "text.txt"
valid = "20%"
documents = "paragraphs"
[model]
kind = "bert"
width = 16
heads = 2
layers = 2
context = 24
dropout = 0.1
[training]
tokens = 200
accumulate = 2
schedule = "constant"
rate = 0.003
warmup = 5
log_every = 1
save_every = 5
validate_every = 15
threads = 1
"""


class Pretraining(Plan):
    """A small BERT reads pairs of sentences."""

    def command(self, run: Path) -> list[str]:
        steps = f"training.steps={self.steps}"
        return [sys.executable, "-m", "seqwright", "train", "bert.toml", "--run", str(run), steps]


PLAN = Pretraining(kills=2, inside=1, save_every=5)


@pytest.mark.long
def test_killed_in_the_middle_of_an_epoch_it_ends_in_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chance = Random(1)
    words = ["rain", "wind", "a", "grey sea", "the old ship", "sails", "on", "night", "and day"]
    lines = [" ".join(chance.choices(words, k=chance.randint(2, 9))) for _ in range(160)]
    documents = ["\n".join(lines[first : first + 8]) for first in range(0, len(lines), 8)]
    Path("text.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    Path("bert.toml").write_text(RECIPE, encoding="utf-8")
    undisturbed, run = tmp_path / "undisturbed", tmp_path / "killed"
    train(read_recipe("bert.toml", [f"training.steps={PLAN.steps}"]), undisturbed)
    kills = killed_again_and_again(PLAN, run, interval=interval_seconds(PLAN, undisturbed))
    assert differences(undisturbed, run) == []
    assert {Path(name).name for name in results(undisturbed)} >= {"model.safetensors", "optimizer.safetensors"}
    assert any(kill.inside for kill in kills)
    assert all(kill.resumed == kill.whole for kill in kills)
    assert (run / "input/tokenizer.json").read_bytes() == (undisturbed / "input/tokenizer.json").read_bytes()
