"""The wiring of texts from vectors, with a model that is computed by hand."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches import Place
from seqwright.batches.described import Described
from seqwright.decoding.settings import DecodingSettings
from seqwright.errors import DataError
from seqwright.inputs import Given
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.vectors import ScaledNumbers
from seqwright.kinds import task_of
from seqwright.outputs.description import DescriptionSettings
from seqwright.outputs.text import BLANK, WrittenText
from seqwright.recipe import Recipe, recipe_from
from seqwright.runs import data_of
from seqwright.tasks.wired import Wires

TASK = task_of("vector-to-text")
SURE = 0.8  # how probable the wanted letter is to the model below


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


class Where(NamedTuple):
    """Which label a row has, and how many tokens it has read."""

    label_B: Tensor
    read_B: Tensor


class ByHeart(nn.Module):
    """Says the same text for each label, letter by letter with probability `SURE`; all else is equally likely."""

    def __init__(self, inputs: Wires, texts: dict[str, str]) -> None:
        super().__init__()
        self.vocabulary = inputs.tokenizer.size
        self.weight = nn.Parameter(torch.zeros(1))
        names = list(inputs.input.vectors.names)
        rows = [[*inputs.tokenizer.encode([texts[name]])[0].tolist(), inputs.tokenizer.end] for name in names]
        self.rows = [[*row, *[inputs.tokenizer.end] * 40] for row in rows]

    def start(self, batch: Described) -> Where:
        return Where(batch.vector_BX.argmax(1), torch.zeros(len(batch.vector_BX), dtype=torch.int64))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: Where) -> tuple[Tensor, Where]:
        other = math.log((1 - SURE) / (self.vocabulary - 1))
        logits_BTV = torch.full((*tokens_BT.shape, self.vocabulary), other)
        for row, (label, read) in enumerate(zip(*state, strict=True)):
            for t in range(tokens_BT.shape[1]):
                logits_BTV[row, t, self.rows[int(label)][int(read) + t]] = math.log(SURE)
        return logits_BTV, Where(state.label_B, state.read_B + real_BT.sum(1))

    def step(self, tokens_B: Tensor, state: Where) -> tuple[Tensor, Where]:
        logits_B1V, state = self.read(tokens_B.unsqueeze(1), torch.ones(len(tokens_B), 1, dtype=torch.bool), state)
        return logits_B1V.squeeze(1), state

    def forward(self, batch: Described, carry: None) -> tuple[Tensor, None]:
        return self.read(batch.input_BT, batch.real_BT, self.start(batch))[0], carry


TRAIN = "abba\tA\ncab\tB\nbaba\tA\n\tB\nbaa\t\nabc\tC\n"
VALID = "cab\tB\nabba\tA\nabb\tA\nacb\tC\n"


def wired(train: str = TRAIN, valid: str = VALID, inputs: Any = None, **data: Any) -> tuple[Recipe, Any, Wires]:
    Path("train.tsv").write_text(train)
    Path("valid.tsv").write_text(valid)
    files = {"train": "train.tsv", "valid": "valid.tsv", **data}
    recipe = recipe_from({"task": "vector-to-text", "data": files, "output": inputs or {}, "training": {"tokens": 64}})
    return recipe, data_of(recipe), TASK.learnt_inputs(recipe, data_of(recipe))


def test_an_evaluation_is_what_can_be_computed_by_hand() -> None:
    recipe, data, inputs = wired()
    model = ByHeart(inputs, {"A": "abba", "B": "cab", "C": "abc"})
    found = TASK.evaluated(recipe, data, inputs, model, "valid", DecodingSettings())
    said = ["cab", "abba", "abba", "abc"]
    assert [answer["hypothesis"] for answer in found.answers] == said
    assert [answer["reference"] for answer in found.answers] == ["cab", "abba", "abb", "acb"]
    assert [answer["input"] for answer in found.answers] == ["B", "A", "A", "C"]
    assert found.scores["exact"] == 50
    # 4 + 5 tokens right; "abb" has its end wrong, "acb" its second and third letter.
    surprise, other = -math.log(SURE), -math.log((1 - SURE) / (inputs.tokenizer.size - 1))
    assert found.scores["loss"] == pytest.approx((14 * surprise + 3 * other) / 17, rel=1e-5)
    assert found.scores["perplexity"] == pytest.approx(math.exp(found.scores["loss"]))
    assert found.groups == {}
    validated = TASK.prepared(recipe, data, inputs).evaluate(model)
    assert validated == pytest.approx({name: found.scores[name] for name in validated})


def test_what_was_left_out_is_counted() -> None:
    recipe, data, inputs = wired(inputs={"longest": 3})
    prepared = TASK.prepared(recipe, data, inputs)
    assert prepared.notes == [
        "train: 5 vectors (not in the loss: 1 with a blank target, 2 too long); left out: 1 with nothing to read",
        "valid: 4 vectors (not in the loss: 1 too long)",
    ]
    recipe, data, inputs = wired(inputs={"longest": 3, "overlong": "truncate"})
    assert TASK.prepared(recipe, data, inputs).notes[0] == (
        "train: 5 vectors (not in the loss: 1 with a blank target; cut: 2 too long); left out: 1 with nothing to read"
    )


def test_each_text_is_trained_on_with_its_own_vector_though_others_were_left_out() -> None:
    recipe, data, inputs = wired(inputs={"longest": 3})
    batch = TASK.prepared(recipe, data, inputs).train.at(Place())
    rows = zip(batch.target_BT, batch.real_BT, strict=True)
    texts = [inputs.tokenizer.decode(row_T[real_T].tolist()) for row_T, real_T in rows]
    assert dict(zip(texts, batch.vector_BX.argmax(1).tolist(), strict=True)) == {"cab": 1, "abc": 2}


def test_numbers_are_scaled_by_the_training_part_alone() -> None:
    table, valid = "1\tone\n3\tthree\n", "100\thundred\n"
    recipe, data, inputs = wired(table, valid, columns=1)
    batch = TASK.prepared(recipe, data, inputs).train.at(Place())
    assert sorted(batch.vector_BX.flatten().tolist()) == [-1, 1]
    assert inputs.input.vectors == ScaledNumbers(("column 1",), (2.0,), (1.0,))


def test_a_label_that_nobody_learnt_is_refused_in_another_part() -> None:
    recipe, data, inputs = wired(valid="xyz\tD\n")
    with pytest.raises(DataError, match="the valid part: there is no label 'D', expected one of A, B, C"):
        TASK.prepared(recipe, data, inputs)
    recipe, data, inputs = wired(valid="\tA\n")
    with pytest.raises(DataError, match="the valid part has no example with both something to read and a text"):
        TASK.prepared(recipe, data, inputs)
    with pytest.raises(DataError, match="the data has no test part"):
        TASK.evaluated(recipe, data, inputs, nn.Module(), "test", DecodingSettings())


def test_what_there_is_to_know_is_told_before_training() -> None:
    recipe, data, inputs = wired(valid=VALID + "cab\tB\nzab\tA\n")
    checked, batches = TASK.checked(recipe, data, inputs)
    assert checked.rows == [("train", "6", "2", "0", "", "3.5", "4"), ("valid", "6", "0", "1", "3", "3.2", "4")]
    assert checked.facts["given"] == "one of A, B, C"
    assert checked.facts["inputs"] == "3"
    assert any("in training too: 50.0 %" in remark for remark in checked.remarks)
    assert any("the train part without input or target, left out: 2" in remark for remark in checked.remarks)
    assert any("lacks: 1 ('z'×1)" in remark for remark in checked.remarks)
    assert batches.in_epoch(0) == 1


def test_a_text_is_written_for_each_thing_given_in_its_place() -> None:
    _, _, inputs = wired()
    model = ByHeart(inputs, {"A": "abba", "B": "cab", "C": "abc"})
    found = inputs.predict(model, ["C", "A", "C"])
    assert [(each.text, each.best.finished) for each in found] == [("abc", True), ("abba", True), ("abc", True)]
    assert found[1].best.log_probability == pytest.approx(5 * math.log(SURE), rel=1e-5)
    several = inputs.predict(model, "B", DecodingSettings(beam=4, n_best=3)).candidates
    assert several[0].text == "cab"
    assert len({each.text for each in several}) == 3
    cut = inputs.predict(model, "A", DecodingSettings(longest=2)).best
    assert (cut.text, cut.finished) == ("ab", False)


def test_samples_of_the_same_label_differ_and_those_of_the_same_seed_do_not() -> None:
    _, _, inputs = wired()
    model = ByHeart(inputs, {"A": "abba", "B": "cab", "C": "abc"})
    settings = DecodingSettings(temperature=2.0, seed=3)
    one, again = ([each.text for each in inputs.predict(model, ["A"] * 30, settings)] for _ in range(2))
    assert one == again
    assert len(set(one)) > 5


def test_scores_of_numbers_are_told_by_their_length() -> None:
    recipe = recipe_from(
        {
            "task": "vector-to-text",
            "data": {"card": "numbers", "largest": 999, "examples": 300, "valid": 20, "test": 30},
        }
    )
    inputs, numbers = TASK.learnt_inputs(recipe, data_of(recipe)), list(data_of(recipe).examples("test"))
    assert inputs.sizes()["inputs"] == 33
    texts = [each.target if len(each.source) == 2 else "" for each in numbers]
    written = [WrittenText((BLANK._replace(text=text),)) for text in texts]
    two = sum(len(each.source) == 2 for each in numbers)
    assert inputs.output.report(written, Given(numbers)).groups == {"2 digits": (two, two), "3 digits": (0, 30 - two)}
    assert inputs.output.scores(written, Given(numbers))["exact"] == pytest.approx(100 * two / 30)


def test_the_tokenizer_may_be_that_of_another_run() -> None:
    recipe, data, inputs = wired()
    other = TASK.learnt_inputs(recipe, data, Tokenizer.train(["vwxyz"], DescriptionSettings()))
    assert other.tokenizer.decode(other.tokenizer.encode(["zyx"])[0].tolist()) == "zyx"
    assert other.sizes() == {**inputs.sizes(), "vocabulary": inputs.tokenizer.size + 2}
