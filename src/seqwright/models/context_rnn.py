"""The RNN encoder-decoder whose summary is seen at every step (Cho et al. 2014).

B batch · S source · T target · E embedding · D width
"""

from typing import Literal, NamedTuple, Unpack

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from seqwright.batches.pairs import Pairs
from seqwright.layers.bridging import Bridge
from seqwright.layers.deep_output import DeepOutput
from seqwright.layers.initialisation import initialise
from seqwright.layers.scanning import Recurrent, RecurrentState
from seqwright.models.encoder_decoder import EncoderDecoder, EncoderDecoderSettings, Vocabularies
from seqwright.models.reading import CELLS


class ContextRNNSettings(EncoderDecoderSettings):
    """A recurrent encoder whose summary the decoder and the output see at every step."""

    kind: Literal["context-rnn"] = "context-rnn"
    cell: Literal["rnn", "ugrnn", "gru", "lstm"] = "gru"
    """The cells of every layer; the paper's are gru."""
    layers: PositiveInt = 1
    """Recurrent layers, one above the other, in the encoder and in the decoder."""


class ContextRNNState(NamedTuple):
    """The state of each layer of the decoder, and the summary of the source."""

    layers: RecurrentState
    summary_BD: Tensor


class ContextRNN(EncoderDecoder[ContextRNNState]):
    """The summary c of the source is fed to the decoder, and to its output, at every step (section 2.2, appendix A).

        c = tanh(V h_S)        h'_0 = tanh(V' c)
        h'_t = cell([e(y_{t-1}); c], h'_{t-1})
        t~_t = O_h h'_t + O_y e(y_{t-1}) + O_c c        t_i = max(t~_{2i-1}, t~_{2i})        p_t = softmax(G t_t)

    Differs from the paper: the embedding has one matrix where the paper's has two of low rank; there may be several
    layers, of which the lowest is fed; the output is `tied` unless told otherwise.
    """

    def __init__(self, settings: ContextRNNSettings, **sizes: Unpack[Vocabularies]) -> None:
        width, embedding = settings.width, settings.token_width
        super().__init__(settings, said=embedding, **sizes)
        self.encoder, self.decoder = (
            Recurrent(CELLS[settings.cell], inputs=inputs, width=width, layers=settings.layers, between=self.dropout)
            for inputs in (embedding, embedding + width)
        )
        self.summary = nn.Linear(width, width)
        self.bridge = Bridge(self.decoder, inputs=width)
        self.deep_output = DeepOutput(state=width, token=embedding, context=width, output=embedding)
        initialise(self, settings.initialisation, forget_bias=settings.forget_bias)

    def start(self, batch: Pairs) -> ContextRNNState:
        """The source summed up, nothing written yet."""
        h_BSD, last = self.encoder(self.source_vectors(batch.source_BS), None, batch.source_real_BS)
        self.source_contextual(h_BSD)
        last_BD = last[-1][0].hidden_BD
        summary_BD = self.summary(last_BD).tanh().to(last_BD.dtype)  # a state stays in full precision
        return ContextRNNState(self.bridge(summary_BD), summary_BD)

    def sentence_vectors(self, batch: Pairs) -> Tensor:
        """The summary of each source."""
        return self.start(batch).summary_BD

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: ContextRNNState) -> tuple[Tensor, ContextRNNState]:
        """Read target tokens; the logits at t are for the token after t. Padding stands on the right."""
        x_BTE, summary_B1D = self.target_vectors(tokens_BT), state.summary_BD.unsqueeze(1)
        fed_BTE = torch.cat((x_BTE, summary_B1D.expand(-1, x_BTE.shape[1], -1)), dim=-1)
        h_BTD, layers = self.decoder(fed_BTE, state.layers, real_BT)
        said_BTE = self.deep_output(self.dropout(h_BTD), x_BTE, summary_B1D)
        return self.logits(said_BTE), ContextRNNState(layers, state.summary_BD)
