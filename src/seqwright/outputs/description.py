"""A text that is written from a vector: a number spelled out, a sentence for a label or for some numbers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from seqwright.batches import Batch
from seqwright.batches.described import Described
from seqwright.inputs import Examples, Input
from seqwright.inputs.saved import load_fields
from seqwright.inputs.tokenizers import Kind, Tokenizer, TokenizerSettings, tokenizer_of
from seqwright.outputs.text import HasText, TextOutput
from seqwright.outputs.text_scores import Scoring
from seqwright.setting_classes import Settings


class DescriptionSettings(TokenizerSettings):
    """How texts become tokens, and how those that are written are scored."""

    tokenizer: Kind = "characters"
    """What a token is: a character, a word, or a piece of a word learnt by BPE, unigram or WordPiece."""
    longest: int = Field(default=256, ge=1)
    """Most tokens of a text, in training and, unless decoding.longest says otherwise, in writing."""
    overlong: Literal["drop", "truncate", "refuse"] = "drop"
    """What happens to longer ones: left out and counted, cut off, or refused with an error."""
    scores: Scoring = "chrf"
    """How what is written is scored: exact matches and chrF, the same with BLEU, ROUGE, word error rate, or exact
    matches alone."""


@dataclass(frozen=True)
class DescriptionOutput(TextOutput):
    """As `TextOutput`, but what is read is a vector: texts have a tokenizer of their own."""

    settings: ClassVar[type[Settings]] = DescriptionSettings
    batch: ClassVar[type[Batch]] = Described
    section: ClassVar[str] = "output"

    @classmethod
    def learn(cls, train: Examples[HasText], settings: Any, input: Input[Any, Any], *, like: Any = None) -> Self:
        """A tokenizer trained on the texts, or another run's."""
        texts = (example.target for example in train)
        tokenizer = Tokenizer.train(texts, settings) if like is None else tokenizer_of(like)
        return cls(tokenizer, None, settings.scores, settings.lowercase, settings.longest, settings.overlong)

    @classmethod
    def load(cls, folder: str | Path, input: Any) -> Self:
        """Read what `save` wrote."""
        tokenizer = Tokenizer.load(Path(folder, "tokenizer.json"))
        return load_fields(cls, Path(folder, cls.file), tokenizer=tokenizer, source=None, dictionary=None)

    def sizes(self) -> dict[str, Any]:
        """The vocabulary."""
        return {"vocabulary": self.tokenizer.size}
