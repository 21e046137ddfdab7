"""What the pages of the tasks show can be done: a recipe trained for a step, then each command of the page."""

import math
import tomllib
from pathlib import Path

import pytest

from seqwright import kinds
from seqwright.recipe import recipe_from
from tests.pages import REPOSITORY, commands, fenced
from tests.small_images import bytes_of, random_pixels
from tests.story.command import typed
from tests.story.conftest import Say

TASKS = REPOSITORY / "docs" / "tasks"
AT_ONCE = ("training.steps=1", "training.epochs=", "training.warmup=", "training.threads=1")
TRAINED = {  # what a page trains without a download, and how it becomes small
    "translation": ("data.examples=200", "data.valid=8", "data.test=8"),
    "instruction": ("data.examples=200", "data.valid=8", "data.test=8"),
    "masked-language-modeling": (),
    "token-classification": (),
    "question-answering": ("data.examples=100", "data.valid=8", "data.test=8"),
    "series-classification": ("data.examples=60", "data.valid=12", "data.test=12"),
    "image-classification": (),
    "film-classification": ("data.examples=60", "data.valid=12", "data.test=12"),
    "film-tracking": ("data.examples=60", "data.valid=12", "data.test=12"),
    "image-captioning": ("data.examples=60", "data.valid=8", "data.test=8", "model.encoder_width=4"),
    "vector-to-text": ("data.examples=200", "data.valid=8", "data.test=8"),
}
QUICK = {"series-classification"}


def _trained(task: str) -> list[str]:
    """The words of the page's own command that trains."""
    shown = [each.words for each in commands(TASKS / f"{task}.md") if each.words[0] == "train"]
    return [word for word in shown[0] if not word.startswith("training.steps=")]


def _write_files(task: str) -> None:
    """The files that the commands of a page read: its own recipe, a sine, and a digit."""
    page = (TASKS / f"{task}.md").read_text(encoding="utf-8")
    recipe = fenced(page.partition("## Recipe")[2], "toml")
    name = _trained(task)[1]
    if name.endswith(".toml"):
        recipe_from(tomllib.loads(recipe[0]))
        Path(name).write_text(recipe[0], encoding="utf-8")
    for path in ("digit.png", "scans/1.png", "clips/a/1.png"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(bytes_of(random_pixels(1, 8, 8, 1)))
    Path("clip.gif").write_bytes(bytes_of(random_pixels(1, 8, 8, 1), "GIF"))
    Path("new.txt").write_text(",".join(f"{math.sin(0.3 * step):.3f}" for step in range(80)), encoding="utf-8")


LONG = [task if task in QUICK else pytest.param(task, marks=pytest.mark.long) for task in TRAINED]


@pytest.mark.parametrize("task", LONG)
def test_the_commands_of_a_page_work(task: str, tmp_path: Path, answered: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write_files(task)
    assert typed(*_trained(task), *AT_ONCE, *TRAINED[task]) == 0
    shown = [each for each in commands(TASKS / f"{task}.md") if len(each.words) > 1 and Path(each.words[1]).is_dir()]
    assert {"eval", kinds.TASKS[task].verbs[0]} <= {each.words[0] for each in shown}
    for each in shown:
        code, _, complaint = answered(*each.words)
        assert code == (2 if each.refused else 0), (each.words, complaint)
