"""Predicting masked tokens, and whether one text follows another: the objectives that BERT was pretrained with.

B batch · N masked tokens · V vocabulary
"""

from typing import Any, Literal

import torch.nn.functional as F
from torch import Tensor

from seqwright.errors import SettingError
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.setting_classes import Settings


class MaskedTokenSettings(Settings):
    """Cross-entropy of the masked tokens, and of whether the second text follows the first."""

    kind: Literal["masked-token"] = "masked-token"


class MaskedToken(Objective):
    """mean of -log p(masked token) + mean of -log p(follows or not) (Devlin et al. 2019, appendix A.2).

    Parts: `loss` is that of the words, on the training part as on any other, so that it can be compared whether or not
    a next sentence is asked for; `next` is the other, where the batch asks.
    """

    def __init__(self, settings: MaskedTokenSettings | None = None) -> None:
        super().__init__()

    def counts(self, batch: Any) -> dict[str, int]:
        """Hidden words, and texts whose second half may follow or not."""
        asked = int((batch.next_B >= 0).sum())
        return {"loss": int(batch.chosen_BT.sum())} | ({"next_sentence": asked} if asked else {})

    def forward(self, model: Any, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss over the masked tokens of a batch; only these go through the model's output over the vocabulary."""
        word_NV, next_B2 = model.both(batch)
        return Loss(masked_parts(word_NV, next_B2, batch)), carry


def masked_parts(word_NV: Tensor, next_B2: Tensor | None, batch: Any) -> dict[str, LossPart]:
    """The parts of the loss, of what a model predicts of a batch."""
    words = F.cross_entropy(word_NV.float(), batch.target_N, reduction="sum")
    parts = {"loss": LossPart(words, len(word_NV))}
    asked_B = batch.next_B >= 0
    if asked_B.any():
        if next_B2 is None:
            raise SettingError(
                "input.rows is 'sentence-pairs', but the model cannot say whether one text follows another: set "
                "model.pooler=true, or input.rows=full-sentences"
            )
        follows = F.cross_entropy(next_B2.float()[asked_B], batch.next_B[asked_B], reduction="sum")
        parts["next_sentence"] = LossPart(follows, int(asked_B.sum()))
    return parts
