"""Labels, from files of texts to scores: a small model, baselines beside it, and what is told."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.labelled import Labelled
from seqwright.cli.evaluating import _print, _rounded
from seqwright.data.labelled import LabelledFiles, LabelledFilesSettings
from seqwright.data.labelled_tables import Example
from seqwright.errors import DataError, RunError
from seqwright.inputs import Given
from seqwright.inputs.text import TextSettings
from seqwright.kinds import task_of
from seqwright.models.headed import RecurrentClassifierSettings, pooled_model
from seqwright.objectives.labels import Labels, LabelsSettings
from seqwright.outputs.label import Classification, LabelOutput
from seqwright.outputs.linear import logistic_regression
from seqwright.pictures import save
from seqwright.pictures.evaluations import DRAWINGS
from seqwright.recipe import Recipe
from seqwright.setting_classes import Settings
from seqwright.tasks import Evaluation
from seqwright.tasks.wired import Wires
from seqwright.training.loop import fit
from seqwright.training.settings import TrainingSettings
from tests.wires import classifier_wires, text_input

GOOD, BAD, OTHERS = ["fine", "lovely", "great"], ["dull", "awful", "flat"], ["film", "plot", "cast", "the", "a", "this"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place to work in, with a token cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


def reviews(count: int, seed: int) -> list[tuple[str, str]]:
    """Three times as many good ones as bad ones; one word decides."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        label = "bad" if number % 4 == 0 else "good"
        words = [*draw.choices(OTHERS, k=draw.randrange(1, 7)), draw.choice(BAD if label == "bad" else GOOD)]
        draw.shuffle(words)
        found.append((" ".join(words), label))
    return found


def write(name: str, rows: list[tuple[str, str]]) -> str:
    Path(name).write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    return name


def wired(**settings: Any) -> tuple[Recipe, LabelledFiles, Wires]:
    """A recipe over made-up reviews, its data, and the inputs learnt from it."""
    chosen: dict[str, Any] = {"train": write("train.tsv", reviews(203, 1)), "valid": write("valid.tsv", reviews(53, 2))}
    data_settings = LabelledFilesSettings(**chosen | settings)
    inputs = TextSettings(tokenizer="words")
    training = TrainingSettings(tokens=512, steps=60, schedule="constant", rate=0.02, warmup=0, validate_every=60)
    model, objective = RecurrentClassifierSettings(), LabelsSettings()
    sections = data_settings, inputs, Settings(), model, objective, training, None
    recipe = Recipe("reviews", "", "text-classification", *sections)
    data = LabelledFiles(data_settings)
    return recipe, data, task_of("text-classification").learnt_inputs(recipe, data)


class ByLength(nn.Module):
    """Takes long texts for good ones, and is the surer of it the longer they are."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(0.5))

    def forward(self, batch: Labelled, carry: Any) -> tuple[Tensor, Any]:
        length_B = batch.real_BT.sum(1) - 5.5
        return torch.stack([torch.zeros_like(length_B), self.weight * length_B], dim=1), carry


def test_a_small_network_learns_it() -> None:
    recipe, data, inputs = wired()
    prepared = task_of("text-classification").prepared(recipe, data, inputs)
    assert prepared.scores == ("loss", "accuracy", "macro_f1", "f1", "matthews")
    assert prepared.lower_is_better == {"loss"}
    torch.manual_seed(1)
    model = pooled_model(RecurrentClassifierSettings(kind="gru", width=8, embedding=8), **inputs.sizes())
    used = fit(model, Labels(), prepared.train, settings=recipe.training).eval()
    scores = prepared.evaluate(used)
    assert scores["accuracy"] == scores["macro_f1"] == scores["f1"] == 100
    found = inputs.predict(used, ["this film lovely", "awful", " "])
    assert [one.label for one in found] == ["good", "bad", ""]
    assert list(found[1].probabilities) == ["bad", "good"]
    assert sum(found[1].probabilities.values()) == pytest.approx(1)


def test_the_notes_say_what_became_of_the_data_and_how_good_baselines_are() -> None:
    write("holes.tsv", [*reviews(40, 3), ("", "good"), ("no label", "")])
    recipe, data, inputs = wired(train="holes.tsv")
    train, valid, baseline = task_of("text-classification").prepared(recipe, data, inputs).notes
    assert train == "train: 41 texts (bad 10, good 30; 1 without a label); 1 without text were left out"
    assert valid == "valid: 53 texts (bad 14, good 39)"
    assert baseline.startswith("valid: baseline: always saying 'good' is right for 73.6 %, logistic regression for ")


def test_validation_and_evaluation_agree() -> None:
    recipe, data, inputs = wired()
    task, model = task_of("text-classification"), ByLength()
    validated = task.prepared(recipe, data, inputs).evaluate(model)
    evaluated = task.evaluated(recipe, data, inputs, model, "valid", None)
    assert {name: evaluated.scores[name] for name in validated} == pytest.approx(validated)


def test_an_evaluation_has_every_answer_in_the_order_of_the_file() -> None:
    recipe, data, inputs = wired()
    result = task_of("text-classification").evaluated(recipe, data, inputs, ByLength(), "valid", None)
    rows = reviews(53, 2)
    assert [(answer["text"], answer["label"]) for answer in result.answers] == rows
    said = ["good" if len(text.split()) + 1 > 5.5 else "bad" for text, _ in rows]
    assert [answer["predicted"] for answer in result.answers] == said
    right = [found == label for found, (_, label) in zip(said, rows, strict=True)]
    assert result.scores["accuracy"] == pytest.approx(100 * sum(right) / 53)
    assert result.groups["bad"] == (sum(r for r, (_, label) in zip(right, rows, strict=True) if label == "bad"), 14)
    assert result.signatures["f1"] == "of 'bad', the rarer label"
    assert result.scores["f1"] == result.scores["f1_bad"]


def test_the_baselines_are_shown_beside_the_scores() -> None:
    recipe, data, inputs = wired()
    scores = task_of("text-classification").evaluated(recipe, data, inputs, ByLength(), "valid", None).scores
    assert scores["baseline_majority_accuracy"] == pytest.approx(100 * 39 / 53)
    assert scores["baseline_linear_accuracy"] == scores["baseline_linear_f1"] == 100  # one word decides


def test_on_files_that_are_not_the_runs_no_regression_learns_from_what_it_is_asked() -> None:
    name = write("other.tsv", reviews(31, 5))
    recipe, data, inputs = wired(train=name, valid=name, test=name)
    result = task_of("text-classification").evaluated(recipe, data, inputs, ByLength(), "test", None)
    assert "baseline_linear_accuracy" not in result.scores
    assert "baseline_majority_accuracy" in result.scores
    assert any("no logistic regression" in note for note in result.notes)


def test_a_part_with_a_label_that_training_lacks_is_refused() -> None:
    recipe, data, inputs = wired(test=write("test.tsv", [("the film", "so-so")]))
    with pytest.raises(DataError, match="the test part has the label 'so-so'"):
        task_of("text-classification").evaluated(recipe, data, inputs, ByLength(), "test", None)
    with pytest.raises(DataError, match="the test part has the label 'so-so'"):
        task_of("text-classification").checked(recipe, data, inputs)


def test_a_part_that_is_not_there_is_refused() -> None:
    recipe, data, inputs = wired()
    with pytest.raises(DataError, match="the data has no test part; it has train, valid"):
        task_of("text-classification").evaluated(recipe, data, inputs, ByLength(), "test", None)


def test_checking_counts_what_is_worth_a_second_look() -> None:
    rows = [(f"film number {number}", "bad" if number % 4 == 0 else "good") for number in range(40)]
    rows += [("a fine film", "good"), ("a fine film", "bad"), ("", "good"), ("one of a kind", "odd")]
    valid = write("few.tsv", [("a fine film", "good"), ("Ωmega", "bad")])
    recipe, data, inputs = wired(train=write("holes.tsv", rows), valid=valid)
    checked, batches = task_of("text-classification").checked(recipe, data, inputs)
    assert batches.in_epoch(0) > 0
    assert checked.rows[0][:4] == ("train", "44", "1", "1")
    assert checked.rows[1][:5] == ("valid", "2", "0", "0", "1")
    told = " | ".join(checked.remarks)
    assert "only one example of the training part has: 'odd'" in told
    assert "examples of the train part that occur again with another target: 1" in told
    assert "examples of the valid part that are in training too: 50.0 %" in told
    assert "examples of the train part without input or target, left out: 1" in told
    assert "the valid part has only 2 examples" in told
    assert "characters of the valid part that the vocabulary lacks: 2 ('Ω'×1 'g'×1)" in told
    assert checked.facts["baseline"].startswith("always saying 'good'")


# The baseline


INPUT = text_input(["a word"])


def features(texts: list[str]) -> list[set[str]]:
    return INPUT.features(Given(Example(text, "") for text in texts))


def fitted(texts: list[str], labels: list[int]) -> Any:
    return logistic_regression(INPUT.vectorizer(), features(texts), labels)


def said(regression: Any, texts: list[str]) -> list[int]:
    found: list[int] = regression.predict(features(texts)).tolist()
    return found


def test_the_regression_beats_chance() -> None:
    train, test = reviews(203, 1), reviews(53, 2)
    regression = fitted([text for text, _ in train], [int(label == "good") for _, label in train])
    assert said(regression, [text for text, _ in test]) == [int(label == "good") for _, label in test]


@pytest.mark.parametrize("labels", [[1, 0, 1, 0, 1], [1, 0, 1, 0, 2]])
def test_the_regression_stands_where_the_gradient_is_zero(labels: list[int]) -> None:
    """Of Σ -log p + ¼ ‖W‖², by automatic differentiation over dense vectors made by hand.

    Of two classes scikit-learn has one vector w: the same as -w/2 and w/2 with a penalty of ½ ‖W‖².
    """
    texts = ["fine film", "dull film", "fine fine plot", "dull plot", "film plot"]
    vectorizer, found = (step for _, step in fitted(texts, labels).steps)
    words = list(vectorizer.get_feature_names_out())
    assert words == ["dull", "film", "fine", "plot"]
    occurs = torch.tensor([[float(word in text.split()) for word in words] for text in texts], dtype=torch.float64)
    idf = 1 + torch.log(6 / (1 + occurs.sum(0)))
    x = nn.functional.normalize(occurs * idf, dim=1)
    weight, bias = torch.from_numpy(found.coef_.T), torch.from_numpy(found.intercept_)
    penalty = 0.25
    if weight.shape[1] == 1:
        weight, bias, penalty = torch.cat([-weight, weight], 1) / 2, torch.cat([-bias, bias]) / 2, 0.5
    weight, bias = weight.clone().requires_grad_(), bias.clone().requires_grad_()
    loss = nn.functional.cross_entropy(x @ weight + bias, torch.tensor(labels), reduction="sum")
    (loss + penalty * weight.square().sum()).backward()
    assert weight.grad is not None
    assert bias.grad is not None
    assert float(weight.grad.abs().max()) < 1e-6
    assert float(bias.grad.abs().max()) < 1e-6


def test_texts_without_a_known_word_are_answered_too() -> None:
    assert said(fitted(["a b", "a c", "d e"], [0, 0, 1]), ["", "zzz"]) == [0, 0]
    assert said(fitted(["a", "b", "c"], [1, 1, 0]), ["anything"]) == [1]  # no word occurs twice
    assert said(fitted(["a b", "a c"], [2, 2]), ["a", ""]) == [2, 2]  # one class only


# What is told


def test_a_line_has_as_many_labels_as_asked_for() -> None:
    _, _, inputs = wired()
    (found,) = inputs.predict(ByLength(), ["a b c d e f g h i"])
    label, probability, other, rest = inputs.output.line(found, 2).split("\t")
    assert (label, other) == ("good", "bad")
    assert float(probability) + float(rest) == pytest.approx(1, abs=2e-4)
    assert inputs.output.line(found, 1) == f"good\t{found.probability:.4f}"
    fields = inputs.output.fields(found, 1)
    assert (fields["label"], list(fields["probabilities"])) == ("good", ["good"])


def test_the_confusion_of_an_evaluation_is_drawn(tmp_path: Path) -> None:
    recipe, data, inputs = wired()
    result = task_of("text-classification").evaluated(recipe, data, inputs, ByLength(), "valid", None)
    assert result.picture is not None
    assert result.picture.data["counts_CC"].sum() == 53
    drawn = DRAWINGS[result.picture.name](**result.picture.data)
    paths = save(drawn, tmp_path / "eval" / "valid-confusion")
    assert [path.name for path in paths] == ["valid-confusion.png", "valid-confusion.svg"]
    assert all(path.stat().st_size > 1000 for path in paths)


# The labels


def test_the_labels_are_those_of_training() -> None:
    _, _, inputs = wired()
    assert isinstance(inputs.output, LabelOutput)
    assert inputs.output.counts == {"bad": 51, "good": 152}
    assert inputs.sizes() == {"vocabulary": inputs.tokenizer.size, "classes": 2}


def test_the_most_and_the_least_frequent_label() -> None:
    output = LabelOutput({"bad": 1, "good": 2, "so-so": 1})
    assert (output.majority, output.rarest) == ("good", "bad")
    assert output.trained_here
    assert not LabelOutput({"bad": 0, "good": 0}).trained_here


def test_targets_are_the_numbers_of_labels_and_rows_without_one_teach_nothing() -> None:
    examples = Given([Example("a", "good"), Example("b", ""), Example(" ", "bad"), Example("c", "bad")])
    wires = classifier_wires(["a b c"], {"bad": 1, "good": 1})
    rows = wires.input.encode(examples)
    targets = wires.output.encode(examples, rows)
    assert rows.example_N.tolist() == [0, 1, 3]
    assert targets.learnable.tolist() == [0, 2]
    assert [int(label) for label in targets.rows.take(targets.learnable, None)] == [1, 0]


@pytest.mark.parametrize(("count", "start"), [(2, "the input has the label"), (0, "the file has the label")])
def test_a_label_that_nobody_learnt_is_told_with_the_nearest(count: int, start: str) -> None:
    wires, examples = classifier_wires(["a b"], {"bad": count, "good": count}), Given([Example("a", "god")] * 3)
    with pytest.raises(DataError, match=rf"{start} 'god' \(3 examples\).*Did you mean 'good'"):
        wires.output.encode(examples, wires.input.encode(examples))
    with pytest.raises(DataError, match=start):
        wires.output.scores(wires.predictions(ByLength(), examples), examples)


def test_without_any_label_there_is_nothing_to_score() -> None:
    wires, examples = classifier_wires(["a b"], {"bad": 1, "good": 1}), Given([Example("a", ""), Example("", "bad")])
    with pytest.raises(DataError, match="no example of the input can be read and has a label"):
        wires.output.scores(wires.predictions(ByLength(), examples), examples)


def test_labels_that_occur_once_are_remarked_on() -> None:
    assert LabelOutput({"a": 2, "b": 5}).remarks() == []
    assert (
        LabelOutput({"a": 2, "n/a": 5, "None": 3})
        .remarks()[0]
        .startswith("classes whose names people write for a missing value: 'n/a', 'None'")
    )
    assert "only one example of the training part has: 'b', 'd'" in LabelOutput({"a": 2, "b": 1, "d": 1}).remarks()[0]


def test_missing_or_damaged_labels_are_refused(tmp_path: Path) -> None:
    LabelOutput({"bad": 1, "good": 2}).save(tmp_path)
    assert LabelOutput.load(tmp_path, None) == LabelOutput({"bad": 1, "good": 2})
    (tmp_path / "labels.json").write_text(json.dumps({"labels": ["bad", "good"]}))
    with pytest.raises(RunError, match=r"labels.json cannot be read as labels"):
        LabelOutput.load(tmp_path, None)
    (tmp_path / "labels.json").unlink()
    with pytest.raises(RunError, match=r"labels.json is missing"):
        LabelOutput.load(tmp_path, None)


def test_a_label_that_nobody_has_or_gets_has_no_f1_and_the_others_are_named() -> None:
    output = LabelOutput({"a": 3, "b": 3, "c": 1})

    def said(label: str) -> Classification:
        return Classification(label, 1.0, dict.fromkeys("abc", 0.0) | {label: 1.0}, dict.fromkeys("abc", 1.0))

    predicted, examples = [said("a"), said("b"), said("a")], Given([Example(str(n), x) for n, x in enumerate("abb")])
    report = output.report(predicted, examples)
    assert output.scores(predicted, examples)["macro_f1"] == pytest.approx(200 / 3)
    assert {name: round(value, 2) for name, value in report.scores.items()} == {"f1_a": 66.67, "f1_b": 66.67}
    told = "mean over 2 of 3 labels: 'a', 'b'; left out, for nothing has them or was taken for them: 'c'"
    assert report.signatures == {"macro_f1": told}
    taken = output.report(
        [said("a"), said("c"), said("b")], Given([Example(str(n), label=x) for n, x in enumerate("abb")])
    )
    assert taken.scores["f1_c"] == 0  # one was taken for it, wrongly
    assert taken.signatures == {"macro_f1": "mean over the labels"}


def test_the_table_of_labels_has_a_dash_where_nothing_was_scored(capsys: pytest.CaptureFixture[str]) -> None:
    _print(Evaluation(scores={"accuracy": 50.0, "f1_a": 66.67}, groups={"a": (1, 2), "c": (0, 0)}))
    said = capsys.readouterr().out
    assert re.search(r"^a +1/2 +50\.0 % +66\.67", said, re.MULTILINE)
    assert re.search(r"^c +0/0 +– +–", said, re.MULTILINE)


def test_small_scores_are_written_with_six_digits() -> None:
    found = _rounded({"mse": 0.0202113660616, "accuracy": 89.123456, "perplexity": 234.861992, "none": 0.0})
    assert found == {"mse": 0.0202114, "accuracy": 89.1235, "perplexity": 234.862, "none": 0.0}
    assert _rounded({"bleu": 1e-310})["bleu"] < 1e-300
