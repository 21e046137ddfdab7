"""A run as Python has it: called, evaluated, streamed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import seqwright as sw
from seqwright.cli.evaluating import evaluate_run
from seqwright.cli.options import EvaluationOptions
from seqwright.errors import DataError, RunError, SettingError
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


def trained(folder: Path, name: str = "run", **plain: Any) -> Run:
    where = str(folder / plain["task"] / name)
    return sw.train(recipe_from({**plain, "training": TRAINING}), run=where, quiet=True)


def a_classifier(files: Path, name: str = "run", tokenizer: str = "words", train: str = "a.tsv") -> Run:
    data = {"train": str(files / train), "valid": str(files / "a.tsv")}
    model = {"kind": "gru", "width": 7, "embedding": 5}
    return trained(files, name, task="text-classification", data=data, input={"tokenizer": tokenizer}, model=model)


@pytest.fixture
def classifier(files: Path) -> Run:
    return a_classifier(files)


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
    for several in (np.array, pd.Series, lambda texts: np.array(texts, dtype=object)):
        assert [each.label for each in classifier(several(["a fine film", "so dull"]))] == [first.label, second.label]


def test_a_run_says_in_a_line_what_it_is(classifier: Run) -> None:
    assert "/run': text-classification, gru, " in repr(classifier)
    assert "parameters, step 3, " in repr(classifier)


def test_a_run_is_evaluated_on_a_part_of_its_data(classifier: Run) -> None:
    assert classifier.evaluate().scores.keys() >= {"loss", "accuracy"}
    assert len(classifier.evaluate("train").answers) == len(TEXTS)
    assert [line["event"] for line in classifier.history].count("valid") == 1


def test_a_run_is_evaluated_on_other_files(classifier: Run, files: Path) -> None:
    other = files / "b.tsv"
    other.write_text("so fine\tgood\nso dull\tbad\nso\tbad\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="^2 of the 3 examples that are read stand in the training data too"):
        assert len(classifier.evaluate(data=other).predictions) == 3
    with pytest.warns(UserWarning, match="the scores are optimistic"):
        found = classifier.evaluate(data=str(files / "a.tsv"))
    assert found.scores["loss"] == classifier.evaluate("valid").scores["loss"]
    with pytest.raises(SettingError, match=r"^part=… chooses from the run's own data and data=… names other files"):
        classifier.evaluate("valid", data=other)


def test_baselines_of_other_files_learn_from_the_training_part_as_those_of_eval_do(
    classifier: Run, files: Path
) -> None:
    other = files / "b.tsv"
    other.write_text("so fine\tbad\nso dull\tgood\n", encoding="utf-8")  # the reverse of what was trained on
    with pytest.warns(UserWarning, match="the scores are optimistic"):
        scores = classifier.evaluate(data=other).scores
    assert scores["baseline_linear_accuracy"] == 0
    evaluate_run(classifier.folder, EvaluationOptions(data=[other]))
    (report,) = (classifier.folder / "eval").glob("b-*.json")
    written = json.loads(report.read_text(encoding="utf-8"))["scores"]
    assert written == pytest.approx(scores, abs=1e-4)


def test_a_stream_is_the_text_that_a_call_gives(writer: Run) -> None:
    settings: dict[str, Any] = {"temperature": 1.0, "seed": 5, "longest": 20}
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
    with pytest.raises(RunError, match="only what writes text is streamed; call the run"):
        classifier.stream("a")
    with pytest.raises(SettingError, match=r"no setting 'temprature' of decoding\. Did you mean 'temperature'\?"):
        writer("a", temprature=1.0)
    with pytest.raises(SettingError, match=r"^beam: input should be greater than or equal to 1, not 0$"):
        writer("a", beam=0)


def test_the_parts_of_a_run_are_what_it_reads_and_what_it_says(classifier: Run) -> None:
    assert classifier.input is classifier.inputs.input
    assert classifier.output.labels == ("bad", "good")


# ------------------------------------------------------------------------------------------------ ensembles


def test_several_runs_give_the_mean_of_their_probabilities_each_reading_for_itself(files: Path) -> None:
    runs = [a_classifier(files, "one"), a_classifier(files, "two", tokenizer="characters")]
    both, text = sw.load([run.folder for run in runs]), "a fine film"
    mean = np.mean([run(text).probabilities["good"] for run in runs])
    assert runs[0](text).probabilities != pytest.approx(runs[1](text).probabilities, abs=1e-6)
    assert both(text).probabilities["good"] == pytest.approx(mean)
    assert [each.label for each in both([text, " "])] == [both(text).label, ""]
    scores = both.evaluate("valid").scores
    assert scores["loss"] == pytest.approx(np.mean([both(text).losses[label] for text, label in TEXTS]))


def test_of_a_run_that_is_not_there_the_nearest_is_named(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "resolved.toml").touch()
    with pytest.raises(RunError, match=r"there is no run .*plin\. Did you mean '.*plain'\?"):
        sw.load(tmp_path / "plin")
    with pytest.raises(RunError, match=r"plain\.toml is a recipe, not a run\. Did you mean '.*plain'\?"):
        sw.load(tmp_path / "plain.toml")


def test_runs_that_cannot_decide_together_are_refused_in_a_sentence(files: Path, classifier: Run, writer: Run) -> None:
    (files / "b.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in TEXTS[1:]), encoding="utf-8")
    other = a_classifier(files, "other", train="b.tsv")
    with pytest.raises(RunError, match=r"were not trained to predict the same, such as the same labels"):
        sw.load([classifier.folder, other.folder])
    with pytest.raises(RunError, match=r"cannot decide together with other runs; name one run"):
        sw.load([writer.folder, writer.folder])
    with pytest.raises(RunError, match=r"given no run"):
        sw.load([])
    both = sw.load([classifier.folder, classifier.folder])
    with pytest.raises(RunError, match=r"one is looked into; load one run"):
        both.look("a fine film")
    with pytest.raises(RunError, match=r"an ensemble is not streamed; call it"):
        both.stream("a fine film")
    with pytest.raises(RunError, match=r"each has vectors of its own; load one run"):
        both.embed(["a fine film"])


# ------------------------------------------------------------------------------------------------ looking inside


def test_texts_become_vectors(classifier: Run, writer: Run) -> None:
    texts = ["a fine film", "so dull"]
    assert classifier.embed(texts).shape == (2, 14)  # both directions
    assert np.linalg.norm(writer.embed(texts, normalise=True), axis=1) == pytest.approx([1, 1])
    assert classifier.embed("so dull").shape == (14,)  # one string is one text
    assert classifier.embed(texts)[1] == pytest.approx(classifier.embed(texts[1:])[0], abs=1e-6)


def test_what_happens_inside_is_plain_data(classifier: Run, writer: Run) -> None:
    seen = classifier.look("a fine film").data
    assert seen.pieces == ["a", " fine", " film"]
    assert [layer.values["hidden state"].shape for layer in seen.layers] == [(3, 7), (3, 7)]
    assert len(writer.look("a fine", "surprisal").data.bits) == len("a fine") + 1
    assert {reach.trained for reach in writer.look(what="gradients").data} == {True, False}


def test_what_cannot_be_seen_is_refused_in_a_sentence(classifier: Run) -> None:
    with pytest.raises(SettingError, match=r"there is no 'unit' to look at\. Did you mean 'units'\?"):
        classifier.look("a", "unit")
    with pytest.raises(RunError, match="surprisal needs a language model"):
        classifier.look("a", "surprisal")
    with pytest.raises(DataError, match=r"an example is 3, expected a text"):
        classifier.look(3)
    with pytest.raises(SettingError, match=r"writes no text; leave beam out"):
        classifier("a fine film", beam=5)
    with pytest.raises(RunError, match="have no output over words"):
        classifier.look("a", "lens")
    with pytest.raises(DataError, match=r'an example has the fields text, text_pair; expected \{"text": …\}'):
        classifier.look({"text": "a", "text_pair": "a fine"})
    with pytest.raises(DataError, match=r"is a list, which is several, and one is looked at"):
        classifier.look(["a", "fine"])
