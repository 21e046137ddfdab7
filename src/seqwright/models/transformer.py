"""The Transformer (Vaswani et al. 2017, "Attention Is All You Need").

B batch · S source · T target · C cached and new target positions · V vocabulary · D width
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import torch
from pydantic import PositiveInt, field_validator, model_validator
from torch import Tensor, nn

from seqwright.batches.pairs import Pairs
from seqwright.layers.attention import Attention, KeysValues, not_later
from seqwright.layers.blocks import DecoderBlock, EncoderBlock, FeedForward, PostNorm, PreNorm
from seqwright.layers.embeddings import PositionedEmbedding, TokenEmbedding, TokenVectors
from seqwright.layers.taps import Tap
from seqwright.settings import ModelSettings

SIZES: dict[str, dict[str, int | float]] = {
    "tiny": {"width": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 512, "dropout": 0.1},
    "base": {"width": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048, "dropout": 0.1},
    "big": {"width": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096, "dropout": 0.3},
}
RESIDUALS = {"post-norm": PostNorm, "pre-norm": PreNorm}
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
    """What the decoder has read so far: the source, and its own past, both as keys and values."""

    source: tuple[KeysValues, ...]
    source_real_BS: Tensor
    past: tuple[KeysValues | None, ...]
    past_real_BC: Tensor


class Transformer(nn.Module):
    """Encoder and decoder of attention and feed-forward blocks (Vaswani et al. 2017, figure 1).

    Where source and target share a vocabulary, the two embeddings and the output projection are one matrix
    (section 3.4); otherwise the target's embedding and the output projection are. `feed_forwards` may put another
    layer in the place of the feed-forward of a block.
    """

    def __init__(
        self,
        settings: TransformerSettings,
        *,
        source_vocabulary: int,
        target_vocabulary: int,
        shared: bool = True,
        feed_forwards: FeedForwards | None = None,
    ) -> None:
        super().__init__()
        if shared and source_vocabulary != target_vocabulary:
            raise ValueError(f"a shared vocabulary has one size, not {source_vocabulary} and {target_vocabulary}")
        self.settings = settings
        width, dropout = settings.width, settings.dropout
        residual = RESIDUALS[settings.block]
        block: dict[str, Any] = {
            "width": width,
            "heads": settings.heads,
            "dropout": dropout,
            "residual": residual,
        }
        inside = feed_forwards or (lambda stack, place: FeedForward(width=width, inner=settings.feed_forward))
        target = TokenEmbedding(vocabulary=target_vocabulary, width=width)
        source = target if shared else TokenEmbedding(vocabulary=source_vocabulary, width=width)
        self.source_embedding = PositionedEmbedding(source, width=width, dropout=dropout)
        self.target_embedding = PositionedEmbedding(target, width=width, dropout=dropout)
        self.encoder = nn.ModuleList(
            EncoderBlock(inside("encoder", place), **block) for place in range(settings.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(inside("decoder", place), **block) for place in range(settings.decoder_layers)
        )
        pre_norm = residual is PreNorm
        self.encoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.source_contextual, self.target_contextual = Tap(), Tap()
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, batch: Pairs, carry: None = None) -> tuple[Tensor, None]:
        """The logits of every next target token, given the source and the target tokens before it."""
        logits_BTV, _ = self.read(batch.input_BT, batch.real_BT, self.start(batch))
        return logits_BTV, carry

    def first_carry(self, batch: Pairs) -> None:
        """Nothing flows from batch to batch."""

    def encode(self, source_BS: Tensor, real_BS: Tensor) -> Tensor:
        """The source's vectors after the last encoder block."""
        x_BSD = self.source_embedding(source_BS, torch.arange(source_BS.shape[1], device=source_BS.device))
        for block in self.encoder:
            x_BSD = block(x_BSD, real_BS.unsqueeze(1))
        memory_BSD: Tensor = self.source_contextual(self.encoder_norm(x_BSD))
        return memory_BSD

    def token_vectors(self) -> dict[str, TokenVectors]:
        """The embeddings of both sides, and what the last blocks of encoder and decoder make of them."""
        source, target = self.source_embedding.tokens, self.target_embedding.tokens
        return {
            "source": TokenVectors(source.weight, self.source_contextual),
            "target": TokenVectors(target.weight, self.target_contextual),
        }

    def start(self, batch: Pairs) -> TransformerState:
        """The source read, nothing written yet."""
        memory_BSD = self.encode(batch.source_BS, batch.source_real_BS)
        return TransformerState(
            source=tuple(attention.remember(memory_BSD) for attention in self.source_attentions()),
            source_real_BS=batch.source_real_BS,
            past=(None,) * len(self.decoder),
            past_real_BC=batch.source_real_BS[:, :0],
        )

    def source_attentions(self) -> list[Attention]:
        """The attention from target to source in each decoder block: where alignments are heard."""
        return [block.source_attention for block in self.decoder if isinstance(block, DecoderBlock)]

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """Read target tokens; the logits at t are for the token after t. Rows may hold padding anywhere."""
        position_BT = (state.past_real_BC.sum(1, keepdim=True) + real_BT.cumsum(1) - 1).clamp_min_(0)
        past_real_BC = torch.cat((state.past_real_BC, real_BT), dim=1)
        order_TC = not_later(real_BT.shape[1], past_real_BC.shape[1], tokens_BT.device)
        allowed_BTC = past_real_BC.unsqueeze(1) & order_TC
        x_BTD = self.target_embedding(tokens_BT, position_BT)
        past: list[KeysValues] = []
        for block, before, source in zip(self.decoder, state.past, state.source, strict=True):
            x_BTD, now = block(x_BTD, before, source, allowed_BTC, state.source_real_BS.unsqueeze(1), real_BT)
            past.append(now)
        logits_BTV = self.target_embedding.tokens.logits(self.target_contextual(self.decoder_norm(x_BTD)))
        return logits_BTV, TransformerState(state.source, state.source_real_BS, tuple(past), past_real_BC)

    def step(self, tokens_B: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """`read` of one token in each row."""
        tokens_B1 = tokens_B.unsqueeze(1)
        logits_B1V, state = self.read(tokens_B1, torch.ones_like(tokens_B1, dtype=torch.bool), state)
        return logits_B1V.squeeze(1), state
