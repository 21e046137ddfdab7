"""Writing a text from a vector: a recurrent language model that begins with what the vector says.

B batch · T time · V vocabulary · E embedding · D width · X numbers of the vector
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqwright.batches.described import Described, described
from seqwright.layers.bridging import Bridge
from seqwright.layers.embeddings import TokenVectors
from seqwright.layers.scanning import RecurrentState
from seqwright.models.rnn_lm import RecurrentLM, RecurrentLMSettings


class VectorToSequenceSettings(RecurrentLMSettings):
    """A recurrent language model whose first state is made from a vector."""

    fed: bool = True
    """Whether the lowest layer also reads the vector at each step, beside the token."""


class VectorToSequenceState(NamedTuple):
    """The state of each layer, and the vector where it is read at each step."""

    layers: RecurrentState
    vector_BX: Tensor | None


class VectorToSequence(nn.Module):
    """p(text | vector): the one-to-many network, as the decoder of Cho et al. 2014 (appendix A.1.2) from its summary.

        h_0 = tanh(A v + b), for every layer        h_t = cell(e(x_t), h_{t-1})        p_t = softmax(U h_t)

    With `fed` the cell reads e(x_t) and v at each step, as in the paper; without, the state alone must remember v. Of
    an LSTM the memory begins in the same way as what it shows.

    Differs from the paper: the output sees h_t only, and not also v and x_t.
    """

    def __init__(self, settings: VectorToSequenceSettings, *, inputs: int, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.language = RecurrentLM(settings, vocabulary=vocabulary, beside=inputs if settings.fed else 0)
        self.bridge = Bridge(self.language.recurrent, inputs=inputs)

    def forward(self, batch: Described, carry: None = None) -> tuple[Tensor, None]:
        """The logits of every next token, given the vector and the tokens before it."""
        logits_BTV, _ = self.read(batch.input_BT, batch.real_BT, self.start(batch))
        return logits_BTV, carry

    def first_carry(self, batch: Described) -> None:
        """Nothing flows from batch to batch."""

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Those of the language model inside."""
        return self.language.token_vectors()

    def start(self, batch: Described) -> VectorToSequenceState:
        """The vector seen, nothing written yet."""
        vector_BX = batch.vector_BX.to(self.bridge.linear.weight.dtype)
        return VectorToSequenceState(self.bridge(vector_BX), vector_BX if self.settings.fed else None)

    def read(
        self, tokens_BT: Tensor, real_BT: Tensor, state: VectorToSequenceState
    ) -> tuple[Tensor, VectorToSequenceState]:
        """Read tokens; the logits at t are for the token after t. Padding stands on the right."""
        x_BTE = self.language.vectors(tokens_BT)
        if state.vector_BX is not None:
            vector_BTX = state.vector_BX.unsqueeze(1).expand(-1, x_BTE.shape[1], -1)
            x_BTE = torch.cat((x_BTE, vector_BTX), dim=-1)
        logits_BTV, layers = self.language.read_vectors(x_BTE, real_BT, state.layers)
        return logits_BTV, VectorToSequenceState(layers, state.vector_BX)

    def step(self, tokens_B: Tensor, state: VectorToSequenceState) -> tuple[Tensor, VectorToSequenceState]:
        """`read` of one token in each row."""
        tokens_B1 = tokens_B.unsqueeze(1)
        logits_B1V, state = self.read(tokens_B1, torch.ones_like(tokens_B1, dtype=torch.bool), state)
        return logits_B1V.squeeze(1), state


def small_rnn() -> VectorToSequence:
    """Simple cells that have only their first state from the vector, for tests."""
    return _small(VectorToSequenceSettings(kind="rnn", width=7, layers=2, dropout=0.1, fed=False))


def small_ugrnn() -> VectorToSequence:
    """Update gate cells, deeper by one, for tests."""
    return _small(VectorToSequenceSettings(kind="ugrnn", width=7, transition=1, dropout=0.1))


def small_gru() -> VectorToSequence:
    """Gated recurrent units with residual connections, for tests."""
    return _small(VectorToSequenceSettings(kind="gru", width=7, layers=3, residual=True, dropout=0.1))


def small_lstm() -> VectorToSequence:
    """LSTM cells wider than the embedding, that have only their first state from the vector, for tests."""
    return _small(VectorToSequenceSettings(kind="lstm", width=7, embedding=5, layers=2, dropout=0.1, fed=False))


def _small(settings: VectorToSequenceSettings) -> VectorToSequence:
    return VectorToSequence(settings, inputs=5, vocabulary=13)


small = small_gru


def example() -> Described:
    """A batch for `small()`, with padding."""
    draw = torch.Generator().manual_seed(1)
    rows = [torch.randint(4, 13, (length,), generator=draw).numpy() for length in (6, 2, 4)]
    return described(torch.randn(3, 5, generator=draw), rows, begin=2, end=3)
