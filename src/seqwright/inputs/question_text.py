"""Questions and contexts ↔ token ids, and back to the characters of the answer: one tokenizer and its windows."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field, model_validator

from seqwright.batches import Ids
from seqwright.batches.questions import AROUND
from seqwright.errors import RunError, SettingError
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


class QuestionText(NamedTuple):
    """The tokenizer of a run, how much is read at once, and whether there were questions without an answer."""

    tokenizer: Tokenizer
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
        """The token numbers of each question as far as they are read."""
        return [ids[: self.question] for ids in self.tokenizer.encode([each.strip() for each in questions])]

    def encode_context(self, context: str) -> PlacedTokens:
        """A context as tokens; white space at the borders of a token is not counted among its characters."""
        tokens, places = self.tokenizer.placed(context)
        trimmed = [_trimmed(context, *place) for place in places]
        begin_T, end_T = np.array(trimmed, dtype=np.uint32).reshape(-1, 2).T
        return PlacedTokens(tokens, begin_T, end_T)

    def save(self, folder: Path) -> None:
        """Write `text.json`, the tokenizer, and `questions.json`, the rest."""
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save(folder / "text.json")
        (folder / "questions.json").write_text(self._rest(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "QuestionText":
        """Read what `save` wrote."""
        path = folder / "questions.json"
        try:
            rest = json.loads(path.read_text(encoding="utf-8"))
            longest, stride, question, answer = (int(rest[name]) for name in cls._fields[1:-1])
            unanswerable = bool(rest["unanswerable"])
        except OSError as error:
            raise RunError(f"{path} is missing; expected the settings that training wrote: restore it") from error
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} cannot be read as settings ({error}); restore the file from a copy") from error
        return cls(Tokenizer.load(folder / "text.json"), longest, stride, question, answer, unanswerable)

    def fingerprint(self) -> str:
        """Changes with the tokenizer and with how much of a question is read; how contexts are cut is not kept."""
        return f"{self.tokenizer.fingerprint()} {self.question}"

    def sizes(self) -> dict[str, int]:
        """The sizes a model over this vocabulary is built with."""
        return {"vocabulary": self.tokenizer.size}

    def _rest(self) -> str:
        rest = {name: value for name, value in self._asdict().items() if name != "tokenizer"}
        return json.dumps(rest, indent=1)


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    """Characters without the white space around them; where there is nothing else, none."""
    stretch = text[begin:end]
    inside = stretch.strip()
    begin = begin + len(stretch) - len(stretch.lstrip()) if inside else end
    return begin, begin + len(inside)
