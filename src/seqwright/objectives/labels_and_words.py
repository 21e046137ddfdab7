"""Saying the label, or the rating, and beside it the next word of the text itself (Radford et al. 2018, section 3.2).

B batch · T time · V vocabulary
"""

from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import Field
from torch import Tensor, nn

from seqwright.errors import SettingError
from seqwright.objectives.labels import Labels, LabelsSettings
from seqwright.objectives.next_token import SmoothedCrossEntropy
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.objectives.rating import Rating, RatingSettings


class LabelsAndWordsSettings(LabelsSettings):
    """Cross-entropy of the label and, as an auxiliary loss, of the text's tokens."""

    kind: Literal["labels-and-next-token"] = "labels-and-next-token"  # type: ignore[assignment]
    next_token: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """How much the auxiliary loss counts: the paper's λ."""


class RatingAndWordsSettings(RatingSettings):
    """Squared error of the rating and, as an auxiliary loss, the cross-entropy of the text's tokens."""

    kind: Literal["regression-and-next-token"] = "regression-and-next-token"  # type: ignore[assignment]
    next_token: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """How much the auxiliary loss counts: the paper's λ."""


@runtime_checkable
class SaysWords(Protocol):
    """A body that is a language model."""

    def logits(self, h_BTD: Tensor) -> Tensor:
        """`logits_BTV` of the token after each, from the body's vectors."""


def says_words(model: nn.Module) -> bool:
    """Whether what a model's head stands on is a language model."""
    return isinstance(dict(model.named_children()).get("body"), SaysWords)


class LabelsAndWords(Objective):
    """L₃ = L₂ + λ L₁ (Radford et al. 2018, equation 5): the label's loss, and the language model's on the same text.

    Each is a mean of its own, over the texts and over their tokens but the first. The model is a classifier whose body
    is a language model.
    """

    def __init__(self, settings: LabelsAndWordsSettings | RatingAndWordsSettings | None = None) -> None:
        super().__init__()
        settings = settings or LabelsAndWordsSettings()
        self.words = settings.next_token
        self.label: Labels | Rating = Rating() if isinstance(settings, RatingAndWordsSettings) else Labels(settings)

    def start(self, model: nn.Module, batch: Any) -> None:
        """Nothing flows from batch to batch; a model without words is refused before anything is learnt."""
        if not says_words(model):
            raise SettingError(
                "the auxiliary loss is that of a language model, which this model is not: choose model.kind=gpt or "
                "lstm-lm, or objective.kind=labels (for numbers, rating)"
            )

    def counts(self, batch: Any) -> dict[str, int]:
        """The label's counts, and tokens that another stands before."""
        return {**self.label.counts(batch), "next_token": int(batch.real_BT[:, 1:].sum())}

    def forward(self, model: Any, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the texts and over their tokens."""
        h_BTD = model.read(batch)
        parts = self.label.loss_of(model.head(h_BTD, batch), batch).parts
        words = words_loss(model.body.logits(h_BTD), batch)
        return Loss({**parts, "next_token": LossPart(*words, weight=self.words)}), carry


def words_loss(logits_BTV: Tensor, batch: Any) -> tuple[Tensor, int]:
    """-Σ log p(token | those before it) over a batch of texts, and how many tokens that are."""
    target_BT, real_BT = batch.input[:, 1:], batch.real_BT[:, 1:]
    loss, _ = SmoothedCrossEntropy.apply(logits_BTV[:, :-1], target_BT, real_BT, 0.0)  # type: ignore[no-untyped-call]
    return loss, int(real_BT.sum())
