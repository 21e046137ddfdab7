"""Recurrent layers that read a text or a series, as a body for any head.

B batch · T time · E embedding · D width, of both directions together
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import torch.nn.functional as F
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from seqwright.layers.embeddings import TokenEmbedding, TokenVectors, first_layer
from seqwright.layers.initialisation import Initialisation, initialise
from seqwright.layers.recurrence import GRUCell, LSTMCell, RecurrentCell, RNNCell, UGRNNCell
from seqwright.layers.scanning import Recurrent, VariationalDropout
from seqwright.layers.taps import Tap
from seqwright.models.heads import Last
from seqwright.setting_classes import ModelSettings

CELLS: dict[str, Callable[..., RecurrentCell[Any]]] = {
    "rnn": RNNCell,
    "ugrnn": UGRNNCell,
    "gru": GRUCell,
    "lstm": LSTMCell,
}


class ReadingSettings(ModelSettings):
    """A network that reads token by token and remembers in a state of fixed size."""

    has_head: ClassVar[bool] = True

    kind: Literal["rnn", "ugrnn", "gru", "lstm"] = "lstm"
    width: PositiveInt = 128
    """Width of the state of each layer, in each direction."""
    embedding: PositiveInt = 128
    """Width of the tokens' vectors."""
    layers: PositiveInt = 1
    """Recurrent layers, one above the other."""
    bidirectional: bool = True
    """Whether each layer also reads from the end to the beginning."""
    dropout: float = Field(default=0.5, ge=0, lt=1)
    """Share that is dropped, in training, of what goes from layer to layer and of the last one's output."""
    embedding_dropout: float = Field(default=0.2, ge=0, lt=1)
    """Share of the tokens' vectors that is dropped in training: the same values at every token of a text."""
    word_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of the tokens whose whole vector is dropped in training."""
    initialisation: Initialisation = "orthogonal"
    """How the cells' weights begin."""
    forget_bias: float = 1.0
    """Added at the beginning to the bias of the gate that keeps the old state, so that it stands open."""

    def body(self, *, vocabulary: int | None = None, channels: int | None = None) -> "RecurrentReader":
        """The layers."""
        return RecurrentReader(self, vocabulary=vocabulary, channels=channels)


class WordDropout(nn.Module):
    """Dropout of whole vectors (Iyyer et al. 2015, section 2.3)."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x_BTE: Tensor) -> Tensor:
        """The sequences, without a share of their vectors."""
        return x_BTE * F.dropout(x_BTE.new_ones(x_BTE.shape[:2]), self.share, self.training).unsqueeze(-1)


class RecurrentReader(nn.Module):
    """A first layer, and recurrent layers over it.

        h_t = [cell(e(x_t), h_{t-1}), cell'(e(x_t), h'_{t+1})]

    The first layer has a vector for each token of a vocabulary, or maps the values of so many channels to one; for the
    frames of films it is built and given. Values of vectors are dropped as in Gal & Ghahramani 2016, whole words as in
    Iyyer et al. 2015, section 2.3. In one direction there is no h' (both: Schuster & Paliwal 1997).
    """

    also_reads: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        settings: ReadingSettings,
        *,
        vocabulary: int | None = None,
        channels: int | None = None,
        first: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.embedding = first or first_layer(settings.embedding, vocabulary=vocabulary, channels=channels)
        self.word_dropout = WordDropout(settings.word_dropout)
        self.embedding_dropout = VariationalDropout(settings.embedding_dropout)
        self.recurrent = Recurrent(
            CELLS[settings.kind],
            inputs=settings.embedding,
            width=settings.width,
            layers=settings.layers,
            bidirectional=settings.bidirectional,
            between=nn.Dropout(settings.dropout),
        )
        self.width = self.recurrent.width
        self.contextual = Tap()
        initialise(self.recurrent, settings.initialisation, forget_bias=settings.forget_bias)

    def forward(self, input: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """`h_BTD`: the output of the highest layer at each token or step."""
        x_BTE = self.word_dropout(self.embedding_dropout(self.embedding(input)))
        h_BTD: Tensor = self.contextual(self.recurrent(x_BTE, None, real_BT)[0])
        return h_BTD

    hidden = forward

    def pool(self) -> Last:
        """The state after the last step, of each direction."""
        return Last(bidirectional=self.settings.bidirectional)

    def depths(self) -> dict[str, int]:
        """The embeddings lie below all layers."""
        return {"embedding": 0} | {f"recurrent.layers.{place}": place + 1 for place in range(self.settings.layers)}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Its embeddings, and the highest layer's output, both directions together; none where it reads values."""
        if not isinstance(self.embedding, TokenEmbedding):
            return {}
        return {"tokens": TokenVectors(self.embedding.weight, self.contextual)}
