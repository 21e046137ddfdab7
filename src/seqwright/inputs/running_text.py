"""Running text: documents one after another, or each by itself, for a model that says what follows.

B batch · T time · N documents
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from seqwright.batches import Batches, Ids, InMemory
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.packed import PackedBatches
from seqwright.batches.text import StreamBatches, Text, texts
from seqwright.batches.windows import OverlappingRows, WindowBatches, overlapping
from seqwright.cache import Overlong
from seqwright.errors import SettingError
from seqwright.inputs import Examples, Room, Stacked
from seqwright.inputs.spelling import DocumentInput
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings, lacking, tokenizer_of
from seqwright.setting_classes import Settings
from seqwright.text_cache import Rules, TokenisedTexts, tokenised_texts

Form = Literal["stream", "windows", "documents", "packed"]


class RunningTextSettings(TokenizerSettings):
    """How documents become tokens, and tokens rows."""

    rows: Form | None = None
    """What a row is: with stream all documents are joined into one text that is read on from batch to batch; with
    windows a stretch of that text, for models that carry no state, like gpt; with documents each is kept apart; with
    packed several share a row in which none reads another, for models like gpt. Left out: stream, or windows."""
    segment: int = Field(default=64, ge=1)
    """Stream: how many tokens of the text a batch reads, and how far the gradient goes back. Windows: how many tokens
    each has. Packed: how many positions a row has."""
    longest: int = Field(default=1024, ge=1)
    """Documents, packed: most tokens of a document."""
    overlong: Overlong = "drop"
    """What happens to longer ones: left out and counted, cut off, or refused with an error."""
    blank: Literal["drop", "keep"] = "drop"
    """What happens to blank documents: left out and counted, or kept, as the usual counts of WikiText have them."""


@dataclass(frozen=True)
class RunningTextInput(DocumentInput[Ids]):
    """The tokenizer of a run, and how documents become rows.

    A document is read as `first x`, and `x end` is what follows each token. What a user types stands by itself.
    """

    tokenizer: Tokenizer
    rows: Form
    segment: int
    longest: int  # tokens of a document, where each is kept apart
    overlong: Overlong
    blank: Literal["drop", "keep"]
    context: int | None  # most tokens that the model reads at once
    settings: ClassVar[type[Settings]] = RunningTextSettings
    marks: ClassVar[int] = 1
    begins: ClassVar[bool] = True

    @classmethod
    def learn(cls, train: Examples[str], settings: RunningTextSettings, *, room: Room, like: Any = None) -> Self:
        """A tokenizer trained on the documents, if none is taken from another run."""
        rows = settings.rows or "stream"
        rows = "windows" if rows == "stream" and room.windows else rows
        _refuse(settings, rows, room)
        tokenizer = Tokenizer.train(train, settings) if like is None else tokenizer_of(like)
        rules = settings.segment, settings.longest, settings.overlong, settings.blank
        return cls(tokenizer, rows, *rules, room.context)

    @property
    def joins(self) -> bool:
        """Whether all documents are one text."""
        return self.rows in {"stream", "windows"}

    @property
    def first(self) -> int:
        """What stands before a text: where all are one, the end of the one before, since the model knows no other."""
        return self.tokenizer.end if self.joins else self.tokenizer.begin

    def encode(self, examples: Examples[str], *, seed: int = 0) -> InMemory | TokenisedTexts:
        """The documents of a part that are kept; all that a user types, whole."""
        if not examples.fingerprint:
            rows = InMemory(self.tokenised(list(examples)))
            rows.typed = True
            return rows
        return tokenised_texts(
            examples.read,
            key=f"{examples.fingerprint} {self.tokenizer.fingerprint()}",
            encode=self.tokenizer.encode,
            decode=lambda ids: self.tokenizer.decode(ids.tolist()),
            rules=Rules(None if self.joins else self.longest, self.overlong, self.blank),
            where=examples.name,
        )

    def stack(self, rows: Sequence[Ids]) -> Stacked:
        """`input_BT`, `target_BT` and `real_BT`: each document by itself, with padding on the right."""
        batch = texts(rows, begin=self.first, end=self.tokenizer.end)
        return {"input_BT": batch.input_BT, "target_BT": batch.target_BT, "real_BT": batch.real_BT}

    def ordered(self, rows: Any, *, tokens: int, seed: int) -> Batches[Text] | None:
        """The rows as a stream, windows or packed documents; None where each document is kept apart."""
        ends: dict[str, Any] = {"begin": self.first, "end": self.tokenizer.end}
        match self.rows:
            case "stream":
                return StreamBatches(rows, streams=max(1, tokens // self.segment), segment=self.segment, **ends)
            case "windows":
                return WindowBatches(rows, tokens=tokens, segment=self.segment, seed=seed, **ends)
            case "packed":
                return PackedBatches(rows, tokens=tokens, segment=self.segment, seed=seed, **ends)
            case "documents":
                return None

    def alone(self, rows: Any, *, tokens: int) -> Batches[Text]:
        """Each text by itself, one that is longer than the context in windows that overlap."""
        windows = OverlappingRows(rows, context=self.context, begin=self.first, end=self.tokenizer.end)
        return Bucketed(windows, overlapping, tokens=tokens)

    def part_sentence(self, examples: Examples[str], rows: Any) -> tuple[str, str]:
        """`29,000 documents`, and what became of the others."""
        read, _, rest = rows.kept.sentence().partition(";")
        return read, f";{rest}" if rest else ""

    def part_remarks(self, examples: Examples[str]) -> list[str]:
        """Documents that are too long to be learnt from, and characters that the vocabulary lacks."""
        rows, remarks = self.encode(examples), []
        assert isinstance(rows, TokenisedTexts), "a part is more than what a user types"
        if (kept := rows.kept).overlong or kept.cut:
            fate = f"cut: {kept.cut:,}" if kept.cut else f"left out: {kept.overlong:,}"
            remarks.append(f"documents of {examples.name} with over {self.longest} tokens, {fate}")
        return remarks + self.tokenizer.remarks(examples, examples.name)

    def remarks(self, examples: Examples[str], first: int = 0) -> list[str]:
        """Texts that are longer than any that was learnt from, or than the model can read at once."""
        length_N = self.encode(examples).lengths(None)[:, 0]
        remarks = []
        if self.context is not None and (count := int((length_N >= self.context).sum())):
            remarks.append(
                f"texts of more tokens than the model's context of {self.context:,}, read in windows that overlap by "
                f"half: {count:,}"
            )
        elif not self.joins and (count := int((length_N > self.longest).sum())):
            remarks.append(f"texts of more tokens than the {self.longest:,} that the model learnt from: {count:,}")
        return remarks + lacking(self.tokenizer.unknown_parts(examples))


def _refuse(settings: RunningTextSettings, rows: Form, room: Room) -> None:
    """Refuse rows that the model cannot read: several documents in one, or more tokens than it has positions for."""
    if rows == "packed" and not room.packs:
        raise SettingError(
            f"input.rows is 'packed', but a model of the kind '{room.model.kind}' cannot keep documents in a row "
            "apart; set input.rows=documents"
        )
    if room.context is None:
        return
    limit = (
        f"but the model reads at most model.context = {room.context} tokens at once; lower the one or raise the other"
    )
    if rows != "documents" and settings.segment > room.context:
        raise SettingError(f"input.segment is {settings.segment}, {limit}")
    if rows in {"documents", "packed"} and settings.longest + 1 > room.context:
        raise SettingError(f"input.longest is {settings.longest} and one token begins each document, {limit}")
