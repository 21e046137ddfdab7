"""Questions and contexts ↔ token ids, and back to the characters of the answer: one tokenizer and its windows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from seqwright.batches import Ids
from seqwright.batches.questions import AROUND
from seqwright.errors import SettingError
from seqwright.inputs.text_inputs import TextInputs
from seqwright.inputs.tokenizers import Kind, Tokenizer, TokenizerSettings


class QuestionTextSettings(TokenizerSettings):
    """How questions and contexts become tokens. A context that is too long is read in windows that overlap."""

    kind: Kind = "wordpiece"
    longest: int = Field(default=384, ge=8)
    """Most tokens that are read at once: the question, a window of the context and the three tokens around them."""
    stride: int = Field(default=128, ge=1)
    """How many tokens of the context further on the next window begins; what is left of a window stands in both."""
    question: int = Field(default=64, ge=1)
    """Most tokens of a question; what is behind them is not read."""
    answer: int = Field(default=30, ge=1)
    """Most tokens of an answer that is looked for."""

    @model_validator(mode="after")
    def _leave_room(self) -> "QuestionTextSettings":
        room = self.longest - AROUND - self.question
        if room < self.stride:
            raise SettingError(
                f"inputs.longest = {self.longest} leaves {max(room, 0)} tokens for the context behind a question of "
                f"{self.question}, less than inputs.stride = {self.stride}, so that some would never be read: raise "
                "inputs.longest, or lower inputs.stride or inputs.question"
            )
        return self


class PlacedTokens(NamedTuple):
    """The tokens of a context, and where each stands in it: characters from `begin_T` up to but without `end_T`."""

    tokens: Ids
    begin_T: Ids
    end_T: Ids

    def tokens_of(self, begin: int, end: int) -> tuple[int, int] | None:
        """The first and the last token that some characters have a part in, if any; white space has no part."""
        some = np.flatnonzero((self.begin_T < end) & (self.end_T > begin) & (self.begin_T < self.end_T))
        return (int(some[0]), int(some[-1])) if len(some) else None


@dataclass(frozen=True)
class QuestionText(TextInputs):
    """The tokenizer of a run, how much is read at once, and whether there were questions without an answer."""

    rest_file: ClassVar[str] = "questions.json"
    longest: int
    stride: int
    question: int
    answer: int
    unanswerable: bool

    @classmethod
    def learnt(
        cls,
        texts: Iterable[str],
        settings: QuestionTextSettings,
        tokenizer: Tokenizer | None = None,
        *,
        unanswerable: bool,
    ) -> "QuestionText":
        """A tokenizer trained on texts, which are read once, if none is given."""
        sizes = (settings.longest, settings.stride, settings.question, settings.answer)
        return cls(tokenizer or Tokenizer.train(texts, settings), *sizes, unanswerable)

    def encode_questions(self, questions: Sequence[str]) -> list[Ids]:
        """The token numbers of each question as far as they are read, and all ends behind it but the last."""
        ends = np.array([self.end] * (self.tokenizer.between - 1), dtype=self.tokenizer.dtype)
        encoded = self.tokenizer.encode([each.strip() for each in questions])
        return [np.concatenate((ids[: self.question - len(ends)], ends)) for ids in encoded]

    def encode_context(self, context: str) -> PlacedTokens:
        """A context as tokens; white space at the borders of a token is not counted among its characters."""
        tokens, places = self.tokenizer.placed(context)
        trimmed = [_trimmed(context, *place) for place in places]
        begin_T, end_T = np.array(trimmed, dtype=np.uint32).reshape(-1, 2).T
        return PlacedTokens(tokens, begin_T, end_T)

    def rest(self) -> dict[str, Any]:
        """How much is read at once, and whether there were questions without an answer."""
        return {name: value for name, value in vars(self).items() if name != "tokenizer"}

    @classmethod
    def with_rest(cls, tokenizer: Tokenizer, rest: Mapping[str, Any]) -> "QuestionText":
        """Inputs from a tokenizer and a `rest`."""
        sizes = {name: int(rest[name]) for name in ("longest", "stride", "question", "answer")}
        return cls(tokenizer, **sizes, unanswerable=bool(rest["unanswerable"]))

    def fingerprint(self) -> str:
        """Changes with the tokenizer and with how much of a question is read; how contexts are cut is not kept."""
        return f"{self.tokenizer.fingerprint()} {self.question} {self.tokenizer.between}"


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    """Characters without the white space around them; where there is nothing else, none."""
    stretch = text[begin:end]
    inside = stretch.strip()
    begin = begin + len(stretch) - len(stretch.lstrip()) if inside else end
    return begin, begin + len(inside)
