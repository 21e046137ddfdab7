"""Words ↔ token ids, tags ↔ numbers: one tokenizer, the names of the tags, and how a text is cut into words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from seqwright.batches import Ids
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.tagged import Stretch, Tagged, TaggedRows, stretches, tagged
from seqwright.errors import DataError, nearest
from seqwright.inputs.text_inputs import TextInputs
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.inputs.word_splits import CUTS, Split


class TaggedTextSettings(TokenizerSettings):
    """How words become tokens. Where `kind` is `spaced` each is one; a word of several is tagged at the first."""

    longest: int = Field(default=512, ge=1)
    """Most tokens that are read at once: a longer sentence is cut between words, and each stretch read on its own; by
    default fewer if the model's context is too short for so many."""
    split: Split = "marks"
    """How a text that is typed is cut into words: between words and marks ("It", "'s", "fine", "."), as Python cuts its
    source ("code"), or at spaces only."""


@dataclass(frozen=True)
class TaggedText(TextInputs):
    """The tokenizer of a run, each tag with the number of its training words, and how texts are cut."""

    rest_file: ClassVar[str] = "tags.json"
    counts: Mapping[str, int]
    longest: int
    split: Split
    begins: bool = False

    @property
    def begin(self) -> int | None:
        """The token that stands before every sentence, if the model reads one there."""
        return self.tokenizer.begin if self.begins else None

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of the tags, by their numbers."""
        return tuple(self.counts)

    @classmethod
    def learnt(
        cls,
        words: Iterable[str],
        counts: Mapping[str, int],
        settings: TaggedTextSettings,
        tokenizer: Tokenizer | None = None,
        *,
        longest: int | None = None,
        begins: bool = False,
    ) -> "TaggedText":
        """A tokenizer trained on words, if none is given; `counts` are the tags and how many words have each."""
        spaced = (_spaced(word, settings.kind) for word in words)
        tokenizer = tokenizer or Tokenizer.train(spaced, settings)
        return cls(tokenizer, counts, longest or settings.longest, settings.split, begins)

    def words(self, text: str) -> list[str]:
        """A text that somebody typed, cut into words."""
        return CUTS[self.split](text)

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[list[Ids]]:
        """The token numbers of each word of each sentence; what the tokenizer makes nothing of is an unknown one."""
        spaced = [self.tokenizer.opening + word for words in sentences for word in words]
        nothing = np.array([self.end if self.tokenizer.unknown is None else self.tokenizer.unknown])
        encoded = (ids if len(ids) else nothing.astype(ids.dtype) for ids in self.tokenizer.encode(spaced))
        return [list(islice(encoded, len(words))) for words in sentences]

    def stretches(self, tokens: Sequence[Ids], tags: Sequence[int] | None = None) -> list[Stretch]:
        """A sentence, the tokens of each of its words given, as rows that a model reads."""
        return list(stretches(tokens, tags, longest=self.longest))

    def number(self, tag: str) -> int:
        """The number of a tag."""
        if tag not in self.counts:
            known = self.tags
            raise DataError(f"there is no tag '{tag}'; there are {', '.join(known)}.{nearest(tag, known)}")
        return self.tags.index(tag)

    def rest(self) -> dict[str, Any]:
        """The tags, and how texts are cut."""
        rest: dict[str, Any] = {"tags": dict(self.counts), "longest": self.longest, "split": self.split}
        return rest | ({"begins": True} if self.begins else {})

    @classmethod
    def with_rest(cls, tokenizer: Tokenizer, rest: Mapping[str, Any]) -> "TaggedText":
        """Inputs from a tokenizer and a `rest`."""
        counts = {str(tag): int(count) for tag, count in rest["tags"].items()}
        if rest["split"] not in CUTS:
            raise ValueError(f"there is no way '{rest['split']}' to cut a text into words")
        return cls(tokenizer, counts, int(rest["longest"]), rest["split"], bool(rest.get("begins")))

    def sizes(self) -> dict[str, int]:
        """The sizes a model over this vocabulary and these classes is built with."""
        return {**super().sizes(), "classes": len(self.counts)}

    def batches(
        self, sentences: Sequence[tuple[Sequence[str], Sequence[str]]], *, tokens: int, seed: int = 1
    ) -> Bucketed[Stretch, Tagged]:
        """Batches of (words, tags) that fit into memory; a recipe's go through the token cache instead."""
        encoded = self.encode([words for words, _ in sentences])
        numbers = [[self.number(tag) for tag in tags] for _, tags in sentences]
        rows = TaggedRows.in_memory([list(self.stretches(*both)) for both in zip(encoded, numbers, strict=True)])
        return Bucketed(rows, partial(tagged, end=self.end, begin=self.begin), tokens=tokens, seed=seed, marks=1)


def _spaced(word: str, kind: str) -> str:
    """The word as it is encoded: among characters only a space tells where it begins."""
    return f" {word}" if kind == "characters" else word
