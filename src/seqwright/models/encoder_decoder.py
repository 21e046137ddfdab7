"""What recurrent encoders and decoders have in common: settings, the tokens of both sides, and the steps of decoding.

B batch · S source · T target · V vocabulary · E embedding · D width
"""

from abc import abstractmethod
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Required, TypedDict, TypeVar

import torch
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.batches.pairs import Pairs
from seqwright.layers.alignment import Remembered
from seqwright.layers.attending import AttendingState
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TokenEmbedding, TokenVectors
from seqwright.layers.initialisation import Initialisation
from seqwright.layers.taps import Tap
from seqwright.settings import ModelSettings

StateT = TypeVar("StateT")


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


class Vocabularies(TypedDict, total=False):
    """The sizes that a model of sentence pairs is built with."""

    source_vocabulary: Required[int]
    target_vocabulary: Required[int]
    shared: bool


class StackState(NamedTuple):
    """The source, the layer that looks at it, and each layer above."""

    source: Remembered
    attending: AttendingState
    above: tuple[Any, ...]


class EncoderDecoder(nn.Module, Generic[StateT]):
    """p(target | source), written token by token; how the one is read for the other is left open.

    Where source and target share a vocabulary, their embeddings are one matrix; with `tied` the output's is that of the
    target too (Press & Wolf 2017), behind a projection where what the decoder says (`said` wide) has another width.
    """

    def __init__(
        self,
        settings: EncoderDecoderSettings,
        *,
        said: int,
        source_vocabulary: int,
        target_vocabulary: int,
        shared: bool = True,
    ) -> None:
        super().__init__()
        if shared and source_vocabulary != target_vocabulary:
            raise ValueError(f"a shared vocabulary has one size, not {source_vocabulary} and {target_vocabulary}")
        embedding = settings.token_width
        self.dropout = Dropout(settings.dropout)
        self.target_embedding = TokenEmbedding(vocabulary=target_vocabulary, width=embedding)
        self.source_embedding = (
            self.target_embedding if shared else TokenEmbedding(vocabulary=source_vocabulary, width=embedding)
        )
        self.narrow = nn.Linear(said, embedding) if settings.tied and said != embedding else nn.Identity()
        self.output = None if settings.tied else nn.Linear(said, target_vocabulary)
        self.source_contextual, self.target_contextual = Tap(), Tap()

    @abstractmethod
    def start(self, batch: Pairs) -> StateT:
        """The source read, nothing written yet."""

    @abstractmethod
    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """Read target tokens; the logits at t are for the token after t. Padding stands on the right."""

    def forward(self, batch: Pairs, carry: None = None) -> tuple[Tensor, None]:
        """The logits of every next target token, given the source and the target tokens before it."""
        logits_BTV, _ = self.read(batch.input_BT, batch.real_BT, self.start(batch))
        return logits_BTV, carry

    def first_carry(self, batch: Pairs) -> None:
        """Nothing flows from batch to batch."""

    def step(self, tokens_B: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """`read` of one token in each row."""
        tokens_B1 = tokens_B.unsqueeze(1)
        logits_B1V, state = self.read(tokens_B1, torch.ones_like(tokens_B1, dtype=torch.bool), state)
        return logits_B1V.squeeze(1), state

    def source_vectors(self, source_BS: Tensor) -> Tensor:
        """What the encoder reads of tokens."""
        x_BSE: Tensor = self.dropout(self.source_embedding(source_BS))
        return x_BSE

    def target_vectors(self, tokens_BT: Tensor) -> Tensor:
        """What the decoder reads of tokens."""
        x_BTE: Tensor = self.dropout(self.target_embedding(tokens_BT))
        return x_BTE

    def logits(self, said_BTD: Tensor) -> Tensor:
        """How well each token of the target fits after what the decoder says at each step."""
        said_BTD = self.dropout(self.target_contextual(said_BTD))
        if self.output is None:
            return self.target_embedding.logits(self.narrow(said_BTD))
        logits_BTV: Tensor = self.output(said_BTD)
        return logits_BTV

    def token_vectors(self) -> dict[str, TokenVectors]:
        """The embeddings of both sides, and what encoder and decoder make of them."""
        return {
            "source": TokenVectors(self.source_embedding.weight, self.source_contextual),
            "target": TokenVectors(self.target_embedding.weight, self.target_contextual),
        }


class AttendingStack(EncoderDecoder[StackState]):
    """A decoder whose lowest layer looks into the source."""

    def attention_of(self, state: StackState) -> Tensor:
        """`weight_BS`: where the last token read was looked for, the mean over the heads."""
        return state.attending.weight_BS
