"""The parts of a user's files: each a file of its own, or the share of the training data whose places are its."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from seqwright.data.examples import PartName
from seqwright.data.files import place_of, share_of
from seqwright.errors import DataError, SettingError

SourceT = TypeVar("SourceT")
ExampleT = TypeVar("ExampleT")


class Piece(NamedTuple, Generic[SourceT]):
    """Those examples of a source whose place, drawn from a text of theirs, lies in [low, high)."""

    source: SourceT
    low: float = 0.0
    high: float = 1.0

    def holds(self, text: str) -> bool:
        """Whether the example with this text belongs to it."""
        return (self.low <= 0 and self.high >= 1) or self.low <= place_of(text) < self.high


def refuse_impossible_shares(train: str, valid: str, test: str | None) -> None:
    """Refuse a share to train on, and shares that leave nothing."""
    if train.endswith("%"):
        raise SettingError(f"data.train is '{train}', expected a file: training takes what the shares leave")
    if sum(share_of(part, given) or 0.0 for part, given in {"valid": valid, "test": test}.items()) >= 1:
        raise SettingError(f"data.valid '{valid}' and data.test '{test}' leave nothing to train on: lower them")


def pieces_of(settings: Any, opened: Callable[[str], SourceT]) -> dict[PartName, Piece[SourceT]]:
    """Which stretch of which source makes each part; `opened` makes a source of a file's name."""
    train = opened(settings.train)
    held_out: dict[PartName, Piece[SourceT]] = {}
    edge = 0.0
    given: list[tuple[PartName, str | None]] = [("valid", settings.valid), ("test", settings.test)]
    for part, name in given:
        share = share_of(part, name)
        if share is not None:
            held_out[part] = Piece(train, edge, edge + share)
            edge += share
        elif name is not None:
            held_out[part] = Piece(opened(name))
    return {"train": Piece(train, low=edge), **held_out}


def piece_of(pieces: Mapping[PartName, Piece[SourceT]], part: PartName) -> Piece[SourceT]:
    """A part, or a sentence on how to have it."""
    if part not in pieces:
        raise DataError(f"there is no {part} part: set data.{part} to a file, or to a share such as '10%'")
    return pieces[part]


def some(examples: Iterator[ExampleT], complaint: str) -> Iterator[ExampleT]:
    """The examples; where there are none, the complaint."""
    empty = True
    for example in examples:
        empty = False
        yield example
    if empty:
        raise DataError(complaint)
