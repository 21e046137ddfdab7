"""What inputs with one tokenizer have in common: how they lie in the run folder, and what they tell of themselves."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from seqwright.errors import RunError
from seqwright.inputs.tokenizers import Tokenizer


@dataclass(frozen=True)
class TextInputs:
    """The tokenizer of a run. What else a kind of inputs knows is its `rest`, in a file of its own."""

    tokenizer: Tokenizer
    rest_file: ClassVar[str] = ""  # where the rest lies; a kind that knows nothing else has none

    @property
    def end(self) -> int:
        """The token that closes every text."""
        return self.tokenizer.end

    def save(self, folder: Path) -> None:
        """Write the tokenizer and the rest."""
        (folder / "input").mkdir(parents=True, exist_ok=True)
        self.tokenizer.save(folder / "input" / "tokenizer.json")
        if self.rest_file:
            (folder / "input" / self.rest_file).write_text(self._rest_text(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote."""
        path = folder / "input" / cls.rest_file
        tokenizer = Tokenizer.load(folder / "input" / "tokenizer.json")
        if not cls.rest_file:
            return cls.with_rest(tokenizer, {})
        try:
            return cls.with_rest(tokenizer, json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise RunError(f"{path} is missing; expected what training wrote there: restore it") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            about = path.stem
            raise RunError(f"{path} cannot be read as {about} ({error}); restore the file from a copy") from error

    def rest(self) -> dict[str, Any]:
        """Everything but the tokenizer, as JSON has it."""
        return {}

    @classmethod
    def with_rest(cls, tokenizer: Tokenizer, rest: Mapping[str, Any]) -> Self:
        """Inputs from a tokenizer and a `rest`."""
        return cls(tokenizer)

    def fingerprint(self) -> str:
        """Changes with the tokenizer and with the rest."""
        return f"{self.tokenizer.fingerprint()} {self._rest_text()}" if self.rest_file else self.tokenizer.fingerprint()

    def sizes(self) -> dict[str, int]:
        """The sizes that a model over this vocabulary is built with."""
        return {"vocabulary": self.tokenizer.size}

    def _rest_text(self) -> str:
        return json.dumps(self.rest(), ensure_ascii=False, indent=1)
