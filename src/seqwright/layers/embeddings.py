"""Tokens as vectors.

B batch · T time · V vocabulary · D width
"""

import math
from typing import NamedTuple, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.layers.dropout import Dropout
from seqwright.layers.linear import Linear, linear_map
from seqwright.layers.taps import Tap

FEW = 64  # vectors


class TokenVectors(NamedTuple):
    """The vectors a model has for the tokens of one vocabulary."""

    embedding_VD: Tensor
    """One for each token, whatever stands around it."""
    contextual: Tap
    """Hears one for each token that is read, where it stands: what the last layer made of it."""


class LogitFactors(NamedTuple):
    """What logits are the product of, `h_BTD @ weight_VD.T`, before they are computed."""

    h_BTD: Tensor
    weight_VD: Tensor

    @property
    def size(self) -> int:
        """How many logits there are."""
        return self.h_BTD.shape[:-1].numel() * len(self.weight_VD)

    def logits(self) -> Tensor:
        """`logits_BTV`."""
        return token_logits(self.h_BTD, self.weight_VD)


@runtime_checkable
class HasTokenVectors(Protocol):
    """A model that has vectors for the tokens it reads."""

    def token_vectors(self) -> dict[str, TokenVectors]:
        """By what the tokens are: `tokens`, or `source` and `target`."""


@runtime_checkable
class HasSentenceVectors(Protocol):
    """A body that reads a whole sentence into one vector."""

    def sentence_vectors(self, source_BS: Tensor, real_BS: Tensor) -> Tensor:
        """`vector_BD` of each source."""


@runtime_checkable
class HasLens(Protocol):
    """A model over tokens whose every block can be asked what it would say if it were the last."""

    def lens(self, stream_BTD: Tensor) -> Tensor:
        """`logits_BTV` from what a block has made of each token, as its tap `stream` hears it."""


def body_of(model: nn.Module) -> nn.Module:
    """What reads, of a model that has a body and something over it; of any other, the model itself."""
    return dict(model.named_children()).get("body", model)


class TokenEmbedding(nn.Module):
    """One vector per token, scaled by √D, and the same matrix as output projection (Vaswani et al. 2017, section 3.4).

    Weights are drawn with deviation 1/√D: scaled they have unit size like the positions, and as output
    projection they give logits of unit size.
    """

    def __init__(self, *, vocabulary: int, width: int) -> None:
        super().__init__()
        self.scale = math.sqrt(width)
        self.weight = nn.Parameter(nn.init.normal_(torch.empty(vocabulary, width), std=width**-0.5))

    def forward(self, token_BT: Tensor) -> Tensor:
        """The scaled vector of each token."""
        return F.embedding(token_BT, self.weight).mul_(self.scale)

    def logits(self, x_BTD: Tensor) -> Tensor:
        """How well each token of the vocabulary fits each vector."""
        return token_logits(x_BTD, self.weight)


class TokenTable(nn.Embedding):
    """One vector per token, and the same matrix as output projection (Radford et al. 2018)."""

    def logits(self, x_BTD: Tensor) -> Tensor:
        """How well each token of the vocabulary fits each vector."""
        return token_logits(x_BTD, self.weight)


class TiedEmbedding(nn.Module):
    """Tokens as vectors, and the output at each step as logits: with `tied` through the same matrix.

    (Press & Wolf 2017; Inan et al. 2017.) Where the output has another `width` than the vectors, there is a
    projection before it. Both ways a share is dropped.
    """

    def __init__(self, tokens: TokenEmbedding, *, width: int, dropout: nn.Module, tied: bool = True) -> None:
        super().__init__()
        vocabulary, embedding = tokens.weight.shape
        self.tokens, self.dropout = tokens, dropout
        self.narrow = Linear(width, embedding) if tied and width != embedding else nn.Identity()
        self.output = None if tied else Linear(width, vocabulary)

    @property
    def weight(self) -> Tensor:
        """The vectors of the tokens."""
        return self.tokens.weight

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """What the first layer reads of tokens."""
        x_BTE: Tensor = self.dropout(self.tokens(tokens_BT))
        return x_BTE

    def logits(self, h_BTD: Tensor) -> Tensor:
        """How well each token fits after the output `h_BTD` of each step."""
        h_BTD = self.dropout(h_BTD)
        if self.output is None:
            return self.tokens.logits(self.narrow(h_BTD))
        logits_BTV: Tensor = self.output(h_BTD)
        return logits_BTV


def first_layer(width: int, *, vocabulary: int | None = None, channels: int | None = None) -> nn.Module:
    """What a body reads with: a vector for each token, or a linear map of the values of a step."""
    if vocabulary is not None:
        return TokenEmbedding(vocabulary=vocabulary, width=width)
    assert channels is not None, "a body reads tokens or values"
    return Linear(channels, width)


def token_logits(x_BTD: Tensor, weight_VD: Tensor) -> Tensor:
    """How well each token, of which there is a vector, fits each vector of a text."""
    if not torch.is_grad_enabled() and x_BTD.shape[:-1].numel() <= FEW:
        # Decoding: for few vectors the same product is faster with the tall matrix on the left.
        return (weight_VD @ x_BTD.flatten(0, -2).T).T.view(*x_BTD.shape[:-1], -1)
    return linear_map(x_BTD, weight_VD)


def token_log_probability(logits_BTV: Tensor, target_BT: Tensor, real_BT: Tensor) -> Tensor:
    """`logp_BT` of every target token, 0 at padding."""
    loss = F.cross_entropy(logits_BTV.flatten(0, 1).float(), target_BT.flatten(), reduction="none")
    return -loss.view_as(target_BT).masked_fill(~real_BT, 0.0)


class PositionedEmbedding(nn.Module):
    """Dropout(vector of the token + vector of its position) (Vaswani et al. 2017, sections 3.4, 3.5 and 5.4).

    Takes built parts, so that source, target and output can share the vectors of tokens.
    """

    def __init__(self, tokens: nn.Module, positions: nn.Module, *, dropout: float) -> None:
        super().__init__()
        self.tokens, self.positions = tokens, positions
        self.dropout = Dropout(dropout)

    @property
    def weight(self) -> Tensor:
        """The vectors of the tokens."""
        weight_VD: Tensor = self.tokens.weight  # type: ignore[assignment]
        return weight_VD

    def forward(self, token_BT: Tensor, position_BT: Tensor) -> Tensor:
        """The vectors that enter the first block."""
        x_BTD: Tensor = self.dropout(self.tokens(token_BT) + self.positions(position_BT))
        return x_BTD
