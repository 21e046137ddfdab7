"""Prompts and answers ↔ token ids: one tokenizer for both, with a special token that names the task."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from seqwright.batches.prompted import Marks
from seqwright.errors import RunError
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


class PromptText(NamedTuple):
    """The tokenizer of a run, and the name of the token that asks for an answer."""

    tokenizer: Tokenizer
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

    def save(self, folder: Path) -> None:
        """Write `text.json` and `task.json`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save(folder / "text.json")
        (folder / "task.json").write_text(json.dumps({"task": self.task}, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "PromptText":
        """Read what `save` wrote."""
        tokenizer, path = Tokenizer.load(folder / "text.json"), folder / "task.json"
        try:
            task = json.loads(path.read_text(encoding="utf-8"))["task"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} does not name the task ({error}); restore the file from a copy") from error
        if task not in tokenizer.special:
            raise RunError(
                f"{path} names the task {task!r}, but the tokenizer beside it has only {' '.join(tokenizer.special)}; "
                "restore both from a copy"
            )
        return cls(tokenizer, task)

    def fingerprint(self) -> str:
        """Changes with the tokenizer and with the task."""
        return f"{self.tokenizer.fingerprint()} {self.task}"

    def sizes(self) -> dict[str, int]:
        """The sizes a model over this vocabulary is built with."""
        return {"vocabulary": self.tokenizer.size}
