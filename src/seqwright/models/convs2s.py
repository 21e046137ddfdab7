"""ConvS2S (Gehring et al. 2017, "Convolutional Sequence to Sequence Learning").

B batch · S source · T target · V vocabulary · E embedding · D width · P inputs that a window holds
"""

import math
from typing import Any, Literal, NamedTuple, Unpack

import torch
import torch.nn.functional as F
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.utils.parametrizations import weight_norm

from seqwright.layers.blocks import ALIGNING
from seqwright.layers.convolution import CausalConvolution, Convolution
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import PositionedEmbedding, token_logits
from seqwright.layers.linear import Linear
from seqwright.layers.positions import LearntPositions
from seqwright.layers.taps import Tap
from seqwright.models.encoder_decoder import Decoder, Encoder, EncoderDecoder, Vocabularies, both_vocabularies
from seqwright.setting_classes import ModelSettings

HALF = math.sqrt(0.5)  # a sum of two of the same variance has it again (section 3.4)


class ConvS2SSettings(ModelSettings):
    """Gated convolutions that read the source and write the target, with attention in every layer that writes.

    The paper's network for English and German has width 512 and more, 15 layers on each side and kernels of 3.
    """

    kind: Literal["convs2s"] = "convs2s"
    width: PositiveInt = 256
    """Channels of the convolutions."""
    embedding: PositiveInt = 256
    """Width of the tokens' vectors, and of what attention compares."""
    encoder_layers: PositiveInt = 4
    """Convolutions that read the source."""
    decoder_layers: PositiveInt = 4
    """Convolutions that write the target."""
    kernel: PositiveInt = 3
    """Positions that a convolution reads at once."""
    context: PositiveInt = 256
    """Positions that have a vector of their own; those further on share the last."""
    dropout: float = Field(default=0.2, ge=0, lt=1)
    """Share that is dropped, in training, of the embeddings, of what enters each convolution and of the last layer."""


class ConvS2SMemory(NamedTuple):
    """The source as attention compares it, and as it reads it."""

    keys_BSE: Tensor
    values_BSE: Tensor


class ConvS2SState(NamedTuple):
    """The source, and of the target the windows of all layers and how much was read."""

    source: ConvS2SMemory
    source_real_BS: Tensor
    windows: tuple[Tensor, ...]
    read_B: Tensor


class ScaledGradient(Function):
    """The identity, through which gradients go back `scale` times as large."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        """`x` itself."""
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """The gradient, scaled."""
        return gradient * ctx.scale, None


def scaled_gradient(x: Tensor, scale: float) -> Tensor:
    """`x`, through which gradients go back `scale` times as large."""
    scaled: Tensor = ScaledGradient.apply(x, scale)  # type: ignore[no-untyped-call]
    return scaled


class MultiStepAttention(nn.Module):
    """Every layer of the decoder looks at the source on its own, after those below it have (section 3.3).

        d = W_d h + b_d + g        a = softmax(d · z)        c = √m Σ_j a_j (z_j + e_j)        h ← h + W_c c + b_c

    g is the vector of the target's last token, z and e are what the encoder makes of the m source tokens and their
    vectors. All sums of two are multiplied by √½ (section 3.4), the query among them.
    """

    def __init__(self, *, width: int, embedding: int) -> None:
        super().__init__()
        self.query = normed(Linear(width, embedding))
        self.output = normed(Linear(embedding, width))
        self.weights = Tap(ALIGNING)

    def forward(self, h_BTD: Tensor, g_BTE: Tensor, state: ConvS2SState) -> Tensor:
        """The layer's vectors with what they read of the source."""
        d_BTE = (self.query(h_BTD) + g_BTE) * HALF
        score_BTS = d_BTE @ state.source.keys_BSE.to(d_BTE.dtype).mT
        weight_BTS = score_BTS.float().masked_fill(~state.source_real_BS.unsqueeze(1), -math.inf).softmax(dim=-1)
        root_B11 = state.source_real_BS.sum(1).view(-1, 1, 1).sqrt().to(d_BTE.dtype)
        c_BTE = self.weights(weight_BTS).to(d_BTE.dtype) @ state.source.values_BSE.to(d_BTE.dtype) * root_B11
        read_BTD: Tensor = (h_BTD + self.output(c_BTE)) * HALF
        return read_BTD


class GatedBlock(nn.Module):
    """x ← (x + GLU(convolution(x))) · √½ (sections 3.2 and 3.4; the gate σ(b) of GLU([a; b]) = a ⊗ σ(b) is learnt)."""

    def __init__(self, *, width: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.convolution = Convolution(inputs=width, outputs=2 * width, kernel=kernel)
        self.convolution.filters = normed(self.convolution.filters, keep=1 - dropout, gated=True)

    def forward(self, x_BSD: Tensor, real_BS: Tensor) -> Tensor:
        """The positions' new vectors."""
        return (x_BSD + F.glu(self.convolution(self.dropout(x_BSD), real_BS), dim=-1)) * HALF


class GatedAttendingBlock(nn.Module):
    """As in the encoder, but the convolution sees only what is before, and attention reads the source."""

    def __init__(self, *, width: int, embedding: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.convolution = CausalConvolution(inputs=width, outputs=2 * width, kernel=kernel)
        self.convolution.filters = normed(self.convolution.filters, keep=1 - dropout, gated=True)
        self.attention = MultiStepAttention(width=width, embedding=embedding)

    def forward(
        self, x_BTD: Tensor, g_BTE: Tensor, window_BPD: Tensor, length_B: Tensor | None, state: ConvS2SState
    ) -> tuple[Tensor, Tensor]:
        """The positions' new vectors, and the window that the next positions will read."""
        convolved_BTD, window_BPD = self.convolution(self.dropout(x_BTD), window_BPD, length_B)
        h_BTD = self.attention(F.glu(convolved_BTD, dim=-1), g_BTE, state)
        return (x_BTD + h_BTD) * HALF, window_BPD


def convs2s(settings: ConvS2SSettings, **sizes: Unpack[Vocabularies]) -> EncoderDecoder:
    """Stacks of gated convolutions over source and target, joined by attention in every layer (figure 1).

    Weights are normalised to a direction and a length (Salimans & Kingma 2016), begin so that variances stay
    (section 3.5), and what goes back from the attention of L layers into the encoder is divided by L, but not into
    the source's vectors (section 3.4).

    Differs from the paper: all layers of a side have one width, positions after the last that has a vector share it,
    and the matrix of the target's vectors is also the output's (and the source's, where they share a vocabulary).
    """
    source, target = both_vocabularies(lambda vocabulary: word_vectors(vocabulary, settings.embedding), **sizes)
    embeddings = [positioned(tokens, settings) for tokens in (source, target)]
    return EncoderDecoder(ConvS2SEncoder(settings, embeddings[0]), ConvS2SDecoder(settings, embeddings[1]))


class ConvS2SEncoder(Encoder):
    """z and (z + e) · √½ of each source token."""

    def __init__(self, settings: ConvS2SSettings, embedding: PositionedEmbedding) -> None:
        super().__init__(embedding)
        width, dropout, self.readers = settings.width, settings.dropout, settings.decoder_layers
        self.widen = normed(Linear(settings.embedding, width), keep=1 - dropout)
        self.blocks = nn.ModuleList(
            GatedBlock(width=width, kernel=settings.kernel, dropout=dropout) for _ in range(settings.encoder_layers)
        )
        self.narrow = normed(Linear(width, settings.embedding))

    def forward(self, source_BS: Tensor, real_BS: Tensor) -> ConvS2SMemory:
        """Gradients are divided by the layers that look at it, but not those into e."""
        e_BSE = self.embedding(source_BS, torch.arange(source_BS.shape[1], device=source_BS.device).unsqueeze(0))
        x_BSD = self.widen(scaled_gradient(e_BSE, self.readers))
        for block in self.blocks:
            x_BSD = block(x_BSD, real_BS)
        z_BSE = scaled_gradient(self.contextual(self.narrow(x_BSD)).float(), 1 / self.readers)
        return ConvS2SMemory(z_BSE, (z_BSE + e_BSE) * HALF)


class ConvS2SDecoder(Decoder):
    """Every layer of which looks at the source."""

    def __init__(self, settings: ConvS2SSettings, embedding: PositionedEmbedding) -> None:
        super().__init__(embedding)
        width, dropout = settings.width, settings.dropout
        self.widen = normed(Linear(settings.embedding, width), keep=1 - dropout)
        self.blocks = nn.ModuleList(
            GatedAttendingBlock(width=width, embedding=settings.embedding, kernel=settings.kernel, dropout=dropout)
            for _ in range(settings.decoder_layers)
        )
        self.narrow = normed(Linear(width, settings.embedding))
        self.dropout = Dropout(dropout)

    def start(self, memory: ConvS2SMemory, real_BS: Tensor | None) -> ConvS2SState:
        """The source read, nothing written yet."""
        keys_BSE = memory.keys_BSE
        real_BS = torch.ones_like(keys_BSE[..., 0], dtype=torch.bool) if real_BS is None else real_BS
        blocks = [block for block in self.blocks if isinstance(block, GatedAttendingBlock)]
        windows = tuple(block.convolution.start(len(keys_BSE)) for block in blocks)
        return ConvS2SState(memory, real_BS, windows, torch.zeros_like(real_BS[:, 0], dtype=torch.int64))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: ConvS2SState) -> tuple[Tensor, ConvS2SState]:
        """See `Decoder.read`."""
        length_B = real_BT.sum(1)
        moved_B = None if bool(real_BT.all()) else length_B
        position_BT = state.read_B.unsqueeze(1) + torch.arange(tokens_BT.shape[1], device=tokens_BT.device)
        g_BTE = self.embedding(tokens_BT, position_BT)
        x_BTD = self.widen(g_BTE)
        windows = []
        for block, window_BPD in zip(self.blocks, state.windows, strict=True):
            x_BTD, after_BPD = block(x_BTD, g_BTE, window_BPD, moved_B, state)
            windows.append(after_BPD)
        h_BTE = self.dropout(self.contextual(self.narrow(self.dropout(x_BTD))))
        logits_BTV = token_logits(h_BTE, self.embedding.weight)
        return logits_BTV, state._replace(windows=tuple(windows), read_B=state.read_B + length_B)


def positioned(tokens: nn.Embedding, settings: ConvS2SSettings) -> PositionedEmbedding:
    """e_t = w_t + p_t: a vector for the token and one for its position (section 3.1)."""
    positions = LearntPositions(settings.context, width=settings.embedding)
    nn.init.normal_(positions.weight, std=0.1)
    return PositionedEmbedding(tokens, positions, dropout=settings.dropout)


def word_vectors(vocabulary: int, width: int) -> nn.Embedding:
    """One vector for each token, of deviation 0.1 (section 3.5)."""
    vectors = nn.Embedding(vocabulary, width)
    nn.init.normal_(vectors.weight, std=0.1)
    return vectors


def normed(linear: Linear, *, keep: float = 1.0, gated: bool = False) -> Linear:
    """A linear map whose weights are a direction and a length, and begin with deviation √(p/n), or √(4p/n) before a
    gate, where p of the n inputs are kept in training (section 3.5 and appendix A).
    """
    nn.init.normal_(linear.weight, std=math.sqrt((4 if gated else 1) * keep / linear.in_features))
    nn.init.zeros_(linear.bias)
    reparametrised: Linear = weight_norm(linear)
    return reparametrised
