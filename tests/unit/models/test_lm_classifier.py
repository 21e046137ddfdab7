"""A language model that classifies: from its last real token, with its own weights as body, frozen or not."""

from typing import Any

import pytest
import torch

from seqwright.batches.labelled import labelled
from seqwright.models.gpt import GPT, GPTSettings
from seqwright.models.headed import (
    BertTextSettings,
    GPTClassifierSettings,
    RecurrentClassifierSettings,
    RecurrentLMClassifierSettings,
    pooled_model,
)
from seqwright.models.language_model import LanguageModel
from seqwright.models.rnn_lm import RecurrentLM, RecurrentLMSettings
from seqwright.objectives.labels import Labels
from seqwright.training.loop import fit
from seqwright.training.settings import TrainingSettings
from seqwright.training.weights import transferred, unique_tensors
from tests.small_models import begun_labelled, small

SIZES: dict[str, Any] = {"width": 8, "layers": 2}


class Same:
    """One batch again and again."""

    def at(self, place: Any) -> Any:
        return begun_labelled()

    def after(self, place: Any) -> Any:
        return place._replace(batch=place.batch + 1)

    def in_epoch(self, epoch: int) -> int:
        return 1000


@pytest.mark.parametrize("kind", ["gpt", "lstm-lm"])
@torch.no_grad()
def test_the_class_is_said_from_the_last_real_token(kind: str) -> None:
    model, batch = small(kind, "text-classification").eval(), begun_labelled()
    said_BC, _ = model(batch, None)
    for row, length in enumerate(batch.real_BT.sum(1).tolist()):
        h_1TD = model.body.hidden(batch.input[row : row + 1, :length], batch.real_BT[row : row + 1, :length])
        torch.testing.assert_close(said_BC[row], model.head.output(h_1TD[0, -1]), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("language_model", "settings"),
    [
        (
            LanguageModel(GPT(GPTSettings(**SIZES, heads=2, context=9), vocabulary=13)),
            GPTClassifierSettings(**SIZES, heads=2, context=9),
        ),
        (
            LanguageModel(RecurrentLM(RecurrentLMSettings(**SIZES), vocabulary=13)),
            RecurrentLMClassifierSettings(**SIZES),
        ),
    ],
)
def test_a_language_model_becomes_the_body(language_model: Any, settings: Any) -> None:
    model = pooled_model(settings, vocabulary=13, classes=2)
    notes = transferred(language_model, model, "runs/lm")
    assert any("randomly initialised: head.output.weight, head.output.bias" in note for note in notes)
    theirs, mine = unique_tensors(language_model.body), unique_tensors(model.body)
    assert theirs.keys() == mine.keys()
    assert all(torch.equal(theirs[name], mine[name]) for name in theirs)


@pytest.mark.parametrize("kind", ["gpt", "lstm-lm", "bert", "recurrent"])
def test_a_frozen_body_does_not_change_and_the_head_does(kind: str) -> None:
    torch.manual_seed(1)
    model: Any
    if kind == "bert":
        model = pooled_model(BertTextSettings(**SIZES, heads=2, context=19, frozen=True), vocabulary=13, classes=3)
    elif kind == "recurrent":
        model = pooled_model(RecurrentClassifierSettings(**SIZES, frozen=True), vocabulary=13, classes=3)
    else:
        chosen = GPTClassifierSettings(**SIZES, heads=2, context=19, frozen=True)
        other = RecurrentLMClassifierSettings(**SIZES, frozen=True)
        model = pooled_model(chosen if kind == "gpt" else other, vocabulary=13, classes=3)
    before = {name: tensor.clone() for name, tensor in unique_tensors(model).items()}
    settings = TrainingSettings(steps=3, schedule="constant", rate=0.1, warmup=0, optimizer="adamw", decay=0.1)
    fit(model, Labels(), Same(), settings=settings)  # type: ignore[arg-type]
    changed = {name for name, tensor in unique_tensors(model).items() if not torch.equal(tensor, before[name])}
    assert changed
    assert not any(name.startswith("body.") for name in changed)
    model.train()
    assert not any(module.training for module in model.body.modules())


def test_a_rater_has_one_output() -> None:
    for kind in ("gpt", "lstm-lm"):
        assert small(kind, "text-regression")(begun_labelled(), None)[0].shape == (4, 1)


def test_the_layers_of_every_body_are_known() -> None:
    for kind in ("gpt", "lstm-lm", "bert", "lstm"):
        model = small(kind, "text-classification")
        names = {name for name, _ in model.named_parameters()}
        for start, depth in model.depths().items():
            assert any(name.startswith(f"{start}.") for name in names)
            assert (depth == 0) == (".0" not in start and ".1" not in start)


def test_two_texts_are_read_as_one() -> None:
    """`labelled` of a row that holds an end: the last token is the second text's end."""
    batch = labelled([torch.tensor([5, 6, 3, 7]).numpy()], end=3, begin=2)
    assert batch.input.tolist() == [[2, 5, 6, 3, 7, 3]]
    model = small("gpt", "text-classification").eval()
    changed = batch.replace(input_B=torch.tensor([[2, 5, 6, 3, 8, 3]]))
    assert not torch.allclose(model(batch, None)[0], model(changed, None)[0])
