"""The neural probabilistic language model (Bengio et al. 2003): a window of tokens, one hidden layer.

B batch · T time · V vocabulary · E embedding · D width · N tokens in the window
"""

from typing import ClassVar, Literal, NamedTuple

import torch
import torch.nn.functional as F
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from seqwright.layers.embeddings import TokenVectors
from seqwright.layers.linear import Linear
from seqwright.layers.taps import Tap
from seqwright.setting_classes import ModelSettings


class MLPLMSettings(ModelSettings):
    """A language model that sees the last few tokens and nothing else."""

    kind: Literal["mlp"] = "mlp"
    window: PositiveInt = 4
    """How many tokens the next is predicted from, n - 1 in the paper."""
    embedding: PositiveInt = 64
    """Width of the tokens' vectors, m in the paper."""
    width: PositiveInt = 256
    """Width of the hidden layer, h in the paper."""
    direct: bool = False
    """Whether the vectors are also connected directly to the output, past the hidden layer."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the hidden layer that is dropped in training; the paper has none."""

    def body(self, *, vocabulary: int) -> "MLPLM":
        """The network."""
        return MLPLM(self, vocabulary=vocabulary)


class MLPLMState(NamedTuple):
    """The tokens that the next ones will still see: the window without its last place."""

    tokens_BM: Tensor  # M = N - 1


class MLPLM(nn.Module):
    """p(next token | the last N tokens) (Bengio et al. 2003, section 2).

        x = (C(w_{t-N+1}), …, C(w_t))        y = b + W x + U tanh(d + H x)        p = softmax(y)

    Without `direct`, W is zero. Before the first token of a row the window is filled with a vector that is learnt too,
    the last of C. All positions of a batch are computed at once.
    """

    also_reads: ClassVar[tuple[str, ...]] = ()
    carries: ClassVar[bool] = True
    context: int | None = None

    def __init__(self, settings: MLPLMSettings, *, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.nothing = vocabulary  # the number of no token: what stands before the first
        seen = settings.window * settings.embedding
        self.embedding_VE = nn.Parameter(nn.init.normal_(torch.empty(vocabulary + 1, settings.embedding)))
        self.inner = Linear(seen, settings.width)
        self.hidden = Tap()
        self.dropout = nn.Dropout(settings.dropout)
        self.output = Linear(settings.width, vocabulary)
        self.direct = Linear(seen, vocabulary, bias=False) if settings.direct else None
        for linear in (self.inner, self.output):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        if self.direct is not None:
            nn.init.zeros_(self.direct.weight)

    def forward(self, tokens_BT: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """`logits_BTV` of every next token of texts that are read from their first token."""
        real_BT = torch.ones_like(tokens_BT, dtype=torch.bool) if real_BT is None else real_BT
        return self.read(tokens_BT, real_BT, self.start(len(tokens_BT)))[0]

    def carried(self, carry: MLPLMState | None, fresh_B: Tensor) -> MLPLMState:
        """The last tokens of the batch before, where a row continues."""
        start = self.start(len(fresh_B))
        if carry is None or len(carry.tokens_BM) != len(fresh_B):
            assert carry is None or bool(fresh_B.all()), "rows that continue need the rows they continue"
            return start
        return MLPLMState(start.tokens_BM.where(fresh_B.unsqueeze(1), carry.tokens_BM))

    def depths(self) -> dict[str, int]:
        """The embeddings lie below the hidden layer."""
        return {"embedding_VE": 0, "inner": 1}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Its embeddings, and the hidden layer of the window that ends with a token."""
        return {"tokens": TokenVectors(self.embedding_VE[: self.nothing], self.hidden)}

    def start(self, rows: int) -> MLPLMState:
        """Nothing read yet."""
        shape = rows, self.settings.window - 1
        return MLPLMState(torch.full(shape, self.nothing, device=self.embedding_VE.device))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: MLPLMState) -> tuple[Tensor, MLPLMState]:
        """Read tokens; the logits at t are for the token after t. Padding stands on the right."""
        known = torch.cat((state.tokens_BM, tokens_BT), dim=1)
        window_BTN = known.unfold(1, self.settings.window, 1)
        x_BTE = F.embedding(window_BTN, self.embedding_VE).flatten(2)  # E times N
        h_BTD = self.hidden(self.inner(x_BTE).tanh())
        y_BTV = self.output(self.dropout(h_BTD))
        if self.direct is not None:
            y_BTV = y_BTV + self.direct(x_BTE)
        place_BM = real_BT.sum(1, keepdim=True) + torch.arange(self.settings.window - 1, device=known.device)
        return y_BTV, MLPLMState(known.gather(1, place_BM))
