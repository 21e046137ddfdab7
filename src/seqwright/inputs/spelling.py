"""The words of a text with the places of their tokens: as the user wrote them, or as they were decoded."""

import re
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from seqwright.batches import Ids, RowT
from seqwright.data.labelled_tables import TEXT_WORDS
from seqwright.data.tables import Usual
from seqwright.errors import DataError, brief
from seqwright.inputs import ExampleT, Input
from seqwright.inputs.saved import load_fields, plain_fields, save_json
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.vocabularies import SPACE

Words = list[tuple[str, list[int]]]
"""Each word with the places of its tokens."""


class Spelled(NamedTuple):
    """The tokens of a text, from where to where each stands in it, and its words with the places of their tokens.

    `pieces` are the tokens as the text has them, and `text` is all of it.
    """

    tokens: Ids
    spans: list[tuple[int, int]]
    words: Words
    pieces: list[str]
    text: str = ""

    def at(self, places: Ids) -> "Spelled":
        """The same of some of its tokens; a word needs all of its own."""
        new = {old: place for place, old in enumerate(places.tolist())}
        words = [(word, [new[place] for place in some]) for word, some in self.words if new.keys() >= set(some)]
        some = places.tolist()
        spans, pieces = [self.spans[n] for n in some], [self.pieces[n] for n in some]
        return self._replace(tokens=self.tokens[places], spans=spans, words=words, pieces=pieces)


class TokenInput(Input[ExampleT, RowT]):
    """An input that reads typed texts with one tokenizer, so that one can look at what it reads.

    What else it knows are its fields, in a file of the run folder.
    """

    tokenizer: Tokenizer
    file: ClassVar[str] = "reading.json"
    fields: ClassVar[tuple[str, ...]] = ("text", "text_pair")
    """What texts that are read together are called in a mapping, in the order in which they are read."""

    @property
    def texts(self) -> tuple[int, ...]:
        """How many texts an example may have: one."""
        return (1,)

    def table_columns(self) -> dict[str, Usual]:
        """The text."""
        return {"text": Usual(TEXT_WORDS, text=False)}

    @property
    @abstractmethod
    def begins(self) -> bool:
        """Whether a token stands before every text."""

    @property
    def begin(self) -> int | None:
        """The token that stands before every text, if one does."""
        return self.tokenizer.begin if self.begins else None

    @property
    def after(self) -> list[int]:
        """What stands behind the last text, before its end: nothing."""
        return []

    @property
    def between(self) -> list[int]:
        """What stands between two texts: one `end`, or as many as the tokenizer of another program puts there."""
        return [self.tokenizer.end] * self.tokenizer.between

    def tokenised(self, texts: Sequence[str]) -> list[Ids]:
        """The tokens of each text, all of them, without what stands around it."""
        return list(self.tokenizer.encode(list(texts)))

    def spelled(self, text: str) -> Spelled:
        """The tokens of a typed text, where each stands in it, and its words with the places of theirs."""
        return spelled_text(self.tokenizer, text)

    def parts(self, given: Any) -> list[Spelled]:
        """The same of each text of what a user gives, in the order in which they are read."""
        return [self.spelled(text) for text in self.example_fields(self.parse(given)).values()]

    def kept(self, texts: Sequence[Spelled]) -> list[Ids]:
        """The places of those tokens of an example's texts that are read, in its first row if it has several: all."""
        return every_place(texts)

    def joined(self, texts: Sequence[Ids]) -> Any:
        """The row of one text whose tokens are known, or of several."""
        parts: list[Any] = [texts[0]]
        for later in texts[1:]:
            parts += [self.between, later]
        return np.concatenate(parts).astype(np.int64)

    def sizes(self) -> dict[str, int]:
        """The vocabulary."""
        return {"vocabulary": self.tokenizer.size}

    def save(self, folder: str | Path) -> None:
        """Write the tokenizer, and how texts are read."""
        save_json(Path(folder, self.file), plain_fields(self, without={"tokenizer"}))
        self.tokenizer.save(Path(folder, "tokenizer.json"))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote."""
        return load_fields(cls, Path(folder, cls.file), tokenizer=Tokenizer.load(Path(folder, "tokenizer.json")))


class DocumentInput(TokenInput[str, RowT]):
    """An input whose examples are texts and nothing else."""

    noun: ClassVar[str] = "documents"

    def parse(self, given: Any) -> str:
        """A text."""
        return typed_text(given)

    def example_fields(self, example: str) -> dict[str, Any]:
        """The text."""
        return {"text": example}


def typed_text(given: Any) -> str:
    """What a user gives, if it is a text."""
    if not isinstance(given, str):
        raise DataError(f"an example is {brief(given)}, expected a text")
    return given


def named_texts(given: Mapping[Any, Any], names: Sequence[str]) -> list[str]:
    """The texts of a mapping that has those of some names, and nothing else."""
    if given.keys() != set(names):
        expected = ", ".join(f'"{name}": …' for name in names)
        raise DataError(f"an example has the fields {', '.join(map(str, given))}; expected {{{expected}}}")
    return [str(given[name]) for name in names]


def spelled_text(tokenizer: Tokenizer, text: str) -> Spelled:
    """A text in the user's own characters."""
    tokens, spans = tokenizer.placed(text)
    return spelled_at(text, tokens, spans, given_words(tokenizer, text) if len(tokens) else [])


def spelled_at(text: str, tokens: Ids, spans: Sequence[tuple[int, int]], words: Words) -> Spelled:
    """Tokens that begin at some places of a text: each is all that stands there up to where the next begins."""
    whole = list(pairwise([0, *(begin for begin, _ in spans[1:]), len(text)]))[: len(spans)]
    return Spelled(tokens.astype(np.int64), whole, words, [text[begin:end] for begin, end in whole], text)


def every_place(texts: Sequence[Spelled]) -> list[Ids]:
    """The places of all tokens of some texts."""
    return [np.arange(len(text.tokens)) for text in texts]


def given_words(tokenizer: Tokenizer, text: str) -> Words:
    """The words of a text in the user's own characters, also those that the vocabulary lacks or spells otherwise."""
    ids, spans = tokenizer.placed(text)
    starts, ends = zip(*spans, strict=True)
    words: Words = []
    spaces: list[int] = []  # that the vocabulary could not keep with the word they stand before
    for spelled, places in tokenizer.words(ids.tolist()):
        after = places[-1] + 1
        if after < len(starts) and tokenizer.kind != "characters" and not spelled.strip(SPACE):
            spaces += places
            continue
        # Up to the next token: an accent that was joined with its letter belongs to no token.
        end = max(ends[after - 1], starts[after]) if after < len(starts) else len(text)
        word = text[starts[places[0]] : end]
        words.append((word.strip() or word, [*spaces, *places]))
        spaces = []
    return words


def written_words(tokenizer: Tokenizer, tokens: list[int]) -> Words:
    """The words of tokens as the vocabulary spells them, a lone space as a space."""
    return [(word.replace(SPACE, " "), places) for word, places in tokenizer.words(tokens)]


def spaced_words(tokenizer: Tokenizer, text: str) -> Words:
    """What stands between white space, a word that has no token of its own with the place of the one before it."""
    _, spans = tokenizer.placed(text)
    words: Words = [(match[0], []) for match in re.finditer(r"\S+", text)]
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    for place, (begin, end) in enumerate(spans):
        letters = [at for at in range(begin, end) if not text[at].isspace()]
        # A lone space belongs to the word it stands before, and at the end of the text to the last one.
        number = bisect_right(ends, letters[0] if letters else begin)
        words[min(number, len(words) - 1)][1].append(place)
    for number, (_, places) in enumerate(words):
        if not places:
            places.append(words[number - 1][1][-1] if number else 0)
    return words
