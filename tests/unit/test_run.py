"""A run as Python has it: called, evaluated, streamed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqwright as sw
from seqwright.errors import RunError, SettingError
from seqwright.recipe import recipe_from
from seqwright.runs import Run

TRAINING = {"steps": 3, "validate_every": 3, "tokens": 64, "threads": 1}
TEXTS = [("a fine film", "good"), ("a dull film", "bad"), ("so fine", "good"), ("so dull", "bad")] * 5


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Texts with labels, and the texts alone."""
    (tmp_path / "a.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in TEXTS), encoding="utf-8")
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text, _ in TEXTS), encoding="utf-8")
    return tmp_path


def trained(folder: Path, **plain: Any) -> Run:
    where = str(folder / plain["task"] / "run")
    sw.train(recipe_from({**plain, "training": TRAINING}), where)
    return sw.load(where)


@pytest.fixture
def classifier(files: Path) -> Run:
    data = {"train": str(files / "a.tsv"), "valid": str(files / "a.tsv")}
    model = {"kind": "gru", "width": 7, "embedding": 5}
    return trained(files, task="text-classification", data=data, input={"tokenizer": "words"}, model=model)


@pytest.fixture
def writer(files: Path) -> Run:
    data = {"train": str(files / "a.txt"), "valid": str(files / "a.txt"), "documents": "lines"}
    inputs = {"tokenizer": "characters", "rows": "documents"}
    model = {"kind": "gru", "width": 7, "embedding": 5}
    return trained(files, task="language-modeling", data=data, input=inputs, model=model)


def test_one_text_is_one_prediction_and_a_list_is_several(classifier: Run) -> None:
    one, (first, second) = classifier("a fine film"), classifier(["a fine film", "so dull"])
    assert {one.label, first.label, second.label} <= {"good", "bad"}
    assert one.probability == pytest.approx(first.probability, abs=1e-6)
    assert [each.label for each in classifier(np.array(["a fine film", "so dull"]))] == [first.label, second.label]


def test_a_run_says_in_a_line_what_it_is(classifier: Run) -> None:
    assert repr(classifier).endswith("/run': text-classification, gru, step 3)")


def test_a_run_is_evaluated_on_a_part_of_its_data(classifier: Run) -> None:
    assert classifier.evaluate().scores.keys() >= {"loss", "accuracy"}
    assert len(classifier.evaluate("train").answers) == len(TEXTS)
    assert [line["event"] for line in classifier.history].count("valid") == 1


def test_a_stream_is_the_text_that_a_call_gives(writer: Run) -> None:
    settings = {"temperature": 1.0, "seed": 5, "longest": 20}
    pieces = list(writer.stream("a fi", **settings))
    assert len(pieces) > 1
    assert "".join(pieces) == writer("a fi", **settings).text


def test_a_stream_computes_no_more_than_is_asked_for(writer: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, step = [0], writer.model.step

    def counted(*given: Any) -> Any:
        steps[0] += 1
        return step(*given)  # type: ignore[operator]

    monkeypatch.setattr(writer.model, "step", counted)
    stream = writer.stream("a", temperature=1.0, seed=5, longest=50, shortest=50)
    next(stream), next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert steps[0] < 5


def test_what_cannot_be_streamed_or_set_is_refused_in_a_sentence(classifier: Run, writer: Run) -> None:
    with pytest.raises(RunError, match=r"learnt text-classification, and only language models are streamed"):
        classifier.stream("a")
    with pytest.raises(SettingError, match=r"there is no setting 'decoding.temprature'. Did you mean"):
        writer("a", temprature=1.0)
