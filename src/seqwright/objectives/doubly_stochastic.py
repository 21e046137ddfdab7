"""Saying the next token, and looking at every place about as much over time (Xu et al. 2015, section 4.2.1).

B batch · T time · S places
"""

from typing import Any, Literal

import torch
from pydantic import Field
from torch import nn

from seqwright.errors import SettingError
from seqwright.layers.side_losses import collected, may_note
from seqwright.objectives.next_token import NextToken, NextTokenSettings
from seqwright.objectives.objective import Loss, LossPart, Objective

PART = "uneven"


class DoublyStochasticSettings(NextTokenSettings):
    """Cross-entropy of the next token and, beside it, how unevenly the places are looked at."""

    kind: Literal["doubly-stochastic"] = "doubly-stochastic"  # type: ignore[assignment]
    even: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """How much it counts that every place is looked at about once in a caption: the paper's λ."""


class DoublyStochastic(Objective):
    """L = -Σ_t log p(y_t) + λ Σ_i (1 - Σ_t α_ti)² of each caption (Xu et al. 2015, equation 14).

    α_t adds up to one over the places i by itself; over time it is asked to.

    Parts: those of the next token, and `uneven`; both are divided by the number of tokens.
    """

    def __init__(self, settings: DoublyStochasticSettings | None = None) -> None:
        super().__init__()
        settings = settings or DoublyStochasticSettings()
        self.words, self.even = NextToken(settings), settings.even

    def start(self, model: Any, batch: Any) -> Any:
        """Nothing is carried; a model that does not look at places softly is refused."""
        if not may_note(model, "looks"):
            raise SettingError(
                "objective.kind is doubly-stochastic, which asks how much each place is looked at, but the model "
                "has no soft attention: choose model.kind=captioner, or objective.kind=next-token"
            )
        return self.words.start(model, batch)

    def counts(self, batch: Any) -> dict[str, int]:
        """Every part counts the tokens that are learnt from."""
        counts = self.words.counts(batch)
        return {**counts, PART: counts["loss"]}

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the real tokens of a batch, and of where they are looked for."""
        with collected(model) as noted:
            loss, carry = self.words(model, batch, carry)
        looks_BTS = torch.stack(noted["looks"], dim=1) * batch.real_BT.unsqueeze(-1)
        uneven = (1 - looks_BTS.sum(1)).square().sum()
        return Loss({**loss.parts, PART: LossPart(uneven, loss.parts["loss"].over, self.even)}), carry
