"""The loss of labels, against torch's own cross-entropy."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.batches.labelled import Labelled
from seqwright.errors import SettingError
from seqwright.objectives.labels import Labels, LabelsSettings

B, C = 7, 5


class Fixed(nn.Module):
    """Says the same of every batch."""

    def __init__(self) -> None:
        super().__init__()
        self.logits_BC = nn.Parameter(3 * torch.randn(B, C, generator=torch.Generator().manual_seed(1)))

    def forward(self, batch: Any, carry: Any) -> tuple[Tensor, Any]:
        return self.logits_BC, carry


def batch() -> Labelled:
    tokens_BT = torch.zeros(B, 3, dtype=torch.int64)
    target_B = torch.tensor([0, 1, 2, 3, 4, 0, 0])
    return Labelled(tokens_BT, torch.ones(B, 3, dtype=torch.bool), target_B, torch.zeros_like(tokens_BT))


def descended(settings: LabelsSettings) -> tuple[dict[str, Any], Tensor]:
    """The parts of the loss, and the gradient of the total."""
    model, objective = Fixed(), Labels(settings)
    loss, _ = objective(model, batch(), None)
    assert objective.counts(batch()) == {name: part.over for name, part in loss.parts.items()}
    loss.total(objective.counts(batch())).backward()
    assert model.logits_BC.grad is not None
    return loss.parts, model.logits_BC.grad


def wanted(loss_of: Any) -> tuple[Tensor, Tensor]:
    model = Fixed()
    loss: Tensor = loss_of(model.logits_BC, batch().target_B)
    loss.backward()
    assert model.logits_BC.grad is not None
    return loss.detach(), model.logits_BC.grad


def test_without_smoothing_there_is_one_part() -> None:
    parts, gradient = descended(LabelsSettings())
    loss, expected = wanted(F.cross_entropy)
    assert list(parts) == ["loss"]
    torch.testing.assert_close(parts["loss"].sum / B, loss)
    torch.testing.assert_close(gradient, expected)


def test_with_smoothing_the_plain_loss_is_only_reported() -> None:
    parts, gradient = descended(LabelsSettings(label_smoothing=0.2))
    smoothed, expected = wanted(lambda logits, labels: F.cross_entropy(logits, labels, label_smoothing=0.2))
    assert [(name, part.weight) for name, part in parts.items()] == [("loss", 0.0), ("smoothed", 1.0)]
    torch.testing.assert_close(parts["loss"].sum / B, wanted(F.cross_entropy)[0])
    torch.testing.assert_close(parts["smoothed"].sum / B, smoothed)
    torch.testing.assert_close(gradient, expected)


def test_weights_say_how_much_a_text_of_each_class_counts() -> None:
    weights = (1.0, 2.0, 0.5, 4.0, 3.0)
    parts, gradient = descended(LabelsSettings(class_weights=weights))
    weight_C = torch.tensor(weights)
    _, expected = wanted(lambda logits, labels: F.cross_entropy(logits, labels, weight=weight_C, reduction="sum") / B)
    assert list(parts) == ["loss", "weighted"]
    torch.testing.assert_close(gradient, expected)


def test_a_weight_for_each_class_is_needed() -> None:
    with pytest.raises(SettingError, match=r"objective.class_weights has 2 numbers for 5 classes"):
        Labels(LabelsSettings(class_weights=(1.0, 2.0)))(Fixed(), batch(), None)
