"""Parts of models on paper: bodies, heads and a decoder, for the real `Headed` and `EncoderDecoder`.

B batch · T time · S source · V vocabulary · C classes · D width
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seqwright.batches import Batch

D = 8


class Body(nn.Module):
    """`body(x, real) → vectors_BTD`, over a first layer that it is given: tokens, frames, patches."""

    also_reads = ()

    def __init__(self, first: nn.Module) -> None:
        super().__init__()
        self.first, self.mixed = first, nn.Linear(D, D)

    def forward(self, x: Tensor, real_BT: Tensor | None = None) -> Tensor:
        x_BTD = torch.tanh(self.first(x))
        real_BT1 = torch.ones_like(x_BTD[..., :1]) if real_BT is None else real_BT.unsqueeze(-1).float()
        mean_B1D = (x_BTD * real_BT1).sum(1, keepdim=True) / real_BT1.sum(1, keepdim=True)
        vectors_BTD: Tensor = x_BTD + torch.tanh(self.mixed(mean_B1D))
        return vectors_BTD

    hidden = forward


def token_body(tokens: int) -> Any:
    return Body(nn.Embedding(tokens, D))


def frame_body(width: int) -> Any:
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
