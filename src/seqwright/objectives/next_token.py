"""Saying the next token: the objective of every left-to-right model.

B batch · T time · V vocabulary
"""

from typing import Any, Literal

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.autograd import Function

from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.objectives.vocabulary_loss import LOGITS, HasLogitFactors, vocabulary_loss
from seqwright.setting_classes import Settings


class NextTokenSettings(Settings):
    """Cross-entropy of the next token."""

    kind: Literal["next-token"] = "next-token"
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of the target probability that is spread evenly over the vocabulary (Vaswani et al. 2017, section 5.4)."""
    last: PositiveInt | None = None
    """How many tokens at the end of each row are learnt from; unset: all. The others are only read."""


class NextToken(Objective):
    """-Σ log p(target), with label smoothing (Szegedy et al. 2016, section 7).

    Parts: `loss` is the plain negative log-likelihood, on the training part as on any other. With label smoothing
    it is only reported, and what is learnt from is `smoothed`.
    """

    def __init__(self, settings: NextTokenSettings | None = None) -> None:
        super().__init__()
        settings = settings or NextTokenSettings()
        self.label_smoothing, self.last = settings.label_smoothing, settings.last

    def start(self, model: Any, batch: Any) -> Any:
        """What the model carries into a batch before which nothing was read."""
        return model.first_carry(batch)

    def counts(self, batch: Any) -> dict[str, int]:
        """Every part counts the target tokens that are learnt from."""
        return dict.fromkeys(
            ("loss", "smoothed") if self.label_smoothing else ("loss",), int(self._learnt(batch).sum())
        )

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the real tokens of a batch."""
        factors = model.logit_factors(batch) if isinstance(model, HasLogitFactors) else None
        if factors is not None and factors.size > LOGITS:
            return self._parts(
                batch, *vocabulary_loss(factors, batch.target_BT, self._learnt(batch), self.label_smoothing)
            ), carry
        logits_BTV, carry = model(batch, carry) if factors is None else (factors.logits(), carry)
        return self.of_logits(logits_BTV, batch), carry

    def of_logits(self, logits_BTV: Tensor, batch: Any) -> Loss:
        """The loss of what a model says of a batch."""
        smoothed, plain = SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
            logits_BTV, batch.target_BT, self._learnt(batch), self.label_smoothing
        )
        return self._parts(batch, smoothed, plain)

    def _parts(self, batch: Any, smoothed: Tensor, plain: Tensor) -> Loss:
        count = int(self._learnt(batch).sum())
        if not self.label_smoothing:  # the two are equal, and only the first has a gradient
            return Loss({"loss": LossPart(smoothed, count)})
        return Loss({"loss": LossPart(plain, count, weight=0.0), "smoothed": LossPart(smoothed, count)})

    def _learnt(self, batch: Any) -> Tensor:
        """True at the real tokens, or at the last of them in each row."""
        real_BT: Tensor = batch.real_BT
        if self.last is None:
            return real_BT
        from_here_BT = real_BT.flip(1).cumsum(1).flip(1)  # how many real tokens are left, this one among them
        return real_BT & (from_here_BT <= self.last)


class SmoothedCrossEntropy(Function):
    """Σ [(1-ε)(-log p(target)) + ε/V Σ_v (-log p(v))] over the real tokens, and Σ -log p(target) beside it.

        gradient = softmax - (1-ε) onehot(target) - ε/V

    Equal to `F.cross_entropy(…, label_smoothing=ε, reduction="sum")`, with a fraction of the passes over the
    logits: with a large vocabulary and a small model those are a good part of a training step.
    """

    @staticmethod
    def forward(
        ctx: Any, logits_BTV: Tensor, target_BT: Tensor, real_BT: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """The smoothed and the plain sum."""
        total_BT = logits_BTV.float().logsumexp(-1)  # in bfloat16 it would be rounded to two digits
        plain_BT = total_BT - logits_BTV.gather(-1, target_BT.unsqueeze(-1)).squeeze(-1).float()
        ctx.save_for_backward(logits_BTV, target_BT, real_BT)
        ctx.smoothing = smoothing
        plain = plain_BT[real_BT].sum()
        smoothed = (1 - smoothing) * plain
        if smoothing:  # otherwise the mean is a pass over the logits for nothing
            even_BT = total_BT - logits_BTV.mean(-1, dtype=torch.float32)
            smoothed = smoothed + smoothing * even_BT[real_BT].sum()
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor, None, None, None]:
        """The gradient with respect to the logits; zero at the padding."""
        logits_BTV, target_BT, real_BT = ctx.saved_tensors
        share_BT1 = (real_BT * gradient).unsqueeze(-1).to(logits_BTV.dtype)
        result_BTV = logits_BTV.softmax(-1)
        result_BTV = torch.addcmul(
            share_BT1 * (-ctx.smoothing / logits_BTV.shape[-1]), result_BTV, share_BT1, out=result_BTV
        )
        result_BTV.scatter_add_(-1, target_BT.unsqueeze(-1), share_BT1 * (ctx.smoothing - 1))
        return result_BTV, None, None, None
