"""Deep-Att: deep recurrent models with fast-forward connections (Zhou et al. 2016).

B batch · S source · T target · E embedding · D width · G the gates of a cell and its target side by side, D each
"""

from typing import Any, ClassVar, Literal, Unpack

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from seqwright.layers.alignment import Alignment, Everywhere, Whole
from seqwright.layers.attending import AttendingLayer, StackState, lengths
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TiedEmbedding, TokenEmbedding
from seqwright.layers.fast_forward import FastForwardLayer, fast_forwarded, half
from seqwright.layers.initialisation import initialise
from seqwright.layers.linear import Linear
from seqwright.layers.recurrence import RecurrentCell
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


class DeepAttSettings(DeepSettings):
    """`size` fills in whatever is not given (paper: Zhou et al. 2016, section 4.2)."""

    sizes: ClassVar[dict[str, dict[str, int | float]]] = {
        "tiny": {"width": 128, "encoder_layers": 3, "decoder_layers": 3},
        "paper": {"width": 512, "embedding": 256, "encoder_layers": 9, "decoder_layers": 7, "dropout": 0.1},
    }
    kind: Literal["deep-att"] = "deep-att"
    encoder_layers: PositiveInt
    """Layers in each of the encoder's two columns."""


def deep_att(settings: DeepAttSettings, **sizes: Unpack[Vocabularies]) -> EncoderDecoder:
    """Two interleaved columns read, one column writes, and linear paths lead through all of them (section 3.2).

        f^k_t = W^k [Half(f^{k-1}_t); h^{k-1}_t], f¹_t = W¹ x_t        h^k_t = cell(f^k_t, h^k_{t-1} or h^k_{t+1})
        e_t = W_p [h^n of both columns; f^n of both columns]
        c_i = Σ_t softmax_t(vᵀ tanh(W [e_t; s¹_{i-1}])) e_t, s¹ what the decoder's first layer says
        decoder: x_i = [e(y_{i-1}); c_i], then as a column whose layers all go forwards        p_i = softmax(U h^n_i)

    The direction changes from layer to layer; the first layer of one column goes forwards, of the other backwards. W_p
    makes a quarter of the width that it is given.

    Differs from the paper: its LSTM has peepholes; its first word is a vector of zeros, here it is a token; the output
    is `tied` unless told otherwise.
    """
    source, target = tied_vocabularies(settings, settings.width, **sizes)
    first = CELLS[settings.cell](inputs=settings.token_width, width=settings.width)
    encoder = DeepAttEncoder(settings, source, gates=len(first.weights.bias_G))
    model = EncoderDecoder(encoder, DeepAttDecoder(settings, target, first, memory=encoder.width))
    initialise(model, settings.initialisation, forget_bias=settings.forget_bias)
    return model


class DeepAttEncoder(Encoder):
    """Two columns, and the interface that joins what they say."""

    def __init__(self, settings: DeepAttSettings, embedding: TokenEmbedding, *, gates: int) -> None:
        super().__init__(embedding)
        cell, width, between = CELLS[settings.cell], settings.width, half(gates) + settings.width
        self.dropout, self.width = Dropout(settings.dropout), (width + gates) // 2
        self.columns = nn.ModuleList()
        for column in range(2):
            reads = (between if place else settings.token_width for place in range(settings.encoder_layers))
            cells = (cell(inputs=inputs, width=width) for inputs in reads)
            self.columns.append(
                nn.ModuleList(FastForwardLayer(one, backwards=(n + column) % 2 == 1) for n, one in enumerate(cells))
            )
        self.interface = Linear(2 * (width + gates), self.width, bias=False)

    def forward(self, source_BS: Tensor, real_BS: Tensor) -> Tensor:
        """`e_BSD`."""
        x_BSE, length_B = self.dropout(self.embedding(source_BS)), lengths(real_BS)
        hidden, given = [], []
        for column in self.columns:
            read_BSE = x_BSE
            for layer in layers_of(column):
                f_BSG, h_BSD, _ = layer(read_BSE, layer.start(len(x_BSE)), length_B)
                read_BSE = fast_forwarded(f_BSG, self.dropout(h_BSD))
            hidden.append(h_BSD)
            given.append(f_BSG)
        e_BSD: Tensor = self.contextual(self.interface(torch.cat((*hidden, *given), dim=-1)))
        return e_BSD


class DeepAttDecoder(Decoder):
    """One column, whose first layer looks into the source."""

    def __init__(
        self, settings: DeepAttSettings, embedding: TiedEmbedding, first: RecurrentCell[Any], *, memory: int
    ) -> None:
        super().__init__(embedding)
        self.dropout, width = Dropout(settings.dropout), settings.width
        score = AdditiveScore(query=width, memory=memory, inner=width)
        self.attending = AttendingLayer(first, Alignment(score, Whole(query=width, memory=memory), Everywhere()))
        between = half(len(first.weights.bias_G)) + width
        self.above = nn.ModuleList(
            FastForwardLayer(CELLS[settings.cell](inputs=between, width=width))
            for _ in range(1, settings.decoder_layers)
        )

    def start(self, memory_BSD: Tensor, real_BS: Tensor | None) -> StackState:
        """Every layer with zeros."""
        source, rows = self.attending.alignment.remember(memory_BSD, real_BS), len(memory_BSD)
        first = self.attending.start(self.attending.cell.start(rows), source)
        return StackState(source, first, tuple(layer.start(rows) for layer in layers_of(self.above)))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: StackState) -> tuple[Tensor, StackState]:
        """See `Decoder.read`."""
        attended, attending = self.attending(self.embedding(tokens_BT), state.attending, state.source, real_BT)
        f_BTG, h_BTD, length_B, above = attended.input_BTG, attended.hidden_BTD, lengths(real_BT), []
        for layer, before in zip(layers_of(self.above), state.above, strict=True):
            f_BTG, h_BTD, reached = layer(fast_forwarded(f_BTG, self.dropout(h_BTD)), before, length_B)
            above.append(reached)
        return self.embedding.logits(self.contextual(h_BTD)), StackState(state.source, attending, tuple(above))


def layers_of(column: nn.Module) -> list[FastForwardLayer]:
    """The layers of a column from the lowest."""
    return [layer for layer in column.children() if isinstance(layer, FastForwardLayer)]
