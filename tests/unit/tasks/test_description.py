"""The wiring of texts from vectors, with a model that is computed by hand."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches import Place
from seqwright.batches.described import Described
from seqwright.data.described import DescribedFiles, DescribedFilesSettings
from seqwright.data.numbers import Numbers, NumbersSettings
from seqwright.decoding.settings import DecodingSettings
from seqwright.errors import DataError
from seqwright.inputs.vector_text import VectorText, VectorTextSettings
from seqwright.models.vector_to_sequence import VectorToSequence, VectorToSequenceSettings
from seqwright.recipe import Recipe
from seqwright.tasks.describer import Describer
from seqwright.tasks.description import DescriptionTask
from seqwright.training.settings import TrainingSettings

TASK = DescriptionTask()
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

    def __init__(self, inputs: VectorText, texts: dict[str, str]) -> None:
        super().__init__()
        self.vocabulary = inputs.tokenizer.size
        self.weight = nn.Parameter(torch.zeros(1))
        names = [str(name) for name in inputs.vectors.plain()["names"]]
        rows = [[*inputs.tokenizer.encode([texts[name]])[0].tolist(), inputs.end] for name in names]
        self.rows = [[*row, *[inputs.end] * 40] for row in rows]

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


TRAIN = "abba\tA\ncab\tB\nbaba\tA\n\tB\nno label\t\nabc\tC\n"
VALID = "cab\tB\nabba\tA\nabb\tA\nacb\tC\n"


def wired(train: str = TRAIN, valid: str = VALID, inputs: Any = None, **data: Any) -> tuple[Recipe, Any, VectorText]:
    Path("train.tsv").write_text(train)
    Path("valid.tsv").write_text(valid)
    data_settings = DescribedFilesSettings(train="train.tsv", valid="valid.tsv", **data)
    settings = VectorTextSettings(**{"tokenizer": "characters", **(inputs or {})})
    training = TrainingSettings(tokens=64)
    recipe = Recipe("x", "", "vector-to-text", data_settings, settings, None, None, training, DecodingSettings())
    files = DescribedFiles(data_settings)
    return recipe, files, TASK.learnt_inputs(recipe, files)


def test_an_evaluation_is_what_can_be_computed_by_hand() -> None:
    recipe, data, inputs = wired()
    model = ByHeart(inputs, {"A": "abba", "B": "cab", "C": "abc"})
    found = TASK.evaluated(recipe, data, inputs, model, "valid", DecodingSettings())
    said = ["cab", "abba", "abba", "abc"]
    assert [answer["hypothesis"] for answer in found.answers] == said
    assert [answer["reference"] for answer in found.answers] == ["cab", "abba", "abb", "acb"]
    assert [answer["given"] for answer in found.answers] == ["B", "A", "A", "C"]
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
    assert prepared.notes == ["train: 2 texts; left out: 2 blank, 2 too long", "valid: 3 texts; left out: 1 too long"]
    recipe, data, inputs = wired(inputs={"longest": 3, "overlong": "truncate"})
    assert TASK.prepared(recipe, data, inputs).notes[0] == "train: 4 texts; left out: 2 blank; cut: 2 too long"


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
    assert inputs.vectors.plain() == {"by": "numbers", "columns": ["column 1"], "mean": [2.0], "deviation": [1.0]}


def test_a_label_that_nobody_learnt_is_refused_in_another_part() -> None:
    recipe, data, inputs = wired(valid="xyz\tD\n")
    with pytest.raises(DataError, match="the valid part: there is no label 'D', expected one of A, B, C"):
        TASK.prepared(recipe, data, inputs)
    recipe, data, inputs = wired(valid="\tA\n")
    with pytest.raises(DataError, match="no row of the valid part has both a text and what"):
        TASK.prepared(recipe, data, inputs)
    with pytest.raises(DataError, match="the data has no test part"):
        TASK.evaluated(recipe, data, inputs, nn.Module(), "test", DecodingSettings())


def test_what_there_is_to_know_is_told_before_training() -> None:
    recipe, data, inputs = wired(valid=VALID + "cab\tB\nzab\tA\n")
    checked, batches = TASK.checked(recipe, data, inputs)
    assert checked.rows == [("train", "6", "2", "0", "", "3.5", "4"), ("valid", "6", "0", "1", "3", "3.2", "4")]
    assert checked.facts["given"] == "one of A, B, C"
    assert checked.facts["vector"] == "3 numbers"
    assert any("in training too: 50.0 %" in remark for remark in checked.remarks)
    assert any("without a text or what it is written from: 2" in remark for remark in checked.remarks)
    assert any("lacks: 1 ('z'×1)" in remark for remark in checked.remarks)
    assert batches.in_epoch(0) == 1


def test_a_describer_writes_for_each_thing_given_in_its_place() -> None:
    _, _, inputs = wired()
    model = ByHeart(inputs, {"A": "abba", "B": "cab", "C": "abc"})
    found = Describer(model, inputs)(["C", "A", "C"])
    assert [(one.prompt, one.text, one.finished) for (one,) in found] == [
        ("C", "abc", True),
        ("A", "abba", True),
        ("C", "abc", True),
    ]
    assert found[1][0].log_probability == pytest.approx(5 * math.log(SURE), rel=1e-5)
    several = Describer(model, inputs, DecodingSettings(beam=4, n_best=3))(["B"])[0]
    assert several[0].text == "cab"
    assert len({one.text for one in several}) == 3
    cut = Describer(model, inputs, DecodingSettings(longest=2))(["A"])[0][0]
    assert (cut.text, cut.finished) == ("ab", False)
    assert Describer(model, inputs).best(["B", "A", "B"]) == ["cab", "abba", "cab"]


def test_samples_of_the_same_label_differ_and_those_of_the_same_seed_do_not() -> None:
    _, _, inputs = wired()
    model = ByHeart(inputs, {"A": "abba", "B": "cab", "C": "abc"})
    settings = DecodingSettings(temperature=2.0, seed=3)
    one, again = ([row[0].text for row in Describer(model, inputs, settings)(["A"] * 30)] for _ in range(2))
    assert one == again
    assert len(set(one)) > 5


def test_scores_of_numbers_are_told_by_their_length() -> None:
    data = Numbers(NumbersSettings(largest=999, examples=300, valid=20, test=30))
    settings = VectorTextSettings(tokenizer="characters")
    training = TrainingSettings(tokens=512)
    recipe = Recipe("x", "", "vector-to-text", data.settings, settings, None, None, training, DecodingSettings())
    inputs = TASK.learnt_inputs(recipe, data)
    assert inputs.sizes()["inputs"] == 33
    lookup = {example.given: example.text for example in data.examples("test")}

    class Knowing(Describer):
        def best(self, given: Any) -> list[str]:
            return [lookup[each] if len(each) == 2 else "" for each in given]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seqwright.tasks.description.Describer", Knowing)
        model = VectorToSequence(VectorToSequenceSettings(kind="gru", width=4), **inputs.sizes())
        found = TASK.evaluated(recipe, data, inputs, model, "test", DecodingSettings())
    two = sum(len(given) == 2 for given in lookup)
    assert found.groups == {"2 digits": (two, two), "3 digits": (0, 30 - two)}
    assert found.scores["exact"] == pytest.approx(100 * two / 30)
