"""The record that holds the package to its numbers: it notices a changed digit, and can be made."""

import copy
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tools.cases import Case
from tools.characterise import recorded, renamed_tensor
from tools.records import Record, differences, read_record, write_record

RECORD = {
    "copy": {
        "losses": {"loss": ["4.427365455401720", "4.361618976203763"]},
        "validation": {"loss": 3.995138255032626, "exact": 0.0},
        "predictions": {"translate": [["1 2 3", -0.51236, True]]},
        "picture": {"usual": [{"shape": [2, 2], "first": [0.25, 0.75]}]},
    }
}


def changed(*where: str | int, to: object) -> list[str]:
    other = copy.deepcopy(RECORD)
    *path, last = where
    inner: object = other["copy"]
    for key in path:
        inner = inner[key]  # type: ignore[index]
    inner[last] = to  # type: ignore[index]
    return list(differences(RECORD, other))


def test_equal_records_do_not_differ() -> None:
    assert list(differences(RECORD, copy.deepcopy(RECORD))) == []


@pytest.mark.parametrize(
    ("where", "to"),
    [
        (("losses", "loss", 1), "4.361618976203764"),  # the last digit
        (("validation", "loss"), 3.99515),
        (("validation", "loss"), math.nan),
        (("predictions", "translate", 0, 0), "1 2 4"),
        (("predictions", "translate", 0, 2), False),
        (("picture", "usual", 0, "first"), [0.25]),
        (("picture", "usual"), "refused"),
    ],
)
def test_a_change_is_told_with_its_place(where: tuple[str | int, ...], to: object) -> None:
    (line,) = changed(*where, to=to)
    assert line.startswith(f"copy: {where[0]}")


def test_scores_may_differ_by_less_than_a_millionth() -> None:
    assert changed("validation", "loss", to=3.995138255032626 + 5e-7) == []
    assert changed("predictions", "translate", 0, 1, to=-0.5124) == []  # the verbs round some numbers to four digits


def test_a_case_that_only_one_record_has_is_told() -> None:
    assert list(differences(RECORD, {})) == ["copy: only before"]


def test_a_recipe_is_recorded_and_begins_from_its_tensors_again(tmp_path: Path) -> None:
    cases = {"copy": Case("copy", ("model.width=16", "model.heads=2"), train=40, held_out=6)}
    tensors = tmp_path / "tensors"

    def record_of_run(number: int) -> Record:
        (tmp_path / f"runs-{number}").mkdir()
        out = tmp_path / f"{number}.json"
        record: Record = {"cases": {}}
        recorded(record, cases, ["copy"], tensors=tensors, runs=tmp_path / f"runs-{number}", small=True, out=out)
        return dict(read_record(out)["cases"])

    first = record_of_run(1)
    fields = {"losses", "norms", "rates", "tokens", "epochs", "validation", "evaluation", "predictions", "picture"}
    assert first["copy"].keys() == fields
    assert list(differences(first, record_of_run(2))) == []
    saved = load_file(tensors / "copy.safetensors")
    name = next(name for name in saved if name.startswith("model.") and saved[name].dim() == 2)
    saved[name] = saved[name] + torch.full_like(saved[name], 0.01)
    save_file(saved, tensors / "copy.safetensors")
    assert any("losses" in line for line in differences(first, record_of_run(3)))


def test_a_recipe_that_fails_is_a_sentence_in_the_record(tmp_path: Path) -> None:
    cases = {"copy": Case("copy", ("model.width=-1",))}
    found: Record = {"cases": {}}
    recorded(found, cases, ["copy"], tensors=tmp_path, runs=tmp_path, small=True)
    assert "model.width" in found["cases"]["copy"]["error"]


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_record(tmp_path / "record.json", RECORD)
    assert read_record(tmp_path / "record.json") == RECORD


def test_tensors_keep_their_names_where_nothing_was_renamed() -> None:
    assert renamed_tensor("model.no.such.tensor", ()) == "model.no.such.tensor"


def test_a_tensor_keeps_the_first_of_its_names_that_the_model_knows() -> None:
    old, of_decoder, of_body = (
        "model.target_embedding.weight",
        "model.decoder.embedding.tokens.weight",
        "model.body.embedding.weight",
    )
    assert renamed_tensor(old, (old,)) == old
    assert renamed_tensor(old, (of_decoder, of_body)) == of_decoder
    assert renamed_tensor(old, (of_body,)) == of_body
