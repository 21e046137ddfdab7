"""Captions: what looks at an image, and what writes about the places that it looks at (Xu et al. 2015).

B batch · T target · P places of an image, the memory · S the same as attention has them · V vocabulary · E embedding ·
D width · C channels
"""

from typing import Any, Literal, NamedTuple

from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.layers.alignment import Remembered
from seqwright.layers.attending import AttendingLayer, AttendingState
from seqwright.layers.attention import Attention
from seqwright.layers.blocks import ALIGNING, WRITING, DecoderBlock, FeedForward
from seqwright.layers.bridging import Bridge
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import PositionedEmbedding, TiedEmbedding, TokenEmbedding, TokenVectors
from seqwright.layers.initialisation import Initialisation, initialise
from seqwright.layers.linear import Linear
from seqwright.layers.positions import SinusoidalPositions
from seqwright.layers.recurrence import LSTMCell
from seqwright.layers.scanning import Recurrent
from seqwright.layers.visual_attention import HardAttention, SoftAttention
from seqwright.models.cnn import CNNSettings
from seqwright.models.encoder_decoder import Decoder, EncoderDecoder
from seqwright.models.resnet import FORMS, ResNetSettings
from seqwright.models.transformer import RESIDUALS, TransformerDecoder, TransformerState
from seqwright.models.vit import ViTSettings
from seqwright.setting_classes import ModelSettings

LAYERS = {"cnn": 3, "resnet": 20, "vit": 6}


class SeeingSettings(ModelSettings):
    """What looks at an image: a plain convolutional network, a ResNet or a ViT.

    Where [data] has features, nothing does, and these settings say nothing.
    """

    encoder: Literal["cnn", "resnet", "vit"] = "cnn"
    """What looks at an image."""
    encoder_width: PositiveInt = 32
    """Channels of the first stage of a CNN, doubled by each further one; the width of a ViT. A ResNet has its own."""
    encoder_layers: PositiveInt | None = None
    """Stages of a CNN (left out: 3, each further one makes a quarter of the places), layers of a ResNet (20), blocks of
    a ViT (6)."""
    encoder_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share that is dropped, in training, of what leaves each stage or sublayer; a ResNet drops nothing."""
    patch: PositiveInt = 8
    """Rows and columns of pixels in a patch of a ViT."""
    patch_heads: PositiveInt = 4
    """Attention heads of a ViT; they share its width."""

    @model_validator(mode="after")
    def _an_encoder_that_can_be_built(self) -> "SeeingSettings":
        if self.encoder == "vit" and self.encoder_width % self.patch_heads:
            raise ValueError(f"encoder_width {self.encoder_width} does not divide into {self.patch_heads} heads")
        if self.encoder == "resnet" and self.layers_that_look not in FORMS:
            raise ValueError(
                f"encoder_layers is {self.encoder_layers}, but a resnet has {', '.join(map(str, sorted(FORMS)))}"
            )
        if self.encoder == "cnn" and self.layers_that_look > 8:
            raise ValueError(f"encoder_layers is {self.encoder_layers}, but a cnn has at most 8 stages")
        if self.init_layers is not None:
            raise ValueError("init_layers chooses among blocks that are alike; leave it out")
        return self

    @property
    def layers_that_look(self) -> int:
        """Stages, layers or blocks."""
        return self.encoder_layers or LAYERS[self.encoder]

    def body(self, *, features: int | None = None, rows: int, columns: int, channels: int = 3) -> Any:
        """What gives a vector for each place of an image; where there are features, these."""
        if features is not None:
            return FeatureBody(features=features, rows=rows, columns=columns)
        width, layers, dropout = self.encoder_width, self.layers_that_look, self.encoder_dropout
        size = {"channels": channels, "rows": rows, "columns": columns}
        match self.encoder:
            case "cnn":
                return CNNSettings(width=width, stages=layers, dropout=dropout).body(**size)
            case "resnet":
                return ResNetSettings.model_validate({"layers": layers}).body(**size)
            case "vit":
                own = {"width": width, "layers": layers, "heads": self.patch_heads, "patch": self.patch}
                seen = {**own, "dropout": dropout, "class_tokens": 0, "pooling": "patches", "position_deviation": 1.0}
                return ViTSettings.model_validate(seen).body(**size)


class FeatureBody(nn.Module):
    """The features of an image that another program has computed, as they are."""

    def __init__(self, *, features: int, rows: int, columns: int) -> None:
        super().__init__()
        self.width, self._grid = features, (rows, columns)

    def forward(self, features_BPC: Tensor, real: None = None) -> Tensor:
        """`features_BPC`."""
        return features_BPC

    hidden = forward

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        """The rows and columns of places."""
        return self._grid

    def token_vectors(self) -> dict[str, TokenVectors]:
        """None: it reads no tokens."""
        return {}


# ------------------------------------------------------------------------------------------- show, attend and tell


class CaptionerSettings(SeeingSettings):
    """Soft attention: each word is written from all places, each as much as it is looked at."""

    kind: Literal["captioner"] = "captioner"
    width: PositiveInt = 256
    """Width of the decoder's states."""
    embedding: PositiveInt | None = None
    """Width of the tokens' vectors; that of the states if not given."""
    dropout: float = Field(default=0.3, ge=0, lt=1)
    """Share that is dropped, in training, of what is seen, of the tokens' vectors and of the output."""
    initialisation: Initialisation = "orthogonal"
    """How the cell's weights begin."""
    forget_bias: float = 1.0
    """Added at the beginning to the bias of the gate that keeps the old state, so that it stands open."""

    @property
    def token_width(self) -> int:
        """Width of the tokens' vectors."""
        return self.embedding or self.width

    def attention(self, memory: int) -> SoftAttention | HardAttention:
        """What looks."""
        return SoftAttention(query=self.width, memory=memory, inner=self.width)


class HardCaptionerSettings(CaptionerSettings):
    """Hard attention: each word is written from one place. It is learnt by the objective `reinforce`."""

    kind: Literal["hard-captioner"] = "hard-captioner"  # type: ignore[assignment]
    expected: float = Field(default=0.5, ge=0, le=1)
    """Share of the words that are written from the expected place in training, as with soft attention."""

    def attention(self, memory: int) -> HardAttention:
        """What looks."""
        return HardAttention(query=self.width, memory=memory, inner=self.width, expected=self.expected)


def captioner(settings: CaptionerSettings, *, vocabulary: int, **sizes: Any) -> EncoderDecoder:
    """Show, attend and tell (Xu et al. 2015, section 3).

        a_1 … a_P = encoder(image)        c_0, h_0 = tanh(W mean(a) + b)
        ẑ_t = attention(h_{t-1}, a)        h_t = LSTM([E y_{t-1}; ẑ_t], h_{t-1})
        p_t = softmax(L_o (E y_{t-1} + L_h h_t + L_z ẑ_t))

    Soft or hard attention is a matter of the settings' class.

    Differs from the paper: the encoder is trained with the decoder, from scratch unless `weights` says otherwise, where
    it has a frozen VGG; the first states come from one layer, not two.
    """
    body = settings.body(**sizes)
    tokens = TokenEmbedding(vocabulary=vocabulary, width=settings.token_width)
    embedding = TiedEmbedding(tokens, width=settings.token_width, dropout=Dropout(settings.dropout), tied=False)
    decoder = CaptionDecoder(settings, embedding, memory=body.width)
    initialise(decoder, settings.initialisation, forget_bias=settings.forget_bias)
    return EncoderDecoder(body, decoder)


class CaptionState(NamedTuple):
    """The places of the image, and the state of the layer that looks at them."""

    source: Remembered
    attending: AttendingState


class CaptionDecoder(Decoder):
    """An LSTM that looks at the image before each word (section 3.1.2)."""

    def __init__(self, settings: CaptionerSettings, embedding: TiedEmbedding, *, memory: int) -> None:
        super().__init__(embedding)
        width, tokens = settings.width, settings.token_width
        self.dropout = Dropout(settings.dropout)
        self.attending = AttendingLayer(LSTMCell(inputs=tokens, width=width), settings.attention(memory))
        self.first = Bridge(Recurrent(LSTMCell, inputs=tokens, width=width), inputs=memory)
        self.of_state = Linear(width, tokens)
        self.of_context = Linear(memory, tokens, bias=False)

    def start(self, memory_BPD: Tensor, real_BS: Tensor | None) -> CaptionState:
        """From the mean of all places (section 3.1.2)."""
        source = self.attending.alignment.remember(self.dropout(memory_BPD), real_BS)
        ((first,),) = self.first(memory_BPD.mean(1).to(self.first.linear.weight.dtype))
        return CaptionState(source, self.attending.start(first, source))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: CaptionState) -> tuple[Tensor, CaptionState]:
        """See `Decoder.read`."""
        x_BTE = self.embedding(tokens_BT)
        attended, attending = self.attending(x_BTE, state.attending, state.source, real_BT)
        h_BTD = self.dropout(attended.hidden_BTD)
        output_BTE = x_BTE + self.of_state(h_BTD) + self.of_context(attended.context_BTC)
        return self.embedding.logits(self.contextual(output_BTE)), CaptionState(state.source, attending)


# -------------------------------------------------------------------------------------------------- a Transformer


class TransformerCaptionerSettings(SeeingSettings):
    """A Transformer's decoder that reads the places of an image."""

    kind: Literal["transformer"] = "transformer"
    encoder: Literal["cnn", "resnet", "vit"] = "vit"
    """What looks at an image."""
    encoder_width: PositiveInt = 128
    """Channels of the first stage of a CNN, doubled by each further one; the width of a ViT. A ResNet has its own."""
    width: PositiveInt = 128
    """Width of every vector in the decoder's stream."""
    heads: PositiveInt = 4
    """Attention heads of the decoder; they share the width."""
    decoder_layers: PositiveInt = 2
    """Blocks that write the caption."""
    feed_forward: PositiveInt = 512
    """Inner width of the decoder's feed-forward sublayers."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of each sublayer's output, and of the embeddings, that is dropped in training."""
    block: Literal["post-norm", "pre-norm"] = "pre-norm"
    """post-norm is the paper's; pre-norm trains without warm-up."""

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> "TransformerCaptionerSettings":
        if self.width % self.heads:
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads")
        return self


def transformer_captioner(settings: TransformerCaptionerSettings, *, vocabulary: int, **sizes: Any) -> EncoderDecoder:
    """The decoder of Vaswani et al. 2017 over the places of an image, as over the words of a source.

    What looks has vectors of its own width, which a linear map brings to the decoder's.
    """
    body, width = settings.body(**sizes), settings.width
    blocks = [
        DecoderBlock(
            feed_forward=FeedForward(width=width, inner=settings.feed_forward),
            attention=Attention(width=width, heads=settings.heads, view=WRITING),
            source_attention=Attention(width=width, heads=settings.heads, view=ALIGNING),
            residual=lambda: RESIDUALS[settings.block](width=width, dropout=settings.dropout),
        )
        for _ in range(settings.decoder_layers)
    ]
    tokens = TokenEmbedding(vocabulary=vocabulary, width=width)
    embedding = PositionedEmbedding(tokens, SinusoidalPositions(width=width), dropout=settings.dropout)
    norm = nn.LayerNorm(width) if settings.block == "pre-norm" else nn.Identity()
    decoder = MappedMemory(Linear(body.width, width), TransformerDecoder(embedding, blocks, norm))
    for module in decoder.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return EncoderDecoder(body, decoder)


class MappedMemory(nn.Module):
    """A decoder whose memory has another width than it reads."""

    def __init__(self, linear: nn.Module, decoder: TransformerDecoder) -> None:
        super().__init__()
        self.linear, self.decoder = linear, decoder

    def start(self, memory_BPC: Tensor, real_BS: Tensor | None) -> TransformerState:
        """The places mapped, nothing written yet."""
        return self.decoder.start(self.linear(memory_BPC), real_BS)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """See `Decoder.read`."""
        return self.decoder.read(tokens_BT, real_BT, state)

    def token_vectors(self) -> dict[str, TokenVectors]:
        """The decoder's."""
        return self.decoder.token_vectors()
