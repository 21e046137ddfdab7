"""Predicting the same label twice: two passes that drop different units have to agree (R-Drop, Liang et al. 2021).

N what the loss counts, texts or words · C classes
"""

from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from seqwright.errors import SettingError
from seqwright.objectives.labels import Labels, LabelsSettings
from seqwright.objectives.objective import Loss, LossPart, Objective


class RDropSettings(LabelsSettings):
    """Cross-entropy of the label in two passes with different dropout, and how far the two are apart."""

    kind: Literal["r-drop"] = "r-drop"  # type: ignore[assignment]
    agreement: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """How much it counts that both passes predict the same: the paper's α."""


class RDrop(Objective):
    """Whatever dropout leaves of the network, it should predict the same (Liang et al. 2021, equation 4).

        L = -log p₁(label) - log p₂(label) + α/2 [KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)]

    p₁ and p₂ are what two passes over the same batch say, so that a step takes twice as long.

    Differs from the paper: everything is halved, so that `loss` is what it is for every other objective.

    Parts: those of `Labels`, as means of both passes, and `apart`, half the sum of the two divergences.
    """

    def __init__(self, settings: RDropSettings | None = None) -> None:
        super().__init__()
        settings = settings or RDropSettings()
        self.label, self.agreement = Labels(settings), settings.agreement

    def counts(self, batch: Any) -> dict[str, int]:
        """Every part counts texts, or words."""
        return {**self.label.counts(batch), "kl": len(batch.labels)}

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the labels of a batch; a model that drops nothing in training is refused."""
        (first, _), (second, carry) = model(batch, carry), model(batch, carry)
        if model.training and torch.equal(first, second):
            raise SettingError(
                "objective.kind is 'r-drop', which compares two passes with different dropout, but this model drops "
                "nothing: set model.dropout=0.1 (of a frozen one model.head_dropout=0.1), or objective.kind=labels"
            )
        one, other = (self.label.loss_of(logits, batch).parts for logits in (first, second))
        parts = {name: part._replace(sum=(part.sum + other[name].sum) / 2) for name, part in one.items()}
        apart = divergence(first[batch.loss_mask], second[batch.loss_mask])
        return Loss({**parts, "kl": LossPart(apart, len(batch.labels), weight=self.agreement / 2)}), carry


def divergence(first_NC: Tensor, second_NC: Tensor) -> Tensor:
    """½ Σ [KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)] of what two passes say, which is ½ Σ (p₁ - p₂)(log p₁ - log p₂)."""
    logp_NC, logq_NC = (logits_NC.float().log_softmax(-1) for logits_NC in (first_NC, second_NC))
    return ((logp_NC.exp() - logq_NC.exp()) * (logp_NC - logq_NC)).sum() / 2
