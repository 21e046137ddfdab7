"""Every example of docs/python.md runs, on small runs with the names that the page has for them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import seqwright as sw
from seqwright.recipe import recipe_from

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
# What takes long is made short; the recipe of the page has a small model and few examples.
SHORTER = {"steps=500": "steps=3", 'steps": 500': 'steps": 3', "warmup=50": "warmup=1", '"dates-demo"': '"dates.toml"'}
DATES = """
base = "dates-demo"
[data]
examples = 300
valid = 20
test = 20
[model]
width = 8
heads = 2
feed_forward = 16
[training]
threads = 1
"""
TRAINING = {"steps": 3, "validate_every": 3, "log_every": 1, "tokens": 256, "threads": 1}
MESSAGES = ["Call me when you are free\tham", "You have won a prize\tspam", "Are you free\tham", "Call to win\tspam"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs that the page loads, trained for three steps."""
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("messages.tsv").write_text("\n".join(MESSAGES * 5), encoding="utf-8")
        Path("later.tsv").write_text("\n".join(MESSAGES), encoding="utf-8")
        Path("dates.toml").write_text(DATES, encoding="utf-8")
        Path("plays.txt").write_text("ROMEO:\nTo be or not to be\n" * 20, encoding="utf-8")
        labelled = {"train": "messages.tsv", "valid": "later.tsv"}
        for name, seed in (("sms-spam", 1), ("sms-spam-2", 2)):
            trained(name, "text-classification", labelled, {"kind": "lstm", "width": 7, "embedding": 5}, seed=seed)
        plays = {"train": "plays.txt", "valid": "plays.txt"}
        trained("shakespeare-gpt", "language-modeling", plays, {"kind": "gpt", "width": 8, "heads": 2, "layers": 2})
        few = {"examples": 200, "valid": 20, "test": 20}
        sw.train("waves-dense", run="runs/waves", quiet=True, training=TRAINING, data=few)
        sw.train("dates.toml", "training.steps=3", run="runs/dates", quiet=True)
    return folder


def trained(name: str, task: str, data: dict[str, Any], model: dict[str, Any], seed: int = 1) -> None:
    reading = {"tokenizer": "words"}
    plain = {"task": task, "data": data, "input": reading, "model": model, "training": {**TRAINING, "seed": seed}}
    sw.train(recipe_from(plain), run=f"runs/{name}", quiet=True)


@pytest.mark.parametrize(
    "block", BLOCKS, ids=[re.sub(r"\W+", "-", block.strip().splitlines()[-1])[:40] for block in BLOCKS]
)
def test_an_example_of_the_page_runs(
    block: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    torch.manual_seed(1)
    np.random.seed(1)
    for long, short in SHORTER.items():
        block = block.replace(long, short)
    exec(compile(block, PAGE.name, "exec"), {})
    assert bool(capsys.readouterr().out) == ("print(" in block)


def test_the_mistakes_of_the_page_are_told_in_a_sentence_each(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    exec(compile(BLOCKS[-1], PAGE.name, "exec"), {})
    begun = [line.split(" ")[0] for line in capsys.readouterr().out.splitlines()]
    assert begun == ["there", "TrainingSettings.steps:", "GPTSettings.size:", "sw.load:", "runs/sms-spam"]


def test_every_name_of_the_page_is_a_name_of_the_package() -> None:
    named = set(re.findall(r"\bsw\.(\w+)", PAGE.read_text(encoding="utf-8"))) - {"settings"}
    assert {name for name in named if name not in dir(sw)} == set()
