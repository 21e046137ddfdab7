"""A sentence, cut into words, as one or several rows of tokens.

B batch · T time · N rows
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field

from seqwright.batches import Ids
from seqwright.batches.tagged import Stretch, StretchRows, stacked, stretches
from seqwright.data.tagged import TaggedSentence
from seqwright.errors import DataError, brief
from seqwright.inputs import Examples, Room, Stacked
from seqwright.inputs.spelling import Spelled, TokenInput, spelled_at
from seqwright.inputs.text import longest_of
from seqwright.inputs.token_rows import row_columns
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings, tokenizer_of
from seqwright.inputs.word_splits import CUTS, Split
from seqwright.setting_classes import Settings

FORMAT = 2
BLOCK = 2048  # sentences tokenised at a time
LONG = 250  # words: more in a sentence, and it may be several


class WordsSettings(TokenizerSettings):
    """How words become tokens. With `whitespace` each is one; a word of several is tagged at the first."""

    longest: int = Field(default=512, ge=1)
    """Most tokens that are read at once: a longer sentence is cut between words, and each stretch read on its own; by
    default fewer if the model's context is too short for so many."""
    pre_tokenizer: Split = "punctuation"
    """How a text that is typed is cut into words: between words and marks ("It", "'s", "fine", "."), as Python cuts its
    source, or at spaces only."""


@dataclass(frozen=True)
class WordsInput(TokenInput[TaggedSentence, Stretch]):
    """The tokenizer of a run that reads sentences word by word, and how texts are cut.

    A row is `begin? words end`; `begin` only where the model reads one. Every word is encoded on its own, as after a
    space.
    """

    tokenizer: Tokenizer
    longest: int
    split: Split
    begins: bool = False  # whether the model reads a token before every sentence
    settings: ClassVar[type[Settings]] = WordsSettings
    marks: ClassVar[int] = 1  # the end; batches were never planned with what begins a sentence
    noun: ClassVar[str] = "sentences"

    @classmethod
    def learn(cls, train: Examples[TaggedSentence], settings: WordsSettings, *, room: Room, like: Any = None) -> Self:
        """A tokenizer trained on the words, if none is taken from another run."""
        longest = longest_of(settings, room.context, marks=1 + room.begins)
        words = (_spaced(word, settings.tokenizer) for sentence in train for word in sentence.words)
        tokenizer = Tokenizer.train(words, settings) if like is None else tokenizer_of(like)
        return cls(tokenizer, longest, settings.pre_tokenizer, room.begins)

    def encode(self, examples: Examples[TaggedSentence], *, seed: int = 0) -> StretchRows:
        """The stretches of each sentence."""
        key = f"words {FORMAT} {self.tokenizer.fingerprint()} {self.longest}"
        return StretchRows(*row_columns(examples, key, ("tokens", "lengths"), lambda: self._stretches(examples)))

    def _stretches(self, examples: Examples[TaggedSentence]) -> Iterator[tuple[int, Ids, Ids]]:
        """The number of its sentence, the tokens of a stretch, and how many each word has."""
        sentences = enumerate(examples)
        while block := list(islice(sentences, BLOCK)):
            encoded = self.tokens([sentence.words for _, sentence in block])
            for (number, _), tokens in zip(block, encoded, strict=True):
                for row in stretches(tokens, longest=self.longest):
                    yield number, row.tokens, row.length_W

    def tokens(self, sentences: Sequence[Sequence[str]]) -> list[list[Ids]]:
        """The token numbers of each word of each sentence; what the tokenizer makes nothing of is an unknown one."""
        tokenizer = self.tokenizer
        spaced = [tokenizer.opening + word for words in sentences for word in words]
        nothing = np.array([tokenizer.end if tokenizer.unknown is None else tokenizer.unknown])
        encoded = (ids if len(ids) else nothing.astype(ids.dtype) for ids in tokenizer.encode(spaced))
        return [list(islice(encoded, len(words))) for words in sentences]

    def stack(self, rows: Sequence[Stretch]) -> Stacked:
        """`input_BT`, `real_BT`, `first_BT` and `word_B`: with what stands around a sentence, padding on the right."""
        return stacked(rows, end=self.tokenizer.end, begin=self.begin)

    def joined(self, texts: Sequence[Ids]) -> Stretch:
        """The row of a text whose tokens are known."""
        (tokens,) = texts
        return Stretch(tokens, np.array([len(tokens)]))

    def tokenised(self, texts: Sequence[str]) -> list[Ids]:
        """The tokens of each typed text, all of them, without what stands around it."""
        sentences = self.tokens([self.parse(text).words for text in texts])
        return [np.concatenate(words) if words else np.zeros(0, dtype=np.int64) for words in sentences]

    def spelled(self, text: str) -> Spelled:
        """The tokens of a typed text, where each stands in it, and its words with the places of theirs."""
        return self._spelled(text, self.parse(text).words)

    def parts(self, given: Any) -> list[Spelled]:
        """The same of a text, or of words with a space between them."""
        words = self.parse(given).words
        return [self._spelled(given if isinstance(given, str) else " ".join(words), words)]

    def _spelled(self, text: str, cut: Sequence[str]) -> Spelled:
        ids, spans, words, at = list[Ids](), list[tuple[int, int]](), list[tuple[str, list[int]]](), 0
        for word in cut:
            begin = max(text.find(word, at), at)  # what stands for a string of code is not in the text
            _, places = self.tokenizer.placed(self.tokenizer.opening + word)
            ((tokens,),) = self.tokens([[word]])
            places = places or [(0, len(word))]  # of a word that the tokenizer makes nothing of
            shift = begin - len(self.tokenizer.opening)
            words.append((word, list(range(len(spans), len(spans) + len(tokens)))))
            found = [(max(at, low + shift), max(at, high + shift)) for low, high in places]
            spans += [(at, found[0][1]), *found[1:]]  # the space before a word belongs to it
            ids.append(tokens)
            at = min(begin + len(word), len(text))
        return spelled_at(text, np.concatenate(ids) if ids else np.zeros(0, dtype=np.int64), spans, words)

    def kept(self, texts: Sequence[Spelled]) -> list[Ids]:
        """The first stretch."""
        words = ([np.array(places) for _, places in text.words] for text in texts)
        return [next(stretches(each, longest=self.longest)).tokens if each else np.arange(0) for each in words]

    def parse(self, given: Any) -> TaggedSentence:
        """A text, cut into words; or words."""
        if isinstance(given, str):
            return TaggedSentence(tuple(CUTS[self.split](given)), ())
        if not isinstance(given, Sequence) or not all(isinstance(word, str) for word in given):
            raise DataError(f"an example is {brief(given)}, expected a text or its words")
        return TaggedSentence(tuple(given), ())

    def example_fields(self, example: TaggedSentence) -> dict[str, Any]:
        """The words."""
        return {"words": list(example.words)}

    def part_sentence(self, examples: Examples[TaggedSentence], rows: Any) -> tuple[str, str]:
        """`1,009 sentences, 15,733 words`, and `; 2 with over 512 tokens are read in stretches`."""
        told = f"{len(set(rows.example_N.tolist())):,} sentences, {int(rows.word_N.sum()):,} words"
        return told, f"; {rows.cut:,} with over {self.longest:,} tokens are read in stretches" if rows.cut else ""

    def part_remarks(self, examples: Examples[TaggedSentence]) -> list[str]:
        """Tokens that the vocabulary lacks, and sentences that may be several."""
        rows = self.encode(examples)
        tokens = (row.tokens for row in rows.take(np.arange(len(rows.example_N)), None))
        remarks = self.tokenizer.unknown_share(tokens, examples.name)
        longest = max((len(sentence.words) for sentence in examples), default=0)
        if longest > LONG:
            told = "see whether blank lines stand between sentences"
            remarks.append(f"a sentence of {examples.name} has {longest:,} words: {told}")
        return remarks

    def remarks(self, examples: Examples[TaggedSentence], first: int = 0) -> list[str]:
        """Words of which not everything is read, and words that the vocabulary lacks."""
        remarks, unknown = [], dict[str, None]()
        sentences = [example.words for example in examples]
        for number, (words, encoded) in enumerate(zip(sentences, self.tokens(sentences), strict=True), start=first + 1):
            for word, tokens in zip(words, encoded, strict=True):
                if len(tokens) > self.longest:
                    told = f"a word of text {number}, '{word[:20]}…', has {len(tokens):,} tokens"
                    remarks.append(f"{told}; the model reads the first {self.longest:,}")
                if self.tokenizer.unknowns(tokens):
                    unknown[word] = None
        if unknown:
            most = " ".join(list(unknown)[:8]) + (" …" if len(unknown) > 8 else "")
            told = "the model knows such words only by what stands around them"
            remarks.append(f"the vocabulary lacks {most}: {told}")
        return remarks


def _spaced(word: str, kind: str) -> str:
    """The word as it is encoded: among characters only a space tells where it begins."""
    return f" {word}" if kind == "characters" else word
