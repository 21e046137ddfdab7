"""Saying the next token from places that are drawn: no gradient goes through a draw, so the places are reinforced.

B batch · T time · V vocabulary
"""

from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, distributed, nn

from seqwright.errors import SettingError
from seqwright.layers.embeddings import token_log_probability
from seqwright.layers.side_losses import collected, may_note
from seqwright.objectives.next_token import NextToken, NextTokenSettings
from seqwright.objectives.objective import Loss, LossPart, Objective

PARTS = ("places", "entropy")


class ReinforceSettings(NextTokenSettings):
    """Cross-entropy of the next token, and REINFORCE for the places that the words are written from."""

    kind: Literal["reinforce"] = "reinforce"  # type: ignore[assignment]
    places: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """How much it counts that places are drawn from which the words are probable: the paper's λ_r."""
    entropy: float = Field(default=0.01, ge=0, allow_inf_nan=False)
    """How much it counts that places are not yet decided upon: the paper's λ_e."""
    decay: float = Field(default=0.9, ge=0, lt=1)
    """How much of the baseline stays with each update."""


class Reinforce(Objective):
    """∂L = -Σ_t [∂log p(y_t | s, a) + λ_r (R_t - b_t) ∂log p(s_t | a) + λ_e ∂H(s_t)] (Xu et al. 2015, section 4.1).

        R_t = Σ_{u ≥ t} log p(y_u | s, a)        b_t = b · (number of words from t on)
        b ← 0.9 b + 0.1 mean log p(y)

    s_t is the place that was drawn for word t; the model notes log p(s_t) and the entropy H of what it was drawn from.
    A baseline that does not depend on the draw leaves the gradient's expectation as it is (Williams 1992).

    Differs from the paper: a place is credited with the words from its own on, since it cannot change those before,
    and the baseline is that of a word; the paper takes log p of the whole caption for both. The expectation is the same
    and the variance lower.

    Parts: those of the next token, `places`, of which only the gradient says something and the value is 0, and
    `entropy`; all are divided by the number of tokens. In several processes the baseline is that of all.
    """

    baseline: Tensor

    def __init__(self, settings: ReinforceSettings | None = None) -> None:
        super().__init__()
        settings = settings or ReinforceSettings()
        self.words, self.decay = NextToken(settings), settings.decay
        self.weights = {"places": settings.places, "entropy": settings.entropy}
        self.register_buffer("baseline", torch.zeros(()))
        self._seen = torch.zeros(2)  # log p of all words of an update, and how many these are

    def start(self, model: Any, batch: Any) -> Any:
        """Nothing is carried; a model that draws no places is refused."""
        if not may_note(model, "places"):
            raise SettingError(
                "objective.kind is reinforce, which learns from places that are drawn, but the model draws none: "
                "choose model.kind=hard-captioner, or objective.kind=next-token"
            )
        return self.words.start(model, batch)

    def counts(self, batch: Any) -> dict[str, int]:
        """Every part counts the tokens that are learnt from."""
        counts = self.words.counts(batch)
        return counts | dict.fromkeys(PARTS, counts["loss"])

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the real tokens of a batch; where a model draws nothing, in use, that of the words alone."""
        with collected(model) as noted:
            logits_BTV, carry = model(batch, carry)
        loss = self.words.of_logits(logits_BTV, batch)
        with torch.no_grad():
            logp_BT = token_log_probability(logits_BTV, batch.target_BT, batch.real_BT)
            gain_BT = to_come(logp_BT) - self.baseline * to_come(batch.real_BT.float())
            if self.training:
                self._seen = self._seen + torch.stack([logp_BT.sum(), batch.real_BT.sum()]).float().cpu()
        found = {name: torch.stack(noted[name], dim=1) if name in noted else logp_BT * 0 for name in PARTS}
        places = -(gain_BT * found["places"] * batch.real_BT).sum()
        sums = {"places": places - places.detach(), "entropy": -(found["entropy"] * batch.real_BT).sum()}
        over = loss.parts["loss"].over
        return Loss(loss.parts | {name: LossPart(sums[name], over, self.weights[name]) for name in PARTS}), carry

    def after_step(self, model: nn.Module, step: int, steps: int) -> None:
        """The baseline follows what was seen; before the first update there is none."""
        if distributed.is_available() and distributed.is_initialized():
            distributed.all_reduce(self._seen)
        if not self._seen[1]:
            return
        mean = (self._seen[0] / self._seen[1]).to(self.baseline.device)
        keep = self.decay if step > 1 else 0.0
        self.baseline.copy_(keep * self.baseline + (1 - keep) * mean)
        self._seen = torch.zeros(2)


def to_come(value_BT: Tensor) -> Tensor:
    """The sum of what stands at a step and after it."""
    return value_BT.flip(1).cumsum(1).flip(1)
