"""GPT-2: a Transformer's decoder on its own (Radford et al. 2018 and 2019; Brown et al. 2020).

B batch · T time · C cached and new positions · V vocabulary · D width
"""

from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.layers.attention import Allowed, Attention, Causal, KeysValues, not_later, who_may_read
from seqwright.layers.blocks import ITSELF, Block, GELUFeedForward, PreNorm
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TokenTable, TokenVectors
from seqwright.layers.positions import LearntPositions, next_positions
from seqwright.layers.taps import Tap
from seqwright.models.heads import Last
from seqwright.setting_classes import ModelSettings

SIZES: dict[str, dict[str, int]] = {
    "tiny": {"width": 128, "heads": 4, "layers": 4, "context": 256},
    "mini": {"width": 256, "heads": 4, "layers": 4, "context": 256},
    "small": {"width": 768, "heads": 12, "layers": 12, "context": 1024},
    "medium": {"width": 1024, "heads": 16, "layers": 24, "context": 1024},
    "large": {"width": 1280, "heads": 20, "layers": 36, "context": 1024},
    "xl": {"width": 1600, "heads": 25, "layers": 48, "context": 1024},
    "175b": {"width": 12288, "heads": 96, "layers": 96, "context": 2048},
}
DEVIATION = 0.02  # of the weights at the beginning


class GPTSettings(ModelSettings):
    """`size` fills in whatever is not given: GPT-2's four (Radford et al. 2019, table 2), GPT-3's largest (Brown et al.
    2020, table 2.1), and two for a laptop.
    """

    kind: Literal["gpt"] = "gpt"
    size: Literal["tiny", "mini", "small", "medium", "large", "xl", "175b"] = "tiny"
    """Named settings of the papers (small to xl, 175b) or for a laptop (tiny, mini); every other key overrides them."""
    width: PositiveInt
    """Width of every vector in the stream."""
    heads: PositiveInt
    """Attention heads; they share the width."""
    layers: PositiveInt
    """Blocks, one above the other."""
    context: PositiveInt
    """Most tokens that can be read at once: there is a vector for each position."""
    feed_forward: PositiveInt
    """Inner width of the feed-forward sublayers; four times the width if not given."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of each sublayer's output, and of the embeddings, that is dropped in training."""
    attention_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the attention's weights that is dropped in training; GPT-2 has 0.1, which is slow on a CPU."""

    @property
    def room(self) -> int:
        """The context."""
        return self.context

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_size(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        whole = {**SIZES.get(str(given.get("size", "tiny")), {}), **given}
        width = whole.get("width")
        return {"feed_forward": 4 * width if isinstance(width, int) else width, **whole}

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> "GPTSettings":
        if self.width % self.heads:
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads")
        return self

    def body(self, *, vocabulary: int) -> "GPT":
        """The network."""
        return GPT(self, vocabulary=vocabulary)


class GPTState(NamedTuple):
    """What was read so far, as keys and values of each block, and where it stands in its text, -1 at padding."""

    past: tuple[KeysValues | None, ...]
    position_BC: Tensor


class GPT(nn.Module):
    """p(next token | all before it) from blocks that read only what is before (Radford et al. 2019, section 2.3).

        x = e(token) + e(position)      x ← block(x), several times      p = softmax(e LayerNorm(x))

    The matrix of the tokens' vectors is also the output's. Weights begin with deviation 0.02, those that end in the
    stream with 0.02/√(2 layers), so that it does not grow with the depth.
    """

    also_reads: ClassVar[tuple[str, ...]] = ("document_BT",)
    carries: ClassVar[bool] = False

    def __init__(self, settings: GPTSettings, *, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.context: int | None = settings.context
        self.width = width = settings.width
        self.tokens = TokenTable(vocabulary, width)
        self.positions = LearntPositions(settings.context, width=width)
        self.dropout = Dropout(settings.dropout)
        self.blocks = nn.ModuleList(
            Block(
                Attention(
                    width=width, heads=settings.heads, view=ITSELF, bias=True, dropout=settings.attention_dropout
                ),
                GELUFeedForward(width=width, inner=settings.feed_forward, approximate="tanh"),
                partial(PreNorm, width=width, dropout=settings.dropout),
            )
            for _ in range(settings.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.contextual = Tap()
        init_weights(self)
        for name, parameter in self.named_parameters():
            if name.endswith(("attention.output.weight", "feed_forward.narrow.weight")):
                nn.init.normal_(parameter, std=DEVIATION / (2 * settings.layers) ** 0.5)

    def forward(self, tokens_BT: Tensor, real_BT: Tensor | None = None, document_BT: Tensor | None = None) -> Tensor:
        """`logits_BTV` of every next token."""
        return self.logits(self.hidden(tokens_BT, real_BT, document_BT))

    def hidden(self, tokens_BT: Tensor, real_BT: Tensor | None = None, document_BT: Tensor | None = None) -> Tensor:
        """`h_BTD`: what the last block makes of each token. Padding stands on the right, where nobody reads it.

        Where `document_BT` numbers the documents that share a row, none reads another and each begins at position 0.
        """
        time = tokens_BT.shape[1]
        position_1T = torch.arange(time, device=tokens_BT.device).unsqueeze(0)
        if document_BT is None:
            return self.run_blocks(tokens_BT, position_1T, Causal(), (None,) * len(self.blocks))[0]
        begins_BT = torch.ones_like(tokens_BT, dtype=torch.bool)
        begins_BT[:, 1:] = document_BT[:, 1:] != document_BT[:, :-1]
        first_BT = torch.where(begins_BT, position_1T, 0).cummax(1).values
        allowed_BTT = (first_BT.unsqueeze(2) == first_BT.unsqueeze(1)) & not_later(time, time, tokens_BT.device)
        return self.run_blocks(tokens_BT, position_1T - first_BT, allowed_BTT, (None,) * len(self.blocks))[0]

    def run_blocks(
        self, tokens_BT: Tensor, position_BC: Tensor, allowed: Allowed, past: tuple[KeysValues | None, ...]
    ) -> tuple[Tensor, tuple[KeysValues, ...]]:
        """Through all blocks: the last one's vectors, normalised, and what later tokens will read."""
        time = tokens_BT.shape[1]
        assert time <= self.settings.context, f"{time} tokens at once are too many"
        x_BTD = self.dropout(self.tokens(tokens_BT) + self.positions(position_BC[:, position_BC.shape[1] - time :]))
        now: list[KeysValues] = []
        for block, before in zip(self.blocks, past, strict=True):
            x_BTD, after = block(x_BTD, allowed, before, position_BC)
            now.append(after)
        return self.contextual(self.norm(x_BTD)), tuple(now)

    def logits(self, h_BTD: Tensor) -> Tensor:
        """How well each token of the vocabulary fits after each vector."""
        return self.tokens.logits(h_BTD)

    @property
    def output_VD(self) -> Tensor:
        """What vectors are multiplied with to be logits: those of the tokens."""
        return self.tokens.weight

    def lens(self, stream_BTD: Tensor) -> Tensor:
        """What a block would say if it were the last."""
        return self.logits(self.norm(stream_BTD))

    def pool(self) -> Last:
        """The vector of the last token, which has read all others."""
        return Last()

    def depths(self) -> dict[str, int]:
        """The embeddings lie below all blocks."""
        below = dict.fromkeys(("tokens", "positions"), 0)
        return below | {f"blocks.{place}": place + 1 for place in range(self.settings.layers)}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Its embeddings, and what the last block makes of them."""
        return {"tokens": TokenVectors(self.tokens.weight, self.contextual)}

    def carried(self, carry: None, fresh_B: Tensor) -> None:
        """Nothing: no state flows between batches."""

    def start(self, rows: int) -> GPTState:
        """Nothing read yet."""
        nothing_B0 = torch.zeros(rows, 0, dtype=torch.int64, device=self.tokens.weight.device)
        return GPTState((None,) * len(self.blocks), nothing_B0)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: GPTState) -> tuple[Tensor, GPTState]:
        """Read tokens; the logits at t are for the token after t. Rows may hold padding anywhere."""
        position_BC = torch.cat((state.position_BC, next_positions(state.position_BC, real_BT)), dim=1)
        allowed_BTC = who_may_read(position_BC, real_BT.shape[1])
        h_BTD, past = self.run_blocks(tokens_BT, position_BC, allowed_BTC, state.past)
        return self.logits(h_BTD), GPTState(past, position_BC)


def init_weights(module: nn.Module) -> None:
    """Every matrix drawn with deviation 0.02, no bias (Radford et al. 2018, section 4.1; Devlin et al. 2019)."""
    for each in module.modules():
        if isinstance(each, nn.Linear | nn.Embedding):
            nn.init.normal_(each.weight, std=DEVIATION)
        if isinstance(each, nn.Linear) and each.bias is not None:
            nn.init.zeros_(each.bias)
