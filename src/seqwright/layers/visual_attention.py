"""Attention over the places of an image: all of them a little, or one of them (Xu et al. 2015, section 4).

B batch · T target, 1 where it goes step by step · S places · Q query width · D memory width · C context width · H heads
"""

import torch
from torch import Tensor

from seqwright.layers.alignment import Alignment, Everywhere, Remembered, Whole
from seqwright.layers.linear import Linear
from seqwright.layers.scores import AdditiveScore
from seqwright.layers.side_losses import SideLosses

LOOKS, PLACES, ENTROPY = "looks", "places", "entropy"  # what is noted of each step


class SoftAttention(Alignment):
    """The expected place, gated (Xu et al. 2015, section 4.2).

        α_ti = softmax_i(vᵀ tanh(W_a a_i + W_h h_{t-1}))        ẑ_t = β_t Σ_i α_ti a_i        β_t = σ(f_β(h_{t-1}))

    Notes `looks`, the weights α_BS of each step, for whoever wants them to add up to one over time.
    """

    def __init__(self, *, query: int, memory: int, inner: int) -> None:
        super().__init__(
            AdditiveScore(query=query, memory=memory, inner=inner), Whole(query=query, memory=memory), Everywhere()
        )
        self.gate = Linear(query, 1)
        self.side = SideLosses(LOOKS)

    def attend(self, query_BTQ: Tensor, source: Remembered, position_BT: Tensor) -> tuple[Tensor, Tensor]:
        """`context_BTC`, which one step reads, and `weight_BHTS`."""
        context_BTC, weight_BHTS = super().attend(query_BTQ, source, position_BT)
        self.side.note(looks=weight_BHTS[:, 0, -1])
        return self.gate(query_BTQ).sigmoid() * context_BTC, weight_BHTS


class HardAttention(Alignment):
    """One place, drawn while it is trained and the most probable one in use (Xu et al. 2015, section 4.1), gated too.

        s_t ~ Multinoulli(α_t)        ẑ_t = β_t a_{s_t}

    In training the share `expected` of the steps reads the expected place, as soft attention does, which keeps the
    gradient's variance low. Notes log α of the place that was drawn (0 where none was) and the entropy of α, for each
    row and step: a gradient through the draw there is none, and an objective makes one of these (`Reinforce`).

    Differs from the paper: β_t, which it has for soft attention, is here too, as in its code; whether the expected
    place is read is drawn for each word of each caption, and not for each image.
    """

    def __init__(self, *, query: int, memory: int, inner: int, expected: float) -> None:
        super().__init__(
            AdditiveScore(query=query, memory=memory, inner=inner), Whole(query=query, memory=memory), Everywhere()
        )
        self.gate = Linear(query, 1)
        self.expected = expected
        self.side = SideLosses(PLACES, ENTROPY)

    def attend(self, query_BTQ: Tensor, source: Remembered, position_BT: Tensor) -> tuple[Tensor, Tensor]:
        """`context_BTC` of one step, and what of each place was read, `weight_BHTS`."""
        _, weight_B11S = super().attend(query_BTQ, source, position_BT)
        looks_BS = weight_B11S[:, 0, -1]
        read_BS = self._drawn(looks_BS) if self.training else one_of(looks_BS.argmax(-1), looks_BS)
        context_B1C = read_BS.unsqueeze(1).to(source.values_BHSK.dtype) @ source.values_BHSK[:, 0]
        return self.gate(query_BTQ).sigmoid() * context_B1C, read_BS[:, None, None]

    def _drawn(self, looks_BS: Tensor) -> Tensor:
        """`read_BS`: 1 at the place that is drawn, or all places as they are expected."""
        place_B = torch.multinomial(looks_BS.detach().float(), 1).squeeze(1)
        expects_B = torch.rand(len(looks_BS), device=looks_BS.device) < self.expected
        log_BS = looks_BS.float().clamp_min(torch.finfo(torch.float32).tiny).log()
        logp_B = log_BS.gather(1, place_B.unsqueeze(1)).squeeze(1)
        self.side.note(places=logp_B.masked_fill(expects_B, 0.0), entropy=-(looks_BS.float() * log_BS).sum(-1))
        return torch.where(expects_B.unsqueeze(1), looks_BS, one_of(place_B, looks_BS))


def one_of(place_B: Tensor, like_BS: Tensor) -> Tensor:
    """1 at a place, 0 elsewhere."""
    return torch.zeros_like(like_BS).scatter_(1, place_B.unsqueeze(1), 1.0)
