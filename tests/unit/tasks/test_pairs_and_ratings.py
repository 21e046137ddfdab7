"""Pairs of texts and ratings, from files to scores: what is read, what is to beat, what is said."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches import Place
from seqwright.batches.labelled import Labelled
from seqwright.cli.classifying import parted
from seqwright.data.labelled import LabelledFiles
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs.labelled_text import LabelledText
from seqwright.inputs.rated_text import RatedText
from seqwright.interchange.recipes import UNKNOWN
from seqwright.models.headed import pooled_model
from seqwright.objectives.labels import Labels
from seqwright.objectives.rating import Rating
from seqwright.recipe import Recipe, recipe_from
from seqwright.tasks.classification import ClassificationTask
from seqwright.tasks.classifier import Classifier
from seqwright.tasks.rater import Rater
from seqwright.tasks.rating import RatingTask, training_ratings
from seqwright.tasks.word_baseline import WordRating
from seqwright.training.loop import fit

WORDS = ["film", "plot", "cast", "cat", "dog", "cow", "sun", "sea", "sky"]
Row = tuple[str, str, str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place to work in, with a token cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


def write(name: str, rows: list[Row], label: str = "label") -> str:
    lines = [("sentence1", "sentence2", label), *rows]
    Path(name).write_text("".join("\t".join(line) + "\n" for line in lines))
    return name


def pairs(count: int, seed: int) -> list[Row]:
    """Two texts of the same words are alike, of other words they are not."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        first = draw.sample(WORDS, 3)
        alike = number % 3 == 0
        second = draw.sample(first, 3) if alike else draw.sample([word for word in WORDS if word not in first], 3)
        found.append((" ".join(first), " ".join(second), "alike" if alike else "other"))
    return found


def ratings(count: int, seed: int) -> list[Row]:
    """How many words two texts have in common."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        first, second = (draw.sample(WORDS, 4) for _ in range(2))
        found.append((" ".join(first), " ".join(second), f"{len(set(first) & set(second))}.0"))
    return found


def recipe_of(goal: str, **changes: Any) -> Recipe:
    made = pairs if goal == "labels" else ratings
    label = "label" if goal == "labels" else "score"
    plain: dict[str, Any] = {
        "data": {
            "kind": "labelled",
            "train": write("train.tsv", made(149, 1), label),
            "valid": write("valid.tsv", made(53, 2), label),
        },
        "inputs": {"kind": "words"},
        "model": {"kind": "gru", "width": 8, "embedding": 8, "dropout": 0.0, "word_dropout": 0.0},
        "objective": {"kind": goal},
        "training": {"tokens": 512, "steps": 30, "schedule": "constant", "rate": 0.02, "warmup": 0},
    }
    return recipe_from({section: {**values, **changes.get(section, {})} for section, values in plain.items()})


def wired(goal: str, **changes: Any) -> tuple[Recipe, LabelledFiles, Any]:
    recipe = recipe_of(goal, **changes)
    data = LabelledFiles(recipe.data)
    return recipe, data, (ClassificationTask() if goal == "labels" else RatingTask()).learnt_inputs(recipe, data)


class ByOverlap(nn.Module):
    """Counts the words that the two texts of a row have in common: knows both, and where each of them is."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(1.0))
        self.outputs = outputs

    def forward(self, batch: Labelled, carry: Any) -> tuple[Tensor, Any]:
        said = []
        for tokens, real, segment in zip(batch.input_BT, batch.real_BT, batch.segment_BT, strict=True):
            first, second = (set(tokens[real & (segment == part)].tolist()) for part in (0, 1))
            common = float(len(first & second) - 1)  # both have the end
            said.append([self.weight * common] if self.outputs == 1 else [self.weight * common, self.weight * 1.5])
        return torch.stack([torch.stack([torch.as_tensor(value) for value in row]) for row in said]), carry


# Pairs in classification


def test_a_pair_is_read_as_two_texts_each_with_its_end() -> None:
    recipe, data, inputs = wired("labels")
    assert inputs.pairs
    batch = ClassificationTask().prepared(recipe, data, inputs).train.at(Place())
    row = batch.input_BT[0][batch.real_BT[0]].tolist()
    assert row.count(inputs.end) == 2
    assert row[-1] == inputs.end
    assert sorted(set(batch.segment_BT[0].tolist())) == [0, 1]


def test_the_notes_count_pairs() -> None:
    rows = [*pairs(40, 3), ("film", "", "alike"), ("film", "plot", "")]
    recipe, data, inputs = wired("labels", data={"train": write("holes.tsv", rows)})
    notes = ClassificationTask().prepared(recipe, data, inputs).notes
    assert notes[0] == "train: 40 pairs of texts (alike 14, other 26); 2 without text or label were left out"


def test_who_knows_both_texts_scores_and_answers_for_both() -> None:
    recipe, data, inputs = wired("labels")
    task, model = ClassificationTask(), ByOverlap(2)
    validated = task.prepared(recipe, data, inputs).evaluate(model)
    assert validated["accuracy"] == validated["matthews"] == 100
    evaluated = task.evaluated(recipe, data, inputs, model, "valid", None)
    assert {name: evaluated.scores[name] for name in validated} == pytest.approx(validated)
    assert [(one["text"], one["second"], one["label"]) for one in evaluated.answers] == pairs(53, 2)
    assert evaluated.scores["words_accuracy"] > 90  # the regression is told which words are in both


def test_a_network_learns_from_pairs() -> None:
    recipe, data, inputs = wired("labels")
    prepared = ClassificationTask().prepared(recipe, data, inputs)
    torch.manual_seed(1)
    model = pooled_model(recipe.model, **inputs.sizes())
    before = prepared.evaluate(model.eval())["loss"]
    used = fit(model, Labels(), prepared.train, settings=recipe.training).eval()
    assert prepared.evaluate(used)["loss"] < before
    classifier = Classifier(used, inputs)
    found = classifier(["film plot cast", "", "cat"], ["cast film plot", "dog", " "])
    assert [bool(one.label) for one in found] == [True, False, False]
    turned = classifier.log_probabilities(["film plot"], ["cat dog"])
    assert not torch.equal(turned, classifier.log_probabilities(["cat dog"], ["film plot"]))


def test_pairs_come_back_with_the_inputs(tmp_path: Path) -> None:
    _, _, inputs = wired("labels")
    inputs.save(tmp_path / "inputs")
    again = LabelledText.load(tmp_path / "inputs")
    assert again.pairs
    assert again.fingerprint() == inputs.fingerprint()
    assert again.encode(["film"], ["plot cat"])[0].tolist() == inputs.encode(["film"], ["plot cat"])[0].tolist()


def test_single_texts_where_training_had_pairs_are_refused() -> None:
    Path("single.tsv").write_text("text\tlabel\nfilm\talike\n")
    recipe, data, inputs = wired("labels", data={"test": "single.tsv"})
    with pytest.raises(DataError, match="the test part has single texts, but the training part has pairs"):
        ClassificationTask().evaluated(recipe, data, inputs, ByOverlap(2), "test", None)


def test_checking_tells_pairs_by_both_texts() -> None:
    rows = [*pairs(40, 3), ("film", "plot", "alike"), ("film", "cat", "other"), ("film", "plot", "other")]
    recipe, data, inputs = wired("labels", data={"train": write("again.tsv", rows)})
    checked, _ = ClassificationTask().checked(recipe, data, inputs)
    assert checked.rows[0][:4] == ("train", "43", "0", "1")
    assert "texts of the train part that occur again with another label: 1" in " | ".join(checked.remarks)


def test_a_tab_stands_between_two_texts() -> None:
    assert parted(["a b\tc d", "", "e\tf\tg"]) == (["a b", "", "e"], ["c d", "", "f\tg"])
    with pytest.raises(DataError, match=r"text 13 is a single one, 'lonely', but the run learnt pairs.*--second"):
        parted(["a\tb", "lonely"], 11)


# How much of a text is read


@pytest.mark.parametrize(("asked", "context", "wanted"), [(None, 20, 17), (12, 20, 12), (None, 600, 512)])
def test_texts_are_as_long_as_the_context_has_room_for(asked: int | None, context: int, wanted: int) -> None:
    recipe = _with_model({"kind": "bert", "context": context}, {} if asked is None else {"longest": asked})
    inputs = ClassificationTask().learnt_inputs(recipe, LabelledFiles(recipe.data))
    assert inputs.longest == wanted
    assert inputs.begins


def test_more_than_the_context_has_room_for_is_refused() -> None:
    recipe = _with_model({"kind": "bert", "context": 20}, {"longest": 18})
    with pytest.raises(SettingError, match=r"inputs.longest is 18, but the model reads 20 tokens.* inputs.longest=17"):
        ClassificationTask().learnt_inputs(recipe, LabelledFiles(recipe.data))


def _with_model(model: dict[str, Any], inputs: dict[str, Any]) -> Recipe:
    plain = recipe_of("labels").resolved()
    sections = {name: plain[name] for name in ("data", "objective", "training")}
    return recipe_from({**sections, "model": model, "inputs": {"kind": "words", **inputs}})


# Ratings


def test_ratings_are_learnt_around_zero_and_said_as_they_were() -> None:
    recipe, data, inputs = wired("rating")
    known = np.array([float(label) for _, _, label in ratings(149, 1)])
    assert inputs.ratings == pytest.approx((known.mean(), known.std(), known.min(), known.max()))
    assert inputs.rating(inputs.standard(3.25)) == pytest.approx(3.25)
    prepared = RatingTask().prepared(recipe, data, inputs)
    assert prepared.scores == ("loss", "mse", "pearson", "spearman")
    assert prepared.lower_is_better == {"loss", "mse"}
    seen = [value for batch in prepared.train.once() for value in batch.target_B.tolist()]
    assert np.mean(seen) == pytest.approx(0, abs=1e-6)
    assert np.std(seen) == pytest.approx(1, rel=1e-5)


def test_ratings_are_known_of_training_texts_and_not_of_a_model_from_elsewhere() -> None:
    inputs = wired("rating")[2]
    assert inputs.ratings.known
    assert not UNKNOWN.known


def test_the_scores_of_a_rater_are_those_of_its_ratings() -> None:
    recipe, data, inputs = wired("rating")
    task, model = RatingTask(), ByOverlap(1)
    validated = task.prepared(recipe, data, inputs).evaluate(model)
    evaluated = task.evaluated(recipe, data, inputs, model, "valid", None)
    assert {name: evaluated.scores[name] for name in validated} == pytest.approx(validated, rel=1e-4)
    true = np.array([float(label) for _, _, label in ratings(53, 2)])
    said = true * inputs.ratings.deviation + inputs.ratings.mean  # what it says is meant around zero
    assert evaluated.scores["mse"] == pytest.approx(np.mean((said - true) ** 2))
    assert evaluated.scores["loss"] == pytest.approx(np.mean((said - true) ** 2) / inputs.ratings.deviation**2)
    assert evaluated.scores["pearson"] == evaluated.scores["spearman"] == pytest.approx(100)
    assert evaluated.scores["mean_mse"] == pytest.approx(np.mean((true - inputs.ratings.mean) ** 2))
    assert evaluated.scores["words_mse"] < evaluated.scores["mean_mse"]
    assert evaluated.answers[0]["rating"] == true[0]
    assert evaluated.answers[0]["predicted"] == pytest.approx(said[0], abs=1e-4)


def test_a_network_learns_to_rate() -> None:
    recipe, data, inputs = wired("rating")
    prepared = RatingTask().prepared(recipe, data, inputs)
    torch.manual_seed(1)
    model = pooled_model(recipe.model, **inputs.sizes())
    before = prepared.evaluate(model.eval())["loss"]
    used = fit(model, Rating(), prepared.train, settings=recipe.training).eval()
    assert prepared.evaluate(used)["loss"] < before
    rater = Rater(used, inputs)
    one, blank = rater(["film plot", " "], ["film cat", "dog"])
    assert isinstance(one, float)
    assert blank is None


def test_checking_ratings_says_what_is_to_beat() -> None:
    recipe, data, inputs = wired("rating")
    checked, batches = RatingTask().checked(recipe, data, inputs)
    assert batches.in_epoch(0) > 0
    assert checked.facts["train part"].startswith("149 pairs of texts rated from 0 to 4, 1.")
    assert "always saying the mean has a squared error of" in checked.facts["to beat"]
    assert "its scores are uncertain" in " ".join(checked.remarks)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("a", "b", "3"), ("c", "d", "good")], r"the train part has the label 'good', for 'c'.*must be a number"),
        ([("a", "b", "3"), ("c", "d", "3.0")], r"every text of the training part has the rating 3, expected different"),
        ([("a", "b", ""), ("c", "", "3.0")], r"no row of the training part has both a text and a rating"),
    ],
)
def test_labels_that_are_no_ratings_are_refused(rows: list[Row], sentence: str) -> None:
    recipe = recipe_of("rating", data={"train": write("bad.tsv", rows, "score")})
    with pytest.raises(DataError, match=sentence):
        training_ratings(LabelledFiles(recipe.data))


def test_missing_or_damaged_ratings_are_refused(tmp_path: Path) -> None:
    _, _, inputs = wired("rating")
    inputs.save(tmp_path / "inputs")
    again = RatedText.load(tmp_path / "inputs")
    assert (again.ratings, again.pairs, again.longest) == (inputs.ratings, True, 512)
    (tmp_path / "inputs" / "ratings.json").write_text(json.dumps({"ratings": {"mean": 1}}))
    with pytest.raises(RunError, match=r"ratings.json cannot be read as ratings"):
        RatedText.load(tmp_path / "inputs")
    (tmp_path / "inputs" / "ratings.json").unlink()
    with pytest.raises(RunError, match=r"ratings.json is missing"):
        RatedText.load(tmp_path / "inputs")


def test_the_ridge_regression_is_the_closed_form() -> None:
    """(X'X + I)⁻¹ X'y with a free bias, over dense vectors made by hand."""
    texts, wanted = ["fine film", "dull film", "fine fine plot", "dull plot", "film plot"], [4.0, 1.0, 5.0, 1.5, 3.0]
    found, words = WordRating(texts, wanted), ["dull", "film", "fine", "plot"]
    occurs = np.array([[float(word in text.split()) for word in words] for text in texts])
    x = occurs * (1 + np.log(6 / (1 + occurs.sum(0))))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    centred, y = x - x.mean(0), np.array(wanted) - np.mean(wanted)
    weight = np.linalg.solve(centred.T @ centred + np.eye(x.shape[1]), centred.T @ y)
    said = x @ weight + np.mean(wanted) - x.mean(0) @ weight
    assert found(texts) == pytest.approx(said.tolist(), abs=1e-6)
    assert WordRating(["a", "b"], [1.0, 4.0])(["anything"]) == [2.5]  # no word occurs twice
