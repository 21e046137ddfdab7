"""Models on paper: bodies, heads on any body, and an encoder-decoder of a body and a decoder.

B batch · T time · S source · V vocabulary · C classes · D width
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seqwright.batches import Batch

D = 8


class Body(nn.Module):
    """`body(x, real) → vectors_BTD`, over a first layer that it is given: tokens, frames, patches."""

    def __init__(self, first: nn.Module) -> None:
        super().__init__()
        self.first, self.mixed = first, nn.Linear(D, D)

    def forward(self, x: Tensor, real_BT: Tensor | None = None) -> Tensor:
        x_BTD = torch.tanh(self.first(x))
        real_BT1 = torch.ones_like(x_BTD[..., :1]) if real_BT is None else real_BT.unsqueeze(-1).float()
        mean_B1D = (x_BTD * real_BT1).sum(1, keepdim=True) / real_BT1.sum(1, keepdim=True)
        vectors_BTD: Tensor = x_BTD + torch.tanh(self.mixed(mean_B1D))
        return vectors_BTD


def token_body(tokens: int) -> Body:
    return Body(nn.Embedding(tokens, D))


def frame_body(width: int) -> Body:
    return Body(nn.Linear(width, D))


class Head(nn.Module):
    """`head(vectors_BTD, batch)`: what is said of the vectors; the batch knows which are real."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.output = nn.Linear(D, outputs)

    @abstractmethod
    def forward(self, vectors_BTD: Tensor, batch: Batch) -> Tensor: ...


class TokenHead(Head):
    def forward(self, vectors_BTD: Tensor, batch: Batch) -> Tensor:
        logits_BTC: Tensor = self.output(vectors_BTD)
        return logits_BTC


class PooledHead(Head):
    def forward(self, vectors_BTD: Tensor, batch: Batch) -> Tensor:
        real_BT = torch.ones_like(vectors_BTD[..., 0]) if batch.real is None else batch.real.float()
        logits_BC: Tensor = self.output((vectors_BTD * real_BT.unsqueeze(-1)).sum(1) / real_BT.sum(1, keepdim=True))
        return logits_BC


class Headed(nn.Module):
    """A body and the heads on it. One head gives a tensor, several a tensor for each name."""

    def __init__(self, body: nn.Module, heads: nn.Module | Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.body, self.heads = body, heads if isinstance(heads, nn.Module) else nn.ModuleDict(heads)

    def forward(self, batch: Batch, carry: Any = None) -> tuple[Any, Any]:
        vectors_BTD = self.body(batch.input, batch.real)
        if not isinstance(self.heads, nn.ModuleDict):
            return self.heads(vectors_BTD, batch), carry
        return {name: head(vectors_BTD, batch) for name, head in self.heads.items()}, carry


class DecoderState(NamedTuple):
    hidden_BD: Tensor


class Decoder(nn.Module):
    """Writes from the mean of what a body says: `start(memory_BSD, real_BS)`, then `step`."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding, self.cell, self.output = nn.Embedding(vocabulary, D), nn.GRUCell(D, D), nn.Linear(D, vocabulary)

    def start(self, memory_BSD: Tensor, real_BS: Tensor | None) -> DecoderState:
        real_BS1 = torch.ones_like(memory_BSD[..., :1]) if real_BS is None else real_BS.unsqueeze(-1).float()
        return DecoderState((memory_BSD * real_BS1).sum(1) / real_BS1.sum(1))

    def step(self, tokens_B: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        hidden_BD = self.cell(self.embedding(tokens_B), state.hidden_BD)
        return self.output(hidden_BD), DecoderState(hidden_BD)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        logits = []
        for tokens_B, real_B in zip(tokens_BT.T, real_BT.T, strict=True):
            logits_BV, after = self.step(tokens_B, state)
            state = DecoderState(torch.where(real_B.unsqueeze(1), after.hidden_BD, state.hidden_BD))
            logits.append(logits_BV)
        return torch.stack(logits, dim=1), state


class EncoderDecoder(nn.Module):
    """A body that reads, a decoder that writes, and perhaps heads on the body; a Stepper.

    Without heads it gives `logits_BTV`, with heads a tensor for each name, the decoder's under "decoder".
    """

    def __init__(self, body: nn.Module, decoder: Decoder, heads: Mapping[str, nn.Module] | None = None) -> None:
        super().__init__()
        self.body, self.decoder, self.heads = body, decoder, nn.ModuleDict(heads or {})

    def forward(self, batch: Any, carry: Any = None) -> tuple[Any, Any]:
        memory_BSD = self.body(batch.input, batch.real)
        state = self.decoder.start(memory_BSD, batch.real)
        logits_BTV, _ = self.decoder.read(batch.input_BT, batch.real_BT, state)
        if not self.heads:
            return logits_BTV, carry
        return {"decoder": logits_BTV} | {name: head(memory_BSD, batch) for name, head in self.heads.items()}, carry

    def first_carry(self, batch: Batch) -> None:
        """Nothing flows from batch to batch."""

    def start(self, batch: Batch) -> DecoderState:
        return self.decoder.start(self.body(batch.input, batch.real), batch.real)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        return self.decoder.read(tokens_BT, real_BT, state)

    def step(self, tokens_B: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        return self.decoder.step(tokens_B, state)
