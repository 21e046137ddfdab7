"""The recurrent language model (Mikolov et al. 2010), over any of the recurrent cells.

B batch · T time · V vocabulary · E embedding · D width
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TokenEmbedding, TokenVectors
from seqwright.layers.initialisation import Initialisation, initialise
from seqwright.layers.linear import Linear
from seqwright.layers.recurrence import DeepTransition, GRUCell, LSTMCell, RecurrentCell, ReLUCell, RNNCell, UGRNNCell
from seqwright.layers.scanning import Recurrent, RecurrentState, VariationalDropout
from seqwright.layers.taps import Tap
from seqwright.models.heads import Last
from seqwright.setting_classes import ModelSettings

CELLS: dict[tuple[str, str], Callable[..., RecurrentCell[Any]]] = {
    ("rnn", "tanh"): RNNCell,
    ("rnn", "relu"): ReLUCell,
    ("ugrnn", "tanh"): UGRNNCell,
    ("gru", "tanh"): GRUCell,
    ("lstm", "tanh"): LSTMCell,
}


class RecurrentLMSettings(ModelSettings):
    """A language model that reads token by token and remembers in a state of fixed size."""

    kind: Literal["rnn", "ugrnn", "gru", "lstm"] = "lstm"
    width: PositiveInt = 256
    """Width of the state of each layer."""
    embedding: PositiveInt | None = None
    """Width of the tokens' vectors; that of the state if not given."""
    layers: PositiveInt = 1
    """Recurrent layers, one above the other."""
    transition: NonNegativeInt = 0
    """Further cells inside each step: a deep transition (Pascanu et al. 2014)."""
    residual: bool = False
    """Whether each layer after the first adds its input to its output."""
    activation: Literal["tanh", "relu"] = "tanh"
    """What the cells of an rnn put their sums through; the gated kinds have tanh."""
    dropout: float = Field(default=0.2, ge=0, lt=1)
    """Share that is dropped, in training, of what enters each layer and leaves the last."""
    dropout_kind: Literal["ordinary", "variational"] = "ordinary"
    """variational: the same values at every step of a row, and also on the way from step to step."""
    initialisation: Initialisation = "orthogonal"
    """How the cells' weights begin: uniform is torch's; identity is for an rnn with relu."""
    forget_bias: float = 1.0
    """Added at the beginning to the bias of the gate that keeps the old state, so that it stands open."""
    tied: bool = True
    """Whether the matrix of the tokens' vectors is also the output's."""

    @model_validator(mode="after")
    def _what_only_the_plain_cell_has(self) -> "RecurrentLMSettings":
        if self.kind != "rnn" and (self.activation != "tanh" or self.initialisation == "identity"):
            raise ValueError(f"activation 'relu' and initialisation 'identity' are for kind 'rnn', not '{self.kind}'")
        return self

    def body(self, *, vocabulary: int) -> "RecurrentLM":
        """The network."""
        return RecurrentLM(self, vocabulary=vocabulary)


class RecurrentLM(nn.Module):
    """p(next token | all before it), from a state that is carried from token to token.

        h_t = cell(e(x_t), h_{t-1})        p_t = softmax(v h_t)

    With `tied`, v is the embedding's own matrix (Press & Wolf 2017; Inan et al. 2017), behind a projection where the
    state has another width than the embedding. What the cells read is wider than e(x_t) by `beside`, for models that
    give them more than the token (`read_vectors`).
    """

    also_reads: ClassVar[tuple[str, ...]] = ()
    carries: ClassVar[bool] = True
    context: int | None = None

    def __init__(self, settings: RecurrentLMSettings, *, vocabulary: int, beside: int = 0) -> None:
        super().__init__()
        self.settings = settings
        self.width = width = settings.width
        embedding = settings.embedding or width
        cell = CELLS[settings.kind, settings.activation]
        if settings.transition:
            cell = partial(DeepTransition, cell, layers=settings.transition)
        variational = settings.dropout_kind == "variational"
        self.dropout = VariationalDropout(settings.dropout) if variational else Dropout(settings.dropout)
        self.embedding = TokenEmbedding(vocabulary=vocabulary, width=embedding)
        self.recurrent = Recurrent(
            cell,
            inputs=embedding + beside,
            width=width,
            layers=settings.layers,
            residual=settings.residual,
            between=self.dropout,
            within=self.dropout if isinstance(self.dropout, VariationalDropout) else None,
        )
        self.contextual = Tap()
        self.narrow = Linear(width, embedding) if settings.tied and width != embedding else nn.Identity()
        self.output = None if settings.tied else Linear(width, vocabulary)
        initialise(self.recurrent, settings.initialisation, forget_bias=settings.forget_bias)

    def forward(self, tokens_BT: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """`logits_BTV` of every next token of texts that are read from their first token."""
        return self.logits(self.hidden(tokens_BT, real_BT))

    def carried(self, carry: RecurrentState | None, fresh_B: Tensor) -> RecurrentState:
        """See `Recurrent.carried`."""
        return self.recurrent.carried(carry, fresh_B)

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Its embeddings, and the output of the highest layer."""
        return {"tokens": TokenVectors(self.embedding.weight, self.contextual)}

    def start(self, rows: int) -> RecurrentState:
        """Nothing read yet."""
        return self.recurrent.start(rows)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Read tokens; the logits at t are for the token after t. Padding stands on the right."""
        return self.read_vectors(self.vectors(tokens_BT), real_BT, state)

    def vectors(self, tokens_BT: Tensor) -> Tensor:
        """What the cells read of tokens."""
        x_BTE: Tensor = self.dropout(self.embedding(tokens_BT))
        return x_BTE

    def read_vectors(self, x_BTE: Tensor, real_BT: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """`read` of vectors in place of tokens."""
        h_BTD, state = self.recurrent(x_BTE, state, real_BT)
        return self.logits(self.dropout(self.contextual(h_BTD))), state

    def hidden(self, tokens_BT: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """`h_BTD`: the output of the highest layer at each token of texts that are read from their first token."""
        output_BTD, _ = self.recurrent(self.vectors(tokens_BT), None, real_BT)
        h_BTD: Tensor = self.dropout(self.contextual(output_BTD))
        return h_BTD

    def logits(self, h_BTD: Tensor) -> Tensor:
        """How well each token of the vocabulary fits after each vector."""
        logits_BTV: Tensor = self.embedding.logits(self.narrow(h_BTD)) if self.output is None else self.output(h_BTD)
        return logits_BTV

    def pool(self) -> Last:
        """What it says at the last token."""
        return Last()

    def depths(self) -> dict[str, int]:
        """The embeddings lie below all layers."""
        return {"embedding": 0} | {f"recurrent.layers.{place}": place + 1 for place in range(self.settings.layers)}
