"""Predicting the place of something in each frame: the objective of tracking in films.

B batch · T frames
"""

from typing import Any, Literal

from torch import nn

from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.setting_classes import Settings


class PlacesSettings(Settings):
    """Squared distance of the predicted place in each frame."""

    kind: Literal["places"] = "places"


class Places(Objective):
    """Σ ‖predicted - target‖² over the frames whose place is known, in the units of the model's targets."""

    def __init__(self, settings: PlacesSettings | None = None) -> None:
        super().__init__()

    def counts(self, batch: Any) -> dict[str, int]:
        """Frames whose place is known."""
        return {"loss": int(batch.loss_mask.sum())}

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the frames of a batch."""
        predicted_BT2, carry = model(batch, carry)
        error_N2 = (predicted_BT2.float() - batch.target_BT2)[batch.loss_mask]
        return Loss({"loss": LossPart(error_N2.square().sum(), len(error_N2))}), carry
