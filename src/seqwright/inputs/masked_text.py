"""Running text some of whose words are hidden ↔ token ids: one tokenizer with a mask, and how documents become rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from seqwright.batches import Ids
from seqwright.batches.masks import Masks, TokenMasks, WordMasks
from seqwright.errors import RunError
from seqwright.inputs.text_inputs import TextInputs
from seqwright.inputs.tokenizers import Kind, Tokenizer, TokenizerSettings

MASK = "<mask>"


class MaskedTextSettings(TokenizerSettings):
    """How documents become tokens, tokens examples, and what of them is hidden."""

    kind: Kind = "wordpiece"
    """What a token is: a character, a word, whatever stands between spaces, or a piece of a word learnt by BPE, unigram
    or WordPiece, which is BERT's."""
    longest: int = Field(default=128, ge=8)
    """Most tokens of an example, [CLS] and [SEP] included."""
    examples: Literal["pairs", "sentences"] = "pairs"
    """What an example is: two stretches of text of which the second follows the first half of the time, and the model
    says whether it does (BERT); or full sentences one after another, with nothing to say (RoBERTa)."""
    masked: Literal["tokens", "words"] = "tokens"
    """What is hidden: single tokens, or whole words with all their pieces."""
    share: float = Field(default=0.15, gt=0, lt=1)
    """How much of the text is hidden."""


@dataclass(frozen=True)
class MaskedText(TextInputs):
    """The tokenizer of a run; one of its special tokens is the mask."""

    @property
    def begin(self) -> int:
        """The token that stands before the text, [CLS]."""
        return self.tokenizer.begin

    @property
    def mask(self) -> int:
        """The token that stands for a hidden word, [MASK]."""
        if self.tokenizer.mask is None:
            raise RunError(
                "the tokenizer has no <mask>, so that no word can be hidden; restore the run's inputs/ from a copy"
            )
        return self.tokenizer.mask

    @classmethod
    def learnt(
        cls, texts: Iterable[str], settings: MaskedTextSettings, tokenizer: Tokenizer | None = None
    ) -> "MaskedText":
        """A tokenizer trained on documents, which are read once, if none is given; one without a mask gets it."""
        if tokenizer is None:
            return cls(Tokenizer.train(texts, settings, special=(MASK,)))
        return cls(tokenizer if tokenizer.mask is not None else tokenizer.with_special((MASK,)))

    def encode(self, documents: Sequence[Sequence[str]]) -> list[Ids]:
        """The token numbers of documents, each a list of sentences; `end` closes every sentence that has any."""
        rows = iter(self.tokenizer.encode([sentence for document in documents for sentence in document]))
        encoded = []
        for document in documents:
            parts = [np.append(next(rows), self.end) for _ in document]
            kept = [part for part in parts if len(part) > 1]
            encoded.append(np.concatenate([*kept, np.zeros(0)]).astype(self.tokenizer.dtype))
        return encoded

    def masks(self, settings: MaskedTextSettings) -> Masks:
        """What hides words of a text, as the settings say."""
        if settings.masked == "words":
            words = self.tokenizer.words
            return WordMasks(mask=self.mask, ordinary_V=self.ordinary(), words=words, share=settings.share)
        return TokenMasks(mask=self.mask, ordinary_V=self.ordinary(), share=settings.share)

    def ordinary(self) -> NDArray[np.bool_]:
        """`ordinary_V`: False for special tokens, which are never hidden and stand for nothing hidden."""
        ordinary_V = np.ones(self.tokenizer.size, dtype=np.bool_)
        ordinary_V[list(self.tokenizer.special.values())] = False
        return ordinary_V
