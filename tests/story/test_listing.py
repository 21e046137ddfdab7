"""`recipes`, `settings` and `runs`: what there is, and what can go."""

import json
import os
import time
from pathlib import Path

import pytest

from seqwright.kinds import KINDS, TASKS
from seqwright.lineage import MODELS
from seqwright.recipe import shipped
from seqwright.run_folders import locked
from seqwright.setting_groups import setting_groups
from tests.story.conftest import Say


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_recipes_stand_under_their_tasks(say: Say) -> None:
    code, out, err = say("recipes")
    assert code == 0, err
    headings = [line.strip() for line in out.splitlines() if line.strip() in TASKS]
    assert headings == [task for task in TASKS if task in headings]
    assert all(f"\n  {name}  " in out for name in shipped())


def test_recipes_of_a_task_or_with_a_word(say: Say) -> None:
    out = say("recipes", "--task", "text-classification")[1]
    assert "\n  sst2  sst2" in out
    assert "multi30k" not in out
    assert "\n  reference-bert  " in say("recipes", "BERT")[1]
    assert "\n  sst2  sst2" not in say("recipes", "BERT")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("recipes", "--task", "clasification"), "there is no task 'clasification'"),
        (("recipes", "multi30kk-de-en"), "no recipe has 'multi30kk-de-en' in its name, data, model or description"),
        (("settings", "lstmm"), "there is no section, kind or card 'lstmm'. Did you mean 'lstm'?"),
        (("settings", "training.stpes"), "there is no setting 'training.stpes'. Did you mean 'steps'?"),
        (("runs", "nowhere"), "there is no run in nowhere"),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(say: Say, words: tuple[str, ...], sentence: str) -> None:
    code, out, err = say(*words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_a_section_shows_every_setting_with_type_default_and_meaning(say: Say) -> None:
    code, out, err = say("settings", "training")
    assert code == 0, err
    words = " ".join(out.split())
    for group in setting_groups():
        for row in group.rows() if group.section == "training" else ():
            assert " ".join(f"{row.name} {row.values} (".replace("`", "").split()) in words
            assert row.meaning in words
    assert "steps whole number ≥ 1 (default 10000)" in words


def test_a_section_of_many_kinds_lists_them_and_a_kind_shows_its_settings(say: Say) -> None:
    out = say("settings", "objective")[1]
    assert all(kind in out for kind in KINDS["objective"])
    out = " ".join(say("settings", "gpt", "--task", "language-modeling")[1].split())
    assert out.startswith("[model] gpt, for language-modeling")
    assert "heads whole number" in out
    out = " ".join(say("settings", "data", "--task", "forecasting")[1].split())
    assert "horizon whole number" in out


def test_a_single_setting(say: Say) -> None:
    out = say("settings", "training.seed")[1]
    assert " ".join(out.split()).startswith("training.seed whole number ≥ 0 (default 1) Same recipe, same seed")


def test_a_kind_is_one_setting_with_every_choice(say: Say) -> None:
    out = " ".join(say("settings", "model.kind")[1].split())
    assert out.count("model.kind") == 1
    assert all(f'"{row.kind}"' in out for row in MODELS if row.kind)
    assert "(required)" not in out
    out = " ".join(say("settings", "model.kind", "--task", "forecasting")[1].split())
    assert '"least-squares", "dense" (default "lstm")' in out


# ---------------------------------------------------------------------------------------------------- runs


def made_run(folder: Path, steps: list[int], *, average: str = "none") -> None:
    """A run folder as training leaves it, as far as listing reads it."""
    for step in steps:
        (folder / f"step-{step:06d}").mkdir(parents=True)
        (folder / f"step-{step:06d}" / "model.safetensors").write_bytes(b"x" * 1000)
    folder.mkdir(parents=True, exist_ok=True)
    training = f'[training]\nmetric = "accuracy"\naverage = "{average}"\n'
    (folder / "resolved.toml").write_text(f'task = "text-classification"\n[model]\nkind = "lstm"\n{training}')
    lines = [{"event": "valid", "step": step, "loss": 1.0, "accuracy": step / 1000} for step in steps]
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if steps:
        (folder / "best").write_text(f"step-{steps[1]:06d}\n")
        (folder / "last").write_text(f"step-{steps[-1]:06d}\n")


@pytest.fixture
def runs(home: Path) -> Path:
    """A good run, one without a checkpoint, one whose settings are damaged, and what is no run."""
    folder = home / "runs"
    made_run(folder / "good", [100, 200, 300, 400])
    made_run(folder / "begun", [])
    made_run(folder / "torn", [100, 200])
    (folder / "torn" / "resolved.toml").write_text("task = ")
    (folder / "notes").mkdir()
    (folder / "notes" / "mine.txt").write_text("mine")
    made_run(folder / "ladder" / "row", [100, 200])
    return folder


def test_runs_are_listed_with_task_model_score_age_and_size(say: Say, runs: Path) -> None:
    old = time.time() - 3 * 86400 - 5
    for path in [*(runs / "good").rglob("*"), runs / "good"]:
        os.utime(path, (old, old))
    code, out, err = say("runs", "--json")
    assert code == 0, err
    found = {Path(each["folder"]).name: each for each in map(json.loads, out.splitlines())}
    assert set(found) == {"good", "begun", "torn", "row"}
    good = found["good"]
    assert (good["task"], good["model"], good["step"]) == ("text-classification", "lstm", 200)
    assert (good["metric"], good["score"]) == ("accuracy", 0.2)
    assert good["bytes"] > 4000
    assert found["begun"]["state"].startswith("incomplete")
    assert found["torn"]["state"].startswith("broken")
    shown = say("runs")[1]
    assert (
        "runs/good  text-classification · lstm\n    accuracy 0.2 in validation · 200 steps · 3 days old · 4." in shown
    )
    assert "runs/torn\n    broken: its resolved.toml cannot be read · 200 steps" in shown


@pytest.mark.usefixtures("runs")
def test_pruning_asks_and_removes_what_is_superseded_or_incomplete(say: Say) -> None:
    code, out, err = say("runs", "--prune")
    assert code == 2
    assert "say --yes to confirm" in err
    gone = ["begun", "good/step-000100", "good/step-000300", "ladder/row/step-000100"]
    gone = [f"runs/{each}" for each in gone]
    assert [line.split("  ")[0] for line in out.splitlines()] == gone
    assert all(Path(each).exists() for each in gone)
    code, out, err = say("runs", "--prune", "--yes")
    assert code == 0, err
    assert not any(Path(each).exists() for each in gone)
    assert Path("runs/good/step-000200").exists()
    assert Path("runs/good/step-000400").exists()
    assert Path("runs/notes/mine.txt").exists()
    assert [path.name for path in sorted(Path("runs/torn").glob("step-*"))] == ["step-000100", "step-000200"]
    assert say("runs", "--prune")[2] == "there is nothing to remove\n"


def test_pruning_spares_what_training_needs_or_others_put_there(say: Say, home: Path) -> None:
    made_run(home / "runs" / "averaged", [100, 200, 300], average="last")
    made_run(home / "runs" / "begun", [])
    (home / "runs" / "begun" / "mine.txt").write_text("mine")
    assert say("runs", "--prune", "--yes")[0] == 0
    assert (home / "runs" / "averaged" / "step-000100").exists()
    assert [path.name for path in (home / "runs" / "begun").iterdir()] == ["mine.txt"]


def test_step_folders_alone_are_no_run(say: Say, home: Path) -> None:
    made_run(home / "runs" / "begun", [])
    other = home / "runs" / "others" / "step-001000" / "weights"
    other.mkdir(parents=True)
    assert say("runs", "--prune", "--yes")[0] == 0
    assert other.exists()
    assert not (home / "runs" / "begun").exists()


def test_a_run_that_is_written_to_is_left_and_the_others_are_pruned(say: Say, home: Path) -> None:
    for name in ("a", "b", "c"):
        made_run(home / "runs" / name, [])
    with locked(home / "runs" / "b"):
        code, _, err = say("runs", "--prune", "--yes")
    assert code == 0
    assert "runs/b is left as it is: another training is writing to runs/b\nremoved 2 folders" in err
    assert (home / "runs" / "b" / "resolved.toml").exists()
    assert not (home / "runs" / "a").exists()
    assert not (home / "runs" / "c").exists()
