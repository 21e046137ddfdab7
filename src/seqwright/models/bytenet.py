"""ByteNet (Kalchbrenner et al. 2016, "Neural Machine Translation in Linear Time").

B batch · S columns of the source · T target · V vocabulary · C channels inside a block · D width, twice C ·
P inputs that a window holds
"""

from typing import Literal, NamedTuple, Unpack

import torch
import torch.nn.functional as F
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor, nn

from seqwright.layers.convolution import CausalConvolution, Convolution
from seqwright.layers.dropout import Dropout
from seqwright.layers.linear import Linear
from seqwright.models.encoder_decoder import Decoder, Encoder, EncoderDecoder, Vocabularies, both_vocabularies
from seqwright.setting_classes import ModelSettings


class ByteNetSettings(ModelSettings):
    """Dilated convolutions: one stack reads the source, another is unfolded over what it made of it.

    The paper's network for English and German has 800 channels and six sets on each side.
    """

    kind: Literal["bytenet"] = "bytenet"
    channels: PositiveInt = 96
    """Channels of the dilated convolutions, d in the paper; the stream between the blocks is twice as wide."""
    encoder_sets: PositiveInt = 2
    """Sets of blocks that read the source, one block for each dilation."""
    decoder_sets: PositiveInt = 2
    """Sets of blocks that write the target."""
    dilations: tuple[PositiveInt, ...] = Field(default=(1, 2, 4, 8, 16), min_length=1)
    """How far apart the convolutions of a set read, block by block."""
    kernel: PositiveInt = 3
    """Positions that a convolution reads."""
    stretch: float = Field(default=1.2, ge=1, allow_inf_nan=False)
    """Columns that are made for each token of the source, a in the paper: how much longer a target may be."""
    extra: NonNegativeInt = 0
    """Columns that are made beside those, b in the paper."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of each block's output that is dropped in training."""

    def receptive_field(self) -> "ReceptiveField":
        """1 + Σ (kernel-1) · dilation over the blocks of each stack."""
        once = (self.kernel - 1) * sum(self.dilations)
        return ReceptiveField(1 + self.encoder_sets * once, 1 + self.decoder_sets * once)


class ByteNetState(NamedTuple):
    """What the decoder is unfolded over, the windows of its layers, and how many tokens each row has read."""

    source_BSD: Tensor
    windows: tuple[Tensor, ...]
    read_B: Tensor


class ReceptiveField(NamedTuple):
    """How many positions a position sees: columns of the source, and tokens of the target, itself among them."""

    source: int
    target: int


class Bottleneck(nn.Module):
    """What stands around the convolution of a block (section 3.6, figure 3 left: residual block with ReLUs).

    x + W₂ ReLU(LN(convolution(ReLU(LN(W₁ ReLU(LN(x)))))))
    """

    def __init__(self, *, channels: int, dropout: float) -> None:
        super().__init__()
        self.wide_norm, self.narrow = nn.LayerNorm(2 * channels), Linear(2 * channels, channels)
        self.narrow_norm = nn.LayerNorm(channels)
        self.said_norm, self.widen = nn.LayerNorm(channels), Linear(channels, 2 * channels)
        self.dropout = Dropout(dropout)

    def before(self, x_BTD: Tensor) -> Tensor:
        """What the convolution reads."""
        return self.narrow_norm(self.narrow(self.wide_norm(x_BTD).relu())).relu()  # type: ignore[no-any-return]

    def after(self, x_BTD: Tensor, convolved_BTC: Tensor) -> Tensor:
        """The stream with the convolution's output added."""
        x: Tensor = x_BTD + self.dropout(self.widen(self.said_norm(convolved_BTC).relu()))
        return x


class SourceBlock(nn.Module):
    """A block of the encoder, which sees both sides."""

    def __init__(self, *, channels: int, kernel: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.around = Bottleneck(channels=channels, dropout=dropout)
        self.convolution = Convolution(inputs=channels, outputs=channels, kernel=kernel, dilation=dilation)

    def forward(self, x_BSD: Tensor, real_BS: Tensor) -> Tensor:
        """The columns' new vectors."""
        return self.around.after(x_BSD, self.convolution(self.around.before(x_BSD), real_BS))


class TargetBlock(nn.Module):
    """A block of the decoder, whose convolution is masked: it sees only what is before (section 3.4)."""

    def __init__(self, *, channels: int, kernel: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.around = Bottleneck(channels=channels, dropout=dropout)
        self.convolution = CausalConvolution(inputs=channels, outputs=channels, kernel=kernel, dilation=dilation)

    def forward(self, x_BTD: Tensor, window_BPC: Tensor, length_B: Tensor | None) -> tuple[Tensor, Tensor]:
        """The positions' new vectors, and the window that the next positions will read."""
        convolved_BTC, window_BPC = self.convolution(self.around.before(x_BTD), window_BPC, length_B)
        return self.around.after(x_BTD, convolved_BTC), window_BPC


def bytenet(settings: ByteNetSettings, **sizes: Unpack[Vocabularies]) -> EncoderDecoder:
    """The decoder is stacked on the encoder and unfolded over its columns, one for each token that is written.

        columns = a S + b        x_t = e(t_t) + W LN(encoder(s))_t        p(t_{t+1}) = softmax(U ReLU(LN(decoder(x)_t)))

    The encoder makes as many columns, those after the source's end from nothing but what is before them; a target that
    is longer is written without any (section 3.2, dynamic unfolding). Time is linear in the lengths, and there is
    no attention: what belongs together has to come within the field that the dilated convolutions see.

    Differs from the paper: the stacks' outputs are normalised before they are used, and blocks drop a share in
    training.
    """
    width = 2 * settings.channels
    source, target = both_vocabularies(lambda vocabulary: nn.Embedding(vocabulary, width), **sizes)
    return EncoderDecoder(ByteNetEncoder(settings, source), ByteNetDecoder(settings, target))


class ByteNetEncoder(Encoder):
    """The stack below, which makes the columns."""

    def __init__(self, settings: ByteNetSettings, embedding: nn.Embedding) -> None:
        super().__init__(embedding)
        self.settings, width = settings, embedding.embedding_dim
        common = {"channels": settings.channels, "kernel": settings.kernel, "dropout": settings.dropout}
        self.blocks = nn.ModuleList(
            SourceBlock(**common, dilation=dilation)  # type: ignore[arg-type]
            for dilation in settings.dilations * settings.encoder_sets
        )
        self.norm, self.join = nn.LayerNorm(width), Linear(width, width)

    def forward(self, source_BS: Tensor, real_BS: Tensor) -> Tensor:
        """`columns_BSD`, more than the source has tokens; zeros after a row's last."""
        before = real_BS.shape[1]
        columns_B = (self.settings.stretch * real_BS.sum(1).double()).long() + self.settings.extra
        more = max(int(columns_B.max()) - before, 0)
        x_BSD = self.embedding(source_BS).masked_fill(~real_BS.unsqueeze(-1), 0.0)
        x_BSD = F.pad(x_BSD, (0, 0, 0, more))
        made_BS = torch.arange(before + more, device=real_BS.device) < columns_B.unsqueeze(1)
        for block in self.blocks:
            x_BSD = block(x_BSD, made_BS)
        x_BSD = self.norm(x_BSD)
        self.contextual(x_BSD[:, :before])
        columns_BSD: Tensor = self.join(x_BSD).to(self.join.bias.dtype).masked_fill(~made_BS.unsqueeze(-1), 0.0)
        return columns_BSD


class ByteNetDecoder(Decoder):
    """The stack above, which reads a column beside each token."""

    def __init__(self, settings: ByteNetSettings, embedding: nn.Embedding) -> None:
        super().__init__(embedding)
        common = {"channels": settings.channels, "kernel": settings.kernel, "dropout": settings.dropout}
        self.blocks = nn.ModuleList(
            TargetBlock(**common, dilation=dilation)  # type: ignore[arg-type]
            for dilation in settings.dilations * settings.decoder_sets
        )
        vocabulary, width = embedding.weight.shape
        self.norm, self.output = nn.LayerNorm(width), Linear(width, vocabulary)

    def start(self, columns_BSD: Tensor, real_BS: Tensor | None) -> ByteNetState:
        """The columns, nothing written yet."""
        rows = len(columns_BSD)
        windows = tuple(block.convolution.start(rows) for block in self.blocks if isinstance(block, TargetBlock))
        return ByteNetState(columns_BSD, windows, torch.zeros(rows, dtype=torch.int64, device=columns_BSD.device))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: ByteNetState) -> tuple[Tensor, ByteNetState]:
        """See `Decoder.read`."""
        length_B = real_BT.sum(1)
        moved_B = None if bool(real_BT.all()) else length_B
        place_BT = state.read_B.unsqueeze(1) + torch.arange(tokens_BT.shape[1], device=tokens_BT.device)
        x_BTD = self.embedding(tokens_BT) + columns_at(state.source_BSD, place_BT)
        windows = []
        for block, window_BPC in zip(self.blocks, state.windows, strict=True):
            x_BTD, after_BPC = block(x_BTD, window_BPC, moved_B)
            windows.append(after_BPC)
        logits_BTV = self.output(self.contextual(self.norm(x_BTD)).relu())
        return logits_BTV, ByteNetState(state.source_BSD, tuple(windows), state.read_B + length_B)


def columns_at(source_BSD: Tensor, place_BT: Tensor) -> Tensor:
    """The columns at some places; zeros after the last."""
    columns = source_BSD.shape[1]
    index_BT1 = place_BT.clamp_max(columns - 1).unsqueeze(-1)
    found_BTD = source_BSD.gather(1, index_BT1.expand(-1, -1, source_BSD.shape[2]))
    return found_BTD.masked_fill((place_BT >= columns).unsqueeze(-1), 0.0)
