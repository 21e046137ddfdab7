"""ViT: a Transformer's encoder over the patches of an image (Dosovitskiy et al. 2021), and its children's parts.

B batch · C channels · Y rows of pixels · X columns · P patches · N vectors before them · D width
"""

from collections import OrderedDict
from functools import partial
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.layers.attention import Attention
from seqwright.layers.blocks import SEEING, Block, GELUFeedForward, LayerScale, PreNorm, PreNormThrough
from seqwright.layers.dropout import Dropout, StochasticDepth
from seqwright.layers.embeddings import TokenVectors
from seqwright.layers.patches import PatchEmbedding
from seqwright.layers.positions import DEVIATION, GridPositions, SinusoidalGrid
from seqwright.layers.taps import Tap
from seqwright.setting_classes import ModelSettings

Pooled = Literal["class", "patches", "class-and-patches", "class-tokens"]
SIZES: dict[str, dict[str, int]] = {
    "mini": {"width": 96, "heads": 4, "layers": 6, "patch": 4},
    "tiny": {"width": 192, "heads": 3, "layers": 12, "patch": 16},
    "small": {"width": 384, "heads": 6, "layers": 12, "patch": 16},
    "base": {"width": 768, "heads": 12, "layers": 12, "patch": 16},
    "large": {"width": 1024, "heads": 16, "layers": 24, "patch": 16},
    "huge": {"width": 1280, "heads": 16, "layers": 32, "patch": 14},
}


class ViTSettings(ModelSettings):
    """`size` fills in whatever is not given: base to huge (Dosovitskiy et al. 2021, table 1), tiny and small (Touvron
    et al. 2021, DeiT, table 1), and mini for small images on a laptop.
    """

    kind: Literal["vit"] = "vit"
    size: Literal["mini", "tiny", "small", "base", "large", "huge"] = "mini"
    """Named settings of the papers (tiny to huge) or for small images (mini); every other key overrides them."""
    patch: PositiveInt
    """Rows and columns of pixels in a patch. Where patches do not tile an image, zeros fill it up."""
    width: PositiveInt
    """Width of every vector in the stream."""
    heads: PositiveInt
    """Attention heads; they share the width."""
    layers: PositiveInt
    """Blocks, one above the other."""
    feed_forward: PositiveInt
    """Inner width of the feed-forward sublayers; four times the width if not given."""
    positions: Literal["learnt", "sinusoidal"] = "learnt"
    """How a patch is told its place: a learnt vector for each, or sinusoids of its row and of its column."""
    grid: PositiveInt | None = None
    """Rows and columns of patches that learnt positions are for, which are resampled for images with more or fewer of
    them. Left out: as many as the images have."""
    position_deviation: float = Field(default=DEVIATION, gt=0)
    """The standard deviation that learnt positions begin with. The paper's is small beside that of the patches, 1: from
    few images a ViT learns faster where both are alike."""
    class_tokens: NonNegativeInt = Field(default=1, le=2)
    """Learnt vectors that stand before the patches: the class token, and DeiT's distillation token."""
    registers: NonNegativeInt = 0
    """Learnt vectors without a place beside these, that attention may use as it likes (Darcet et al. 2024)."""
    pooling: Pooled = "class"
    """What stands for the image: the vector of the class token, the mean of the patches' vectors, both side by side, or
    those of all class tokens."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of each sublayer's output, and of the embeddings, that is dropped in training."""
    attention_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the attention's weights that is dropped in training."""
    stochastic_depth: float = Field(default=0.0, ge=0, lt=1)
    """Share of the images that go without the last block's sublayers in training; of those below fewer do, of the
    first none."""
    layer_scale: float | None = Field(default=None, gt=0)
    """Where a learnt scale of each sublayer's output begins, such as 1e-5; left out, there is none."""
    epsilon: float = Field(default=1e-6, gt=0)
    """Guards the normalisation against division by zero."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_size(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        whole = {**SIZES.get(str(given.get("size", "mini")), {}), **given}
        width = whole.get("width")
        return {"feed_forward": 4 * width if isinstance(width, int) else width, **whole}

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> "ViTSettings":
        if self.width % self.heads:
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads")
        return self

    @model_validator(mode="after")
    def _what_is_pooled_is_there(self) -> "ViTSettings":
        if self.pooling != "patches" and not self.class_tokens:
            raise ValueError(f"pooling '{self.pooling}' reads a class token, but class_tokens is 0; pool the patches")
        return self

    @model_validator(mode="after")
    def _every_layer_is_taken_from_a_block(self) -> "ViTSettings":
        if self.init_layers is not None and len(set(self.init_layers)) != self.layers:
            raise ValueError(f"init_layers names {len(set(self.init_layers))} blocks for {self.layers} layers")
        return self

    def body(self, *, channels: int, rows: int, columns: int) -> "ViT":
        """The network, for images of so many channels, rows and columns of pixels."""
        return ViT(self, channels=channels, rows=rows, columns=columns)


class ViT(nn.Module):
    """A vector for each patch of an image, from all the others (Dosovitskiy et al. 2021, section 3.1).

        x = [class; E patch_1; …; E patch_P] + position      x ← block(x), several times      h = LayerNorm(x)

    Its blocks are those of the Transformer with the norm before each sublayer and GELU. Learnt positions are resampled
    for images of another size than it was built for.

    Matrices begin as in the paper's code: those of the blocks as Glorot & Bengio 2010 have it (eq. 16), by which narrow
    models learn several times sooner than with BERT's deviation of 0.02.
    """

    also_reads: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: ViTSettings, *, channels: int, rows: int, columns: int) -> None:
        super().__init__()
        self.settings = settings
        self.width = width = settings.width
        self.patches = PatchEmbedding(channels=channels, size=settings.patch, width=width)
        self.class_ND = _drawn(settings.class_tokens, width)
        self.register_ND = _drawn(settings.registers, width)
        self.positions: nn.Module
        if settings.positions == "learnt":
            grid = self.patches.grid(rows, columns) if settings.grid is None else (settings.grid, settings.grid)
            before, deviation = settings.class_tokens, settings.position_deviation
            self.positions = GridPositions(*grid, width=width, before=before, deviation=deviation)
        else:
            self.positions = SinusoidalGrid(width=width, before=settings.class_tokens)
        self.dropout = Dropout(settings.dropout)
        self.blocks = nn.ModuleList(_block(settings, place) for place in range(settings.layers))
        self.norm = nn.LayerNorm(width, eps=settings.epsilon)
        self.embedded, self.contextual = Tap(), Tap()
        nn.init.normal_(self.patches.linear.weight, std=self.patches.linear.in_features**-0.5)
        nn.init.zeros_(self.patches.linear.bias)

    def forward(self, x_BCYX: Tensor, real: Tensor | None = None) -> Tensor:
        """`h_BPD`: what the last block makes of each patch, after what it makes of class tokens and registers.

        `real` is not asked: an image is real as a whole.
        """
        h_BPD = self.patches(x_BCYX)
        if self.class_ND is not None:
            h_BPD = torch.cat((self.class_ND.expand(len(h_BPD), -1, -1), h_BPD), dim=1)
        h_BPD = h_BPD + self.positions(*self.patches.grid(*x_BCYX.shape[2:]))
        if self.register_ND is not None:
            register_BND, first = self.register_ND.expand(len(h_BPD), -1, -1), self.settings.class_tokens
            h_BPD = torch.cat((h_BPD[:, :first], register_BND, h_BPD[:, first:]), dim=1)
        h_BPD = self.embedded(self.dropout(h_BPD))
        for block in self.blocks:
            h_BPD, _ = block(h_BPD, None)
        seen_BPD: Tensor = self.contextual(self.norm(h_BPD))
        return seen_BPD

    hidden = forward

    def pool(self, pooling: Pooled | None = None) -> "ImagePool":
        """As the settings say, if nothing else is asked for."""
        settings = self.settings
        return ImagePool(pooling or settings.pooling, settings.class_tokens, settings.class_tokens + settings.registers)

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        """How many rows and columns of patches it makes of an image."""
        return self.patches.grid(rows, columns)

    def depths(self) -> dict[str, int]:
        """The embeddings lie below all blocks."""
        below = dict.fromkeys(("patches", "class_ND", "register_ND", "positions"), 0)
        return below | {f"blocks.{place}": place + 1 for place in range(self.settings.layers)}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """None: it reads no tokens."""
        return {}


class ImagePool(nn.Module):
    """The vector of the class token, the mean of the patches' (appendix D.3), or several side by side."""

    def __init__(self, pooling: Pooled, class_tokens: int, before: int) -> None:
        super().__init__()
        self.pooling, self.class_tokens, self.before = pooling, class_tokens, before
        self.vectors = {"class-and-patches": 2, "class-tokens": class_tokens}.get(pooling, 1)

    def forward(self, h_BPD: Tensor, real_BT: Tensor) -> Tensor:
        """What stands for each image; registers never do."""
        match self.pooling:
            case "class":
                return h_BPD[:, 0]
            case "class-tokens":
                return h_BPD[:, : self.class_tokens].flatten(1)
            case "patches":
                return h_BPD[:, self.before :].mean(1)
            case _:
                return torch.cat((h_BPD[:, 0], h_BPD[:, self.before :].mean(1)), dim=-1)


def _drawn(count: int, width: int) -> nn.Parameter | None:
    """So many learnt vectors, if there are any."""
    return nn.Parameter(nn.init.normal_(torch.empty(count, width), std=DEVIATION)) if count else None


def _block(settings: ViTSettings, place: int) -> Block:
    rises = settings.stochastic_depth * place / max(1, settings.layers - 1)  # from 0 (Huang et al. 2016, section 3)
    attention = Attention(
        width=settings.width, heads=settings.heads, view=SEEING, bias=True, dropout=settings.attention_dropout
    )
    feed_forward = GELUFeedForward(width=settings.width, inner=settings.feed_forward)
    for linear in (attention.query, attention.key_value, attention.output, feed_forward.widen, feed_forward.narrow):
        for matrix in linear.weight.chunk(2) if linear is attention.key_value else [linear.weight]:
            nn.init.xavier_uniform_(matrix)
        nn.init.zeros_(linear.bias)
    return Block(attention, feed_forward, partial(_residual, settings, rises))


def _residual(settings: ViTSettings, depth: float) -> PreNorm | PreNormThrough:
    if settings.layer_scale is None and not depth:
        return PreNorm(width=settings.width, dropout=settings.dropout, epsilon=settings.epsilon)
    parts = OrderedDict[str, nn.Module](dropout=Dropout(settings.dropout))
    if settings.layer_scale is not None:
        parts["scale"] = LayerScale(settings.layer_scale, width=settings.width)
    parts["depth"] = StochasticDepth(depth)
    return PreNormThrough(nn.Sequential(parts), width=settings.width, epsilon=settings.epsilon)
