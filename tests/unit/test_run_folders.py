"""That a resumed run is the run that was begun."""

from pathlib import Path

import pytest

from seqwright.errors import RunError
from seqwright.recipe import Recipe, parsed, read_recipe, written
from seqwright.run_folders import locked, refuse_changes
from seqwright.runs import open_run
from seqwright.training.journal import Journal


def begun(folder: Path, recipe: Recipe, *, without: str = "") -> Path:
    """A folder with a checkpoint, begun by a version that did not know a setting of training."""
    for name in ("step-000005", "input", "output"):
        (folder / name).mkdir(parents=True)
    plain = parsed(written(recipe.resolved()), "a recipe")
    plain["training"].pop(without, None)
    (folder / "resolved.toml").write_text(written(plain), encoding="utf-8")
    return folder


def test_a_setting_that_an_older_version_did_not_know_is_a_change(tmp_path: Path) -> None:
    recipe = read_recipe("copy", ["training.steps=9"])
    with pytest.raises(RunError, match=r"training\.lowest was None and is 0\.0.*or start over with --fresh"):
        refuse_changes(recipe, begun(tmp_path / "run", recipe, without="lowest"))


def test_settings_without_one_of_their_sections_are_refused(tmp_path: Path) -> None:
    recipe = read_recipe("copy")
    folder = begun(tmp_path / "run", recipe)
    plain = recipe.resolved()
    del plain["training"]
    (folder / "resolved.toml").write_text(written(plain), encoding="utf-8")
    for use in (lambda: open_run(folder), lambda: refuse_changes(recipe, folder)):
        with pytest.raises(RunError, match=r"resolved\.toml has no \[training\]: it is damaged, or of an older"):
            use()


def test_a_run_cannot_be_resumed_for_fewer_steps_than_it_has(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run", read_recipe("copy", ["training.steps=9"]))
    refuse_changes(read_recipe("copy", ["training.steps=5"]), folder)
    with pytest.raises(RunError, match=r"has already trained 5 steps; training\.steps = 4 cannot be fewer"):
        refuse_changes(read_recipe("copy", ["training.steps=4"]), folder)


def test_a_setting_that_was_left_out_and_is_given_is_a_change(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run", read_recipe("copy", ["training.steps=9"]))
    with pytest.raises(RunError, match=r"training\.layer_decay was None and is 0\.5"):
        refuse_changes(read_recipe("copy", ["training.steps=9", "training.layer_decay=0.5"]), folder)


def test_a_folder_of_the_layout_before_is_refused_with_a_sentence(tmp_path: Path) -> None:
    recipe = read_recipe("copy")
    folder = begun(tmp_path / "run", recipe)
    (folder / "output").rmdir()
    for use in (lambda: open_run(folder), lambda: refuse_changes(recipe, folder)):
        with pytest.raises(RunError, match=r"run was written by an older Seqwright, it has no folder output: train it"):
            use()


def test_a_run_that_was_begun_with_a_number_is_not_resumed_with_a_search(tmp_path: Path) -> None:
    recipe = read_recipe("names-lstm")
    folder = begun(tmp_path / "run", recipe)
    with pytest.raises(RunError, match=r"training\.rate was 0\.004 and is 'find'"):
        refuse_changes(read_recipe("names-lstm", ["training.rate=find"]), folder)


def test_a_run_whose_rate_was_found_resumes_with_it_written_down_or_not_but_with_no_other(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run", read_recipe("names-lstm", ["training.rate=0.0069"]))
    Journal(folder / "journal.jsonl").write({"step": 0, "event": "rate", "epoch": 0, "rate": 0.0069})
    for rate in ("find", "0.0069"):
        refuse_changes(read_recipe("names-lstm", [f"training.rate={rate}"]), folder)
    with pytest.raises(RunError, match=r"training\.rate was 0\.0069 and is 0\.004"):
        refuse_changes(read_recipe("names-lstm"), folder)


HARMLESS = {
    "steps": 12,
    "epochs": 3,
    "patience": 2,
    "log_every": 7,
    "validate_every": 3,
    "save_every": 3,
    "keep": 5,
    "threads": 2,
    "device": "cpu",
}


def test_every_setting_that_may_change_is_tested_here() -> None:
    assert read_recipe("copy").training.may_change() == HARMLESS.keys()


@pytest.mark.parametrize("name", HARMLESS)
def test_a_setting_that_changes_no_update_may_be_another_when_a_run_is_resumed(name: str, tmp_path: Path) -> None:
    few = ["training.steps=9", "training.keep=4"]
    folder = begun(tmp_path / "run", read_recipe("copy", few))
    refuse_changes(read_recipe("copy", [*few, f"training.{name}={HARMLESS[name]}"]), folder)


@pytest.mark.parametrize("name", ["validate_every", "save_every"])
def test_which_checkpoints_are_averaged_may_not_change(name: str, tmp_path: Path) -> None:
    mean = ["training.steps=9", "training.average=last", "training.keep=5"]
    folder = begun(tmp_path / "run", read_recipe("copy", mean))
    with pytest.raises(RunError, match=rf"training\.{name} was \d+ and is 3"):
        refuse_changes(read_recipe("copy", [*mean, f"training.{name}=3"]), folder)


def test_settings_of_a_run_that_are_not_utf_8_are_refused_in_a_sentence(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run", read_recipe("copy"))
    (folder / "resolved.toml").write_bytes(b"name = '\xff\xfe'")
    with pytest.raises(RunError, match=r"resolved\.toml is damaged: it is not UTF-8; train it again with --fresh"):
        open_run(folder)


def test_a_folder_that_was_made_and_not_written_to_goes_with_its_lock(tmp_path: Path) -> None:
    with locked(tmp_path / "runs" / "a"):
        assert (tmp_path / "runs" / "a").is_dir()
    assert not (tmp_path / "runs" / "a").exists()
    (tmp_path / "mine").mkdir()
    with locked(tmp_path / "mine"):
        pass
    assert (tmp_path / "mine").is_dir()
    with locked(tmp_path / "b"):
        (tmp_path / "b" / "journal.jsonl").touch()
    assert (tmp_path / "b" / "journal.jsonl").is_file()
