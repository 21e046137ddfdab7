"""Texts ↔ token ids, what they are written from ↔ vectors: one tokenizer, and one way to make vectors."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from seqwright.batches import InMemory
from seqwright.batches.described import DescribedBatches
from seqwright.errors import RunError
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.inputs.vectors import Codes, Vectors, from_plain
from seqwright.inputs.vocabularies import Kind


class VectorTextSettings(TokenizerSettings):
    """How texts become tokens."""

    kind: Kind = "characters"
    """What a token is: a character, a word, or a piece of a word learnt by BPE, unigram or WordPiece."""
    longest: int = Field(default=256, ge=1)
    """Most tokens of a text, in training and, unless decoding.longest says otherwise, in writing."""
    overlong: Literal["drop", "cut", "refuse"] = "drop"
    """What happens to longer ones: left out and counted, cut off, or refused with an error."""


class VectorText(NamedTuple):
    """The tokenizer of a run, how it makes vectors, and how many tokens its texts have at most."""

    tokenizer: Tokenizer
    vectors: Vectors
    longest: int

    @property
    def begin(self) -> int:
        """The token every text begins with."""
        return self.tokenizer.begin

    @property
    def end(self) -> int:
        """The token that closes every text."""
        return self.tokenizer.end

    @classmethod
    def learnt(
        cls, texts: Iterable[str], vectors: Vectors, settings: VectorTextSettings, tokenizer: Tokenizer | None = None
    ) -> "VectorText":
        """A tokenizer trained on texts, which are read once, if none is given."""
        return cls(tokenizer or Tokenizer.train(texts, settings), vectors, settings.longest)

    def codes(self, given: Sequence[str]) -> Codes:
        """The code of each thing that is given; what cannot be given is refused."""
        return np.array([self.vectors.code(each) for each in given], dtype=np.float64)

    def save(self, folder: Path) -> None:
        """Write `text.json`, the tokenizer, and `vectors.json`, the rest."""
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save(folder / "text.json")
        (folder / "vectors.json").write_text(self._rest(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "VectorText":
        """Read what `save` wrote."""
        path = folder / "vectors.json"
        tokenizer = Tokenizer.load(folder / "text.json")
        try:
            rest = json.loads(path.read_text(encoding="utf-8"))
            return cls(tokenizer, from_plain(rest["vectors"]), int(rest["longest"]))
        except OSError as error:
            raise RunError(f"{path} is missing; expected how training made vectors: restore it") from error
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} does not say how vectors are made ({error}); restore it from a copy") from error

    def fingerprint(self) -> str:
        """Changes with the tokenizer and the vectors."""
        return f"{self.tokenizer.fingerprint()} {self._rest()}"

    def sizes(self) -> dict[str, int]:
        """The sizes a model over these vectors and this vocabulary is built with."""
        return {"inputs": self.vectors.size, "vocabulary": self.tokenizer.size}

    def batches(self, examples: Sequence[Sequence[str]], *, tokens: int, seed: int = 1) -> DescribedBatches:
        """Batches of (given, text) that fit into memory; a recipe's go through the token cache instead."""
        rows = InMemory(self.tokenizer.encode([example[1] for example in examples]))
        code_NK = self.codes([example[0] for example in examples])
        return DescribedBatches(
            rows, code_NK, self.vectors.vectors, tokens=tokens, seed=seed, begin=self.begin, end=self.end
        )

    def _rest(self) -> str:
        return json.dumps({"vectors": self.vectors.plain(), "longest": self.longest}, ensure_ascii=False, indent=1)
