"""The blocks a Transformer is stacked from.

B batch · T time · S source · C cached and new target positions · D width · F feed-forward
"""

from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.layers.attention import Allowed, Attention, KeysValues
from seqwright.layers.dropout import Dropout
from seqwright.layers.gelu import tanh_gelu
from seqwright.layers.linear import Linear
from seqwright.layers.taps import Tap, View

READING = View("encoder self-attention", rows="source", columns="source")
ITSELF = View("self-attention", rows="tokens", columns="tokens")
WRITING = View("decoder self-attention", rows="target", columns="input")
ALIGNING = View("cross-attention", rows="target", columns="source")
SEEING = View("self-attention", rows="patches", columns="patches")


class FeedForward(nn.Module):
    """max(0, x W₁ + b₁) W₂ + b₂, the same at every position (Vaswani et al. 2017, section 3.3).

    It is told which positions are real, as other layers in its place need to know (`Experts`), and computes all.
    """

    def __init__(self, *, width: int, inner: int) -> None:
        super().__init__()
        self.widen = Linear(width, inner)
        self.narrow = Linear(inner, width)

    def forward(self, x_BTD: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """The transformed positions."""
        x: Tensor = self.narrow(self.widen(x_BTD).relu())
        return x


class PostNorm(nn.Module):
    """How a sublayer joins the stream, `after(x, sublayer(before(x)))`, in the paper's way.

    x ← LayerNorm(x + Dropout(sublayer(x)))        (Vaswani et al. 2017, sections 3.1 and 5.4)
    """

    def __init__(self, *, width: int, dropout: float, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.dropout = Dropout(dropout)

    def before(self, x_BTD: Tensor) -> Tensor:
        """`x` itself."""
        return x_BTD

    def after(self, x_BTD: Tensor, change_BTD: Tensor) -> Tensor:
        """The normalised sum."""
        x: Tensor = self.norm(x_BTD + self.dropout(change_BTD))
        return x


class PreNorm(nn.Module):
    """x ← x + Dropout(sublayer(LayerNorm(x))) (Xiong et al. 2020, figure 1b): deep stacks train without warm-up.

    The stream itself is never normalised, so a stack of these ends in a LayerNorm of its own.
    """

    def __init__(self, *, width: int, dropout: float, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.dropout = Dropout(dropout)

    def before(self, x_BTD: Tensor) -> Tensor:
        """The normalised stream."""
        x: Tensor = self.norm(x_BTD)
        return x

    def after(self, x_BTD: Tensor, change_BTD: Tensor) -> Tensor:
        """The plain sum."""
        x: Tensor = x_BTD + self.dropout(change_BTD)
        return x


class LayerScale(nn.Module):
    """s ∘ x: each unit of what a sublayer says has a learnt scale, small at first (Touvron et al. 2021, section 2)."""

    def __init__(self, start: float, *, width: int) -> None:
        super().__init__()
        self.scale_D = nn.Parameter(torch.full((width,), start))

    def forward(self, x_BTD: Tensor) -> Tensor:
        """The scaled vectors."""
        return x_BTD * self.scale_D


class PreNormThrough(nn.Module):
    """x ← x + f(sublayer(LayerNorm(x))): a pre-norm in which f is built: dropout, a learnt scale, stochastic depth."""

    def __init__(self, change: nn.Module, *, width: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.change = change

    def before(self, x_BTD: Tensor) -> Tensor:
        """The normalised stream."""
        x: Tensor = self.norm(x_BTD)
        return x

    def after(self, x_BTD: Tensor, change_BTD: Tensor) -> Tensor:
        """The plain sum."""
        x: Tensor = x_BTD + self.change(change_BTD)
        return x


Residual = PostNorm | PreNorm | PreNormThrough


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward, both built (Vaswani et al. 2017, figure 1, left)."""

    def __init__(
        self, attention: Attention, feed_forward: nn.Module, residual: Callable[[], PostNorm | PreNorm]
    ) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.around_attention, self.around_feed_forward = residual(), residual()

    def forward(self, x_BSD: Tensor, allowed_B1S: Tensor, position_S: Tensor | None = None) -> Tensor:
        """`allowed_B1S` is True at the real positions of the sentence."""
        y_BSD = self.around_attention.before(x_BSD)
        change_BSD, _ = self.attention.continued(y_BSD, None, allowed_B1S, position_S, position_S)
        x_BSD = self.around_attention.after(x_BSD, change_BSD)
        y_BSD = self.around_feed_forward.before(x_BSD)
        return self.around_feed_forward.after(x_BSD, self.feed_forward(y_BSD, allowed_B1S.squeeze(1)))


class DecoderBlock(nn.Module):
    """Attention to the past, attention to the source, then a feed-forward (Vaswani et al. 2017, figure 1, right)."""

    def __init__(
        self,
        attention: Attention,
        source_attention: Attention,
        feed_forward: nn.Module,
        residual: Callable[[], PostNorm | PreNorm],
    ) -> None:
        super().__init__()
        self.attention, self.source_attention, self.feed_forward = attention, source_attention, feed_forward
        self.around_attention, self.around_source_attention = residual(), residual()
        self.around_feed_forward = residual()

    def forward(
        self,
        x_BTD: Tensor,
        past: KeysValues | None,
        source: KeysValues,
        allowed_BTC: Tensor,
        allowed_B1S: Tensor,
        position_BC: Tensor | None = None,
    ) -> tuple[Tensor, KeysValues]:
        """The positions' new vectors, and the past that the next positions will read.

        `allowed_BTC` is True where target position t may read position c of the past and of the new positions, whose
        places in the sentence are `position_BC`, -1 at padding. Without it all new positions are real.
        """
        position_BT = None if position_BC is None else position_BC[:, position_BC.shape[1] - x_BTD.shape[1] :]
        real_BT = None if position_BT is None else position_BT >= 0
        y_BTD = self.around_attention.before(x_BTD)
        change_BTD, past = self.attention.continued(y_BTD, past, allowed_BTC, position_BT, position_BC)
        x_BTD = self.around_attention.after(x_BTD, change_BTD)
        y_BTD = self.around_source_attention.before(x_BTD)
        x_BTD = self.around_source_attention.after(x_BTD, self.source_attention.recall(y_BTD, source, allowed_B1S))
        y_BTD = self.around_feed_forward.before(x_BTD)
        return self.around_feed_forward.after(x_BTD, self.feed_forward(y_BTD, real_BT)), past


class GELUFeedForward(nn.Module):
    """GELU(x W₁ + b₁) W₂ + b₂ (Hendrycks & Gimpel 2016); GPT-2 has the approximation by a hyperbolic tangent."""

    def __init__(self, *, width: int, inner: int, approximate: Literal["none", "tanh"] = "none") -> None:
        super().__init__()
        self.approximate = approximate
        self.widen = Linear(width, inner)
        self.narrow = Linear(inner, width)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """The transformed positions."""
        x_BTF: Tensor = self.widen(x_BTD)
        x: Tensor = self.narrow(tanh_gelu(x_BTF) if self.approximate == "tanh" else F.gelu(x_BTF))
        return x


class Block(nn.Module):
    """Self-attention, then a feed-forward, both built; how they join the stream, `residual` says.

    GPT-2 normalises first (Radford et al. 2019, section 2.3), BERT afterwards (Devlin et al. 2019, section 3).
    """

    attention: Attention
    feed_forward: nn.Module
    around_attention: Residual
    around_feed_forward: Residual

    def __init__(self, attention: Attention, feed_forward: nn.Module, residual: Callable[[], Residual]) -> None:
        super().__init__()
        self._add("attention", attention, residual())
        self._add("feed_forward", feed_forward, residual())
        self.stream = Tap()

    def _add(self, name: str, sublayer: nn.Module, around: Residual) -> None:
        """Parameters stand in the order of computation: the norm of a pre-norm before those of its sublayer."""
        parts = {f"around_{name}": around, name: sublayer}
        for part in reversed(parts) if isinstance(around, PostNorm) else parts:
            self.add_module(part, parts[part])

    def forward(
        self,
        x_BTD: Tensor,
        allowed: Allowed,
        past: KeysValues | None = None,
        position_BC: Tensor | None = None,
    ) -> tuple[Tensor, KeysValues]:
        """The positions' new vectors, and the past that later positions will read: `past`, and these.

        `position_BC` are the places of the past and of these in their sentence.
        """
        position_BT = None if position_BC is None else position_BC[:, position_BC.shape[1] - x_BTD.shape[1] :]
        y_BTD = self.around_attention.before(x_BTD)
        change_BTD, past = self.attention.continued(y_BTD, past, allowed, position_BT, position_BC)
        x_BTD = self.around_attention.after(x_BTD, change_BTD)
        change_BTD = self.feed_forward(self.around_feed_forward.before(x_BTD))
        return self.stream(self.around_feed_forward.after(x_BTD, change_BTD)), past
