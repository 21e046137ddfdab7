"""R-Drop's two losses, against torch's own cross-entropy and divergence."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.batches.labelled import Labelled
from seqwright.errors import SettingError
from seqwright.models.headed import BertTextSettings, pooled_model
from seqwright.objectives.r_drop import RDrop, RDropSettings
from tests.small_models import BERT, labelled_with_seconds, small

B, C = 7, 5


class Undecided(nn.Module):
    """Says one thing in every odd pass and another in every even one."""

    def __init__(self) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(1)
        self.logits_2BC = nn.Parameter(3 * torch.randn(2, B, C, generator=draw))
        self.passes = 0

    def forward(self, batch: Any, carry: Any) -> tuple[Tensor, Any]:
        self.passes += 1
        return self.logits_2BC[(self.passes + 1) % 2], carry


def batch() -> Labelled:
    tokens_BT = torch.zeros(B, 3, dtype=torch.int64)
    target_B = torch.tensor([0, 1, 2, 3, 4, 0, 0])
    return Labelled(tokens_BT, torch.ones(B, 3, dtype=torch.bool), target_B, torch.zeros_like(tokens_BT))


def paper(logits_2BC: Tensor, alpha: float, smoothing: float = 0.0) -> Tensor:
    """Liang et al. 2021, equation 4, as a mean over the texts."""
    first_BC, second_BC = logits_2BC.log_softmax(-1)
    said = sum(F.cross_entropy(logits_BC, batch().target_B, label_smoothing=smoothing) for logits_BC in logits_2BC)
    there = F.kl_div(second_BC, first_BC, reduction="batchmean", log_target=True)
    back = F.kl_div(first_BC, second_BC, reduction="batchmean", log_target=True)
    return torch.as_tensor(said) + alpha / 2 * (there + back)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_is_half_of_the_papers(smoothing: float) -> None:
    model, objective = Undecided(), RDrop(RDropSettings(agreement=3.0, label_smoothing=smoothing))
    loss, _ = objective(model, batch(), None)
    assert objective.counts(batch()) == {name: part.over for name, part in loss.parts.items()}
    total = loss.total(objective.counts(batch()))
    total.backward()
    logits_2BC = model.logits_2BC.detach().clone().requires_grad_()
    wanted = paper(logits_2BC, 3.0, smoothing) / 2
    wanted.backward()
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(model.logits_2BC.grad, logits_2BC.grad)
    plain = sum(F.cross_entropy(logits_BC, batch().target_B) for logits_BC in model.logits_2BC) / 2
    torch.testing.assert_close(loss.parts["loss"].sum / B, torch.as_tensor(plain))


def test_passes_that_agree_are_not_apart() -> None:
    model = small("bert", "text-classification").eval()
    loss, _ = RDrop()(model, labelled_with_seconds(), None)
    assert float(loss.parts["kl"].sum.detach()) == 0
    loss, _ = RDrop()(model.train(), labelled_with_seconds(), None)
    assert float(loss.parts["kl"].sum.detach()) > 0


def test_a_model_that_drops_nothing_is_refused() -> None:
    settings: dict[str, Any] = {**BERT, "dropout": 0.0, "head_dropout": 0.0}
    model = pooled_model(BertTextSettings(**settings), vocabulary=13, classes=3)
    with pytest.raises(SettingError, match=r"this model drops nothing: set model\.dropout=0\.1"):
        RDrop()(model, labelled_with_seconds(), None)
    RDrop()(model.eval(), labelled_with_seconds(), None)


def test_weights_of_classes_count_in_both_passes() -> None:
    weights = (1.0, 2.0, 0.5, 4.0, 3.0)
    model, objective = Undecided(), RDrop(RDropSettings(class_weights=weights))
    loss, _ = objective(model, batch(), None)
    assert list(loss.parts) == ["loss", "weighted", "kl"]
    each = [
        F.cross_entropy(logits_BC, batch().target_B, weight=torch.tensor(weights), reduction="sum")
        for logits_BC in model.logits_2BC
    ]
    torch.testing.assert_close(loss.parts["weighted"].sum, torch.stack(each).mean())
