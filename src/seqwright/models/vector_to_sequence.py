"""Writing a text from a vector: a recurrent language model that begins with what the vector says.

B batch · T time · V vocabulary · E embedding · D width · X numbers of the vector
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqwright.batches.described import Described
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
