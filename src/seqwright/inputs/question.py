"""A question and its context, as one or several rows of tokens.

B batch · T time · M questions · N rows, the windows
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from seqwright.batches import Ids
from seqwright.batches.questions import AROUND, ContextWindow, PlacedTokens, QuestionRows, stacked_windows, window
from seqwright.data.question_files import WORDS, Question
from seqwright.data.rows import json_object
from seqwright.data.tables import Usual
from seqwright.errors import DataError, SettingError, brief, by_option
from seqwright.inputs import Examples, Room, Stacked
from seqwright.inputs.spelling import Spelled, TokenInput, every_place
from seqwright.inputs.token_rows import row_columns
from seqwright.inputs.tokenizers import Kind, Tokenizer, TokenizerSettings, lacking, tokenizer_of
from seqwright.setting_classes import Settings

FORMAT = 2
WANTED = 'expected a mapping or JSON such as {"question": …, "context": …}'


class QuestionSettings(TokenizerSettings):
    """How questions and contexts become tokens. A context that is too long is read in windows that overlap."""

    tokenizer: Kind = "wordpiece"
    longest: int = Field(default=384, ge=8)
    """Most tokens that are read at once: the question, a window of the context and the three tokens around them."""
    stride: int = Field(default=128, ge=1)
    """How many tokens of the context further on the next window begins; what is left of a window stands in both."""
    longest_question: int = Field(default=64, ge=1)
    """Most tokens of a question; what is behind them is not read."""

    @model_validator(mode="after")
    def _leave_room(self) -> "QuestionSettings":
        room = self.longest - AROUND - 1 - self.longest_question
        if room < self.stride:
            raise SettingError(
                f"input.longest = {self.longest} leaves {max(room, 0)} tokens for the context behind a question of "
                f"{self.longest_question}, less than input.stride = {self.stride}, so that some would never be read: "
                "raise input.longest, or lower input.stride or input.longest_question"
            )
        return self


@dataclass(frozen=True)
class QuestionInput(TokenInput[Question, ContextWindow]):
    """The tokenizer of a run that reads questions with contexts, and how much is read at once.

    A row is `begin question end… window end`, with as many ends behind the question as the tokenizer puts between two
    texts.
    """

    tokenizer: Tokenizer
    longest: int
    stride: int
    question: int  # most tokens of one
    context: str | None = None  # of a question that is typed without one
    settings: ClassVar[type[Settings]] = QuestionSettings
    noun: ClassVar[str] = "questions"
    begins: ClassVar[bool] = True
    texts: ClassVar[tuple[int, ...]] = (2,)
    fields: ClassVar[tuple[str, ...]] = ("question", "context")

    def __post_init__(self) -> None:
        """Refuse windows that leave gaps, as the settings do: a file of a run may say anything."""
        room = self.longest - AROUND - 1 - self.question
        if not 0 < self.stride <= room:
            raise ValueError(f"windows of {room} tokens, {self.stride} apart, leave gaps")

    @classmethod
    def learn(cls, train: Examples[Question], settings: QuestionSettings, *, room: Room, like: Any = None) -> Self:
        """A tokenizer trained on questions and contexts, if none is taken from another run."""
        if room.context is not None and settings.longest > room.context:
            raise SettingError(
                f"input.longest = {settings.longest} is more than the {room.context} positions of the model "
                "(model.context): lower it; a longer context is read in windows"
            )
        texts = (text for example in train for text in (example.question, example.context))
        tokenizer = Tokenizer.train(texts, settings) if like is None else tokenizer_of(like)
        return cls(tokenizer, settings.longest, settings.stride, settings.longest_question)

    def table_columns(self) -> dict[str, Usual]:
        """The question, and the context where none is given for all."""
        needed = {"question": True, "context": self.context is None}
        return {name: Usual(WORDS[name], needed=each, text=False) for name, each in needed.items()}

    def encode(self, examples: Examples[Question], *, seed: int = 0) -> QuestionRows:
        """The windows of each question; a context that several questions have is tokenised once."""
        key = f"question {FORMAT} {self.tokenizer.fingerprint()} {self.question} {self.tokenizer.between}"
        questions, unread = row_columns(examples, key, ("questions", "unread"), lambda: self._questions(examples))
        contexts = row_columns(examples, f"{key} contexts", PlacedTokens._fields, lambda: self._contexts(examples))
        sizes = {"longest": self.longest, "stride": self.stride, "cut": int((unread.lengths(None) > 0).sum())}
        return QuestionRows(questions, contexts, questions.example_N, **sizes)

    def _questions(self, examples: Examples[Question]) -> Iterator[tuple[int, Ids, Ids]]:
        """The number of its context, a question as far as it is read, and what is behind that."""
        numbers: dict[str, int] = {}
        for example in examples:
            (ids,) = self.tokenizer.encode([example.question.strip()])
            yield numbers.setdefault(example.context, len(numbers)), self._behind(ids), ids[self.question :]

    def _contexts(self, examples: Examples[Question]) -> Iterator[tuple[int, Ids, Ids, Ids]]:
        for number, context in enumerate(dict.fromkeys(example.context for example in examples)):
            yield number, *self.placed(context)

    def _behind(self, question: Ids) -> Ids:
        """A question as far as it is read, and what stands behind it; of that, one has room of its own."""
        return np.concatenate((question[: self._room], self.between)).astype(self.tokenizer.dtype)

    @property
    def _room(self) -> int:
        return self.question - len(self.between) + 1

    def placed(self, context: str) -> PlacedTokens:
        """A context as tokens; white space at the borders of a token is not counted among its characters."""
        tokens, places = self.tokenizer.placed(context)
        trimmed = [_trimmed(context, *place) for place in places]
        begin_T, end_T = np.array(trimmed, dtype=np.uint32).reshape(-1, 2).T
        return PlacedTokens(tokens, begin_T, end_T)

    def stack(self, rows: Sequence[ContextWindow]) -> Stacked:
        """The tensors of `Asked`: with what stands around the texts, and padding on the right."""
        return stacked_windows(rows, begin=self.tokenizer.begin, end=self.tokenizer.end)

    def joined(self, texts: Sequence[Ids]) -> ContextWindow:
        """The row of a question and a context whose tokens are known, or of one text alone."""
        if len(texts) == 1:
            nothing = np.zeros(0, dtype=np.int64)
            return ContextWindow(texts[0], len(texts[0]) + AROUND, PlacedTokens(nothing, nothing, nothing))
        question, context = texts
        unknown = np.zeros_like(context)
        return window(
            np.concatenate((question, self.between)).astype(np.int64), PlacedTokens(context, unknown, unknown)
        )

    def kept(self, texts: Sequence[Spelled]) -> list[Ids]:
        """The question as far as it is read, and the first window of the context."""
        question, context = every_place(texts)
        question = question[: self._room]
        return [question, context[: self.longest - AROUND - len(question) - len(self.between)]]

    def parse(self, given: Any) -> Question:
        """A mapping of `question` and `context`, also as JSON; or a question, where the context of all is known."""
        if isinstance(given, str):
            is_json = given.lstrip().startswith("{")
            given = json_object(given, "the question", ("question", "context")) if is_json else {"question": given}
        if not isinstance(given, Mapping):
            raise DataError(f"an example is {brief(given)}, {WANTED}")
        record = {str(key).casefold(): value for key, value in given.items()}
        question, context = (
            next((record[word] for word in WORDS[name] if word in record), None) for name in ("question", "context")
        )
        context = self.context if context is None else context
        if not isinstance(question, str) or not question.strip():
            raise DataError(f"the question is blank; {WANTED}")
        if not isinstance(context, str) or not context.strip():
            raise DataError(
                "there is no context to find the answer in: give "
                + by_option("one with --context or --context-file, or with each question as JSON, ", "it as ")
                + '{"question": …, "context": …}'
            )
        return Question(question, context, ())

    def example_fields(self, example: Question) -> dict[str, Any]:
        """The question and its context, with the name it has in its file."""
        name = {"id": example.name} if example.name else {}
        return {**name, "question": example.question, "context": example.context}

    def part_sentence(self, examples: Examples[Question], rows: Any) -> tuple[str, str]:
        """`970 questions`, and `; read in 1,203 windows; 3 questions were cut off`."""
        cut = f"; {rows.cut:,} questions were cut off" if rows.cut else ""
        return f"{len(rows.context_M):,} questions", f"; read in {len(rows.example_N):,} windows{cut}"

    def part_remarks(self, examples: Examples[Question]) -> list[str]:
        """Tokens that the vocabulary lacks."""
        rows = self.encode(examples)
        sides = rows.questions, rows.contexts[0]
        every = (ids for side in sides for ids in side.take(np.arange(len(side.example_N)), None))
        return self.tokenizer.unknown_share(every, examples.name)

    def remarks(self, examples: Examples[Question], first: int = 0) -> list[str]:
        """Questions of which not everything is read, and letters that the vocabulary lacks."""
        remarks, questions = [], list(examples)
        for number, ids in enumerate(self.tokenizer.encode([each.question for each in questions]), start=first + 1):
            if len(ids) > self.question:
                told = f"the model reads the first {self.question:,}"
                remarks.append(f"question {number} has {len(ids):,} tokens; {told}")
        texts = (text for each in questions for text in (each.question, each.context))
        return remarks + lacking(self.tokenizer.unknown_characters(texts))


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    """Characters without the white space around them; where there is nothing else, none."""
    stretch = text[begin:end]
    inside = stretch.strip()
    begin = begin + len(stretch) - len(stretch.lstrip()) if inside else end
    return begin, begin + len(inside)
