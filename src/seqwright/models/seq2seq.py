"""Sequence to sequence through a thought vector (Sutskever et al. 2014).

B batch · S source · T target · E embedding · D width
"""

from typing import Literal, Unpack

import torch
from pydantic import PositiveInt
from torch import Tensor

from seqwright.batches.pairs import Pairs
from seqwright.layers.initialisation import initialise
from seqwright.layers.scanning import Recurrent, RecurrentState, turned
from seqwright.models.encoder_decoder import EncoderDecoder, EncoderDecoderSettings, Vocabularies
from seqwright.models.reading import CELLS


class Seq2SeqSettings(EncoderDecoderSettings):
    """A deep recurrent encoder whose last states, and nothing else, are where the decoder begins."""

    kind: Literal["seq2seq"] = "seq2seq"
    layers: PositiveInt = 1
    """Recurrent layers, one above the other, in the encoder and in the decoder."""
    reversed: bool = True
    """Whether the words of the source are read from the last to the first."""


class Seq2Seq(EncoderDecoder[RecurrentState]):
    """A deep LSTM, or any other cell, reads the source; another begins in its last states (section 2).

        v = states of every layer after the source        p(y_t | v, y_1 … y_{t-1}) = softmax(U h_t)

    With `reversed` the source is read backwards, c b a for a b c, so that its first words are near the first words of
    the target (section 3.3). The token that closes the source still comes last, and padding stays behind it.

    Differs from the paper: the paper's output matrix is one of its own, which is `tied = false` here.
    """

    def __init__(self, settings: Seq2SeqSettings, **sizes: Unpack[Vocabularies]) -> None:
        super().__init__(settings, said=settings.width, **sizes)
        self.settings = settings
        self.encoder, self.decoder = (
            Recurrent(
                CELLS[settings.cell],
                inputs=settings.token_width,
                width=settings.width,
                layers=settings.layers,
                between=self.dropout,
            )
            for _ in range(2)
        )
        initialise(self, settings.initialisation, forget_bias=settings.forget_bias)

    def start(self, batch: Pairs) -> RecurrentState:
        """The thought vector: the state of every layer after the source."""
        x_BSE = self.source_vectors(batch.source_BS)
        words_B = batch.source_real_BS.sum(1) - 1  # without the token that closes the source
        if self.settings.reversed:
            x_BSE = turned(x_BSE, words_B)
        thought: RecurrentState
        h_BSD, thought = self.encoder(x_BSE, None, batch.source_real_BS)
        self.source_contextual(turned(h_BSD, words_B) if self.settings.reversed else h_BSD)
        return thought

    def sentence_vectors(self, batch: Pairs) -> Tensor:
        """What every layer shows after the source, side by side."""
        return torch.cat([cell.hidden_BD for (cell,) in self.start(batch)], dim=1)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Read target tokens; the logits at t are for the token after t. Padding stands on the right."""
        h_BTD, state = self.decoder(self.target_vectors(tokens_BT), state, real_BT)
        return self.logits(h_BTD), state
