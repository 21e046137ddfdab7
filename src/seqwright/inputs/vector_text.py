"""Texts ↔ token ids, what they are written from ↔ vectors: one tokenizer, and one way to make vectors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from seqwright.batches import Column, InMemory, Zipped
from seqwright.batches.bucketed import Bucketed, by_column
from seqwright.batches.described import Described, described_by_code
from seqwright.inputs.text_inputs import TextInputs
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.inputs.vectors import Codes, Vectors, from_plain
from seqwright.inputs.vocabularies import Kind


class VectorTextSettings(TokenizerSettings):
    """How texts become tokens."""

    tokenizer: Kind = "characters"
    """What a token is: a character, a word, or a piece of a word learnt by BPE, unigram or WordPiece."""
    longest: int = Field(default=256, ge=1)
    """Most tokens of a text, in training and, unless decoding.longest says otherwise, in writing."""
    overlong: Literal["drop", "truncate", "refuse"] = "drop"
    """What happens to longer ones: left out and counted, cut off, or refused with an error."""


@dataclass(frozen=True)
class VectorText(TextInputs):
    """The tokenizer of a run, how it makes vectors, and how many tokens its texts have at most."""

    rest_file: ClassVar[str] = "vectors.json"
    vectors: Vectors
    longest: int

    @property
    def begin(self) -> int:
        """The token every text begins with."""
        return self.tokenizer.begin

    @classmethod
    def learnt(
        cls, texts: Iterable[str], vectors: Vectors, settings: VectorTextSettings, tokenizer: Tokenizer | None = None
    ) -> "VectorText":
        """A tokenizer trained on texts, which are read once, if none is given."""
        return cls(tokenizer or Tokenizer.train(texts, settings), vectors, settings.longest)

    def codes(self, given: Sequence[str]) -> Codes:
        """The code of each thing that is given; what cannot be given is refused."""
        return np.array([self.vectors.code(each) for each in given], dtype=np.float64)

    def rest(self) -> dict[str, Any]:
        """How vectors are made, and how long texts are."""
        return {"vectors": self.vectors.plain(), "longest": self.longest}

    @classmethod
    def with_rest(cls, tokenizer: Tokenizer, rest: Mapping[str, Any]) -> "VectorText":
        """Inputs from a tokenizer and a `rest`."""
        return cls(tokenizer, from_plain(rest["vectors"]), int(rest["longest"]))

    def sizes(self) -> dict[str, int]:
        """The sizes a model over these vectors and this vocabulary is built with."""
        return {"inputs": self.vectors.size, **super().sizes()}

    def batches(self, examples: Sequence[Sequence[str]], *, tokens: int, seed: int = 1) -> Bucketed[Any, Described]:
        """Batches of (given, text) that fit into memory; a recipe's go through the token cache instead."""
        rows = InMemory(self.tokenizer.encode([example[1] for example in examples]))
        codes = Column(self.codes([example[0] for example in examples]))
        collate = partial(described_by_code, vectors=self.vectors.vectors, begin=self.begin, end=self.end)
        return Bucketed(Zipped(codes, rows), by_column(collate), tokens=tokens, seed=seed, marks=1)
