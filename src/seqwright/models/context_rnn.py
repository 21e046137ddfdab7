"""The RNN encoder-decoder whose summary is seen at every step (Cho et al. 2014).

B batch · S source · T target · E embedding · D width
"""

from typing import Literal, NamedTuple, Unpack

import torch
from pydantic import PositiveInt
from torch import Tensor

from seqwright.layers.bridging import Bridge
from seqwright.layers.deep_output import DeepOutput
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TiedEmbedding, TokenEmbedding
from seqwright.layers.initialisation import initialise
from seqwright.layers.linear import Linear
from seqwright.layers.scanning import Recurrent, RecurrentState
from seqwright.models.encoder_decoder import (
    Decoder,
    Encoder,
    EncoderDecoder,
    EncoderDecoderSettings,
    Vocabularies,
    tied_vocabularies,
)
from seqwright.models.reading import CELLS


class ContextRNNSettings(EncoderDecoderSettings):
    """A recurrent encoder whose summary the decoder and the output see at every step."""

    kind: Literal["context-rnn"] = "context-rnn"
    cell: Literal["rnn", "ugrnn", "gru", "lstm"] = "gru"
    """The cells of every layer; the paper's are gru."""
    layers: PositiveInt = 1
    """Recurrent layers, one above the other, in the encoder and in the decoder."""

    def recurrent(self, inputs: int) -> Recurrent:
        """The layers of the encoder, or of the decoder."""
        between = Dropout(self.dropout)
        return Recurrent(CELLS[self.cell], inputs=inputs, width=self.width, layers=self.layers, between=between)


class ContextRNNState(NamedTuple):
    """The state of each layer of the decoder, and the summary of the source."""

    layers: RecurrentState
    summary_BD: Tensor


def context_rnn(settings: ContextRNNSettings, **sizes: Unpack[Vocabularies]) -> EncoderDecoder:
    """The summary c of the source is fed to the decoder, and to its output, at every step (section 2.2, appendix A).

        c = tanh(V h_S)        h'_0 = tanh(V' c)
        h'_t = cell([e(y_{t-1}); c], h'_{t-1})
        t~_t = O_h h'_t + O_y e(y_{t-1}) + O_c c        t_i = max(t~_{2i-1}, t~_{2i})        p_t = softmax(G t_t)

    Differs from the paper: the embedding has one matrix where the paper's has two of low rank; there may be several
    layers, of which the lowest is fed; the output is `tied` unless told otherwise.
    """
    source, target = tied_vocabularies(settings, settings.token_width, **sizes)
    model = EncoderDecoder(ContextRNNEncoder(settings, source), ContextRNNDecoder(settings, target))
    initialise(model, settings.initialisation, forget_bias=settings.forget_bias)
    return model


class ContextRNNEncoder(Encoder):
    """Reads the source into one vector: a memory of a single position."""

    def __init__(self, settings: ContextRNNSettings, embedding: TokenEmbedding) -> None:
        super().__init__(embedding)
        self.dropout = Dropout(settings.dropout)
        self.recurrent = settings.recurrent(settings.token_width)
        self.summary = Linear(settings.width, settings.width)

    def forward(self, source_BS: Tensor, real_BS: Tensor) -> Tensor:
        """`summary_B1D`."""
        h_BSD, last = self.recurrent(self.dropout(self.embedding(source_BS)), None, real_BS)
        self.contextual(h_BSD)
        last_BD = last[-1][0].hidden_BD
        summary_BD: Tensor = self.summary(last_BD).tanh().to(last_BD.dtype)  # a state stays in full precision
        return summary_BD.unsqueeze(1)

    def sentence_vectors(self, source_BS: Tensor, real_BS: Tensor) -> Tensor:
        """The summary of each source."""
        summary_BD: Tensor = self(source_BS, real_BS).squeeze(1)
        return summary_BD


class ContextRNNDecoder(Decoder):
    """Reads the summary beside every word."""

    def __init__(self, settings: ContextRNNSettings, embedding: TiedEmbedding) -> None:
        super().__init__(embedding)
        width, tokens = settings.width, settings.token_width
        self.dropout = Dropout(settings.dropout)
        self.recurrent = settings.recurrent(tokens + width)
        self.bridge = Bridge(self.recurrent, inputs=width)
        self.deep_output = DeepOutput(state=width, token=tokens, context=width, output=tokens)

    def start(self, summary_B1D: Tensor, real_BS: Tensor | None) -> ContextRNNState:
        """From the summary."""
        summary_BD = summary_B1D.squeeze(1)
        return ContextRNNState(self.bridge(summary_BD), summary_BD)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: ContextRNNState) -> tuple[Tensor, ContextRNNState]:
        """See `Decoder.read`."""
        x_BTE, summary_B1D = self.embedding(tokens_BT), state.summary_BD.unsqueeze(1)
        fed_BTE = torch.cat((x_BTE, summary_B1D.expand(-1, x_BTE.shape[1], -1)), dim=-1)
        h_BTD, layers = self.recurrent(fed_BTE, state.layers, real_BT)
        output_BTE = self.deep_output(self.dropout(h_BTD), x_BTE, summary_B1D)
        return self.embedding.logits(self.contextual(output_BTE)), ContextRNNState(layers, state.summary_BD)
