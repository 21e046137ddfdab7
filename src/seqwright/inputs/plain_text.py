"""Running text ↔ token ids: one tokenizer, and how documents become rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from seqwright.inputs.text_inputs import TextInputs
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings


class PlainTextSettings(TokenizerSettings):
    """How documents become tokens, and tokens rows."""

    rows: Literal["stream", "windows", "documents", "packed"] | None = None
    """What a row is: with stream all documents are joined into one text that is read on from batch to batch; with
    windows a stretch of that text, for models that carry no state, like gpt; with documents each is kept apart; with
    packed several share a row in which none reads another, for models like gpt. Left out: stream, or windows."""
    segment: int = Field(default=64, ge=1)
    """Stream: how many tokens of the text a batch goes on, and the gradient goes back. Windows: how many tokens each
    has. Packed: how many positions a row has."""
    longest: int = Field(default=1024, ge=1)
    """Documents, packed: most tokens of a document."""
    overlong: Literal["drop", "truncate", "refuse"] = "drop"
    """What happens to longer ones: left out and counted, cut off, or refused with an error."""
    blank: Literal["drop", "keep"] = "drop"
    """What happens to blank documents: left out and counted, or kept, as the usual counts of WikiText have them."""

    @property
    def joined(self) -> bool:
        """Whether all documents are one text."""
        return self.rows in {None, "stream", "windows"}

    @property
    def packed(self) -> bool:
        """Whether several documents share a row."""
        return self.rows == "packed"


@dataclass(frozen=True)
class PlainText(TextInputs):
    """The tokenizer of a run."""

    @property
    def begin(self) -> int:
        """The token that stands before the text."""
        return self.tokenizer.begin

    @classmethod
    def learnt(cls, texts: Iterable[str], settings: PlainTextSettings) -> "PlainText":
        """A tokenizer trained on documents, which are read once."""
        return cls(Tokenizer.train(texts, settings))
