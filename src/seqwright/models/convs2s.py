"""ConvS2S (Gehring et al. 2017, "Convolutional Sequence to Sequence Learning").

B batch · S source · T target · V vocabulary · E embedding · D width · P inputs that a window holds
"""

import math
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.utils.parametrizations import weight_norm

from seqwright.batches.pairs import Pairs
from seqwright.layers.blocks import ALIGNING
from seqwright.layers.convolution import CausalConvolution, Convolution
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TokenVectors, token_logits
from seqwright.layers.taps import Tap
from seqwright.settings import ModelSettings

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


class ConvS2SState(NamedTuple):
    """The source as attention reads it, and of the target the windows of all layers and how much was read."""

    keys_BSE: Tensor
    values_BSE: Tensor
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


class PositionedWords(nn.Module):
    """e_t = w_t + p_t: a vector for the token and one for its position (section 3.1)."""

    def __init__(self, tokens: nn.Embedding, *, positions: int, dropout: float) -> None:
        super().__init__()
        self.tokens = tokens
        self.positions = nn.Embedding(positions, tokens.embedding_dim)
        nn.init.normal_(self.positions.weight, std=0.1)
        self.dropout = Dropout(dropout)

    def forward(self, token_BT: Tensor, position_BT: Tensor) -> Tensor:
        """The vectors that enter the network."""
        position_BT = position_BT.clamp_max(self.positions.num_embeddings - 1)
        e_BTE: Tensor = self.dropout(self.tokens(token_BT) + self.positions(position_BT))
        return e_BTE


class MultiStepAttention(nn.Module):
    """Every layer of the decoder looks at the source on its own, after those below it have (section 3.3).

        d = W_d h + b_d + g        a = softmax(d · z)        c = √m Σ_j a_j (z_j + e_j)        h ← h + W_c c + b_c

    g is the vector of the target's last token, z and e are what the encoder makes of the m source tokens and their
    vectors. All sums of two are multiplied by √½ (section 3.4), the query among them.
    """

    def __init__(self, *, width: int, embedding: int) -> None:
        super().__init__()
        self.query = normed(nn.Linear(width, embedding))
        self.output = normed(nn.Linear(embedding, width))
        self.weights = Tap(ALIGNING)

    def forward(self, h_BTD: Tensor, g_BTE: Tensor, state: ConvS2SState) -> Tensor:
        """The layer's vectors with what they read of the source."""
        d_BTE = (self.query(h_BTD) + g_BTE) * HALF
        score_BTS = d_BTE @ state.keys_BSE.to(d_BTE.dtype).mT
        weight_BTS = score_BTS.float().masked_fill(~state.source_real_BS.unsqueeze(1), -math.inf).softmax(dim=-1)
        root_B11 = state.source_real_BS.sum(1).view(-1, 1, 1).sqrt().to(d_BTE.dtype)
        c_BTE = self.weights(weight_BTS).to(d_BTE.dtype) @ state.values_BSE.to(d_BTE.dtype) * root_B11
        read_BTD: Tensor = (h_BTD + self.output(c_BTE)) * HALF
        return read_BTD


class EncoderBlock(nn.Module):
    """x ← (x + GLU(convolution(x))) · √½ (sections 3.2 and 3.4; the gate σ(b) of GLU([a; b]) = a ⊗ σ(b) is learnt)."""

    def __init__(self, *, width: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.convolution = Convolution(inputs=width, outputs=2 * width, kernel=kernel)
        self.convolution.filters = normed(self.convolution.filters, keep=1 - dropout, gated=True)

    def forward(self, x_BSD: Tensor, real_BS: Tensor) -> Tensor:
        """The positions' new vectors."""
        return (x_BSD + F.glu(self.convolution(self.dropout(x_BSD), real_BS), dim=-1)) * HALF


class DecoderBlock(nn.Module):
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
        said_BTD, window_BPD = self.convolution(self.dropout(x_BTD), window_BPD, length_B)
        h_BTD = self.attention(F.glu(said_BTD, dim=-1), g_BTE, state)
        return (x_BTD + h_BTD) * HALF, window_BPD


class ConvS2S(nn.Module):
    """Stacks of gated convolutions over source and target, joined by attention in every layer (figure 1).

    Weights are normalised to a direction and a length (Salimans & Kingma 2016), begin so that variances stay
    (section 3.5), and what goes back from the attention of L layers into the encoder is divided by L, but not into
    the source's vectors (section 3.4).

    Differs from the paper: all layers of a side have one width, positions after the last that has a vector share it,
    and the matrix of the target's vectors is also the output's (and the source's, where they share a vocabulary).
    """

    def __init__(
        self, settings: ConvS2SSettings, *, source_vocabulary: int, target_vocabulary: int, shared: bool = True
    ) -> None:
        super().__init__()
        if shared and source_vocabulary != target_vocabulary:
            raise ValueError(f"a shared vocabulary has one size, not {source_vocabulary} and {target_vocabulary}")
        self.settings = settings
        width, embedding, dropout = settings.width, settings.embedding, settings.dropout
        target = word_vectors(target_vocabulary, embedding)
        source = target if shared else word_vectors(source_vocabulary, embedding)
        self.source_words = PositionedWords(source, positions=settings.context, dropout=dropout)
        self.target_words = PositionedWords(target, positions=settings.context, dropout=dropout)
        self.source_in = normed(nn.Linear(embedding, width), keep=1 - dropout)
        self.target_in = normed(nn.Linear(embedding, width), keep=1 - dropout)
        self.encoder = nn.ModuleList(
            EncoderBlock(width=width, kernel=settings.kernel, dropout=dropout) for _ in range(settings.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(width=width, embedding=embedding, kernel=settings.kernel, dropout=dropout)
            for _ in range(settings.decoder_layers)
        )
        self.source_out = normed(nn.Linear(width, embedding))
        self.target_out = normed(nn.Linear(width, embedding))
        self.dropout = Dropout(dropout)
        self.source_contextual, self.target_contextual = Tap(), Tap()

    def forward(self, batch: Pairs, carry: None = None) -> tuple[Tensor, None]:
        """The logits of every next target token, given the source and the target tokens before it."""
        logits_BTV, _ = self.read(batch.input_BT, batch.real_BT, self.start(batch))
        return logits_BTV, carry

    def first_carry(self, batch: Pairs) -> None:
        """Nothing flows from batch to batch."""

    def token_vectors(self) -> dict[str, TokenVectors]:
        """The vectors of both sides, and what the last layers of encoder and decoder make of them."""
        return {
            "source": TokenVectors(self.source_words.tokens.weight, self.source_contextual),
            "target": TokenVectors(self.target_words.tokens.weight, self.target_contextual),
        }

    def start(self, batch: Pairs) -> ConvS2SState:
        """The source read, nothing written yet."""
        source_BS, real_BS = batch.source_BS, batch.source_real_BS
        rows, layers = len(source_BS), len(self.decoder)
        e_BSE = self.source_words(source_BS, torch.arange(source_BS.shape[1], device=source_BS.device).unsqueeze(0))
        x_BSD = self.source_in(scaled_gradient(e_BSE, layers))
        for block in self.encoder:
            x_BSD = block(x_BSD, real_BS)
        z_BSE = scaled_gradient(self.source_contextual(self.source_out(x_BSD)).float(), 1 / layers)
        windows = tuple(block.convolution.start(rows) for block in self.decoder if isinstance(block, DecoderBlock))
        nothing_B = torch.zeros(rows, dtype=torch.int64, device=source_BS.device)
        return ConvS2SState(z_BSE, (z_BSE + e_BSE) * HALF, real_BS, windows, nothing_B)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: ConvS2SState) -> tuple[Tensor, ConvS2SState]:
        """Read target tokens; the logits at t are for the token after t. Padding stands on the right."""
        length_B = real_BT.sum(1)
        moved_B = None if bool(real_BT.all()) else length_B
        position_BT = state.read_B.unsqueeze(1) + torch.arange(tokens_BT.shape[1], device=tokens_BT.device)
        g_BTE = self.target_words(tokens_BT, position_BT)
        x_BTD = self.target_in(g_BTE)
        windows = []
        for block, window_BPD in zip(self.decoder, state.windows, strict=True):
            x_BTD, after_BPD = block(x_BTD, g_BTE, window_BPD, moved_B, state)
            windows.append(after_BPD)
        h_BTE = self.dropout(self.target_contextual(self.target_out(self.dropout(x_BTD))))
        logits_BTV = token_logits(h_BTE, self.target_words.tokens.weight)
        return logits_BTV, state._replace(windows=tuple(windows), read_B=state.read_B + length_B)

    def step(self, tokens_B: Tensor, state: ConvS2SState) -> tuple[Tensor, ConvS2SState]:
        """`read` of one token in each row."""
        tokens_B1 = tokens_B.unsqueeze(1)
        logits_B1V, state = self.read(tokens_B1, torch.ones_like(tokens_B1, dtype=torch.bool), state)
        return logits_B1V.squeeze(1), state


def word_vectors(vocabulary: int, width: int) -> nn.Embedding:
    """One vector for each token, of deviation 0.1 (section 3.5)."""
    vectors = nn.Embedding(vocabulary, width)
    nn.init.normal_(vectors.weight, std=0.1)
    return vectors


def normed(linear: nn.Linear, *, keep: float = 1.0, gated: bool = False) -> nn.Linear:
    """A linear map whose weights are a direction and a length, and begin with deviation √(p/n), or √(4p/n) before a
    gate, where p of the n inputs are kept in training (section 3.5 and appendix A).
    """
    nn.init.normal_(linear.weight, std=math.sqrt((4 if gated else 1) * keep / linear.in_features))
    nn.init.zeros_(linear.bias)
    reparametrised: nn.Linear = weight_norm(linear)
    return reparametrised
