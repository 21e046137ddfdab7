"""The blocks a Transformer is stacked from.

B batch · T time · S source · C cached and new target positions · D width · F feed-forward
"""

from torch import Tensor, nn

from seqwright.layers.attention import Attention, KeysValues
from seqwright.layers.taps import View

READING = View("encoder self-attention", rows="source", columns="source")
WRITING = View("decoder self-attention", rows="wanted", columns="given")
ALIGNING = View("cross-attention", rows="wanted", columns="source")


class FeedForward(nn.Module):
    """max(0, x W₁ + b₁) W₂ + b₂, the same at every position (Vaswani et al. 2017, section 3.3)."""

    def __init__(self, *, width: int, inner: int) -> None:
        super().__init__()
        self.widen = nn.Linear(width, inner)
        self.narrow = nn.Linear(inner, width)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """The transformed positions."""
        x: Tensor = self.narrow(self.widen(x_BTD).relu_())
        return x


class PostNorm(nn.Module):
    """How a sublayer joins the stream, `after(x, sublayer(before(x)))`, in the paper's way.

    x ← LayerNorm(x + Dropout(sublayer(x)))        (Vaswani et al. 2017, sections 3.1 and 5.4)
    """

    def __init__(self, *, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

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

    def __init__(self, *, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def before(self, x_BTD: Tensor) -> Tensor:
        """The normalised stream."""
        x: Tensor = self.norm(x_BTD)
        return x

    def after(self, x_BTD: Tensor, change_BTD: Tensor) -> Tensor:
        """The plain sum."""
        x: Tensor = x_BTD + self.dropout(change_BTD)
        return x


class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward (Vaswani et al. 2017, figure 1, left)."""

    def __init__(
        self, *, width: int, heads: int, inner: int, dropout: float, residual: type[PostNorm] | type[PreNorm]
    ) -> None:
        super().__init__()
        self.attention = Attention(width=width, heads=heads, view=READING)
        self.feed_forward = FeedForward(width=width, inner=inner)
        self.around_attention = residual(width=width, dropout=dropout)
        self.around_feed_forward = residual(width=width, dropout=dropout)

    def forward(self, x_BSD: Tensor, allowed_B1S: Tensor) -> Tensor:
        """`allowed_B1S` is True at the real positions of the sentence."""
        y_BSD = self.around_attention.before(x_BSD)
        x_BSD = self.around_attention.after(x_BSD, self.attention(y_BSD, y_BSD, allowed_B1S))
        y_BSD = self.around_feed_forward.before(x_BSD)
        return self.around_feed_forward.after(x_BSD, self.feed_forward(y_BSD))


class DecoderBlock(nn.Module):
    """Self-attention to the past, attention to the source, feed-forward (Vaswani et al. 2017, figure 1, right)."""

    def __init__(
        self, *, width: int, heads: int, inner: int, dropout: float, residual: type[PostNorm] | type[PreNorm]
    ) -> None:
        super().__init__()
        self.attention = Attention(width=width, heads=heads, view=WRITING)
        self.source_attention = Attention(width=width, heads=heads, view=ALIGNING)
        self.feed_forward = FeedForward(width=width, inner=inner)
        self.around_attention = residual(width=width, dropout=dropout)
        self.around_source_attention = residual(width=width, dropout=dropout)
        self.around_feed_forward = residual(width=width, dropout=dropout)

    def forward(
        self, x_BTD: Tensor, past: KeysValues | None, source: KeysValues, allowed_BTC: Tensor, allowed_B1S: Tensor
    ) -> tuple[Tensor, KeysValues]:
        """The positions' new vectors, and the past that the next positions will read.

        `allowed_BTC` is True where target position t may read position c of the past and of the new positions.
        """
        y_BTD = self.around_attention.before(x_BTD)
        now = self.attention.remember(y_BTD)
        past = now if past is None else past.extended(now)
        x_BTD = self.around_attention.after(x_BTD, self.attention.recall(y_BTD, past, allowed_BTC))
        y_BTD = self.around_source_attention.before(x_BTD)
        x_BTD = self.around_source_attention.after(x_BTD, self.source_attention.recall(y_BTD, source, allowed_B1S))
        y_BTD = self.around_feed_forward.before(x_BTD)
        return self.around_feed_forward.after(x_BTD, self.feed_forward(y_BTD)), past
