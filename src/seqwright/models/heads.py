"""A model is a body and a head: what reads gives a vector for each token or step, a head says something of them.

B batch · T time · D width · C classes
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from seqwright.batches import Batch
from seqwright.layers.embeddings import TokenVectors
from seqwright.layers.linear import Linear


@runtime_checkable
class Body(Protocol):
    """What reads, as every head knows it; each is an `nn.Module`.

    `hidden(input, real=None, …)` gives `h_BTD`, a vector for each token or step. `also_reads` names what else of a
    batch it takes, where the batch has it.
    """

    also_reads: ClassVar[tuple[str, ...]]

    @property
    def width(self) -> int:
        """D, of its vectors."""

    def hidden(self, *args: Any, **kwargs: Any) -> Tensor:
        """`h_BTD`: the vectors; those at padding mean nothing."""

    def pool(self) -> "Pool":
        """What makes one vector of a row's in this body's own way."""

    def depths(self) -> dict[str, int]:
        """How high its parts lie, by the beginning of their names; 0 is below all layers."""

    def token_vectors(self) -> dict[str, TokenVectors]:
        """The vectors it has for tokens, if it reads tokens."""


# ------------------------------------------------------------------------------------- one vector for a whole row


class Pool(Protocol):
    """What makes one vector of a row's; each is an `nn.Module`. `vectors` is how many times D it is wide."""

    vectors: int

    def __call__(self, h_BTD: Tensor, real_BT: Tensor) -> Tensor:
        """`h_BD`."""


class First(nn.Module):
    """f(W h₀ + b): the first vector, behind a layer of its own (Devlin et al. 2019, section 4.1)."""

    vectors = 1

    def __init__(self, pooler: nn.Linear, *, positive: bool = False) -> None:
        super().__init__()
        self.pooler, self.positive = pooler, positive

    def forward(self, h_BTD: Tensor, real_BT: Tensor) -> Tensor:
        """The function f is tanh, or the positive part."""
        x_BD: Tensor = self.pooler(h_BTD[:, 0])
        return x_BD.relu() if self.positive else x_BD.tanh()


class Last(nn.Module):
    """The vector of the last real token; of a body that reads in both directions, the last vector of each."""

    vectors = 1

    def __init__(self, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.bidirectional = bidirectional

    def forward(self, h_BTD: Tensor, real_BT: Tensor) -> Tensor:
        """The half that is read backwards ends at the first token."""
        last_B = real_BT.sum(1) - 1
        last_BD = h_BTD[torch.arange(len(last_B), device=last_B.device), last_B]
        if not self.bidirectional:
            return last_BD
        half = h_BTD.shape[-1] // 2
        return torch.cat((last_BD[:, :half], h_BTD[:, 0, half:]), dim=-1)


class Mean(nn.Module):
    """The mean of the real vectors."""

    vectors = 1

    def forward(self, h_BTD: Tensor, real_BT: Tensor) -> Tensor:
        """Padding has no part in it."""
        real_BT1 = real_BT.unsqueeze(-1).to(h_BTD.dtype)
        return (h_BTD * real_BT1).sum(1) / real_BT1.sum(1)


class Max(nn.Module):
    """The largest value of each unit (Conneau et al. 2017, section 3.2)."""

    vectors = 1

    def forward(self, h_BTD: Tensor, real_BT: Tensor) -> Tensor:
        """Padding has no part in it."""
        return h_BTD.masked_fill(~real_BT.unsqueeze(-1), float("-inf")).amax(1)


# ----------------------------------------------------------------------------------------------------- the heads


def real_vectors(h_BTD: Tensor, batch: Batch) -> Tensor:
    """`real_BT`: which vectors are of something that was read. What is real as a whole, an image, has one flag."""
    flag_BT = h_BTD.new_ones(1, 1, dtype=torch.bool) if batch.real is None else batch.real
    return flag_BT.expand(h_BTD.shape[:2])


class PooledHead(nn.Module):
    """Something of each row as a whole: W dropout(pool(h_1 … h_T)) + b."""

    def __init__(self, pool: Pool, dropout: nn.Module, *, width: int, outputs: int) -> None:
        super().__init__()
        self.pool, self.dropout, self.output = pool, dropout, Linear(pool.vectors * width, outputs)

    def forward(self, h_BTD: Tensor, batch: Batch) -> Tensor:
        """`logits_BC`: how well each class fits each row."""
        logits_BC: Tensor = self.output(self.dropout(self.pool(h_BTD, real_vectors(h_BTD, batch))))
        return logits_BC


class TokenHead(nn.Module):
    """Something of each token: W dropout(h_t) + b.

    Two outputs are a span (Devlin et al. 2019, section 4.2): where it begins, and where it stops.
    """

    def __init__(self, dropout: nn.Module, *, width: int, outputs: int) -> None:
        super().__init__()
        self.dropout, self.output = dropout, Linear(width, outputs)

    def forward(self, h_BTD: Tensor, batch: Batch) -> Tensor:
        """`logits_BTC`: how well each class fits each token."""
        logits_BTC: Tensor = self.output(self.dropout(h_BTD))
        return logits_BTC


class Headed(nn.Module):
    """A body and a head on it. A frozen body neither learns nor drops anything."""

    def __init__(self, body: Body, head: nn.Module, *, frozen: bool = False) -> None:
        super().__init__()
        assert isinstance(body, nn.Module)
        self.body: Any = body.requires_grad_(not frozen)
        self.head, self.frozen = head, frozen

    def forward(self, batch: Any, carry: None = None) -> tuple[Tensor, None]:
        """What the head says of a batch."""
        return self.head(self.read(batch), batch), carry

    def read(self, batch: Any) -> Tensor:
        """`h_BTD`: what the body makes of each token or step."""
        tensors = batch.tensors()
        more = {name: tensors[name] for name in self.body.also_reads if name in tensors}
        h_BTD: Tensor = self.body.hidden(batch.input, batch.real, **more)
        return h_BTD

    def train(self, mode: bool = True) -> "Headed":
        """Into training, or out of it."""
        super().train(mode)
        self.body.train(mode and not self.frozen)
        return self

    def depths(self) -> dict[str, int]:
        """Those of the body; the head lies above."""
        return {f"body.{start}": depth for start, depth in self.body.depths().items()}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """The body's."""
        vectors: dict[str, TokenVectors] = self.body.token_vectors()
        return vectors
