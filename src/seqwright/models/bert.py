"""BERT: a Transformer's encoder on its own (Devlin et al. 2019), and RoBERTa and DistilBERT over the same layers.

B batch · T time · N hidden tokens · V vocabulary · D width
"""

from functools import partial
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.batches.masked import Masked
from seqwright.layers.attention import Attention
from seqwright.layers.blocks import ITSELF, Block, GELUFeedForward, PostNorm
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TokenVectors, token_logits
from seqwright.layers.linear import Linear
from seqwright.layers.positions import LearntPositions
from seqwright.layers.taps import Tap
from seqwright.models.gpt import init_weights
from seqwright.models.heads import First
from seqwright.setting_classes import ModelSettings

SIZES: dict[str, dict[str, int]] = {
    "tiny": {"width": 128, "heads": 2, "layers": 2},
    "mini": {"width": 256, "heads": 4, "layers": 4},
    "small": {"width": 512, "heads": 8, "layers": 4},
    "medium": {"width": 512, "heads": 8, "layers": 8},
    "base": {"width": 768, "heads": 12, "layers": 12},
    "large": {"width": 1024, "heads": 16, "layers": 24},
}
# What the children changed: RoBERTa (Liu et al. 2019) has no second segment and counts positions from 2, DistilBERT
# (Sanh et al. 2019) has neither segments nor pooler, and half the layers.
FAMILIES: dict[str, dict[str, Any]] = {
    "bert": {"segments": 2, "first_position": 0, "pooler": True, "epsilon": 1e-12},
    "roberta": {"segments": 1, "first_position": 2, "pooler": False, "epsilon": 1e-5},
    "distilbert": {"segments": 0, "first_position": 0, "pooler": False, "epsilon": 1e-12},
}


class BertSettings(ModelSettings):
    """`size` fills in whatever is not given: base and large (Devlin et al. 2019, section 3), tiny to medium (Turc et
    al. 2019, table 1); `kind` what else tells the families apart.
    """

    family_defaults = frozenset(FAMILIES["bert"])

    kind: Literal["bert", "roberta", "distilbert"] = "bert"
    size: Literal["tiny", "mini", "small", "medium", "base", "large"] = "tiny"
    """Named settings of the papers; every other key overrides them. A distilbert has half the layers."""
    width: PositiveInt
    """Width of every vector in the stream."""
    heads: PositiveInt
    """Attention heads; they share the width."""
    layers: PositiveInt
    """Blocks, one above the other."""
    feed_forward: PositiveInt
    """Inner width of the feed-forward sublayers; four times the width if not given."""
    context: PositiveInt = 512
    """Most tokens that can be read at once: there is a vector for each position."""
    segments: NonNegativeInt
    """Kinds of segment that have a vector: BERT tells the first text from the second."""
    first_position: NonNegativeInt
    """The number of the first position."""
    pooler: bool
    """Whether the vector of the first token goes through a layer of its own before it stands for the text."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of each sublayer's output, and of the embeddings, that is dropped in training."""
    attention_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the attention's weights that is dropped in training; BERT has 0.1, which is slow on a CPU."""
    epsilon: float = Field(gt=0)
    """Guards the normalisation against division by zero."""

    @property
    def room(self) -> int:
        """The context."""
        return self.context

    @model_validator(mode="before")
    @classmethod
    def _fill_in_what_is_named(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        kind = str(given.get("kind", "bert"))
        whole = {**FAMILIES.get(kind, {}), **SIZES.get(str(given.get("size", "tiny")), {})}
        if kind == "distilbert":
            whole["layers"] = max(1, whole.get("layers", 2) // 2)
        whole |= given
        width = whole.get("width")
        return {"feed_forward": 4 * width if isinstance(width, int) else width, **whole}

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> "BertSettings":
        if self.width % self.heads:
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads")
        return self

    @model_validator(mode="after")
    def _every_layer_is_taken_from_a_block(self) -> "BertSettings":
        if self.init_layers is not None and len(set(self.init_layers)) != self.layers:
            raise ValueError(f"init_layers names {len(set(self.init_layers))} blocks for {self.layers} layers")
        return self


class MaskedBertSettings(BertSettings):
    """BERT as it is pretrained."""

    head: bool = True
    """Whether it can predict masked tokens; an encoder that was imported without its output cannot."""


class Bert(nn.Module):
    """A vector for each token, from all the others on both sides (Devlin et al. 2019, section 3).

        x = LayerNorm(e(token) + e(position) + e(segment))      x ← block(x), several times

    What it learns from, and what is predicted from its vectors, is for the models that have it as their body; one that
    predicts nothing of a text as a whole leaves the pooler out.
    """

    also_reads: ClassVar[tuple[str, ...]] = ("segment_BT",)

    def __init__(self, settings: BertSettings, *, vocabulary: int, pooled: bool = True) -> None:
        super().__init__()
        self.settings = settings
        self.width = width = settings.width
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = LearntPositions(settings.context, width=width, first=settings.first_position)
        self.segments = nn.Embedding(settings.segments, width) if settings.segments else None
        self.norm = nn.LayerNorm(width, eps=settings.epsilon)
        self.dropout = Dropout(settings.dropout)
        self.blocks = nn.ModuleList(
            Block(
                Attention(
                    width=width, heads=settings.heads, view=ITSELF, bias=True, dropout=settings.attention_dropout
                ),
                GELUFeedForward(width=width, inner=settings.feed_forward),
                partial(PostNorm, width=width, dropout=settings.dropout, epsilon=settings.epsilon),
            )
            for _ in range(settings.layers)
        )
        self.pooler = Linear(width, width) if settings.pooler and pooled else None
        self.embedded, self.contextual = Tap(), Tap()
        init_weights(self)

    def forward(self, tokens_BT: Tensor, real_BT: Tensor | None = None, segment_BT: Tensor | None = None) -> Tensor:
        """`h_BTD`: what the last block makes of each token; padding has no part in it. Without segments all is one."""
        time = tokens_BT.shape[1]
        assert time <= self.settings.context, f"{time} tokens at once are too many"
        position_1T = torch.arange(time, device=tokens_BT.device).unsqueeze(0)
        x_BTD = self.tokens(tokens_BT) + self.positions(position_1T)
        if self.segments is not None:
            segment_BT = torch.zeros_like(tokens_BT) if segment_BT is None else segment_BT
            x_BTD = x_BTD + self.segments(segment_BT.clamp_max(self.settings.segments - 1))
        x_BTD = self.embedded(self.dropout(self.norm(x_BTD)))
        allowed_B1T = None if real_BT is None or bool(real_BT.all()) else real_BT.unsqueeze(1)
        for block in self.blocks:
            x_BTD, _ = block(x_BTD, allowed_B1T, None, position_1T)
        h_BTD: Tensor = self.contextual(x_BTD)
        return h_BTD

    hidden = forward

    def pool(self) -> First:
        """Its pooler; where it has none, a new one: RoBERTa's has tanh, DistilBERT's the positive part."""
        if self.pooler is not None:
            return First(self.pooler)
        return First(Linear(self.width, self.width), positive=self.settings.kind == "distilbert")

    def pooled(self, h_BTD: Tensor) -> Tensor:
        """`p_BD`: the vector that stands for a whole text, tanh(W h₀ + b), or h₀ where there is no pooler."""
        first_BD = h_BTD[:, 0]
        return first_BD if self.pooler is None else self.pooler(first_BD).tanh()

    def depths(self) -> dict[str, int]:
        """The embeddings lie below all blocks."""
        below = dict.fromkeys(("tokens", "positions", "segments", "norm"), 0)
        return below | {f"blocks.{place}": place + 1 for place in range(self.settings.layers)}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Its embeddings, and what the last block makes of them."""
        return {"tokens": TokenVectors(self.tokens.weight, self.contextual)}


class MaskedBert(nn.Module):
    """p(hidden token | all others), and whether the second text really follows (Devlin et al. 2019, section 3.1).

        p = softmax(e LayerNorm(GELU(W h + b)) + c)        p(follows) = softmax(W' tanh(W'' h₀))

    The matrix of the tokens' vectors is also the output's. In training only the hidden tokens go through it: with its
    many rows it would otherwise take longer than all blocks.
    """

    def __init__(self, settings: MaskedBertSettings, *, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.body = Bert(settings, vocabulary=vocabulary)
        if settings.head:
            self.transform = Linear(settings.width, settings.width)
            self.transform_norm = nn.LayerNorm(settings.width, eps=settings.epsilon)
            self.bias_V = nn.Parameter(torch.zeros(vocabulary))
        self.follows = Linear(settings.width, 2) if settings.head and settings.pooler else None
        init_weights(self)

    def forward(self, batch: Masked, carry: None = None) -> tuple[Tensor, None]:
        """`logits_BTV`: how well each token fits each place, hidden or not."""
        return self.lens(self.read(batch)), carry

    def both(self, batch: Masked) -> tuple[Tensor, Tensor | None]:
        """`logits_NV` of the chosen places alone, row by row, and `follows_B2`, whether the second text follows.

        That is None without a pooler.
        """
        return self.predictions(self.read(batch), batch)

    def predictions(self, h_BTD: Tensor, batch: Masked) -> tuple[Tensor, Tensor | None]:
        """The same, from what the body made of each token."""
        follows_B2 = None if self.follows is None else self.follows(self.body.pooled(h_BTD))
        return self.lens(h_BTD[batch.chosen_BT]), follows_B2

    def read(self, batch: Masked) -> Tensor:
        """`h_BTD`: what the body makes of each token."""
        h_BTD: Tensor = self.body(batch.input, batch.real_BT, batch.segment_BT)
        return h_BTD

    def lens(self, stream_BTD: Tensor) -> Tensor:
        """What a block would predict at each place if it were the last."""
        assert self.settings.head, "this encoder has no output for words"
        x_BTD = self.transform_norm(F.gelu(self.transform(stream_BTD)))
        return token_logits(x_BTD, self.body.tokens.weight) + self.bias_V

    def token_vectors(self) -> dict[str, TokenVectors]:
        """The body's."""
        return self.body.token_vectors()
