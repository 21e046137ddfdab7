"""Saying the next token, and beside it what the layers of the model want to be small: experts that are all in use."""

from typing import Any, Literal

from pydantic import Field
from torch import nn

from seqwright.errors import SettingError
from seqwright.layers.side_losses import collected, side_losses
from seqwright.objectives.next_token import NextToken, NextTokenSettings
from seqwright.objectives.objective import Loss, LossPart, Objective


class BalancedNextTokenSettings(NextTokenSettings):
    """Cross-entropy of the next token and, as auxiliary losses, how unevenly the experts are used."""

    kind: Literal["balanced-next-token"] = "balanced-next-token"  # type: ignore[assignment]
    importance: float = Field(default=0.1, ge=0, allow_inf_nan=False)
    """How much it counts that the experts' weights, added up over a batch, are alike."""
    load: float = Field(default=0.1, ge=0, allow_inf_nan=False)
    """How much it counts that the experts are chosen equally often."""


class BalancedNextToken(Objective):
    """L = -Σ log p(target) + w_importance Σ CV(importance)² + w_load Σ CV(load)² (Shazeer et al. 2017, section 4).

    The sums are over the layers with experts. How evenly experts are used is a question about many positions, so it is
    asked of each batch as a whole: its answer counts as much as the batch has tokens.

    Parts: those of the next token, `importance` and `load`.
    """

    def __init__(self, settings: BalancedNextTokenSettings | None = None) -> None:
        super().__init__()
        settings = settings or BalancedNextTokenSettings()
        self.words = NextToken(settings)
        self.weights = {"importance": settings.importance, "load": settings.load}

    def start(self, model: Any, batch: Any) -> Any:
        """What the model carries into a batch before which nothing was read; a model without experts is refused."""
        if not side_losses(model):
            raise SettingError(
                "objective.kind is balanced-next-token, but the model has no experts whose use could be balanced: "
                "choose model.kind=moe-transformer or moe-lstm, or objective.kind=next-token"
            )
        return self.words.start(model, batch)

    def counts(self, batch: Any) -> dict[str, int]:
        """Every part counts the tokens that are learnt from."""
        counts = self.words.counts(batch)
        return counts | dict.fromkeys(self.weights, counts["loss"])

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the real tokens of a batch, and of its use of the experts."""
        with collected(model) as noted:
            loss, carry = self.words(model, batch, carry)
        over = loss.parts["loss"].over
        sides = {name: LossPart(sum(noted[name]) * over, over, weight) for name, weight in self.weights.items()}
        return Loss(loss.parts | sides), carry
