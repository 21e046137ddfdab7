"""A task of an input and an output: pairs of texts with labels, from files to scores and answers."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches import Place
from seqwright.batches.labelled import Labelled
from seqwright.data.labelled import LabelledFiles
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Given
from seqwright.kinds import task_of
from seqwright.models.headed import RecurrentClassifierSettings, pooled_model
from seqwright.objectives.labels import Labels
from seqwright.outputs.label import Classification
from seqwright.recipe import Recipe, recipe_from
from seqwright.training.loop import fit
from tests.wires import classifier_wires

WORDS = ["film", "plot", "cast", "cat", "dog", "cow", "sun", "sea", "sky"]
Row = tuple[str, str, str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place to work in, with a token cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


def write(name: str, rows: list[Row]) -> str:
    lines = [("sentence1", "sentence2", "label"), *rows]
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


def recipe_of(**changes: Any) -> Recipe:
    plain: dict[str, Any] = {
        "data": {
            "train": write("train.tsv", pairs(149, 1)),
            "valid": write("valid.tsv", pairs(53, 2)),
        },
        "input": {"tokenizer": "words"},
        "model": {"kind": "gru", "width": 8, "embedding": 8, "dropout": 0.0, "word_dropout": 0.0},
        "objective": {"kind": "labels"},
        "training": {"tokens": 512, "steps": 30, "schedule": "constant", "rate": 0.02, "warmup": 0},
    }
    sections = {section: {**values, **changes.get(section, {})} for section, values in plain.items()}
    return recipe_from({"task": "text-classification", **sections})


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
            said.append(torch.stack([self.weight * common, self.weight * 1.5]))
        return torch.stack(said), carry


def test_a_pair_is_read_as_two_texts_each_with_its_end() -> None:
    recipe, data, inputs = wired()
    assert inputs.input.pairs
    batch = task_of("text-classification").prepared(recipe, data, inputs).train.at(Place())
    row = batch.input_B[0][batch.real_BT[0]].tolist()
    assert row.count(inputs.tokenizer.end) == 2
    assert row[-1] == inputs.tokenizer.end
    assert sorted(set(batch.segment_BT[0].tolist())) == [0, 1]


def test_the_notes_count_pairs() -> None:
    rows = [*pairs(40, 3), ("film", "", "alike"), ("film", "plot", "")]
    recipe, data, inputs = wired(data={"train": write("holes.tsv", rows)})
    notes = task_of("text-classification").prepared(recipe, data, inputs).notes
    assert notes[0] == "train: 41 pairs of texts (alike 14, other 26; 1 without a label); 1 without text were left out"


def test_who_knows_both_texts_scores_and_answers_for_both() -> None:
    recipe, data, inputs = wired()
    task, model = task_of("text-classification"), ByOverlap()
    validated = task.prepared(recipe, data, inputs).evaluate(model)
    assert validated["accuracy"] == validated["matthews"] == 100
    evaluated = task.evaluated(recipe, data, inputs, model, "valid", None)
    assert {name: evaluated.scores[name] for name in validated} == pytest.approx(validated)
    assert [(one["text"], one["text_pair"], one["label"]) for one in evaluated.answers] == pairs(53, 2)
    assert evaluated.scores["baseline_linear_accuracy"] > 90  # the regression is told which words are in both


def test_a_network_learns_from_pairs() -> None:
    recipe, data, inputs = wired()
    prepared = task_of("text-classification").prepared(recipe, data, inputs)
    torch.manual_seed(1)
    model = pooled_model(recipe.model, **inputs.sizes())
    before = prepared.evaluate(model.eval())["loss"]
    used = fit(model, Labels(), prepared.train, settings=recipe.training).eval()
    assert prepared.evaluate(used)["loss"] < before
    found = inputs.predict(used, ["film plot cast\tcast film plot", "\tdog", "cat\t "])
    assert [bool(one.label) for one in found] == [True, False, False]
    one, turned = inputs.predict(used, ["film plot\tcat dog", "cat dog\tfilm plot"])
    assert one.probabilities != turned.probabilities


def test_pairs_come_back_with_the_inputs(tmp_path: Path) -> None:
    _, _, inputs = wired()
    inputs.save(tmp_path)
    again = task_of("text-classification").loaded_inputs(tmp_path)
    assert again.input.pairs
    assert again.input.fingerprint() == inputs.input.fingerprint()
    assert again.output == inputs.output
    assert again.predict(ByOverlap(), ["film\tplot cat"]) == inputs.predict(ByOverlap(), ["film\tplot cat"])


def test_single_texts_where_training_had_pairs_are_refused() -> None:
    Path("single.tsv").write_text("text\tlabel\nfilm\talike\n")
    recipe, data, inputs = wired(data={"test": "single.tsv"})
    with pytest.raises(DataError, match="the test part has single texts, but the model reads pairs"):
        task_of("text-classification").evaluated(recipe, data, inputs, ByOverlap(), "test", None)


def test_checking_tells_pairs_by_both_texts() -> None:
    rows = [*pairs(40, 3), ("film", "plot", "alike"), ("film", "cat", "other"), ("film", "plot", "other")]
    recipe, data, inputs = wired(data={"train": write("again.tsv", rows)})
    checked, _ = task_of("text-classification").checked(recipe, data, inputs)
    assert checked.rows[0][:4] == ("train", "43", "0", "1")
    assert "examples of the train part that occur again with another target: 1" in " | ".join(checked.remarks)


# How much of a text is read


@pytest.mark.parametrize(("asked", "context", "wanted"), [(None, 20, 17), (12, 20, 12), (None, 600, 512)])
def test_texts_are_as_long_as_the_context_has_room_for(asked: int | None, context: int, wanted: int) -> None:
    recipe = _with_model({"kind": "bert", "context": context}, {} if asked is None else {"longest": asked})
    inputs = task_of("text-classification").learnt_inputs(recipe, LabelledFiles(recipe.data))
    assert inputs.input.longest == wanted
    assert inputs.input.begins


def test_more_than_the_context_has_room_for_is_refused() -> None:
    recipe = _with_model({"kind": "bert", "context": 20}, {"longest": 18})
    with pytest.raises(SettingError, match=r"input.longest is 18, but the model reads 20 tokens.* input.longest=17"):
        task_of("text-classification").learnt_inputs(recipe, LabelledFiles(recipe.data))


def _with_model(model: dict[str, Any], inputs: dict[str, Any]) -> Recipe:
    plain = recipe_of().resolved()
    sections = {name: plain[name] for name in ("task", "data", "objective", "training")}
    return recipe_from({**sections, "model": model, "input": {"tokenizer": "words", **inputs}})


def test_one_string_has_one_prediction_and_a_list_a_list() -> None:
    wires = classifier_wires(WORDS, {"animal": 3, "other": 6}, begins=False)
    torch.manual_seed(1)
    model = pooled_model(
        RecurrentClassifierSettings(kind="gru", width=5, embedding=7), classes=2, vocabulary=wires.tokenizer.size
    )
    texts = ["cat dog", "sun", "sea sky film", "", "cow"]
    found = wires.predict(model, texts)
    assert isinstance(found, list)
    assert len(found) == len(texts)
    for text, one in zip(texts, found, strict=True):
        assert isinstance(wires.predict(model, text), Classification)
        assert wires.predict(model, text).label == one.label
        assert wires.predict(model, text).probabilities == pytest.approx(one.probabilities, abs=1e-6)
        assert [each.label for each in wires.predict(model, [text])] == [one.label]
    assert [bool(one.label) for one in found] == [True, True, True, False, True]
    assert wires.predict(model, []) == []


def test_predictions_stand_in_the_order_of_what_was_given_whatever_the_batches() -> None:
    wires = classifier_wires(WORDS, {"animal": 3, "other": 6})
    torch.manual_seed(1)
    model = pooled_model(
        RecurrentClassifierSettings(kind="gru", width=5, embedding=7), classes=2, vocabulary=wires.tokenizer.size
    )
    texts = [" ".join(WORDS[: number % 7 + 1]) for number in range(23)]
    examples = Given(map(wires.input.parse, texts))
    at_once, in_turn = wires.predict(model, texts), wires.predictions(model, examples, tokens=8)
    assert [one.probability for one in at_once] == pytest.approx([one.probability for one in in_turn], abs=1e-6)
    assert len({round(one.probability, 5) for one in at_once}) == 7
