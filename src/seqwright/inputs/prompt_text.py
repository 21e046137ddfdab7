"""Prompts and answers ↔ token ids: one tokenizer for both, with a special token that names the task."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from seqwright.batches.prompted import Marks
from seqwright.inputs.text_inputs import TextInputs
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings


class PromptTextSettings(TokenizerSettings):
    """How a text and its answer become one row of tokens: `begin text task answer end`."""

    task: str | None = Field(default=None, pattern=r"^<[^<>\s]+>$")
    """The special token between a text and its answer, which says what is to be done, as in "<to-fr>" or "<summarize>".
    Left out: what the data suggests."""
    longest: int = Field(default=256, ge=1)
    """Most tokens of a text, and of an answer."""
    overlong: Literal["drop", "cut", "refuse"] = "cut"
    """What happens to longer ones: left out and counted, cut off at the end, or refused with an error. What a run is
    asked later is cut in the same way."""


@dataclass(frozen=True)
class PromptText(TextInputs):
    """The tokenizer of a run, and the name of the token that asks for an answer."""

    rest_file: ClassVar[str] = "task.json"
    task: str

    @property
    def marks(self) -> Marks:
        """The tokens around the parts of a row."""
        return Marks(self.tokenizer.begin, self.tokenizer.special[self.task], self.tokenizer.end)

    @property
    def source(self) -> Tokenizer:
        """What cuts the texts."""
        return self.tokenizer

    @property
    def target(self) -> Tokenizer:
        """What cuts the answers."""
        return self.tokenizer

    @classmethod
    def learnt(cls, pairs: Iterable[Sequence[str]], settings: PromptTextSettings, task: str) -> "PromptText":
        """A tokenizer trained on (text, answer) pairs."""
        return cls(Tokenizer.train((text for pair in pairs for text in pair[:2]), settings, special=(task,)), task)

    @classmethod
    def given(cls, tokenizer: Tokenizer, task: str) -> "PromptText":
        """A tokenizer of another run, which learns the name of the task."""
        return cls(tokenizer.with_special((task,)), task)

    def rest(self) -> dict[str, Any]:
        """The task."""
        return {"task": self.task}

    @classmethod
    def with_rest(cls, tokenizer: Tokenizer, rest: Mapping[str, Any]) -> "PromptText":
        """Inputs from a tokenizer and a `rest`."""
        if rest["task"] not in tokenizer.special:
            raise ValueError(f"it names {rest['task']!r}, and the tokenizer has only {' '.join(tokenizer.special)}")
        return cls(tokenizer, rest["task"])
