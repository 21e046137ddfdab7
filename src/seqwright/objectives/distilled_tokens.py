"""Learning masked tokens from another model: what else it predicts there (Sanh et al. 2019, DistilBERT).

B batch · T time · D width · N masked tokens · V vocabulary · K the teacher's likeliest tokens
"""

from collections.abc import Callable
from typing import Any, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from seqwright.layers.linear import Linear
from seqwright.objectives.masked_token import masked_parts
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.setting_classes import Settings


class DistilledTokensSettings(Settings):
    """Soft targets of a teacher at the masked tokens, the tokens themselves, and the teacher's vectors. The weights are
    DistilBERT's, but for the vectors, which cost a pass of the teacher over every batch.
    """

    kind: Literal["masked-token-distillation"] = "masked-token-distillation"
    teacher: str
    """A run that predicts masked tokens, with the same tokenizer; `seqwright distil` fills it in."""
    temperature: float = Field(default=2.0, gt=0, allow_inf_nan=False)
    """What the logits of both are divided by: the higher, the more the unlikely words tell."""
    soft: float = Field(default=5.0, ge=0, allow_inf_nan=False)
    """How much the teacher's probabilities count."""
    masked_token: float = Field(default=2.0, ge=0, allow_inf_nan=False)
    """How much the masked tokens count, and whether one text follows another where that is asked."""
    cosine: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """How much it counts that the last vectors point where the teacher's do; DistilBERT has 1. Above 0 the teacher
    reads every batch that the student reads; otherwise it is asked only once, before."""

    @model_validator(mode="after")
    def _something_counts(self) -> "DistilledTokensSettings":
        if not self.soft + self.masked_token + self.cosine:
            raise ValueError("soft, masked_token and cosine are all 0, so that nothing would be learnt; raise one")
        return self


class DistilledTokens(Objective):
    """soft · T² KL(teacher ‖ student) + masked_token · (-log p(masked token)) + cosine · (1 - cos(W h, h_teacher)).

    (Sanh et al. 2019, section 2)

    The first is over the teacher's likeliest tokens and one bucket for all others. W is learnt with the student where
    its vectors are of another width than the teacher's, and there is none where they are not.

    Differs from the paper: of the teacher's probabilities only the likeliest are kept one by one, so that they can be
    computed once; and where the batch asks for a next sentence, that is learnt too.

    Parts: `soft`; `loss`, the plain one of the words, and `next`, as in pretraining; `hidden`.
    """

    def __init__(
        self,
        settings: DistilledTokensSettings,
        *,
        width: int | None = None,
        teacher_width: int | None = None,
        teacher_vectors: Callable[[Any], Tensor] | None = None,
    ) -> None:
        """`teacher_vectors` gives the teacher's last vectors of a batch; it is needed where they are learnt from."""
        super().__init__()
        self.settings, self.teacher_vectors = settings, teacher_vectors
        same = width is None or teacher_width is None or width == teacher_width or not settings.cosine
        self.projection = None if same else Linear(width, teacher_width, bias=False)  # type: ignore[arg-type]

    def prepare(self, model: nn.Module, batch: Any) -> Any:
        """The batch with the teacher's vectors, where they are learnt from: too large to be kept of all texts."""
        return batch if self.teacher_vectors is None else batch.replace(teacher_BTD=self.teacher_vectors(batch))

    def counts(self, batch: Any) -> dict[str, int]:
        """Masked words, texts of which a next sentence is asked, and tokens whose vectors are compared."""
        words, asked = int(batch.loss_mask.sum()), int((batch.next_B >= 0).sum())
        counts = {"soft": words, "loss": words} | ({"next_sentence": asked} if asked else {})
        return counts | ({"cosine": batch.tokens} if batch.teacher_BTD is not None else {})

    def forward(self, model: Any, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the masked tokens of a batch, and over the vectors of all its tokens."""
        h_BTD, chosen_BT = model.read(batch), batch.chosen_BT
        word_NV, next_B2 = model.predictions(h_BTD, batch)
        known_NK, likeliest_NK = batch.probability_BTK[chosen_BT], batch.likeliest_BTK[chosen_BT]
        soft = bucketed_divergence(known_NK, likeliest_NK, word_NV.float(), self.settings.temperature)
        parts = {"soft": LossPart(soft, len(word_NV), self.settings.soft)}
        plain = masked_parts(word_NV, next_B2, batch)
        parts |= {name: part._replace(weight=self.settings.masked_token) for name, part in plain.items()}
        if batch.teacher_BTD is not None:
            projected_BTD = h_BTD if self.projection is None else self.projection(h_BTD)
            same_BT = F.cosine_similarity(projected_BTD.float(), batch.teacher_BTD, dim=-1)
            parts["cosine"] = LossPart((1 - same_BT)[batch.real_BT].sum(), batch.tokens, self.settings.cosine)
        return Loss(parts), carry


def bucketed(probability_NV: Tensor, likeliest: int) -> tuple[Tensor, Tensor]:
    """The likeliest tokens of each row, and their probabilities with that of all others together in a last column."""
    found_NK, token_NK = probability_NV.topk(min(likeliest, probability_NV.shape[1] - 1), dim=-1)
    rest_N1 = probability_NV.scatter(1, token_NK, 0.0).sum(-1, keepdim=True)
    return token_NK, torch.cat((found_NK, rest_N1), dim=-1)


def bucketed_divergence(probability_NK: Tensor, likeliest_NK: Tensor, logits_NV: Tensor, temperature: float) -> Tensor:
    """T² Σ KL over the likeliest tokens and the bucket of all others; the teacher's probabilities are at T already."""
    logp_NV = (logits_NV / temperature).log_softmax(-1)
    rest_N1 = logp_NV.scatter(1, likeliest_NK, -torch.inf).logsumexp(-1, keepdim=True)
    logp_NK = torch.cat((logp_NV.gather(1, likeliest_NK), rest_N1), dim=-1)
    known_NK = probability_NK / probability_NK.sum(-1, keepdim=True)  # they were rounded
    return temperature**2 * (torch.xlogy(known_NK, known_NK) - known_NK * logp_NK).sum()
