"""Saying a number: the objective of every model that rates texts.

B batch
"""

from typing import Any, Literal

from torch import Tensor, nn

from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.settings import Settings


class RatingSettings(Settings):
    """Squared error of the rating."""

    kind: Literal["regression"] = "regression"


class Rating(Objective):
    """Σ (said - rating)², where ratings have mean 0 and deviation 1: who always says the mean has a loss of 1."""

    def __init__(self, settings: RatingSettings | None = None) -> None:
        super().__init__()

    def counts(self, batch: Any) -> dict[str, int]:
        """Texts."""
        return {"loss": len(batch.target_B)}

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the texts of a batch."""
        said_B1, carry = model(batch, carry)
        return self.loss_of(said_B1, batch), carry

    def loss_of(self, said_B1: Tensor, batch: Any) -> Loss:
        """The loss of what a model said of a batch."""
        error_B = said_B1.squeeze(1).float() - batch.target_B
        return Loss({"loss": LossPart(error_B.square().sum(), len(error_B))})
