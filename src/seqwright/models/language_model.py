"""A language model in training and decoding: a body that predicts the next token from left to right.

B batch · T time · V vocabulary
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from seqwright.batches.text import Text
from seqwright.layers.embeddings import LogitFactors, TokenVectors, token_log_probability


class LeftToRight(Protocol):
    """A body with an output of its own, `body(tokens_BT, real_BT=None) → logits_BTV`; each is an `nn.Module`."""

    also_reads: ClassVar[tuple[str, ...]]
    """What else of a batch it takes, where the batch has it."""
    carries: ClassVar[bool]
    """Whether its state flows from batch to batch."""
    context: int | None
    """Most tokens that it can read; None where there is no limit."""

    def carried(self, carry: Any, fresh_B: Tensor) -> Any:
        """The state in which a batch begins that continues the one before; rows where `fresh_B` start fresh."""

    def start(self, rows: int) -> Any:
        """Nothing read yet."""

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Read tokens; the logits at t are for the token after t. Padding stands on the right."""

    def depths(self) -> dict[str, int]:
        """How high its parts lie, by the beginning of their names; 0 is below all layers."""

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Its embeddings, and what the last layer makes of them."""


@runtime_checkable
class TiedBody(Protocol):
    """A body whose logits are its vectors times one matrix."""

    def hidden(self, tokens_BT: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """`h_BTD`: what the last layer makes of each token."""

    @property
    def output_VD(self) -> Tensor:
        """The matrix."""


class LanguageModel(nn.Module):
    """p(next token | all before it). Batches may continue one another where the body carries a state.

    Truncated back-propagation through time (Williams & Peng 1990) carries it across their border, and no gradient.
    """

    def __init__(self, body: LeftToRight) -> None:
        super().__init__()
        assert isinstance(body, nn.Module)
        self.body: Any = body

    def forward(self, batch: Text, carry: Any = None) -> tuple[Tensor, Any]:
        """The logits of every next token. Rows continue from `carry`, without gradients through it, or start fresh."""
        if self.body.carries:
            read: tuple[Tensor, Any] = self.body.read(
                batch.input_BT, batch.real_BT, self.body.carried(carry, batch.fresh_B)
            )
            return read
        return self.body(batch.input_BT, batch.real_BT, **self._also(batch)), carry

    def logit_factors(self, batch: Text) -> LogitFactors | None:
        """What the logits of a batch are the product of, where that is all and nothing is carried."""
        if self.body.carries or not isinstance(self.body, TiedBody):
            return None
        return LogitFactors(self.body.hidden(batch.input_BT, batch.real_BT, **self._also(batch)), self.body.output_VD)

    def _also(self, batch: Text) -> dict[str, Tensor]:
        """What else of a batch the body takes."""
        tensors = batch.tensors()
        return {name: tensors[name] for name in self.body.also_reads if name in tensors}

    def first_carry(self, batch: Text) -> Any:
        """What flows into a batch before which nothing was read; None where every row is fresh."""
        return self.start(batch) if self.body.carries and not bool(batch.fresh_B.all()) else None

    def log_probability(self, batch: Text, carry: Any = None) -> tuple[Tensor, Any]:
        """`logp_BT` of every target token, 0 at padding."""
        logits_BTV, carry = self(batch, carry)
        return token_log_probability(logits_BTV, batch.target_BT, batch.real_BT), carry

    def start(self, batch: Text) -> Any:
        """Nothing read yet."""
        return self.body.start(len(batch.input_BT))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Read tokens; the logits at t are for the token after t. Padding stands on the right."""
        read: tuple[Tensor, Any] = self.body.read(tokens_BT, real_BT, state)
        return read

    def step(self, tokens_B: Tensor, state: Any) -> tuple[Tensor, Any]:
        """`read` of one token in each row."""
        tokens_B1 = tokens_B.unsqueeze(1)
        logits_B1V, state = self.read(tokens_B1, torch.ones_like(tokens_B1, dtype=torch.bool), state)
        return logits_B1V.squeeze(1), state

    @property
    def context(self) -> int | None:
        """The body's."""
        context: int | None = self.body.context
        return context

    def depths(self) -> dict[str, int]:
        """The body's."""
        return {f"body.{start}": depth for start, depth in self.body.depths().items()}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """The body's."""
        vectors: dict[str, TokenVectors] = self.body.token_vectors()
        return vectors
