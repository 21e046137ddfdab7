"""Deep-Att: deep recurrent models with fast-forward connections (Zhou et al. 2016).

B batch · S source · T target · E embedding · D width · G the gates of a cell and its target side by side, D each
"""

from typing import ClassVar, Literal, Unpack

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from seqwright.batches.pairs import Pairs
from seqwright.layers.alignment import Alignment, Everywhere, Whole
from seqwright.layers.attending import AttendingLayer, lengths
from seqwright.layers.fast_forward import FastForwardLayer, half, joined
from seqwright.layers.initialisation import initialise
from seqwright.layers.scores import AdditiveScore
from seqwright.models.encoder_decoder import AttendingStack, DeepSettings, StackState, Vocabularies
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


class DeepAtt(AttendingStack):
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

    def __init__(self, settings: DeepAttSettings, **sizes: Unpack[Vocabularies]) -> None:
        width, embedding = settings.width, settings.token_width
        super().__init__(settings, said=width, **sizes)
        cell = CELLS[settings.cell]
        first = cell(inputs=embedding, width=width)
        gates = len(first.weights.bias_G)
        between = half(gates) + width
        self.columns = nn.ModuleList()
        for column in range(2):
            cells = (cell(inputs=between if n else embedding, width=width) for n in range(settings.encoder_layers))
            self.columns.append(
                nn.ModuleList(FastForwardLayer(one, backwards=(n + column) % 2 == 1) for n, one in enumerate(cells))
            )
        memory = (width + gates) // 2
        self.interface = nn.Linear(2 * (width + gates), memory, bias=False)
        score = AdditiveScore(query=width, memory=memory, inner=width)
        self.attending = AttendingLayer(first, Alignment(score, Whole(query=width, memory=memory), Everywhere()))
        self.above = nn.ModuleList(
            FastForwardLayer(cell(inputs=between, width=width)) for _ in range(1, settings.decoder_layers)
        )
        initialise(self, settings.initialisation, forget_bias=settings.forget_bias)

    def start(self, batch: Pairs) -> StackState:
        """The source read, nothing written yet."""
        real_BS, rows = batch.source_real_BS, len(batch.source_BS)
        x_BSE, length_B = self.source_vectors(batch.source_BS), lengths(real_BS)
        hidden, given = [], []
        for column in self.columns:
            read_BSE = x_BSE
            for layer in layers_of(column):
                f_BSG, h_BSD, _ = layer(read_BSE, layer.start(rows), length_B)
                read_BSE = joined(f_BSG, self.dropout(h_BSD))
            hidden.append(h_BSD)
            given.append(f_BSG)
        memory_BSD = self.source_contextual(self.interface(torch.cat((*hidden, *given), dim=-1)))
        source = self.attending.alignment.remember(memory_BSD, real_BS)
        first = self.attending.start(self.attending.cell.start(rows), source)
        return StackState(source, first, tuple(layer.start(rows) for layer in layers_of(self.above)))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: StackState) -> tuple[Tensor, StackState]:
        """Read target tokens; the logits at t are for the token after t. Padding stands on the right."""
        attended, attending = self.attending(self.target_vectors(tokens_BT), state.attending, state.source, real_BT)
        f_BTG, h_BTD, length_B, above = attended.input_BTG, attended.hidden_BTD, lengths(real_BT), []
        for layer, before in zip(layers_of(self.above), state.above, strict=True):
            f_BTG, h_BTD, reached = layer(joined(f_BTG, self.dropout(h_BTD)), before, length_B)
            above.append(reached)
        return self.logits(h_BTD), StackState(state.source, attending, tuple(above))


def layers_of(column: nn.Module) -> list[FastForwardLayer]:
    """The layers of a column from the lowest."""
    return [layer for layer in column.children() if isinstance(layer, FastForwardLayer)]
