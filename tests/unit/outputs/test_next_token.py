"""The wiring of language models, with a model small enough to be computed by hand."""

import math
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches import InMemory, Place
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.text import StreamBatches, Text
from seqwright.batches.windows import WindowBatches
from seqwright.data.text import TextFiles, TextFilesSettings
from seqwright.decoding.settings import DecodingSettings
from seqwright.errors import DataError
from seqwright.inputs import Given
from seqwright.inputs.own_tokenizers import OwnTokenizer
from seqwright.inputs.running_text import RunningTextSettings
from seqwright.kinds import task_of
from seqwright.lineage import MODELS, Model
from seqwright.models.rnn_lm import RecurrentLMSettings
from seqwright.objectives.next_token import NextTokenSettings
from seqwright.outputs.next_token import NextTokenOutput
from seqwright.recipe import Recipe
from seqwright.tasks.wired import Wires
from seqwright.training.settings import TrainingSettings
from tests.small_models import small

TRAIN = ["abba", "a cab", "", "bad cab", "abba", "dada", "a bad dad"]
VALID = ["cab", " ", "dad a", "abba", "Zebra"]
TASK = task_of("language-modeling")


class Since(NamedTuple):
    """How many tokens of each row were read since it began."""

    position_B: Tensor


class Drifting(nn.Module):
    """A bigram model that is the surer of itself the longer it has read, so that a lost state shows."""

    table_VV: Tensor

    def __init__(self, vocabulary: int, seed: int = 0) -> None:
        super().__init__()
        self.register_buffer("table_VV", torch.randn(vocabulary, vocabulary, generator=torch.manual_seed(seed)))

    def log_probability(self, batch: Text, carry: Since | None = None) -> tuple[Tensor, Since]:
        """What the seam of language models promises."""
        rows = len(batch.input_BT)
        before_B = torch.zeros(rows, dtype=torch.int64) if carry is None else carry.position_B
        assert len(before_B) == rows, "a state of other rows was handed over"
        before_B = before_B.masked_fill(batch.fresh_B, 0)
        position_BT = before_B[:, None] + batch.real_BT.cumsum(1)
        logits_BTV = self.table_VV[batch.input_BT] * (1 + position_BT / 10).unsqueeze(-1)
        logp_BT = logits_BTV.log_softmax(-1).gather(-1, batch.target_BT.unsqueeze(-1)).squeeze(-1)
        return logp_BT * batch.real_BT, Since(position_BT[:, -1])

    def by_hand(self, tokens: list[int]) -> list[float]:
        """The log-probability of each token but the first."""
        found = []
        for position, (given, wanted) in enumerate(pairwise(tokens), start=1):
            logits = [float(logit) * (1 + position / 10) for logit in self.table_VV[given]]
            found.append(logits[wanted] - math.log(sum(map(math.exp, logits))))
        return found


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def data(tmp_path: Path) -> TextFiles:
    for name, texts in (("train", TRAIN), ("valid", VALID)):
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return TextFiles(TextFilesSettings(train=str(tmp_path / "train.txt"), valid=str(tmp_path / "valid.txt")))


def recipe_with(tokens: int = 12, **inputs: Any) -> Recipe:
    settings = RunningTextSettings.model_validate({"tokenizer": "characters", "segment": 3, **inputs})
    data, said, training = (
        TextFilesSettings(train="none.txt"),
        NextTokenOutput.settings(),
        TrainingSettings(tokens=tokens),
    )
    learnt = RecurrentLMSettings(), NextTokenSettings()
    return Recipe("test", "", "language-modeling", data, settings, said, *learnt, training, DecodingSettings())


def model_for(inputs: Wires) -> Drifting:
    return Drifting(**inputs.sizes())


def tokens_of(inputs: Wires, text: str) -> list[int]:
    return [int(token) for token in inputs.tokenizer.encode([text])[0]]


def an_epoch(batches: Any) -> list[Text]:
    return [batches.at(Place(0, number)) for number in range(batches.in_epoch(0))]


def test_inputs_are_learnt_from_the_training_part_and_read_again(data: TextFiles, tmp_path: Path) -> None:
    inputs = TASK.learnt_inputs(recipe_with(), data)
    assert set(inputs.tokenizer.pieces(range(4, inputs.tokenizer.size))) == {"▁", *"abcd"}
    inputs.save(tmp_path)
    again = TASK.loaded_inputs(tmp_path)
    assert again.input.fingerprint() == inputs.input.fingerprint()
    assert again.output.cut == inputs.output.cut


def test_joined_documents_are_read_in_streams(data: TextFiles) -> None:
    recipe = recipe_with(tokens=13)
    inputs = TASK.learnt_inputs(recipe, data)
    prepared = TASK.prepared(recipe, data, inputs)
    assert isinstance(prepared.train, StreamBatches)
    first, *others = an_epoch(prepared.train)
    assert first.input_BT.shape == (4, 3)  # four streams of three tokens are within 13
    assert first.fresh_B.all()
    assert not any(batch.fresh_B.any() for batch in others)
    assert first.input_BT[0].tolist() == [inputs.tokenizer.end, *tokens_of(inputs, "ab")]
    assert sum(batch.tokens for batch in [first, *others]) == sum(len(text) + 1 for text in TRAIN if text)
    assert prepared.notes == [
        "train: 6 documents (33 tokens, 1.00 characters per token); left out: 1 blank",
        "valid: 4 documents (17 tokens, 1.00 characters per token); left out: 1 blank",
    ]


def test_a_segment_longer_than_the_budget_is_one_stream(data: TextFiles) -> None:
    recipe = recipe_with(tokens=2, segment=5)
    batches = TASK.prepared(recipe, data, TASK.learnt_inputs(recipe, data)).train
    assert isinstance(batches, StreamBatches)
    assert batches.streams == 1


def test_documents_can_be_kept_apart(data: TextFiles) -> None:
    recipe = recipe_with(rows="documents", longest=7)
    prepared = TASK.prepared(recipe, data, TASK.learnt_inputs(recipe, data))
    assert isinstance(prepared.train, Bucketed)
    assert sum(len(batch.input_BT) for batch in an_epoch(prepared.train)) == 5
    assert prepared.notes[0].startswith("train: 5 documents (24 tokens")
    assert prepared.notes[0].endswith("; left out: 1 blank, 1 too long")


@pytest.mark.parametrize("joined", [True, False])
def test_validation_is_what_one_computes_by_hand(data: TextFiles, joined: bool) -> None:
    recipe = recipe_with(rows="stream" if joined else "documents")
    inputs = TASK.learnt_inputs(recipe, data)
    model, kept = model_for(inputs), [text for text in VALID if text.strip()]
    begin, end = inputs.tokenizer.begin, inputs.tokenizer.end
    documents = [[*tokens_of(inputs, text), end] for text in kept]
    whole = [[end, *chain(*documents)]] if joined else [[begin, *row] for row in documents]
    nll = -sum(logp for row in whole for logp in model.by_hand(row))
    count, characters, words = sum(map(len, documents)), len("".join(kept)), 1 + 2 + 1 + 1 + 4
    prepared = TASK.prepared(recipe, data, inputs)
    found = prepared.evaluate(model)
    assert tuple(found) == prepared.scores
    assert set(found) == prepared.lower_is_better
    wanted = {
        "loss": nll / count,
        "perplexity": math.exp(nll / count),
        "bits_per_character": nll / math.log(2) / characters,
        "bits_per_byte": nll / math.log(2) / characters,
        "word_perplexity": math.exp(nll / words),
    }
    assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("segment", [1, 2, 64])
def test_the_length_of_a_segment_does_not_change_the_scores(data: TextFiles, segment: int) -> None:
    inputs = TASK.learnt_inputs(recipe_with(), data)
    one, other = (
        TASK.prepared(recipe_with(segment=length), data, inputs).evaluate(model_for(inputs)) for length in (5, segment)
    )
    assert one == pytest.approx(other, rel=1e-5)


@pytest.mark.parametrize("row", [row for row in MODELS if row.task == "language-modeling"], ids=lambda row: row.kind)
def test_how_much_is_read_at_once_does_not_change_the_likelihood(row: Model) -> None:
    torch.manual_seed(1)
    model = small(row.kind, row.task).eval()
    corpus = InMemory([np.random.default_rng(length).integers(4, 13, length) for length in (31, 2, 0, 17, 5, 23)])

    def batches(rows: int) -> Any:
        if "windows" in row.promises:
            return WindowBatches(corpus, tokens=3 * rows, segment=3, seed=1, begin=3, end=3)
        return StreamBatches(corpus, streams=rows, segment=3, begin=3, end=3)

    output = NextTokenOutput(OwnTokenizer.of_words(["a"]))
    one, other = (list(output.predict(model, batches(rows), Given(["a"] * 6))) for rows in (1, 11))
    assert sum(found.tokens for found in one) == sum(found.tokens for found in other) == 84
    assert [found[0] for found in one] == pytest.approx([found[0] for found in other], rel=1e-5)


@pytest.mark.parametrize("joined", [True, False])
def test_an_evaluation_says_what_each_document_costs(data: TextFiles, joined: bool) -> None:
    recipe = recipe_with(rows="stream" if joined else "documents")
    inputs = TASK.learnt_inputs(recipe, data)
    model, kept = model_for(inputs), [text for text in VALID if text.strip()]
    result = TASK.evaluated(recipe, data, inputs, model, "valid", recipe.decoding)
    assert [answer["text"] for answer in result.answers] == kept
    assert [answer["tokens"] for answer in result.answers] == [len(text) + 1 for text in kept]
    rows = [[*tokens_of(inputs, text), inputs.tokenizer.end] for text in kept]
    if joined:
        logp = np.array(model.by_hand([inputs.tokenizer.end, *chain(*rows)]))
        wanted = [float(part.sum()) for part in np.split(logp, np.cumsum([len(row) for row in rows]))[:-1]]
    else:
        wanted = [sum(model.by_hand([inputs.tokenizer.begin, *row])) for row in rows]
    assert [answer["log_probability"] for answer in result.answers] == pytest.approx(wanted, abs=1e-3)
    assert result.scores == pytest.approx(TASK.prepared(recipe, data, inputs).evaluate(model))
    assert set(result.signatures) == set(result.scores)
    assert result.notes[0] == "valid: 4 documents (17 tokens, 1.00 characters per token); left out: 1 blank"
    assert "unknown" in result.notes[1]  # the letters of "Zebra" but for a and b


def test_nothing_is_said_of_unknown_tokens_where_there_are_none(data: TextFiles) -> None:
    recipe = recipe_with()
    inputs = TASK.learnt_inputs(recipe, data)
    notes = TASK.evaluated(recipe, data, inputs, model_for(inputs), "train", None).notes
    assert notes == ["train: 6 documents (33 tokens, 1.00 characters per token); left out: 1 blank"]


def test_blank_documents_can_count_as_ends(data: TextFiles) -> None:
    recipe = recipe_with(blank="keep")
    inputs = TASK.learnt_inputs(recipe, data)
    result = TASK.evaluated(recipe, data, inputs, model_for(inputs), "valid", None)
    assert [answer["text"] for answer in result.answers] == VALID
    assert [answer["tokens"] for answer in result.answers] == [4, 2, 6, 5, 6]


def test_a_part_that_is_not_there_is_refused(data: TextFiles) -> None:
    recipe = recipe_with()
    inputs = TASK.learnt_inputs(recipe, data)
    with pytest.raises(DataError, match="has no test part; it has train, valid"):
        TASK.evaluated(recipe, data, inputs, model_for(inputs), "test", None)


def test_checking_counts_what_is_there(data: TextFiles) -> None:
    recipe = recipe_with()
    inputs = TASK.learnt_inputs(recipe, data)
    checked, batches = TASK.checked(recipe, data, inputs)
    assert isinstance(batches, StreamBatches)
    found = [dict(zip(checked.columns, row, strict=True)) for row in checked.rows]
    assert found[0] == {
        "part": "train",
        "examples": "7",
        "unread": "1",
        "duplicates": "1",
        "in train": "",
        "mean length": "5.5",
        "longest": "9",
    }
    assert (found[1]["examples"], found[1]["unread"], found[1]["in train"]) == ("5", "1", "1")
    assert checked.facts == {
        "train part": "6 documents (33 tokens, 1.00 characters per token); left out: 1 blank",
        "valid part": "4 documents (17 tokens, 1.00 characters per token); left out: 1 blank",
        "vocabulary": "9",
        "streams": "4 of 9 tokens",
        "padding": "2.5 %",
    }
    assert [remark.split(":")[0] for remark in checked.remarks] == [
        "examples of the train part without input or target, left out",
        "examples of the valid part that are in training too",
        "examples of the valid part without input or target, left out",
        "characters of the valid part that the vocabulary lacks",
    ]


def test_checking_says_what_is_too_long(data: TextFiles) -> None:
    recipe = recipe_with(rows="documents", longest=7, overlong="truncate")
    checked, batches = TASK.checked(recipe, data, TASK.learnt_inputs(recipe, data))
    assert "documents of the train part with over 7 tokens, cut: 1" in checked.remarks
    assert "streams" not in checked.facts
    assert isinstance(batches, Bucketed)


def test_of_a_document_that_is_cut_only_what_is_read_is_scored(data: TextFiles) -> None:
    recipe = recipe_with(rows="documents", longest=4, overlong="truncate")
    inputs = TASK.learnt_inputs(recipe, data)
    model = model_for(inputs)
    scores = TASK.evaluated(recipe, data, inputs, model, "valid", None).scores
    begin, end = inputs.tokenizer.begin, inputs.tokenizer.end
    rows = [[begin, *tokens_of(inputs, text)[:4], end] for text in VALID if text.strip()]
    bits = -sum(logp for row in rows for logp in model.by_hand(row)) / math.log(2)
    characters = sum(len(inputs.tokenizer.decode(row)) for row in rows)
    assert scores["bits_per_character"] == pytest.approx(bits / characters, rel=1e-5)


@pytest.mark.parametrize("rows", ["stream", "documents"])
def test_what_a_user_types_stands_by_itself(data: TextFiles, rows: str) -> None:
    inputs = TASK.learnt_inputs(recipe_with(rows=rows, longest=7), data)
    model, texts = model_for(inputs), ["abba", "", "a bad dad"]
    found = inputs.predict(model, texts)
    whole = [[inputs.input.first, *tokens_of(inputs, text), inputs.tokenizer.end] for text in texts]
    assert [one.log_probability for one in found] == pytest.approx([sum(model.by_hand(row)) for row in whole], rel=1e-5)
    assert [one.tokens for one in found] == [5, 1, 10]
    surprises = inputs.predict(model, texts, method="surprises")
    assert [-math.log(2) * sum(one.bits) for one in surprises] == pytest.approx(
        [one.log_probability for one in found], rel=1e-5
    )
    assert inputs.predict(model, "abba") == found[0]
