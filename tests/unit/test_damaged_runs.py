"""Files of a run, a comparison or a recipe that are not as they were written: a sentence, never a traceback."""

import io
import json
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import create_model
from rich.console import Console

from seqwright import runs
from seqwright.cache import damage_of
from seqwright.cli.run_list import summary_of
from seqwright.comparison.settings import read_comparison
from seqwright.errors import RunError, SettingError
from seqwright.history import History
from seqwright.inputs.saved import load_fields, load_json
from seqwright.models.headed import ViTClassifierSettings, pooled_model
from seqwright.recipe import read_recipe
from seqwright.runs import open_run
from seqwright.saved_weights import refuse_larger_model, refuse_larger_sizes
from seqwright.tasks import distillation
from seqwright.training.checkpoint import read_checkpoint, read_mark, step_folder
from seqwright.training.weights import unique_tensors
from tests.story.test_interchange import SIZES, made


@dataclass(frozen=True)
class Reading:
    """What an input would know."""

    longest: int


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made("gpt", tmp_path / "run", **SIZES)
    return tmp_path / "run"


@pytest.mark.parametrize("digits", [300, 5000])
def test_a_mark_of_endless_digits_names_no_step(digits: int, run: Path) -> None:
    (run / "best").write_text(f"step-{'9' * digits}\n")
    assert read_mark(run, "best") is None
    assert open_run(run).step == 1


def test_a_state_that_names_a_file_elsewhere_is_damaged_and_that_file_is_not_read(run: Path) -> None:
    path = step_folder(run, 1) / "state.json"
    state = json.loads(path.read_text())
    state["sha256"]["../../outside.safetensors"] = "0"
    path.write_text(json.dumps(state))
    with pytest.raises(RunError, match=r"names '\.\./\.\./outside\.safetensors', no file of that folder"):
        read_checkpoint(run, 1)


def test_a_field_of_the_wrong_kind_is_told_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "reading.json").write_text('{"longest": [1, 2]}')
    with pytest.raises(RunError, match=r"reading\.json cannot be read as reading \(Input should be a valid") as raised:
        load_fields(Reading, tmp_path / "reading.json")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("size", ["0", "-1", "-1" + "0" * 30, "9" * 20, '"' + "9" * 400 + '"'])
def test_a_size_that_nothing_has_is_refused(size: str, tmp_path: Path) -> None:
    (tmp_path / "reading.json").write_text(f'{{"longest": {size}}}')
    with pytest.raises(RunError, match=r"\(longest is no number from 1 to 9,007,199,254,740,992\)"):
        load_fields(Reading, tmp_path / "reading.json")


def test_a_file_of_an_input_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"reading\.json is missing; expected what training wrote there: restore it"):
        load_fields(Reading, tmp_path / "reading.json")


def test_sizes_of_training_can_be_loaded(tmp_path: Path) -> None:
    for size in (1, 2**53):
        (tmp_path / "reading.json").write_text(json.dumps({"longest": size}))
        assert load_fields(Reading, tmp_path / "reading.json") == Reading(size)


@pytest.mark.parametrize(
    ("setting", "size"), [("width", 2**31), ("width", 2**63), ("feed_forward", 10**9), ("layers", 10**6)]
)
def test_a_model_far_larger_than_its_checkpoint_is_not_built(
    setting: str, size: int, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = run / "resolved.toml"
    text = re.sub(rf"(?m)^{setting} = \d+$", f"{setting} = {size}", resolved.read_text())
    resolved.write_text(re.sub(r"(?m)^heads = \d+$", "heads = 1", text))
    monkeypatch.setattr(runs, "model_of", lambda *_: pytest.fail("it was built"))
    with pytest.raises(RunError, match=rf"run is damaged: .*\(model\.{setting} is far larger than anything in its"):
        open_run(run)


@pytest.mark.parametrize(
    "name",
    [
        "embedding",
        "expert_width",
        "channels",
        "experts",
        "encoder_layers",
        "decoder_layers",
        "encoder_sets",
        "transition",
    ],
)
def test_a_size_of_any_kind_of_model_is_held_against_the_checkpoint(name: str) -> None:
    settings, tensors = create_model("Settings", **{name: (int, ...)}), {"weight": torch.zeros(3, 7)}  # type: ignore[call-overload]
    refuse_larger_sizes(settings(**{name: 200}), tensors)  # of a kind that has no use for it
    with pytest.raises(ValueError, match=f"model.{name} is far larger"):
        refuse_larger_sizes(settings(**{name: 20_000}), tensors)


def test_a_model_for_huge_images_is_refused_before_memory_is_used() -> None:
    settings = ViTClassifierSettings.model_validate({"width": 6, "heads": 2, "layers": 1, "patch": 4})
    sizes = {"channels": 1, "rows": 8, "columns": 8, "classes": 2}
    tensors = unique_tensors(pooled_model(settings, **sizes))
    refuse_larger_model(settings, partial(pooled_model, settings, **sizes), tensors)
    huge = partial(pooled_model, settings, **{**sizes, "rows": 10**7, "columns": 10**7})
    with pytest.raises(ValueError, match="is larger than its checkpoint"):
        refuse_larger_model(settings, huge, tensors)


@pytest.mark.parametrize(
    "wrong", [RuntimeError("negative dimension -2\nframe #0"), TypeError("Overflow"), MemoryError(), OverflowError("C")]
)
def test_a_run_whose_model_cannot_be_built_is_damaged(
    wrong: Exception, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise wrong

    monkeypatch.setattr(runs, "model_of", fail)
    with pytest.raises(RunError, match=r"run is damaged: no model can be built as its files say \(\w") as raised:
        open_run(run)
    assert "frame" not in str(raised.value)


@pytest.mark.parametrize("metric", ["[0]", '"loss"'])
def test_a_run_is_listed_whatever_its_metric_and_score_are(metric: str, run: Path) -> None:
    resolved = run / "resolved.toml"
    resolved.write_text(re.sub(r"(?m)^metric = .*$", f"metric = {metric}", resolved.read_text()))
    (run / "journal.jsonl").write_text(json.dumps({"step": 1, "event": "valid", "loss": "low"}) + "\n")
    assert summary_of(run).score is None


@pytest.mark.parametrize("wrong", [RecursionError("deep"), OverflowError("large"), IndexError("none")])
def test_whatever_is_wrong_with_a_file_of_a_run_is_told(wrong: Exception, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")

    def fail(plain: Any) -> None:
        raise wrong

    with pytest.raises(RunError, match="cannot be read as a"):
        load_json(tmp_path / "a.json", fail)


@pytest.mark.parametrize("odd", [[1, 2], {"a": 1}, [[]]])
def test_a_column_with_something_else_than_numbers_keeps_it(odd: Any) -> None:
    column = History([{"step": 1, "loss": odd}, {"step": 2, "loss": 0.5}, {"step": 3}])["loss"]
    assert column.dtype == object
    assert column.tolist() == [odd, 0.5, None]
    assert np.isnan(History([{"step": 1, "loss": 0.5}, {"step": 2}])["loss"][1])


def test_a_score_that_is_no_number_is_not_shown(run: Path) -> None:
    lines = [{"step": 1, "event": "valid", "loss": "low"}, {"step": 1}]
    (run / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "validation" not in repr(open_run(run))


@pytest.mark.parametrize(
    ("text", "said"), [("seeds = " + "9" * 6000, "is not valid TOML"), ("a = " + "[" * 3000, "nested")]
)
def test_a_comparison_of_endless_digits_or_brackets_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(SettingError, match=said):
        read_comparison(str(tmp_path / "a.toml"))


def test_a_base_whose_name_no_file_can_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f'base = "{"x" * 5000}"\n')
    with pytest.raises(SettingError, match=r"a\.toml or its base could not be read: File name too long"):
        read_recipe(str(tmp_path / "a.toml"))


@pytest.mark.parametrize("key", ["recipe", "run"])
def test_a_row_whose_name_no_file_can_have_is_refused(key: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f'[[rows]]\n{key} = "{"x" * 5000}"\n')
    with pytest.raises(SettingError, match="names a recipe or a run that cannot be read: File name too long"):
        read_comparison(str(tmp_path / "a.toml"))


@pytest.mark.parametrize("words", [["task=[1]"], ["task=[1]", "model.kind=gru"], ["task={}", "model.width=3"]])
def test_a_task_on_the_command_line_that_is_no_word_is_refused(words: list[str]) -> None:
    with pytest.raises(SettingError, match="task"):
        read_recipe("dates-demo", words)


@pytest.mark.parametrize("text", ['{"' + "x" * 5000 + '": [1, "0"]}', "[" * 100_000])
def test_a_list_of_checksums_that_cannot_be_is_damage(text: str, tmp_path: Path) -> None:
    (tmp_path / "sums.json").write_text(text)
    assert "sums.json" in (damage_of(tmp_path) or "")


def test_an_error_is_on_one_line_whatever_it_quotes() -> None:
    assert str(SettingError("there is no 'a\n  b'")) == "there is no 'a b'"


def test_the_name_of_a_teacher_is_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(force_terminal=True, color_system=None, record=True, width=100, file=io.StringIO())
    monkeypatch.setattr(distillation, "Console", lambda stderr: console)
    assert list(distillation._watched([1, 2], "asking runs/[bold]mine[/]", 2)) == [1, 2]
    assert "asking runs/[bold]mine[/]" in console.export_text()
