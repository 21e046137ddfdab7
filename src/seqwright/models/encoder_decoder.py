"""An encoder-decoder is a body that reads and a decoder that writes from what it has read.

B batch · S source · T target · V vocabulary · E embedding · D width
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Protocol, Required, TypedDict, TypeVar, Unpack, runtime_checkable

import torch
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.batches import Batch
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import LogitFactors, TiedEmbedding, TokenEmbedding, TokenVectors
from seqwright.layers.initialisation import Initialisation
from seqwright.layers.taps import Tap
from seqwright.setting_classes import ModelSettings

ModuleT = TypeVar("ModuleT", bound=nn.Module)


@runtime_checkable
class TiedDecoder(Protocol):
    """A decoder whose logits are its vectors times one matrix."""

    def read_hidden(self, tokens_BT: Tensor, real_BT: Tensor, state: Any) -> tuple[Tensor, Any]:
        """`h_BTD`, of which `read` makes logits, and the state."""

    @property
    def output_VD(self) -> Tensor:
        """The matrix."""


class EncoderDecoder(nn.Module):
    """p(target | source), written token by token: any body that gives `memory_BSD` × any decoder that reads it.

    Where a decoder begins in the very states in which its encoder ended (`seq2seq`, `luong`), or reads other vectors
    than it compares with (`convs2s`), what the body gives is a tuple that only this decoder takes. With `heads` on the
    body there is a tensor for each name, the decoder's under "decoder".
    """

    def __init__(self, body: nn.Module, decoder: nn.Module, heads: Mapping[str, nn.Module] | None = None) -> None:
        super().__init__()
        self.body: Any = body
        self.decoder: Any = decoder
        self.heads = nn.ModuleDict(heads)

    def forward(self, batch: Any, carry: None = None) -> tuple[Any, None]:
        """The logits of every next target token, given the source and the target tokens before it."""
        memory_BSD = self._memory(batch)
        logits_BTV, _ = self.decoder.read(batch.input_BT, batch.real_BT, self.decoder.start(memory_BSD, batch.real))
        if not self.heads:
            return logits_BTV, carry
        return {"decoder": logits_BTV} | {name: head(memory_BSD, batch) for name, head in self.heads.items()}, carry

    def logit_factors(self, batch: Any) -> LogitFactors | None:
        """What the logits of a batch are the product of, where the decoder ends in one and there are no other heads."""
        if self.heads or not isinstance(self.decoder, TiedDecoder):
            return None
        state = self.start(batch)
        return LogitFactors(self.decoder.read_hidden(batch.input_BT, batch.real_BT, state)[0], self.decoder.output_VD)

    def logits(self, source_BS: Tensor, target_BT: Tensor, source_real_BS: Tensor | None = None) -> Tensor:
        """`logits_BTV` of every next target token, from plain tensors; all of the source is real if nothing is said."""
        real_BS = torch.ones_like(source_BS, dtype=torch.bool) if source_real_BS is None else source_real_BS
        state = self.decoder.start(self.body.hidden(source_BS, real_BS), real_BS)
        return self.read(target_BT, torch.ones_like(target_BT, dtype=torch.bool), state)[0]

    def first_carry(self, batch: Batch) -> None:
        """Nothing flows from batch to batch."""

    def start(self, batch: Batch) -> Any:
        """The source read, nothing written yet."""
        return self.decoder.start(self._memory(batch), batch.real)

    def _memory(self, batch: Any) -> Any:
        """What the body makes of a batch; values, as those of pixels, are rounded as the model is."""
        given = batch.input
        if given.is_floating_point():
            given = given.to(next(self.parameters()).dtype)
        return self.body.hidden(given, batch.real)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Read target tokens; the logits at t are for the token after t. Padding stands on the right."""
        read: tuple[Tensor, Any] = self.decoder.read(tokens_BT, real_BT, state)
        return read

    def step(self, tokens_B: Tensor, state: Any) -> tuple[Tensor, Any]:
        """`read` of one token in each row."""
        tokens_B1 = tokens_B.unsqueeze(1)
        logits_B1V, state = self.read(tokens_B1, torch.ones_like(tokens_B1, dtype=torch.bool), state)
        return logits_B1V.squeeze(1), state

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Those of both sides; of the decoder alone where the body reads no tokens."""
        source, target = self.body.token_vectors(), self.decoder.token_vectors()
        return {"source": source["tokens"], "target": target["tokens"]} if source else target


class Encoder(nn.Module):
    """A body that reads the tokens of a source, over vectors of them that are built."""

    def __init__(self, embedding: nn.Module) -> None:
        super().__init__()
        self.embedding: Any = embedding
        self.contextual = Tap()

    @abstractmethod
    def forward(self, source_BS: Tensor, real_BS: Tensor) -> Any:
        """What the decoder begins with: usually `memory_BSD`, what the last layer makes of each token."""

    def hidden(self, source_BS: Tensor, real_BS: Tensor | None = None) -> Any:
        """The same; without `real_BS` every token is real."""
        return self(source_BS, torch.ones_like(source_BS, dtype=torch.bool) if real_BS is None else real_BS)

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Its embeddings, and what the last layer makes of them."""
        return {"tokens": TokenVectors(self.embedding.weight, self.contextual)}


class Decoder(nn.Module):
    """What writes from a memory, over vectors of its own tokens that are built."""

    def __init__(self, embedding: nn.Module) -> None:
        super().__init__()
        self.embedding: Any = embedding
        self.contextual = Tap()

    @abstractmethod
    def start(self, memory_BSD: Any, real_BS: Tensor | None) -> Any:
        """The state before the first token; `real_BS` is False at the padding of the memory."""

    @abstractmethod
    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Read target tokens; the logits at t are for the token after t. Padding stands on the right."""

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Its embeddings, and what the last layer makes of them."""
        return {"tokens": TokenVectors(self.embedding.weight, self.contextual)}


class Vocabularies(TypedDict, total=False):
    """The sizes that a model of sentence pairs is built with."""

    source_vocabulary: Required[int]
    target_vocabulary: Required[int]
    shared: bool


def both_vocabularies(
    vectors: Callable[[int], ModuleT], *, source_vocabulary: int, target_vocabulary: int, shared: bool = True
) -> tuple[ModuleT, ModuleT]:
    """The vectors of the source's tokens and of the target's, one matrix where they share a vocabulary."""
    if shared and source_vocabulary != target_vocabulary:
        raise ValueError(f"a shared vocabulary has one size, not {source_vocabulary} and {target_vocabulary}")
    target = vectors(target_vocabulary)
    return (target if shared else vectors(source_vocabulary)), target


# --------------------------------------------------------------------------------------------- recurrent networks


def tied_vocabularies(
    settings: "EncoderDecoderSettings", width: int, **sizes: Unpack[Vocabularies]
) -> tuple[TokenEmbedding, TiedEmbedding]:
    """The vectors of the source's tokens, and of the target's with the output for what is said, `width` wide."""
    source, target = both_vocabularies(
        lambda vocabulary: TokenEmbedding(vocabulary=vocabulary, width=settings.token_width), **sizes
    )
    return source, TiedEmbedding(target, width=width, dropout=Dropout(settings.dropout), tied=settings.tied)


class EncoderDecoderSettings(ModelSettings):
    """A recurrent network that reads a sentence, and another that writes one."""

    kind: str
    cell: Literal["rnn", "ugrnn", "gru", "lstm"] = "lstm"
    """The cells of every layer."""
    width: PositiveInt = 256
    """Width of the decoder's states."""
    embedding: PositiveInt | None = None
    """Width of the tokens' vectors; that of the states if not given."""
    dropout: float = Field(default=0.2, ge=0, lt=1)
    """Share that is dropped, in training, of what enters each layer and leaves the last."""
    initialisation: Initialisation = "orthogonal"
    """How the cells' weights begin."""
    forget_bias: float = 1.0
    """Added at the beginning to the bias of the gate that keeps the old state, so that it stands open."""
    tied: bool = True
    """Whether the matrix of the target's vectors is also the output's."""

    @property
    def token_width(self) -> int:
        """Width of the tokens' vectors."""
        return self.embedding or self.width


class DeepSettings(EncoderDecoderSettings):
    """Deep stacks whose sizes have names; `size` fills in whatever is not given."""

    sizes: ClassVar[dict[str, dict[str, int | float]]]  # what the names mean
    size: Literal["tiny", "paper"] = "tiny"
    """Named settings: those of the paper, or for a laptop; every other key overrides them."""
    width: PositiveInt
    """Width of every layer."""
    encoder_layers: PositiveInt
    """Layers that read the source."""
    decoder_layers: PositiveInt
    """Layers that write the target; the first looks into the source."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_size(cls, given: Any) -> Any:
        if isinstance(given, dict):
            return {**cls.sizes.get(str(given.get("size", "tiny")), {}), **given}
        return given
