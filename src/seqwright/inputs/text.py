"""One text, or two that belong together, as a row of tokens.

B batch · T time · N rows
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from seqwright.batches import Ids, Rows, Zipped, begun, padded, segments
from seqwright.batches.labelled import LeftOut, Shortened, ShortenedPairs, paired, shortened
from seqwright.data.labelled_tables import TEXT_WORDS, Example
from seqwright.data.tables import Usual
from seqwright.errors import DataError, SettingError, by_option, by_setting
from seqwright.inputs import Examples, Room, Stacked
from seqwright.inputs.spelling import Spelled, TokenInput, every_place, named_texts, typed_text
from seqwright.inputs.token_rows import token_rows
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings, lacking, tokenizer_of
from seqwright.setting_classes import Settings

WORD = re.compile(r"\w+|[^\w\s]")
MOST_WORDS = 50_000


class TextSettings(TokenizerSettings):
    """How texts become tokens."""

    longest: int = Field(default=512, ge=1)
    """Most tokens of a text that are read, or of two texts together, of which the longer is shortened first; by default
    fewer if the model's context is too short for so many."""
    truncation: Literal["end", "middle"] = "middle"
    """What is left out of a longer text, and counted: its end, or its middle, so that as many tokens of its beginning
    as of its end are read (Sun et al. 2019, section 5.3.1)."""


@dataclass(frozen=True)
class TextInput(TokenInput[Example, Ids]):
    """The tokenizer of a run that reads texts or pairs of texts, and how long ones are shortened.

    A row is `begin? text end`, or `begin? text end… text end`; `begin` only where the model reads one.
    """

    tokenizer: Tokenizer
    longest: int
    left_out: LeftOut
    begins: bool = False  # whether the model reads a token before every text
    pairs: bool = False  # whether an example is two texts
    imported: bool = False  # whether another program trained the model that reads
    settings: ClassVar[type[Settings]] = TextSettings
    marks: ClassVar[int] = 1  # the end; batches were never planned with what begins a text

    @classmethod
    def learn(cls, train: Examples[Example], settings: TextSettings, *, room: Room, like: Any = None) -> Self:
        """A tokenizer trained on the texts, if none is taken from another run."""
        tokenizer = None if like is None else tokenizer_of(like)
        if not any(map(readable, train)):
            raise DataError(f"no example of {train.name} has a text: see whether data.text means the right column")
        pairs = next((example.text_pair is not None for example in train if readable(example)), False)
        marks = 1 + room.begins + pairs * (1 if tokenizer is None else tokenizer.between)
        longest = longest_of(settings, room.context, marks=marks)
        tokenizer = tokenizer or Tokenizer.train(every_text(train), settings)
        return cls(tokenizer, longest, settings.truncation, room.begins, pairs)

    @property
    def texts(self) -> tuple[int, ...]:
        """One, or two that belong together."""
        return (1 + self.pairs,)

    def table_columns(self) -> dict[str, Usual]:
        """The text, or the two."""
        words = {"text": ("text",), "text_pair": ("text_pair",)} if self.pairs else {"text": TEXT_WORDS}
        return {name: Usual(usual, text=False) for name, usual in words.items()}

    def kept(self, texts: Sequence[Spelled]) -> list[Ids]:
        """What is left of long texts, as `encode` shortens them."""
        first, *second = every_place(texts)
        if not second:
            return [shortened(first, self.longest, self.left_out)]
        both = paired(first, len(first) + second[0], self.longest, self.left_out, between=[])
        return [both[both < len(first)], both[both >= len(first)] - len(first)]

    def encode(self, examples: Examples[Example], *, seed: int = 0) -> Shortened:
        """The tokens of each text, or of both, as far as they are read, without what stands around them."""
        self._refuse_other_number_of_texts(examples)
        number_N = np.array([n for n, example in enumerate(examples) if readable(example)], dtype=np.int64)

        def tokens(what: str, text_of: Callable[[Example], str]) -> Rows[Ids]:
            return token_rows(self.tokenizer, examples, what, lambda: map(text_of, filter(readable, examples)))

        first = tokens("text", lambda example: example.text)
        if not self.pairs:
            return Shortened(first, self.longest, self.left_out, number_N)
        second = tokens("second text", lambda example: example.text_pair or "")
        return ShortenedPairs(Zipped(first, second), self.longest, self.left_out, number_N, between=self.between)

    def stack(self, rows: Sequence[Ids]) -> Stacked:
        """`input_B`, `real_BT` and `segment_BT`: with what stands around the texts, and padding on the right."""
        end = self.tokenizer.end
        input_BT, real_BT = begun(padded([np.append(row, end) for row in rows]), self.begin)
        return {"input_B": input_BT, "real_BT": real_BT, "segment_BT": segments(input_BT, end)}

    def parse(self, given: Any) -> Example:
        """A text; where texts belong in pairs, both with a tab between them, or a mapping of `text` and `text_pair`."""
        if isinstance(given, Mapping):
            text, *other = named_texts(given, self.fields[: 1 + self.pairs])
            return Example(text, "", *other)
        first, tab, second = typed_text(given).partition("\t")
        if not self.pairs:
            return Example(given, "")
        if not tab and given.strip():
            raise DataError(
                f"'{_short(given)}' is a single text, but the run learnt pairs: put a tab between its two texts, or "
                + by_option("give the other with --text-pair", 'give {"text": …, "text_pair": …}')
            )
        return Example(first, "", second)

    def example_fields(self, example: Example) -> dict[str, Any]:
        """The texts."""
        return {"text": example.text} | ({} if example.text_pair is None else {"text_pair": example.text_pair})

    def features(self, examples: Examples[Example]) -> list[set[str]]:
        """The words of each text; of a pair, which words are in one of the two and which in both."""
        return [_features(example) for example in examples]

    def vectorizer(self) -> Any:
        """A bag of words: idf_v where the word v occurs, scaled to length 1."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(analyzer=sorted, binary=True, min_df=2, max_features=MOST_WORDS)

    def part_sentence(self, examples: Examples[Example], rows: Any) -> tuple[str, str]:
        """`3,837 texts`, and `; 2 without text were left out; of 3 with over 512 tokens the middle is not read`."""
        read, every = len(rows.example_N), sum(1 for _ in examples)
        told = f"; {every - read:,} without text were left out" if every > read else ""
        if rows.cut:
            told += f"; of {rows.cut:,} with over {rows.longest:,} tokens the {rows.left_out} is not read"
        return f"{read:,} {'pairs of texts' if self.pairs else 'texts'}", told

    def part_remarks(self, examples: Examples[Example]) -> list[str]:
        """Letters that the vocabulary lacks."""
        return self.tokenizer.remarks(every_text(examples), examples.name)

    def remarks(self, examples: Examples[Example], first: int = 0) -> list[str]:
        """Texts of which not everything is read, and letters that the vocabulary lacks."""
        remarks = []
        rows = self.encode(examples)
        for number, length in zip(rows.example_N.tolist(), rows.whole_N.tolist(), strict=True):
            if length > self.longest:
                told = f"the model reads {self.longest:,}, the {self.left_out} is left out"
                remarks.append(f"text {first + number + 1} has {length:,} tokens; {told}")
        return remarks + lacking(self.tokenizer.unknown_characters(every_text(examples)))

    def _refuse_other_number_of_texts(self, examples: Examples[Example]) -> None:
        """Refuse single texts where two belong together, and the other way round."""
        example = next((example for example in examples if readable(example)), None)
        if example is None or self.pairs is (example.text_pair is not None):
            return
        column = "a second text, in columns named sentence1 and sentence2 or text1 and text2"
        if self.imported:
            raise DataError(
                "the file has single texts, but the model was imported for pairs: import it without --pairs, or give "
                f"the file {column}"
                if self.pairs
                else "the file has pairs of texts, but the model was imported for single ones: import it with --pairs"
            )
        raise DataError(
            f"{examples.name} has single texts, but the model reads pairs: give it {column}"
            f"{by_setting(', or name it with data.text_pair')}"
            if self.pairs
            else f"{examples.name} has pairs of texts, but the model reads single ones: "
            + by_setting("name the text with data.text", "name the column of the text as in training")
        )


def reads_pairs(input: Any) -> bool:
    """Whether an input reads two texts at a time."""
    return isinstance(input, TextInput) and input.pairs


def readable(example: Example) -> bool:
    """Whether there is something to read: of two texts, in both."""
    return bool(example.text.strip() and (example.text_pair is None or example.text_pair.strip()))


def every_text(examples: Examples[Example]) -> Iterator[str]:
    """All texts that can be read, second ones included."""
    return chain.from_iterable(
        (example.text,) if example.text_pair is None else (example.text, example.text_pair)
        for example in examples
        if readable(example)
    )


def longest_of(settings: Any, context: int | None, *, marks: int) -> int:
    """The tokens that are read at most: what the settings say, or what the context has room for beside marks."""
    longest: int = settings.longest
    if context is None or longest + marks <= context:
        return longest
    if "longest" in settings.model_fields_set or context <= marks:
        raise SettingError(
            f"input.longest is {longest:,}, but the model reads {context:,} tokens, {marks} marks among them: "
            f"set input.longest={max(1, context - marks)} or less, or take a model with a longer context"
        )
    return context - marks


def words(text: str) -> set[str]:
    """The different words and marks of a text, in small letters."""
    return set(WORD.findall(text.lower()))


def _features(example: Example) -> set[str]:
    first = words(example.text)
    if example.text_pair is None:
        return first
    second = words(example.text_pair)
    return (first ^ second) | {f"both {word}" for word in first & second}


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
