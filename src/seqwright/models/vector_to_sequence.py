"""Writing a text from a vector: a recurrent language model that begins with what the vector says.

B batch · T time · V vocabulary · E embedding · D width · X numbers of the vector
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqwright.layers.bridging import Bridge
from seqwright.layers.embeddings import TokenVectors
from seqwright.layers.scanning import RecurrentState
from seqwright.models.encoder_decoder import EncoderDecoder
from seqwright.models.rnn_lm import RecurrentLM, RecurrentLMSettings


class VectorToSequenceSettings(RecurrentLMSettings):
    """A recurrent language model whose first state is made from a vector."""

    fed: bool = True
    """Whether the lowest layer also reads the vector at each step, beside the token."""


class VectorToSequenceState(NamedTuple):
    """The state of each layer, and the vector where it is read at each step."""

    layers: RecurrentState
    vector_BX: Tensor | None


def vector_to_sequence(settings: VectorToSequenceSettings, *, inputs: int, vocabulary: int) -> EncoderDecoder:
    """p(text | vector): the one-to-many network, as the decoder of Cho et al. 2014 (appendix A.1.2) from its summary.

        h_0 = tanh(A v + b), for every layer        h_t = cell(e(x_t), h_{t-1})        p_t = softmax(U h_t)

    With `fed` the cell reads e(x_t) and v at each step, as in the paper; without, the state alone must remember v. Of
    an LSTM the memory begins in the same way as what it shows.

    Differs from the paper: the output sees h_t only, and not also v and x_t.
    """
    return EncoderDecoder(VectorBody(), VectorDecoder(settings, inputs=inputs, vocabulary=vocabulary))


class VectorBody(nn.Module):
    """A vector as a memory of one position."""

    def forward(self, vector_BX: Tensor, real: None = None) -> Tensor:
        """`vector_B1X`."""
        return vector_BX.unsqueeze(1)

    hidden = forward

    def token_vectors(self) -> dict[str, TokenVectors]:
        """None: it reads no tokens."""
        return {}


class VectorDecoder(nn.Module):
    """A language model that begins in a state made from a vector."""

    def __init__(self, settings: VectorToSequenceSettings, *, inputs: int, vocabulary: int) -> None:
        super().__init__()
        self.fed = settings.fed
        self.language = RecurrentLM(settings, vocabulary=vocabulary, beside=inputs if settings.fed else 0)
        self.bridge = Bridge(self.language.recurrent, inputs=inputs)

    def start(self, memory_B1X: Tensor, real_BS: None = None) -> VectorToSequenceState:
        """The vector seen, nothing written yet."""
        vector_BX = memory_B1X.squeeze(1).to(self.bridge.linear.weight.dtype)
        return VectorToSequenceState(self.bridge(vector_BX), vector_BX if self.fed else None)

    def read(
        self, tokens_BT: Tensor, real_BT: Tensor, state: VectorToSequenceState
    ) -> tuple[Tensor, VectorToSequenceState]:
        """See `Decoder.read`."""
        x_BTE = self.language.vectors(tokens_BT)
        if state.vector_BX is not None:
            vector_BTX = state.vector_BX.unsqueeze(1).expand(-1, x_BTE.shape[1], -1)
            x_BTE = torch.cat((x_BTE, vector_BTX), dim=-1)
        logits_BTV, layers = self.language.read_vectors(x_BTE, real_BT, state.layers)
        return logits_BTV, VectorToSequenceState(layers, state.vector_BX)

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Those of the language model inside."""
        return self.language.token_vectors()
