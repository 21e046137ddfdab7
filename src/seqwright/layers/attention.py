"""Attention: reading from a memory by the likeness of queries and keys.

B batch · T query positions · S memory positions · D width · H heads · K head width
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.layers.linear import Linear
from seqwright.layers.positions import NoPositions
from seqwright.layers.taps import Tap, View


class KeysValues(NamedTuple):
    """What attention needs of a memory, computed once and read as often as one likes."""

    keys_BHSK: Tensor
    values_BHSK: Tensor

    def extended(self, later: "KeysValues") -> "KeysValues":
        """This memory followed by a later one."""
        return KeysValues(
            torch.cat((self.keys_BHSK, later.keys_BHSK), dim=2),
            torch.cat((self.values_BHSK, later.values_BHSK), dim=2),
        )


class Causal:
    """Who may read what where each position reads itself and those before it; the fused kernel skips the others."""


Allowed = Tensor | Causal | None
"""`allowed_BTS`, True where query t may read position s; or `Causal`; or None, where each reads all."""


class Attention(nn.Module):
    """Multi-head scaled dot-product attention (Vaswani et al. 2017, section 3.2).

        head_h = softmax(Q_h K_h^T / sqrt(K)) V_h        MultiHead = Concat(head_1 … head_H) W^O

    Self-attention is `attention(x, x)`; cross-attention is `attention(x, memory)`. Decoding computes the
    memory's keys and values once with `remember` and then only calls `recall`; `continued` does both for what reads
    itself and what was before it. `view` says who reads whom. GPT and
    BERT add a bias to every projection, and drop a share of the weights in training. What it is told of places, the
    module `positions` decides.
    """

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        view: View | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        positions: NoPositions | None = None,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width {width} does not divide into {heads} heads")
        self.heads = heads
        self.dropout = dropout
        self.positions = positions or NoPositions()
        self.query = Linear(width, width, bias=bias)
        self.key_value = Linear(width, 2 * width, bias=bias)
        self.output = Linear(width, width, bias=bias)
        self.weights = Tap(view)

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor, allowed: Allowed = None) -> Tensor:
        """What each of `x_BTD` reads of what it may."""
        return self.recall(x_BTD, self.remember(memory_BSD), allowed)

    def continued(
        self,
        x_BTD: Tensor,
        past: KeysValues | None,
        allowed: Allowed = None,
        position_BT: Tensor | None = None,
        position_BC: Tensor | None = None,
    ) -> tuple[Tensor, KeysValues]:
        """What each of `x_BTD` reads of the past and of `x_BTD` itself, and what later ones will read: both of these.

        `position_BC` are the places of the past and of these, `position_BT` of these alone.
        """
        now = self.remember(x_BTD, position_BT)
        past = now if past is None else past.extended(now)
        return self.recall(x_BTD, past, allowed, position_BT, position_BC), past

    def remember(self, memory_BSD: Tensor, position_BS: Tensor | None = None) -> KeysValues:
        """The keys and values of a memory."""
        keys_BSD, values_BSD = self.key_value(memory_BSD).chunk(2, dim=-1)
        keys_BHSK, values_BHSK = split_heads(keys_BSD, self.heads), split_heads(values_BSD, self.heads)
        return KeysValues(self.positions.turned(keys_BHSK, position_BS), values_BHSK)

    def recall(
        self,
        x_BTD: Tensor,
        memory: KeysValues,
        allowed: Allowed = None,
        position_BT: Tensor | None = None,
        position_BS: Tensor | None = None,
    ) -> Tensor:
        """What the queries of `x_BTD` read from a remembered memory; one that is `Causal` is made of `x_BTD` itself."""
        q_BHTK = self.positions.turned(split_heads(self.query(x_BTD), self.heads), position_BT)
        bias_BHTS = self.positions.bias(position_BT, position_BS)
        causal, time = isinstance(allowed, Causal), x_BTD.shape[1]
        if isinstance(allowed, Causal):
            told = self.weights.listening or bias_BHTS is not None
            allowed, causal = not_later(time, time, x_BTD.device).unsqueeze(0) if told else None, not told
        allowed_B1TS = None if allowed is None else allowed.unsqueeze(1)
        if not self.weights.listening:  # fused kernel: same result, but the weights never exist
            dropped = self.dropout if self.training else 0.0
            if bias_BHTS is not None and allowed_B1TS is not None:
                bias_BHTS = bias_BHTS.masked_fill(~allowed_B1TS, -math.inf)
            told_BHTS = allowed_B1TS if bias_BHTS is None else bias_BHTS
            read_BHTK = fused_attention(q_BHTK, *memory, told_BHTS, dropped=dropped, causal=causal)
        else:
            score_BHTS = q_BHTK @ memory.keys_BHSK.transpose(-2, -1) / math.sqrt(q_BHTK.shape[-1])
            if bias_BHTS is not None:
                score_BHTS = score_BHTS + bias_BHTS
            if allowed_B1TS is None:
                weight_BHTS = score_BHTS.softmax(dim=-1)
            else:  # who may read nothing reads nothing, as the fused kernel has it
                weight_BHTS = score_BHTS.masked_fill(~allowed_B1TS, -math.inf).softmax(dim=-1)
                weight_BHTS = weight_BHTS.masked_fill(~allowed_B1TS, 0.0)
            weight_BHTS = F.dropout(self.weights(weight_BHTS), self.dropout, self.training)
            read_BHTK = weight_BHTS @ memory.values_BHSK
        read_BTD: Tensor = self.output(read_BHTK.transpose(1, 2).flatten(2))
        return read_BTD


def split_heads(x_BTD: Tensor, heads: int) -> Tensor:
    """`x_BHTK`: the share of each head in the width."""
    batch, time, width = x_BTD.shape
    return x_BTD.view(batch, time, heads, width // heads).transpose(1, 2)


def not_later(new: int, every: int, device: torch.device) -> Tensor:
    """`order_TC`: True where the last `new` of `every` position may read a position, itself or an earlier one."""
    return torch.ones(new, every, dtype=torch.bool, device=device).tril_(every - new)


def who_may_read(position_BC: Tensor, new: int) -> Tensor:
    """`allowed_BTC`: who of the last `new` may read which of all positions; padding is at -1, and nobody reads it."""
    allowed_B1C = (position_BC >= 0).unsqueeze(1)
    return allowed_B1C if new == 1 else allowed_B1C & not_later(new, position_BC.shape[1], position_BC.device)


def fused_attention(
    q_BHTK: Tensor,
    k_BHSK: Tensor,
    v_BHSK: Tensor,
    allowed_B1TS: Tensor | None,
    *,
    dropped: float,
    causal: bool,
) -> Tensor:
    """Torch's fused kernel. On a CPU its bfloat16 backward pass is eight times slower than float32's, so we widen."""
    if q_BHTK.device.type == "cpu" and q_BHTK.dtype is torch.bfloat16:
        with torch.autocast("cpu", enabled=False):
            q_BHTK, k_BHSK, v_BHSK = q_BHTK.float(), k_BHSK.float(), v_BHSK.float()
            return F.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSK, allowed_B1TS, dropped, causal).bfloat16()
    return F.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSK, allowed_B1TS, dropped, causal)
