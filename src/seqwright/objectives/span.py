"""Where the answer begins and ends: the objective of question answering.

B batch · T time
"""

from typing import Any, Literal

from torch import Tensor, nn

from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.setting_classes import Settings


class SpanSettings(Settings):
    """Log-likelihood of the answer's first and last token."""

    kind: Literal["span"] = "span"


class Span(Objective):
    """-log p(start) - log p(end), a softmax over the positions for each (Devlin et al. 2019, section 4.2).

    Differs from the paper: an answer can begin and end only where `batch.allowed_BT` is True, not in the question.
    """

    def __init__(self, settings: SpanSettings | None = None) -> None:
        super().__init__()

    def counts(self, batch: Any) -> dict[str, int]:
        """Every part counts windows."""
        return {"loss": len(batch.start_B)}

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the windows of a batch."""
        logits_BT2, carry = model(batch, carry)
        return Loss({"loss": LossPart(span_losses(logits_BT2, batch).sum(), len(batch.start_B))}), carry


def span_losses(logits_BT2: Tensor, batch: Any) -> Tensor:
    """`loss_B`: what the right start and end cost, in nats."""
    logp_BT2 = logits_BT2.float().masked_fill(~batch.allowed_BT.unsqueeze(-1), float("-inf")).log_softmax(1)
    start_B, end_B = (
        logp_BT2[..., side].gather(1, at_B.unsqueeze(1)).squeeze(1)
        for side, at_B in enumerate((batch.start_B, batch.end_B))
    )
    loss_B: Tensor = -(start_B + end_B)
    return loss_B
