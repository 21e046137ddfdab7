"""Alignment: which positions of the source a recurrent decoder reads while it writes a word.

B batch · T target · S source · Q query width · D memory width · C context width · H heads · K head width
"""

import math
from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqwright.layers.blocks import ALIGNING
from seqwright.layers.linear import Linear
from seqwright.layers.scores import AlignmentScore
from seqwright.layers.taps import Tap


class Remembered(NamedTuple):
    """What an alignment needs of a source, computed once and read for every word."""

    scored: Tensor
    """What the score has prepared."""
    values_BHSK: Tensor
    real_BS: Tensor


class Whole(nn.Module):
    """One head, for which the memory itself is key and value, and the decoder's state the query."""

    def __init__(self, *, query: int, memory: int) -> None:
        super().__init__()
        self.query_width, self.key_width, self.context_width = query, memory, memory

    def queries(self, query_BTQ: Tensor) -> Tensor:
        """`query_BHTK`, of one head."""
        return query_BTQ.unsqueeze(1)

    def keys_values(self, memory_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """`memory_BHSK` twice, of one head."""
        memory_B1SD = memory_BSD.unsqueeze(1)
        return memory_B1SD, memory_B1SD


class QueryKeyValue(nn.Module):
    """Explicit queries of the decoder, keys and values of the encoder, one set for each head.

    q = W_q s    k = W_k h    v = W_v h, which together have the given width; the contexts of the heads stand side by
    side.
    """

    def __init__(self, *, query: int, memory: int, width: int, heads: int) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width {width} does not divide into {heads} heads")
        self.heads = heads
        self.query_width = self.key_width = width // heads
        self.context_width = width
        self.query = Linear(query, width, bias=False)
        self.key_value = Linear(memory, 2 * width, bias=False)

    def queries(self, query_BTQ: Tensor) -> Tensor:
        """`query_BHTK`."""
        return self._split(self.query(query_BTQ))

    def keys_values(self, memory_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """`key_BHSK` and `value_BHSK`."""
        key_BHSK, value_BHSK = self._split(self.key_value(memory_BSD)).chunk(2, dim=-1)
        return key_BHSK, value_BHSK

    def _split(self, x_BTD: Tensor) -> Tensor:
        return x_BTD.view(*x_BTD.shape[:2], self.heads, -1).transpose(1, 2)


class Focus(nn.Module):
    """Where in the source a word may look, before any score is known."""

    @abstractmethod
    def forward(self, query_BTQ: Tensor, position_BT: Tensor, real_BS: Tensor) -> Tensor:
        """What is added to the scores, as (B, T or 1, S): -inf where nothing may be read."""


class Everywhere(Focus):
    """Global attention: all real positions (Bahdanau et al. 2015; Luong et al. 2015, section 3.1)."""

    def forward(self, query_BTQ: Tensor, position_BT: Tensor, real_BS: Tensor) -> Tensor:
        """Nothing is added but to the padding."""
        return _outside(~real_BS.unsqueeze(1), query_BTQ)


class MonotonicWindow(Focus):
    """Local attention that moves on by one position with each word, "local-m" (Luong et al. 2015, section 3.2).

        p_t = t        only the positions p_t - window … p_t + window are read

    Differs from the paper: where the target is longer than the source, p_t stays at the last position.
    """

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def forward(self, query_BTQ: Tensor, position_BT: Tensor, real_BS: Tensor) -> Tensor:
        """Nothing is added inside of the window."""
        last_B1 = real_BS.sum(1, keepdim=True) - 1
        distance_BTS = _distance(torch.minimum(position_BT, last_B1), real_BS)
        return _outside((distance_BTS > self.window) | ~real_BS.unsqueeze(1), query_BTQ)


class PredictiveWindow(Focus):
    """Local attention that says itself where to look, "local-p" (Luong et al. 2015, section 3.2).

        p_t = S · σ(v_pᵀ tanh(W_p s_t))        weight · exp(-(s - p_t)² / 2σ²), σ = window / 2

    Differs from the paper: the Gaussian acts inside of the softmax, so that the weights sum to one again.
    """

    def __init__(self, *, query: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.hidden = Linear(query, query, bias=False)
        self.vector = Linear(query, 1, bias=False)

    def centre(self, query_BTQ: Tensor, real_BS: Tensor) -> Tensor:
        """`p_BT`: a place in the source for each query."""
        share_BT: Tensor = self.vector(self.hidden(query_BTQ).tanh()).squeeze(-1).float().sigmoid()
        return share_BT * real_BS.sum(1, keepdim=True)

    def forward(self, query_BTQ: Tensor, position_BT: Tensor, real_BS: Tensor) -> Tensor:
        """The logarithm of the Gaussian inside of the window."""
        distance_BTS = _distance(self.centre(query_BTQ, real_BS), real_BS)
        gaussian_BTS = -distance_BTS.square() / (2 * (self.window / 2) ** 2)
        return gaussian_BTS.masked_fill((distance_BTS > self.window) | ~real_BS.unsqueeze(1), -math.inf)


class Alignment(nn.Module):
    """Softmax attention over a source with any score (Bahdanau et al. 2015, section 3.1; Luong et al. 2015, 3.1).

        weight_ts = softmax_s(score(k_s, q_t) + focus_ts)        c_t = Σ_s weight_ts v_s

    `form` says what queries, keys and values are, `focus` where may be looked at all.
    """

    def __init__(self, score: AlignmentScore, form: Whole | QueryKeyValue, focus: Focus) -> None:
        super().__init__()
        self.score, self.form, self.focus = score, form, focus
        self.weights = Tap(ALIGNING)

    def remember(self, memory_BSD: Tensor, real_BS: Tensor | None) -> Remembered:
        """All that does not depend on what is written; without `real_BS` all of the memory is real."""
        real_BS = torch.ones_like(memory_BSD[..., 0], dtype=torch.bool) if real_BS is None else real_BS
        key_BHSK, value_BHSK = self.form.keys_values(memory_BSD)
        return Remembered(self.score.prepare(key_BHSK), value_BHSK, real_BS)

    def attend(self, query_BTQ: Tensor, source: Remembered, position_BT: Tensor) -> tuple[Tensor, Tensor]:
        """`context_BTC` and `weight_BHTS`, unheard: who goes step by step lets the tap hear all steps together.

        `position_BT` numbers the words being written from 0.
        """
        score_BHTS = self.score.score(self.form.queries(query_BTQ), source.scored)
        added_BTS = self.focus(query_BTQ, position_BT, source.real_BS)
        weight_BHTS = (score_BHTS + added_BTS.unsqueeze(1)).softmax(dim=-1)
        context_BHTK = weight_BHTS.to(source.values_BHSK.dtype) @ source.values_BHSK
        return context_BHTK.transpose(1, 2).flatten(2), weight_BHTS

    def forward(self, query_BTQ: Tensor, source: Remembered, position_BT: Tensor) -> tuple[Tensor, Tensor]:
        """`context_BTC` and `weight_BHTS` of all words at once."""
        context_BTC, weight_BHTS = self.attend(query_BTQ, source, position_BT)
        return context_BTC, self.weights(weight_BHTS)


def _distance(centre_BT: Tensor, real_BS: Tensor) -> Tensor:
    """`distance_BTS` of each position from each centre."""
    place_S = torch.arange(real_BS.shape[1], device=real_BS.device)
    return (place_S - centre_BT.unsqueeze(-1)).abs()


def _outside(closed_BTS: Tensor, like: Tensor) -> Tensor:
    """-inf where a position is closed, 0 elsewhere."""
    return like.new_zeros(closed_BTS.shape).masked_fill_(closed_BTS, -math.inf)
