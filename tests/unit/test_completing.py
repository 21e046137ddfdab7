"""What the shell offers while one types, and that it comes at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seqwright.cli.completing import complete_override, complete_recipe, complete_run, complete_settings
from seqwright.recipe import SECTIONS, shipped
from seqwright.setting_groups import setting_groups


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recipe, two runs and another folder."""
    monkeypatch.chdir(tmp_path)
    for run in ("runs/mine", "runs/minor", "runs/ladder/row"):
        Path(run).mkdir(parents=True)
        Path(run, "resolved.toml").touch()
    Path("mine.toml").touch()
    return tmp_path


def test_recipes_are_those_that_ship_and_files() -> None:
    assert complete_recipe("sst2-b") == [name for name in shipped() if name.startswith("sst2-b")]
    assert complete_recipe("mi") == ["mine.toml"]
    assert "runs/" in complete_recipe("r")


def test_runs_are_found_by_their_folders() -> None:
    assert complete_run("") == ["runs/ladder/", "runs/mine", "runs/minor"]
    assert complete_run("runs/min") == ["runs/mine", "runs/minor"]
    assert complete_run("runs/ladder/") == ["runs/ladder/row"]
    assert complete_run("nowhere/") == []


def test_settings_are_those_of_the_classes() -> None:
    assert complete_override("tr") == ["training."]
    assert complete_override("training.ste") == ["training.steps="]
    assert complete_settings("training.ste") == ["training.steps"]
    assert complete_override("nonsense.x") == []
    for section in SECTIONS:
        known = {name for group in setting_groups() if group.section == section for name in group.settings.model_fields}
        offered = {name.partition(".")[2] for name in complete_settings(f"{section}.")}
        # But for what a class has from another room or a card, and what only Python can set.
        assert len(offered ^ known) <= 2, section


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("train reference-b", "reference-bert"),
        ("classify runs/mine", "runs/mine"),
        ("check x model.hea", "model.heads="),
    ],
)
def test_the_shell_is_answered_without_torch(words: str, offered: str) -> None:
    asked = {"_SEQWRIGHT_COMPLETE": "complete_bash", "COMP_WORDS": f"seqwright {words}"}
    environment = {**os.environ, **asked, "COMP_CWORD": str(len(words.split()))}
    command = [sys.executable, "-X", "importtime", "-m", "seqwright"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert offered in said.stdout.split()
    imported = {line.rpartition("|")[2].strip() for line in said.stderr.splitlines() if line.startswith("import time:")}
    assert not imported & {"torch", "numpy"}
