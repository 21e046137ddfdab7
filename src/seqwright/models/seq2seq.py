"""Sequence to sequence through a thought vector (Sutskever et al. 2014).

B batch · S source · T target · E embedding · D width
"""

from typing import Literal, Unpack

import torch
from pydantic import PositiveInt
from torch import Tensor

from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TiedEmbedding, TokenEmbedding
from seqwright.layers.initialisation import initialise
from seqwright.layers.scanning import Recurrent, RecurrentState, turned
from seqwright.models.encoder_decoder import (
    Decoder,
    Encoder,
    EncoderDecoder,
    EncoderDecoderSettings,
    Vocabularies,
    tied_vocabularies,
)
from seqwright.models.reading import CELLS


class Seq2SeqSettings(EncoderDecoderSettings):
    """A deep recurrent encoder whose last states, and nothing else, are where the decoder begins."""

    kind: Literal["seq2seq"] = "seq2seq"
    layers: PositiveInt = 1
    """Recurrent layers, one above the other, in the encoder and in the decoder."""
    reversed: bool = True
    """Whether the words of the source are read from the last to the first."""

    def recurrent(self) -> Recurrent:
        """The layers of the encoder, or of the decoder."""
        return Recurrent(
            CELLS[self.cell],
            inputs=self.token_width,
            width=self.width,
            layers=self.layers,
            between=Dropout(self.dropout),
        )


def seq2seq(settings: Seq2SeqSettings, **sizes: Unpack[Vocabularies]) -> EncoderDecoder:
    """A deep LSTM, or any other cell, reads the source; another begins in its last states (section 2).

        v = states of every layer after the source        p(y_t | v, y_1 … y_{t-1}) = softmax(U h_t)

    Differs from the paper: the paper's output matrix is one of its own, which is `tied = false` here.
    """
    source, target = tied_vocabularies(settings, settings.width, **sizes)
    model = EncoderDecoder(Seq2SeqEncoder(settings, source), Seq2SeqDecoder(settings, target))
    initialise(model, settings.initialisation, forget_bias=settings.forget_bias)
    return model


class Seq2SeqEncoder(Encoder):
    """Gives the thought vector: the state of every layer after the source.

    With `reversed` the source is read backwards, c b a for a b c, so that its first words are near the first words of
    the target (section 3.3). The token that closes the source still comes last, and padding stays behind it.
    """

    def __init__(self, settings: Seq2SeqSettings, embedding: TokenEmbedding) -> None:
        super().__init__(embedding)
        self.dropout, self.reversed = Dropout(settings.dropout), settings.reversed
        self.recurrent = settings.recurrent()

    def forward(self, source_BS: Tensor, real_BS: Tensor) -> RecurrentState:
        """The thought."""
        x_BSE = self.dropout(self.embedding(source_BS))
        words_B = real_BS.sum(1) - 1  # without the token that closes the source
        if self.reversed:
            x_BSE = turned(x_BSE, words_B)
        thought: RecurrentState
        h_BSD, thought = self.recurrent(x_BSE, None, real_BS)
        self.contextual(turned(h_BSD, words_B) if self.reversed else h_BSD)
        return thought

    def sentence_vectors(self, source_BS: Tensor, real_BS: Tensor) -> Tensor:
        """What every layer shows after the source, side by side."""
        return torch.cat([cell.hidden_BD for (cell,) in self(source_BS, real_BS)], dim=1)


class Seq2SeqDecoder(Decoder):
    """Begins in the thought, and sees nothing else of the source."""

    def __init__(self, settings: Seq2SeqSettings, embedding: TiedEmbedding) -> None:
        super().__init__(embedding)
        self.recurrent = settings.recurrent()

    def start(self, thought: RecurrentState, real_BS: Tensor | None) -> RecurrentState:
        """The thought itself."""
        return thought

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """See `Decoder.read`."""
        h_BTD, state = self.recurrent(self.embedding(tokens_BT), state, real_BT)
        return self.embedding.logits(self.contextual(h_BTD)), state
