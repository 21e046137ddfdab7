"""Saying the answer: what is learnt where a language model is taught a task (Radford et al. 2018, section 3.2).

B batch · T time · D width · N tokens of answers · V vocabulary
"""

from typing import Any, Literal

import torch
from pydantic import Field

from seqwright.objectives.next_token import SmoothedCrossEntropy
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.setting_classes import Settings


class AnswerOnlySettings(Settings):
    """Cross-entropy of the next token, in the answers alone."""

    kind: Literal["answer-only"] = "answer-only"
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of the target probability that is spread evenly over the vocabulary (Vaswani et al. 2017, section 5.4)."""


class AnswerOnly(Objective):
    """-Σ log p(token of the answer | text, task token, answer so far), with label smoothing as `NextToken` has it.

    The model's vectors become logits only where an answer stands, which is the smaller part of most rows.
    Parts: `loss` is the plain negative log-likelihood; with label smoothing it is only reported, and what is learnt
    from is `smoothed`.
    """

    def __init__(self, settings: AnswerOnlySettings | None = None) -> None:
        super().__init__()
        self.label_smoothing = (settings or AnswerOnlySettings()).label_smoothing

    def counts(self, batch: Any) -> dict[str, int]:
        """Every part counts the tokens of the answers."""
        return dict.fromkeys(("loss", "smoothed") if self.label_smoothing else ("loss",), int(batch.loss_mask.sum()))

    def forward(self, model: Any, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the answers of a batch."""
        h_BTD = model.body.hidden(batch.input_BT, batch.real_BT, batch.document_BT)
        logits_NV, target_N = model.body.logits(h_BTD[batch.loss_mask]), batch.target_BT[batch.loss_mask]
        every_N = torch.ones_like(target_N, dtype=torch.bool)
        smoothed, plain = SmoothedCrossEntropy.apply(logits_NV, target_N, every_N, self.label_smoothing)  # type: ignore[no-untyped-call]
        count = len(target_N)
        if not self.label_smoothing:  # the two are equal, and only the first has a gradient
            return Loss({"loss": LossPart(smoothed, count)}), carry
        return Loss({"loss": LossPart(plain, count, weight=0.0), "smoothed": LossPart(smoothed, count)}), carry
