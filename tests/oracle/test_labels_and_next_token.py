"""The loss of regression and GPT-1's two losses, against sums over single texts and single tokens."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.labelled import Labelled, labelled
from seqwright.errors import SettingError
from seqwright.objectives.labels import Labels
from seqwright.objectives.labels_and_next_token import (
    LabelsAndNextToken,
    LabelsAndNextTokenSettings,
    RegressionAndNextTokenSettings,
)
from seqwright.objectives.regression import Regression
from tests.small_models import begun_labelled, small

DRAW = torch.Generator().manual_seed(3)


class FixedOutput(nn.Module):
    """Predicts the same of every batch."""

    def __init__(self, predicted_B1: Tensor) -> None:
        super().__init__()
        self.predicted_B1 = nn.Parameter(predicted_B1)

    def forward(self, batch: Any, carry: None) -> tuple[Tensor, None]:
        return self.predicted_B1, carry


def rated() -> Labelled:
    rows = [torch.randint(4, 13, (length,), generator=DRAW).numpy() for length in (4, 1, 5)]
    batch = labelled(rows, end=3, begin=2)
    return batch.replace(target_B=torch.tensor([0.5, -1.25, 2.0]))


def words_by_hand(logits_BTV: Tensor, batch: Labelled) -> tuple[float, int]:
    """-log p of each real token but the first of a row, by softmax in double precision, one by one."""
    total, count = 0.0, 0
    for row in range(len(batch.input)):
        for place in range(1, int(batch.real_BT[row].sum())):
            scores = [math.exp(float(score)) for score in logits_BTV[row, place - 1].double()]
            total -= math.log(scores[int(batch.input[row, place])] / sum(scores))
            count += 1
    return total, count


@torch.no_grad()
def test_the_loss_of_regression_is_the_squared_error() -> None:
    batch = rated()
    loss, _ = Regression()(FixedOutput(torch.tensor([[1.0], [-1.0], [0.5]])), batch, None)
    assert float(loss.parts["loss"].sum) == pytest.approx(0.5**2 + 0.25**2 + 1.5**2)
    assert Regression().counts(batch) == {"loss": 3} == {name: part.over for name, part in loss.parts.items()}


def with_words(model: Any, batch: Labelled) -> tuple[Tensor, Tensor]:
    """What the head says, and what the language model alone says after each token."""
    return model(batch, None)[0], model.body.logits(model.body.hidden(batch.input, batch.real_BT))


@pytest.mark.parametrize("kind", ["gpt", "lstm-lm"])
@torch.no_grad()
def test_the_auxiliary_loss_is_that_of_every_token_of_the_texts(kind: str) -> None:
    torch.manual_seed(1)
    model, batch = small(kind, "text-classification").eval(), begun_labelled()
    objective = LabelsAndNextToken(LabelsAndNextTokenSettings(next_token=0.3, label_smoothing=0.1))
    loss, _ = objective(model, batch, None)
    logits_BC, logits_BTV = with_words(model, batch)
    total, count = words_by_hand(logits_BTV, batch)
    assert float(loss.parts["next_token"].sum) == pytest.approx(total, rel=1e-5)
    assert loss.parts["next_token"].over == count
    assert objective.counts(batch) == {name: part.over for name, part in loss.parts.items()}
    label_loss = float((-logits_BC.log_softmax(1)).gather(1, batch.target_B.unsqueeze(1)).sum())
    assert float(loss.parts["loss"].sum) == pytest.approx(label_loss, rel=1e-5)


@torch.no_grad()
def test_the_whole_is_the_labels_mean_and_a_share_of_the_words_mean() -> None:
    """Radford et al. 2018, equation 5: L₃ = L₂ + λ L₁."""
    torch.manual_seed(1)
    model, batch = small("gpt", "text-classification").eval(), begun_labelled()
    objective = LabelsAndNextToken()
    loss, _ = objective(model, batch, None)
    logits_BC, logits_BTV = with_words(model, batch)
    total, count = words_by_hand(logits_BTV, batch)
    wanted = float(nn.functional.cross_entropy(logits_BC, batch.target_B)) + 0.5 * total / count
    assert float(loss.total(objective.counts(batch))) == pytest.approx(wanted, rel=1e-5)
    alone, _ = Labels()(model, batch, None)
    assert torch.equal(loss.parts["loss"].sum, alone.parts["loss"].sum)


@torch.no_grad()
def test_ratings_have_the_auxiliary_loss_too() -> None:
    torch.manual_seed(1)
    model, batch = small("gpt", "text-regression").eval(), rated()
    loss, _ = LabelsAndNextToken(RegressionAndNextTokenSettings())(model, batch, None)
    said_B1, logits_BTV = with_words(model, batch)
    error = sum((float(said) - float(true)) ** 2 for said, true in zip(said_B1[:, 0], batch.target_B, strict=True))
    assert float(loss.parts["loss"].sum) == pytest.approx(error, rel=1e-5)
    assert float(loss.parts["next_token"].sum) == pytest.approx(words_by_hand(logits_BTV, batch)[0], rel=1e-5)


def test_a_model_that_says_no_words_is_refused() -> None:
    with pytest.raises(SettingError, match=r"auxiliary loss is that of a language model.*model.kind=gpt"):
        LabelsAndNextToken().start(small("lstm", "text-classification"), begun_labelled())
