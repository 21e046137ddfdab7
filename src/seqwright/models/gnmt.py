"""Google's neural machine translation system (Wu et al. 2016).

B batch · S source · T target · E embedding · D width
"""

from typing import ClassVar, Literal, Unpack

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from seqwright.layers.alignment import Alignment, Everywhere, Whole
from seqwright.layers.attending import AttendingLayer, StackState, lengths
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TiedEmbedding, TokenEmbedding
from seqwright.layers.initialisation import initialise
from seqwright.layers.scanning import Recurrent, RecurrentLayer
from seqwright.layers.scores import AdditiveScore
from seqwright.models.encoder_decoder import (
    Decoder,
    DeepSettings,
    Encoder,
    EncoderDecoder,
    Vocabularies,
    tied_vocabularies,
)
from seqwright.models.reading import CELLS

UNCHANGED = 2  # layers at the bottom of either stack that have no residual connection


class GNMTSettings(DeepSettings):
    """`size` fills in whatever is not given (paper: Wu et al. 2016, sections 3 and 8.2)."""

    sizes: ClassVar[dict[str, dict[str, int | float]]] = {
        "tiny": {"width": 256, "encoder_layers": 4, "decoder_layers": 4},
        "paper": {"width": 1024, "encoder_layers": 8, "decoder_layers": 8},
    }
    kind: Literal["gnmt"] = "gnmt"
    encoder_layers: PositiveInt
    """Layers that read the source; the first reads in both directions, each as wide as a layer."""


def gnmt(settings: GNMTSettings, **sizes: Unpack[Vocabularies]) -> EncoderDecoder:
    """Deep stacks with residual connections, and one attention for all layers of the decoder (section 3, figure 1).

        encoder:   x¹ = [→LSTM; ←LSTM](e(source))        x^l = LSTM(x^{l-1}) + x^{l-1}, the sum from the third layer on
        attention: a_i = Σ_s softmax_s(vᵀ tanh(W [x_s; y¹_{i-1}])) x_s, y¹ what the decoder's first layer says
        decoder:   y¹_i = LSTM([e(word); a_i])        y^l_i = LSTM([y^{l-1}_i; a_i]) + y^{l-1}_i, the sum likewise

    The attention asks with the lowest layer's output at the step before, so only that layer goes step by step; those
    above are computed for all words at once. The length and coverage penalties of section 7 belong to the search.

    Differs from the paper: the paper does not say where the decoder begins, here it is with zeros; what the layers hold
    is not clipped or quantised (section 6); the output is `tied` unless told otherwise.
    """
    source, target = tied_vocabularies(settings, settings.width, **sizes)
    encoder = GNMTEncoder(settings, source)
    model = EncoderDecoder(encoder, GNMTDecoder(settings, target, memory=encoder.width))
    initialise(model, settings.initialisation, forget_bias=settings.forget_bias)
    return model


class GNMTEncoder(Encoder):
    """The stack on the left of figure 1."""

    def __init__(self, settings: GNMTSettings, embedding: TokenEmbedding) -> None:
        super().__init__(embedding)
        cell, width, above = CELLS[settings.cell], settings.width, settings.encoder_layers - 1
        self.dropout, self.width = Dropout(settings.dropout), width if above else 2 * width
        self.both_ways = Recurrent(cell, inputs=settings.token_width, width=width, bidirectional=True)
        self.above = Recurrent(cell, inputs=2 * width, width=width, layers=above, residual=True, between=self.dropout)

    def forward(self, source_BS: Tensor, real_BS: Tensor) -> Tensor:
        """`x_BSD` of the highest layer."""
        x_BSD, _ = self.both_ways(self.dropout(self.embedding(source_BS)), None, real_BS)
        x_BSD, _ = self.above(self.dropout(x_BSD))  # which goes forwards only, and padding comes last
        memory_BSD: Tensor = self.contextual(x_BSD)
        return memory_BSD


class GNMTDecoder(Decoder):
    """The stack on the right of figure 1, and the attention between both."""

    def __init__(self, settings: GNMTSettings, embedding: TiedEmbedding, *, memory: int) -> None:
        super().__init__(embedding)
        cell, width = CELLS[settings.cell], settings.width
        self.dropout = Dropout(settings.dropout)
        score = AdditiveScore(query=width, memory=memory, inner=width)
        alignment = Alignment(score, Whole(query=width, memory=memory), Everywhere())
        self.attending = AttendingLayer(cell(inputs=settings.token_width, width=width), alignment)
        self.above = nn.ModuleList(
            RecurrentLayer(cell(inputs=width + memory, width=width)) for _ in range(1, settings.decoder_layers)
        )

    def start(self, memory_BSD: Tensor, real_BS: Tensor | None) -> StackState:
        """Every layer with zeros."""
        source = self.attending.alignment.remember(self.dropout(memory_BSD), real_BS)
        rows = len(memory_BSD)
        first = self.attending.start(self.attending.cell.start(rows), source)
        return StackState(source, first, tuple(layer.start(rows) for layer in self.stack()))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: StackState) -> tuple[Tensor, StackState]:
        """See `Decoder.read`."""
        attended, attending = self.attending(self.embedding(tokens_BT), state.attending, state.source, real_BT)
        y_BTD, length_B, above = attended.hidden_BTD, lengths(real_BT), []
        for place, (layer, before) in enumerate(zip(self.stack(), state.above, strict=True), start=1):
            read_BTD = torch.cat((self.dropout(y_BTD), attended.context_BTC), dim=-1)
            output_BTD, reached = layer(read_BTD, before, length_B)
            y_BTD = output_BTD + y_BTD if place >= UNCHANGED else output_BTD
            above.append(reached)
        return self.embedding.logits(self.contextual(y_BTD)), StackState(state.source, attending, tuple(above))

    def stack(self) -> list[RecurrentLayer]:
        """The layers above the one that looks, from the lowest."""
        return [layer for layer in self.above if isinstance(layer, RecurrentLayer)]
