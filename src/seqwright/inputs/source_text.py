"""A text that another is written from: a sentence to translate, a text to summarise, a word to pronounce.

B batch · S source
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from seqwright.batches import Ids, Numbered, padded
from seqwright.data.examples import Pair
from seqwright.data.labelled_tables import TEXT_WORDS
from seqwright.data.tables import Usual
from seqwright.errors import DataError
from seqwright.inputs import Examples, Room, Stacked
from seqwright.inputs.spelling import TokenInput, typed_text
from seqwright.inputs.token_rows import Resampling, token_rows
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings, lacking, tokenizer_of
from seqwright.setting_classes import Settings

MOST_TOKENS = 4096  # of a text; attention to a longer one needs gigabytes
# What people write above texts from which another is written, the plainest first.
SOURCE_WORDS = ("source", "src", "input", "original", *TEXT_WORDS, "article", "dialogue", "word", "prompt", "question")


class SourceTextSettings(TokenizerSettings):
    """How texts, and those that are written from them, become tokens."""

    shared: bool = True
    """One vocabulary for both sides, learnt from both; otherwise one each, and [output] may say how that of what is
    written is made."""
    bpe_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Probability to drop a merge in training, resampled each epoch (Provilkov et al. 2020); 0.1 helps small data."""
    longest: int = Field(default=256, ge=1)
    """Most tokens on a side in training."""
    overlong: Literal["drop", "truncate", "refuse"] = "drop"
    """What happens to longer ones: left out and counted, cut off, or refused with an error."""

    @model_validator(mode="after")
    def _only_bpe_drops(self) -> "SourceTextSettings":
        if self.bpe_dropout and self.tokenizer != "bpe":
            raise ValueError(
                f"bpe_dropout is {self.bpe_dropout}, but the tokenizer is {self.tokenizer}; set it to 0 or choose bpe"
            )
        return self


class PairInput(TokenInput[Pair, Ids]):
    """An input that reads the sources of pairs."""

    side: ClassVar[str] = "sources"  # what a remark calls them

    def table_columns(self) -> dict[str, Usual]:
        """The source."""
        return {"source": Usual(SOURCE_WORDS, text=False)}

    def parse(self, given: Any) -> Pair:
        """A text."""
        return Pair(typed_text(given), "")

    def example_fields(self, example: Pair) -> dict[str, Any]:
        """The source."""
        return {"source": example.source}

    def part_remarks(self, examples: Examples[Pair]) -> list[str]:
        """Letters that the vocabulary lacks."""
        return self.tokenizer.remarks((pair.source for pair in examples), f"{self.side} of {examples.name}")


@dataclass(frozen=True)
class SourceTextInput(PairInput):
    """The tokenizer of what is read, which may be that of what is written too. A row is `x end`, however long."""

    tokenizer: Tokenizer
    both: bool  # whether what is written has the same tokenizer
    longest: int  # most tokens in training
    dropout: float = 0.0
    learnt_with: SourceTextSettings | None = field(default=None, compare=False)  # while learning
    settings: ClassVar[type[Settings]] = SourceTextSettings
    noun: ClassVar[str] = "pairs"
    marks: ClassVar[int] = 1
    begins: ClassVar[bool] = False

    @classmethod
    def learn(cls, train: Examples[Pair], settings: SourceTextSettings, *, room: Room, like: Any = None) -> Self:
        """A tokenizer trained on both sides, or on the source alone; one that is given is for both."""
        rest = settings.longest, settings.bpe_dropout, settings
        if like is not None:
            return cls(tokenizer_of(like), True, *rest)
        if settings.shared:
            return cls(Tokenizer.train((text for pair in train for text in pair[:2]), settings), True, *rest)
        return cls(Tokenizer.train((pair.source for pair in train), settings), False, *rest)

    @property
    def shared(self) -> Tokenizer | None:
        """The tokenizer, where it was learnt from both sides."""
        return self.tokenizer if self.both else None

    def encode(self, examples: Examples[Pair], *, seed: int = 0) -> Numbered[Ids]:
        """The tokens of each source, in training resampled each epoch where BPE-dropout is asked for."""
        number_N = np.array([n for n, pair in enumerate(examples) if pair.source.strip()], dtype=np.int64)

        def texts() -> Iterator[str]:
            return (pair.source for pair in examples if pair.source.strip())

        resampling = Resampling(self.dropout, seed, self.longest)
        return Numbered(token_rows(self.tokenizer, examples, "source", texts, resampling), number_N)

    def stack(self, rows: Sequence[Ids]) -> Stacked:
        """`source_BS` and `source_real_BS`, each row closed by `end`."""
        source_BS, source_real_BS = padded([np.append(row, self.tokenizer.end) for row in rows])
        return {"source_BS": source_BS, "source_real_BS": source_real_BS}

    def parse(self, given: Any) -> Pair:
        """A text; one that is far too long is refused."""
        pair = super().parse(given)
        tokens = len(self.tokenizer.encode([given])[0]) if len(given) > MOST_TOKENS else 0
        if tokens > MOST_TOKENS:
            raise DataError(f"it has {tokens:,} tokens, more than {MOST_TOKENS:,}; split it into sentences")
        return pair

    def remarks(self, examples: Examples[Pair], first: int = 0) -> list[str]:
        """Texts that are longer than any in training, and what the vocabulary lacks."""
        rows = self.encode(examples)
        told = [
            f"text {first + number + 1:,} has {length:,} tokens; training had none longer than {self.longest}: do not "
            "trust the result"
            for number, length in zip(rows.example_N.tolist(), rows.lengths(None)[:, 0].tolist(), strict=True)
            if length > self.longest
        ]
        unknown = self.tokenizer.unknown_parts(pair.source for pair in examples)
        return told + lacking(unknown, then=", do not trust the lines they stand in")

    def sizes(self) -> dict[str, int]:
        """The vocabulary."""
        return {"source_vocabulary": self.tokenizer.size}
