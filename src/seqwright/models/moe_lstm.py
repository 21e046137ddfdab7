"""A language model with experts between two LSTM layers (Shazeer et al. 2017, "Outrageously Large Neural Networks").

B batch · T time · V vocabulary · D width
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TokenEmbedding, TokenVectors
from seqwright.layers.experts import Experts
from seqwright.layers.initialisation import initialise
from seqwright.layers.recurrence import LSTMCell
from seqwright.layers.scanning import Recurrent, RecurrentState
from seqwright.layers.taps import Tap, View
from seqwright.setting_classes import ModelSettings


class MoELSTMSettings(ModelSettings):
    """Many experts of which each token uses a few, so that the model has more parameters than it computes with.

    The paper's have width 512, experts of 1024 and 4 of 4 to 4096 experts chosen.
    """

    kind: Literal["moe-lstm"] = "moe-lstm"
    width: PositiveInt = 192
    """Width of the tokens' vectors, of both LSTM layers and of what the experts read and say."""
    experts: PositiveInt = 16
    """Experts there are."""
    experts_per_token: PositiveInt = 2
    """Experts that each token uses."""
    expert_width: PositiveInt = 256
    """Inner width of each expert."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of each layer's output that is dropped in training."""

    @model_validator(mode="after")
    def _no_more_are_chosen_than_there_are(self) -> "MoELSTMSettings":
        if self.experts_per_token > self.experts:
            raise ValueError(
                f"experts_per_token is {self.experts_per_token}, but there are only {self.experts} experts"
            )
        return self

    def body(self, *, vocabulary: int) -> "MoELSTM":
        """The network."""
        return MoELSTM(self, vocabulary=vocabulary)


class MoELSTMState(NamedTuple):
    """The state of the LSTM below the experts and of the one above."""

    below: RecurrentState
    above: RecurrentState


class MoELSTM(nn.Module):
    """p(next token | all before it): embedding, LSTM, experts, LSTM, softmax (section 5.1 and appendix C.1).

        x ← x + LSTM(x)        x ← x + σ(Σ_i G(x)_i E_i(x))        x ← x + LSTM(x)        p = softmax(e x)

    The layer of experts has no memory: it is the same at every position.

    Differs from the paper: the matrix of the tokens' vectors is also the output's.
    """

    also_reads: ClassVar[tuple[str, ...]] = ()
    carries: ClassVar[bool] = True
    context: int | None = None

    def __init__(self, settings: MoELSTMSettings, *, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        width = settings.width
        self.embedding = TokenEmbedding(vocabulary=vocabulary, width=width)
        self.below = Recurrent(LSTMCell, inputs=width, width=width)
        self.experts = Experts(
            width=width,
            inner=settings.expert_width,
            experts=settings.experts,
            chosen=settings.experts_per_token,
            view=View("expert use", rows="tokens", columns="experts"),
        )
        self.above = Recurrent(LSTMCell, inputs=width, width=width)
        self.dropout = Dropout(settings.dropout)
        self.contextual = Tap()
        for recurrent in (self.below, self.above):
            initialise(recurrent, "orthogonal", forget_bias=1.0)

    def forward(self, tokens_BT: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """`logits_BTV` of every next token of texts that are read from their first token."""
        real_BT = torch.ones_like(tokens_BT, dtype=torch.bool) if real_BT is None else real_BT
        return self.read(tokens_BT, real_BT, self.start(len(tokens_BT)))[0]

    def carried(self, carry: MoELSTMState | None, fresh_B: Tensor) -> MoELSTMState:
        """Those of both layers."""
        below, above = carry or (None, None)
        return MoELSTMState(self.below.carried(below, fresh_B), self.above.carried(above, fresh_B))

    def depths(self) -> dict[str, int]:
        """From the embeddings to the LSTM above the experts."""
        return {"embedding": 0, "below": 1, "experts": 2, "above": 3}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Its embeddings, and the output of the highest layer."""
        return {"tokens": TokenVectors(self.embedding.weight, self.contextual)}

    def start(self, rows: int) -> MoELSTMState:
        """Nothing read yet."""
        return MoELSTMState(self.below.start(rows), self.above.start(rows))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: MoELSTMState) -> tuple[Tensor, MoELSTMState]:
        """Read tokens; the logits at t are for the token after t. Padding stands on the right."""
        x_BTD = self.dropout(self.embedding(tokens_BT))
        output_BTD, below = self.below(x_BTD, state.below, real_BT)
        x_BTD = x_BTD + self.dropout(output_BTD)
        x_BTD = x_BTD + self.dropout(self.experts(x_BTD, real_BT).sigmoid())
        output_BTD, above = self.above(x_BTD, state.above, real_BT)
        x_BTD = x_BTD + self.dropout(output_BTD)
        return self.embedding.logits(self.contextual(x_BTD)), MoELSTMState(below, above)
