"""The Transformer (Vaswani et al. 2017, "Attention Is All You Need").

B batch · S source · T target · C cached and new target positions · V vocabulary · D width
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

import torch
from pydantic import PositiveInt, field_validator, model_validator
from torch import Tensor, nn

from seqwright.layers.attention import Attention, KeysValues, who_may_read
from seqwright.layers.blocks import (
    ALIGNING,
    READING,
    WRITING,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    PostNorm,
    PreNorm,
)
from seqwright.layers.embeddings import PositionedEmbedding, TokenEmbedding
from seqwright.layers.positions import SinusoidalPositions, next_positions
from seqwright.models.encoder_decoder import Decoder, Encoder, EncoderDecoder, Vocabularies, both_vocabularies
from seqwright.setting_classes import ModelSettings

SIZES: dict[str, dict[str, int | float]] = {
    "tiny": {"width": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 512, "dropout": 0.1},
    "base": {"width": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048, "dropout": 0.1},
    "big": {"width": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096, "dropout": 0.3},
}
RESIDUALS: dict[str, type[PostNorm] | type[PreNorm]] = {"post-norm": PostNorm, "pre-norm": PreNorm}
Residual: TypeAlias = Callable[[], PostNorm | PreNorm]
FeedForwards: TypeAlias = Callable[[Literal["encoder", "decoder"], int], nn.Module]
"""The feed-forward sublayer of each block: of which stack, and at which place in it."""


class TransformerSettings(ModelSettings):
    """`size` fills in whatever is not given (base and big: Vaswani et al. 2017, table 3)."""

    kind: Literal["transformer"] = "transformer"
    size: Literal["tiny", "base", "big"] = "base"
    """Named settings of the paper (base, big) or for a laptop (tiny); every other key overrides them."""
    width: PositiveInt
    """Width of every vector in the stream, d_model in the paper."""
    heads: PositiveInt
    """Attention heads; they share the width."""
    encoder_layers: PositiveInt
    """Blocks that read the source."""
    decoder_layers: PositiveInt
    """Blocks that write the target."""
    feed_forward: PositiveInt
    """Inner width of the feed-forward sublayers, d_ff in the paper."""
    dropout: float
    """Share of each sublayer's output, and of the embeddings, that is dropped in training."""
    block: Literal["post-norm", "pre-norm"] = "post-norm"
    """post-norm is the paper's; pre-norm trains without warm-up."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_size(cls, given: Any) -> Any:
        if isinstance(given, dict):
            return {**SIZES.get(str(given.get("size", "base")), {}), **given}
        return given

    @field_validator("dropout")
    @classmethod
    def _dropout_is_a_share(cls, dropout: float) -> float:
        if not 0 <= dropout < 1:
            raise ValueError("must be at least 0 and below 1")
        return dropout

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> "TransformerSettings":
        if self.width % self.heads:
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads")
        return self


class TransformerState(NamedTuple):
    """What the decoder has read so far: the source, and its own past, both as keys and values.

    `position_BC` says where each of the past stands in its sentence, -1 at padding.
    """

    source: tuple[KeysValues, ...]
    source_real_BS: Tensor
    past: tuple[KeysValues | None, ...]
    position_BC: Tensor


def transformer(
    settings: TransformerSettings, *, feed_forwards: FeedForwards | None = None, **sizes: Unpack[Vocabularies]
) -> EncoderDecoder:
    """Encoder and decoder of attention and feed-forward blocks (Vaswani et al. 2017, figure 1).

    Where source and target share a vocabulary, the two embeddings and the output projection are one matrix
    (section 3.4); otherwise the target's embedding and the output projection are. `feed_forwards` may put another
    layer in the place of the feed-forward of a block.
    """
    width, dropout = settings.width, settings.dropout
    source, target = both_vocabularies(lambda vocabulary: TokenEmbedding(vocabulary=vocabulary, width=width), **sizes)
    inside = feed_forwards or (lambda stack, place: FeedForward(width=width, inner=settings.feed_forward))
    residual: Residual = partial(RESIDUALS[settings.block], width=width, dropout=dropout)
    attention = partial(Attention, width=width, heads=settings.heads)
    encoder = [
        EncoderBlock(feed_forward=inside("encoder", place), attention=attention(view=READING), residual=residual)
        for place in range(settings.encoder_layers)
    ]
    decoder = [
        DecoderBlock(
            feed_forward=inside("decoder", place),
            attention=attention(view=WRITING),
            source_attention=attention(view=ALIGNING),
            residual=residual,
        )
        for place in range(settings.decoder_layers)
    ]
    source_embedding, target_embedding = (
        PositionedEmbedding(tokens, SinusoidalPositions(width=width), dropout=dropout) for tokens in (source, target)
    )
    norms = [nn.LayerNorm(width) if settings.block == "pre-norm" else nn.Identity() for _ in range(2)]
    model = EncoderDecoder(
        TransformerEncoder(source_embedding, encoder, norms[0]),
        TransformerDecoder(target_embedding, decoder, norms[1]),
    )
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return model


class TransformerEncoder(Encoder):
    """Figure 1, left."""

    def __init__(self, embedding: PositionedEmbedding, blocks: Sequence[EncoderBlock], norm: nn.Module) -> None:
        super().__init__(embedding)
        self.blocks, self.norm = nn.ModuleList(blocks), norm

    def forward(self, source_BS: Tensor, real_BS: Tensor) -> Tensor:
        """`memory_BSD`: the source's vectors after the last block."""
        position_1S = torch.arange(source_BS.shape[1], device=source_BS.device).unsqueeze(0)
        x_BSD = self.embedding(source_BS, position_1S)
        for block in self.blocks:
            x_BSD = block(x_BSD, real_BS.unsqueeze(1), position_1S)
        memory_BSD: Tensor = self.contextual(self.norm(x_BSD))
        return memory_BSD


class TransformerDecoder(Decoder):
    """Figure 1, right."""

    def __init__(self, embedding: PositionedEmbedding, blocks: Sequence[DecoderBlock], norm: nn.Module) -> None:
        super().__init__(embedding)
        self.blocks, self.norm = nn.ModuleList(blocks), norm

    def start(self, memory_BSD: Tensor, real_BS: Tensor | None) -> TransformerState:
        """The source as keys and values, nothing written yet."""
        real_BS = torch.ones_like(memory_BSD[..., 0], dtype=torch.bool) if real_BS is None else real_BS
        attentions = [block.source_attention for block in self.blocks if isinstance(block, DecoderBlock)]
        return TransformerState(
            source=tuple(attention.remember(memory_BSD) for attention in attentions),
            source_real_BS=real_BS,
            past=(None,) * len(self.blocks),
            position_BC=real_BS[:, :0].long(),
        )

    @property
    def output_VD(self) -> Tensor:
        """What vectors are multiplied with to be logits: those of the tokens."""
        return self.embedding.weight  # type: ignore[no-any-return]

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """See `Decoder.read`; rows may hold padding anywhere."""
        h_BTD, state = self.read_hidden(tokens_BT, real_BT, state)
        return self.embedding.tokens.logits(h_BTD), state

    def read_hidden(
        self, tokens_BT: Tensor, real_BT: Tensor, state: TransformerState
    ) -> tuple[Tensor, TransformerState]:
        """`h_BTD`, of which `read` makes logits."""
        position_BT = next_positions(state.position_BC, real_BT)
        position_BC = torch.cat((state.position_BC, position_BT), dim=1)
        allowed_BTC, allowed_B1S = who_may_read(position_BC, real_BT.shape[1]), state.source_real_BS.unsqueeze(1)
        x_BTD = self.embedding(tokens_BT, position_BT)
        past: list[KeysValues] = []
        for block, before, source in zip(self.blocks, state.past, state.source, strict=True):
            x_BTD, now = block(x_BTD, before, source, allowed_BTC, allowed_B1S, position_BC)
            past.append(now)
        h_BTD = self.contextual(self.norm(x_BTD))
        return h_BTD, TransformerState(state.source, state.source_real_BS, tuple(past), position_BC)
