"""Predicting the label: the objective of every classifier, and of every tagger at each word.

N what the loss counts, texts or words · C classes
"""

from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from seqwright.errors import SettingError
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.setting_classes import Settings


class LabelsSettings(Settings):
    """Cross-entropy of the label."""

    kind: Literal["labels"] = "labels"
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """Share of the target probability that is spread evenly over the classes (Szegedy et al. 2016, section 7)."""
    class_weights: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] | None = None
    """How much a text of each class counts in training, or a word of each tag, in the order of output/labels.json or
    output/tags.json: with [1.0, 5.0] one of the second class counts five times. Left out: all alike."""


class Labels(Objective):
    """-Σ log p(label), with label smoothing and weights.

        loss_n = w_label [(1-ε)(-log p(label)) + ε/C Σ_c (-log p(c))]

    Only those outputs of the model count that the batch has a label for.

    Parts: `loss` is the plain negative log-likelihood, on the training part as on any other. With label smoothing or
    weights it is only reported, and what is learnt from is `smoothed`, or `weighted` where there are weights.
    """

    def __init__(self, settings: LabelsSettings | None = None) -> None:
        super().__init__()
        settings = settings or LabelsSettings()
        self.label_smoothing, self.weights = settings.label_smoothing, settings.class_weights
        self.learnt = "weighted" if self.weights else "smoothed" if self.label_smoothing else "loss"

    def counts(self, batch: Any) -> dict[str, int]:
        """Every part counts texts, or words."""
        return dict.fromkeys(("loss", self.learnt), len(batch.labels))

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the labels of a batch."""
        logits, carry = model(batch, carry)
        return self.loss_of(logits, batch), carry

    def loss_of(self, logits: Tensor, batch: Any) -> Loss:
        """The loss of what a model predicts of a batch."""
        logp_NC = logits[batch.loss_mask].float().log_softmax(-1)
        label_N = batch.labels
        plain_N = -logp_NC.gather(1, label_N.unsqueeze(1)).squeeze(1)
        count = len(plain_N)
        if self.learnt == "loss":
            return Loss({"loss": LossPart(plain_N.sum(), count)})
        smoothed_N = (1 - self.label_smoothing) * plain_N - self.label_smoothing * logp_NC.mean(-1)
        learnt = (smoothed_N * self._weights(label_N, logp_NC.shape[1])).sum()
        return Loss({"loss": LossPart(plain_N.detach().sum(), count, weight=0.0), self.learnt: LossPart(learnt, count)})

    def _weights(self, label_N: Tensor, classes: int) -> Tensor:
        """How much each of them counts."""
        if not self.weights:
            return torch.ones_like(label_N)
        if len(self.weights) != classes:
            raise SettingError(
                f"objective.class_weights has {len(self.weights)} numbers for {classes} classes; give one for each"
            )
        return torch.tensor(self.weights, device=label_N.device)[label_N]
