"""Predicting a label or a number and, beside it, the next token of the text itself (Radford et al. 2018, section 3.2).

B batch · T time · V vocabulary
"""

from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import Field
from torch import Tensor, nn

from seqwright.errors import SettingError
from seqwright.layers.embeddings import body_of
from seqwright.objectives.labels import Labels, LabelsSettings
from seqwright.objectives.next_token import SmoothedCrossEntropy
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.objectives.regression import Regression, RegressionSettings


class LabelsAndNextTokenSettings(LabelsSettings):
    """Cross-entropy of the label and, as an auxiliary loss, of the text's tokens."""

    kind: Literal["labels-and-next-token"] = "labels-and-next-token"  # type: ignore[assignment]
    next_token: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """How much the auxiliary loss counts: the paper's λ."""


class RegressionAndNextTokenSettings(RegressionSettings):
    """Squared error of the predicted number and, as an auxiliary loss, the cross-entropy of the text's tokens."""

    kind: Literal["regression-and-next-token"] = "regression-and-next-token"  # type: ignore[assignment]
    next_token: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """How much the auxiliary loss counts: the paper's λ."""


@runtime_checkable
class NextTokenBody(Protocol):
    """A body that is a language model."""

    def logits(self, h_BTD: Tensor) -> Tensor:
        """`logits_BTV` of the token after each, from the body's vectors."""


def has_next_token_body(model: nn.Module) -> bool:
    """Whether what a model's head stands on is a language model."""
    return isinstance(body_of(model), NextTokenBody)


class LabelsAndNextToken(Objective):
    """L₃ = L₂ + λ L₁ (Radford et al. 2018, equation 5): the label's loss, and the language model's on the same text.

    Each is a mean of its own, over the texts and over their tokens but the first. The model is a classifier whose body
    is a language model.
    """

    def __init__(self, settings: LabelsAndNextTokenSettings | RegressionAndNextTokenSettings | None = None) -> None:
        super().__init__()
        settings = settings or LabelsAndNextTokenSettings()
        self.weight = settings.next_token
        self.label: Labels | Regression = (
            Regression() if isinstance(settings, RegressionAndNextTokenSettings) else Labels(settings)
        )

    def start(self, model: nn.Module, batch: Any) -> None:
        """Nothing flows from batch to batch; a model over no language model is refused before training."""
        if not has_next_token_body(model):
            raise SettingError(
                "the auxiliary loss is that of a language model, which this model is not: choose model.kind=gpt or "
                "lstm-lm, or objective.kind=labels (for numbers, regression)"
            )

    def counts(self, batch: Any) -> dict[str, int]:
        """The label's counts, and tokens that another stands before."""
        return {**self.label.counts(batch), "next_token": int(batch.real_BT[:, 1:].sum())}

    def forward(self, model: Any, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the texts and over their tokens."""
        h_BTD = model.read(batch)
        parts = self.label.loss_of(model.head(h_BTD, batch), batch).parts
        next_token = next_token_loss(model.body.logits(h_BTD), batch)
        return Loss({**parts, "next_token": LossPart(*next_token, weight=self.weight)}), carry


def next_token_loss(logits_BTV: Tensor, batch: Any) -> tuple[Tensor, int]:
    """-Σ log p(token | those before it) over a batch of texts, and how many tokens that are."""
    target_BT, real_BT = batch.input[:, 1:], batch.real_BT[:, 1:]
    loss, _ = SmoothedCrossEntropy.apply(logits_BTV[:, :-1], target_BT, real_BT, 0.0)  # type: ignore[no-untyped-call]
    return loss, int(real_BT.sum())
