"""Predicting a number: the objective of every regression on texts.

B batch
"""

from typing import Any, Literal

from torch import Tensor, nn

from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.setting_classes import Settings


class RegressionSettings(Settings):
    """Squared error of the predicted number."""

    kind: Literal["regression"] = "regression"


class Regression(Objective):
    """Σ (predicted - target)², where targets have mean 0 and deviation 1: predicting the mean has a loss of 1."""

    def __init__(self, settings: RegressionSettings | None = None) -> None:
        super().__init__()

    def counts(self, batch: Any) -> dict[str, int]:
        """Texts."""
        return {"loss": len(batch.target_B)}

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the texts of a batch."""
        predicted_B1, carry = model(batch, carry)
        return self.loss_of(predicted_B1, batch), carry

    def loss_of(self, predicted_B1: Tensor, batch: Any) -> Loss:
        """The loss of what a model predicts of a batch."""
        error_B = predicted_B1.squeeze(1).float() - batch.target_B
        return Loss({"loss": LossPart(error_B.square().sum(), len(error_B))})
