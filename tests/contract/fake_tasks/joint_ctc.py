"""Speech recognition by a decoder with attention and CTC over one body (Watanabe et al. 2017): sound × text.

B batch · S source · T target · V vocabulary
"""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from seqwright.models.encoder_decoder import EncoderDecoder
from seqwright.objectives.objective import Loss, LossPart, Objective
from tests.contract.fake_tasks.models import Decoder, TokenHead, frame_body
from tests.contract.fake_tasks.parts import Written, WrittenText


class Transcript(WrittenText):
    """As any other text: which losses there are is the objective's business."""


def joint_model(width: int, vocabulary: int) -> EncoderDecoder:
    return EncoderDecoder(frame_body(width), Decoder(vocabulary), heads={"ctc": TokenHead(vocabulary)})


class JointCTC(Objective):
    """(1 - λ) of the decoder's cross-entropy, a mean over tokens, and λ of CTC, a mean over sounds; 0 is its blank."""

    weight = 0.3

    def counts(self, batch: Written) -> dict[str, int]:
        return {"loss": int(batch.real_BT.sum()), "ctc": len(batch)}

    def forward(self, model: nn.Module, batch: Written, carry: Any) -> tuple[Loss, Any]:
        logits, carry = model(batch, carry)
        length_B = batch.real_BT.sum(1)
        words = F.cross_entropy(logits["decoder"][batch.real_BT], batch.target_BT[batch.real_BT], reduction="sum")
        logp_SBV: Tensor = logits["ctc"].log_softmax(-1).transpose(0, 1)
        source_B = batch.source_real_BS.sum(1)
        ctc = F.ctc_loss(logp_SBV, batch.target_BT, source_B, length_B, reduction="sum", zero_infinity=True)
        return Loss(
            {
                "loss": LossPart(words, int(length_B.sum()), 1 - self.weight),
                "ctc": LossPart(ctc, len(batch), self.weight),
            }
        ), carry
