"""Values, from files of pairs to scores: what is learnt, baselines beside it, and what is told."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.labelled import Labelled
from seqwright.data.labelled import LabelledFiles
from seqwright.data.labelled_tables import Example
from seqwright.errors import DataError, RunError
from seqwright.inputs import Given
from seqwright.interchange.heads import UNKNOWN
from seqwright.kinds import task_of
from seqwright.models.headed import pooled_model
from seqwright.objectives.regression import Regression
from seqwright.outputs.linear import ridge_regression
from seqwright.outputs.number import NumberOutput, Value
from seqwright.recipe import Recipe, recipe_from
from seqwright.training.loop import fit
from tests.wires import text_input

NOTHING_READ = Value(None)
WORDS = ["film", "plot", "cast", "cat", "dog", "cow", "sun", "sea", "sky"]
Row = tuple[str, str, str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place to work in, with a token cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


def write(name: str, rows: list[Row]) -> str:
    lines = [("sentence1", "sentence2", "score"), *rows]
    Path(name).write_text("".join("\t".join(line) + "\n" for line in lines))
    return name


def ratings(count: int, seed: int) -> list[Row]:
    """How many words two texts have in common."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        first, second = (draw.sample(WORDS, 4) for _ in range(2))
        found.append((" ".join(first), " ".join(second), f"{len(set(first) & set(second))}.0"))
    return found


def recipe_of(**changes: Any) -> Recipe:
    plain: dict[str, Any] = {
        "data": {
            "train": write("train.tsv", ratings(149, 1)),
            "valid": write("valid.tsv", ratings(53, 2)),
        },
        "input": {"tokenizer": "words"},
        "model": {"kind": "gru", "width": 8, "embedding": 8, "dropout": 0.0, "word_dropout": 0.0},
        "objective": {"kind": "regression"},
        "training": {"tokens": 512, "steps": 30, "schedule": "constant", "rate": 0.02, "warmup": 0},
    }
    sections = {section: {**values, **changes.get(section, {})} for section, values in plain.items()}
    return recipe_from({"task": "text-regression", **sections})


def wired(**changes: Any) -> tuple[Recipe, LabelledFiles, Any]:
    recipe = recipe_of(**changes)
    data = LabelledFiles(recipe.data)
    return recipe, data, task_of(recipe.task).learnt_inputs(recipe, data)


class ByOverlap(nn.Module):
    """Counts the words that the two texts of a row have in common: knows both, and where each of them is."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(1.0))

    def forward(self, batch: Labelled, carry: Any) -> tuple[Tensor, Any]:
        said = []
        assert batch.segment_BT is not None
        for tokens, real, segment in zip(batch.input_B, batch.real_BT, batch.segment_BT, strict=True):
            first, second = (set(tokens[real & (segment == part)].tolist()) for part in (0, 1))
            common = float(len(first & second) - 1)  # both have the end
            said.append(self.weight * common)
        return torch.stack(said).unsqueeze(1), carry


def test_ratings_are_learnt_around_zero_and_said_as_they_were() -> None:
    recipe, data, inputs = wired()
    known = np.array([float(label) for _, _, label in ratings(149, 1)])
    output = inputs.output
    found = (output.mean, output.deviation, output.lowest, output.highest)
    assert found == pytest.approx((known.mean(), known.std(), known.min(), known.max()))
    assert output.value((3.25 - known.mean()) / known.std()) == pytest.approx(3.25)
    prepared = task_of("text-regression").prepared(recipe, data, inputs)
    assert prepared.scores == ("loss", "mse", "pearson", "spearman")
    assert prepared.lower_is_better == {"loss", "mse"}
    seen = [value for batch in prepared.train.once() for value in batch.target_B.tolist()]
    assert np.mean(seen) == pytest.approx(0, abs=1e-6)
    assert np.std(seen) == pytest.approx(1, rel=1e-5)


def test_ratings_are_known_of_training_texts_and_not_of_a_model_from_elsewhere() -> None:
    inputs = wired()[2]
    assert inputs.output.trained_here
    assert not UNKNOWN.trained_here


def test_the_scores_of_a_rater_are_those_of_its_ratings() -> None:
    recipe, data, inputs = wired()
    task, model = task_of("text-regression"), ByOverlap()
    validated = task.prepared(recipe, data, inputs).evaluate(model)
    evaluated = task.evaluated(recipe, data, inputs, model, "valid", None)
    assert {name: evaluated.scores[name] for name in validated} == pytest.approx(validated, rel=1e-4)
    true = np.array([float(label) for _, _, label in ratings(53, 2)])
    said = true * inputs.output.deviation + inputs.output.mean  # what it says is meant around zero
    assert evaluated.scores["mse"] == pytest.approx(np.mean((said - true) ** 2))
    assert evaluated.scores["loss"] == pytest.approx(np.mean((said - true) ** 2) / inputs.output.deviation**2)
    assert evaluated.scores["pearson"] == evaluated.scores["spearman"] == pytest.approx(100)
    assert evaluated.scores["baseline_mean_mse"] == pytest.approx(np.mean((true - inputs.output.mean) ** 2))
    assert evaluated.scores["baseline_linear_mse"] < evaluated.scores["baseline_mean_mse"]
    assert evaluated.answers[0]["value"] == true[0]
    assert evaluated.answers[0]["predicted"] == pytest.approx(said[0], abs=1e-4)


def test_a_network_learns_to_rate() -> None:
    recipe, data, inputs = wired()
    prepared = task_of("text-regression").prepared(recipe, data, inputs)
    torch.manual_seed(1)
    model = pooled_model(recipe.model, **inputs.sizes())
    before = prepared.evaluate(model.eval())["loss"]
    used = fit(model, Regression(), prepared.train, settings=recipe.training).eval()
    assert prepared.evaluate(used)["loss"] < before
    one, blank = inputs.predict(used, ["film plot\tfilm cat", {"text": " ", "text_pair": "dog"}])
    assert isinstance(one.value, float)
    assert inputs.output.line(one) == f"{one.value:.4f}"
    assert blank.value is None
    assert inputs.output.fields(blank) == {"value": None}


def test_checking_values_says_how_good_baselines_are() -> None:
    recipe, data, inputs = wired()
    checked, batches = task_of("text-regression").checked(recipe, data, inputs)
    assert batches.in_epoch(0) > 0
    assert checked.facts["train part"].startswith("149 pairs of texts with values from 0 to 4, 1.")
    assert "always saying the mean has a squared error of" in checked.facts["baseline"]
    assert "its scores are uncertain" in " ".join(checked.remarks)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [("a", "b", "3"), ("c", "d", "good")],
            r"example 2 of the train part has the label 'good' where .* a number",
        ),
        (
            [("a", "b", "3"), ("c", "d", "3.0")],
            r"every example of the training part has the value 3, expected",
        ),
        ([("a", "b", ""), ("c", "", "3.0")], r"no example of the training part can be read and has a value"),
    ],
)
def test_labels_that_are_no_values_are_refused(rows: list[Row], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        wired(data={"train": write("bad.tsv", rows)})


def test_a_label_that_is_no_number_is_refused_where_it_is_scored() -> None:
    recipe, data, inputs = wired(data={"test": write("test.tsv", [("a", "b", "3"), ("c", "d", "good")])})
    with pytest.raises(DataError, match="example 2 of the test part has the label 'good'"):
        task_of("text-regression").evaluated(recipe, data, inputs, ByOverlap(), "test", None)


@pytest.mark.parametrize("missing", ["-", "n/a", "NaN"])
def test_words_for_a_missing_value_are_blank_and_counted(missing: str) -> None:
    recipe, data, inputs = wired(data={"train": write("gaps.tsv", [*ratings(30, 1), ("film", "plot", missing)])})
    checked, _ = task_of("text-regression").checked(recipe, data, inputs)
    assert checked.facts["train part"].endswith("; 1 without a value")
    assert inputs.output.target(Example("film", missing, "plot")) is None
    assert inputs.output.answer(NOTHING_READ, Example("film", missing, "plot")) == {"value": None, "predicted": None}


def test_without_any_value_there_is_nothing_to_score() -> None:
    _, _, inputs = wired()
    examples = Given([Example("film", "", "plot")])
    with pytest.raises(DataError, match="no example of the input can be read and has a value"):
        inputs.output.scores(inputs.predictions(ByOverlap(), examples), examples)


def test_missing_or_damaged_values_are_refused(tmp_path: Path) -> None:
    _, _, inputs = wired()
    inputs.output.save(tmp_path)
    assert NumberOutput.load(tmp_path, None) == inputs.output
    (tmp_path / "values.json").write_text(json.dumps({"mean": 1}))
    with pytest.raises(RunError, match=r"values.json cannot be read as values"):
        NumberOutput.load(tmp_path, None)
    (tmp_path / "values.json").unlink()
    with pytest.raises(RunError, match=r"values.json is missing"):
        NumberOutput.load(tmp_path, None)


def test_the_ridge_regression_is_the_closed_form() -> None:
    """(X'X + I)⁻¹ X'y with a free bias, over dense vectors made by hand."""
    texts, wanted = ["fine film", "dull film", "fine fine plot", "dull plot", "film plot"], [4.0, 1.0, 5.0, 1.5, 3.0]
    words = ["dull", "film", "fine", "plot"]
    occurs = np.array([[float(word in text.split()) for word in words] for text in texts])
    x = occurs * (1 + np.log(6 / (1 + occurs.sum(0))))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    centred, y = x - x.mean(0), np.array(wanted) - np.mean(wanted)
    weight = np.linalg.solve(centred.T @ centred + np.eye(x.shape[1]), centred.T @ y)
    said = x @ weight + np.mean(wanted) - x.mean(0) @ weight
    assert ridge(texts, wanted, texts) == pytest.approx(said.tolist(), abs=1e-6)
    assert ridge(["a", "b"], [1.0, 4.0], ["anything"]) == [2.5]  # no word occurs twice


def ridge(texts: list[str], values: list[float], asked: list[str]) -> list[float]:
    input = text_input(texts)
    shown = [input.features(Given(Example(text, "") for text in some)) for some in (texts, asked)]
    found: list[float] = ridge_regression(input.vectorizer(), shown[0], values).predict(shown[1]).tolist()
    return found
