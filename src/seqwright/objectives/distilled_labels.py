"""Learning a classifier from another one: its probabilities say more than the label alone (Hinton et al. 2015).

B batch · C classes · N texts with a label
"""

from typing import Any, Literal

import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.setting_classes import Settings


class DistilledLabelsSettings(Settings):
    """Soft targets of a teacher, and cross-entropy of the label where a text has one."""

    kind: Literal["label-distillation"] = "label-distillation"
    teacher: str
    """A run that classifies the same texts into the same labels; `seqwright distil` fills it in."""
    more_teachers: tuple[str, ...] = ()
    """Further teachers: what is learnt is the mean of the probabilities that all of them give."""
    temperature: float = Field(default=2.0, gt=0, allow_inf_nan=False)
    """What the logits of both are divided by: the higher, the more the small probabilities tell."""
    soft: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """How much the teacher counts."""
    labels: float = Field(default=0.5, ge=0, allow_inf_nan=False)
    """How much the labels count; with 0 the texts alone are used."""
    unlabelled: str | tuple[str, ...] | None = None
    """Text files, plain or .gz, whose lines are texts without a label, to be read beside the training part: the teacher
    says what they are (Turc et al. 2019). They should be like the texts that the student is meant for."""

    @model_validator(mode="after")
    def _something_counts(self) -> "DistilledLabelsSettings":
        if not self.soft + self.labels:
            raise ValueError("soft and labels are both 0, so that nothing would be learnt; raise one")
        return self


class DistilledLabels(Objective):
    """soft · T² KL(softmax(z_teacher / T) ‖ softmax(z / T)) - labels · log p(label) (Hinton et al. 2015, section 2).

    T² makes up for what the temperature takes from the gradient, so that the two keep their weights whatever T is.

    Parts: `soft` is the first, over all texts; `loss` the second, plain, over those that have a label.
    """

    def __init__(self, settings: DistilledLabelsSettings) -> None:
        super().__init__()
        self.temperature, self.soft, self.labels = settings.temperature, settings.soft, settings.labels

    def counts(self, batch: Any) -> dict[str, int]:
        """Texts, and texts with a label."""
        return {"soft": len(batch), "loss": int((batch.target_B >= 0).sum())}

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the texts of a batch."""
        logits_BC, carry = model(batch, carry)
        soft = softened_divergence(batch.teacher_BC, logits_BC.float(), self.temperature)
        known_B = batch.target_B >= 0
        plain = F.cross_entropy(logits_BC.float()[known_B], batch.target_B[known_B], reduction="sum")
        parts = {
            "soft": LossPart(soft, len(logits_BC), self.soft),
            "loss": LossPart(plain, int(known_B.sum()), self.labels),
        }
        return Loss(parts), carry


def softened_divergence(teacher_BC: Tensor, student_BC: Tensor, temperature: float) -> Tensor:
    """T² Σ KL(softmax(teacher / T) ‖ softmax(student / T)): how far a student is from its teacher."""
    target_BC, found_BC = ((logits_BC / temperature).log_softmax(-1) for logits_BC in (teacher_BC, student_BC))
    return temperature**2 * (target_BC.exp() * (target_BC - found_BC)).sum()
