"""How data is cut into parts: each part is files of its own, or a share of the training data.

A share is scattered, by a hash of each example's text, so that the parts do not depend on the order of the examples and
no text is in two of them; or it is cut off the end.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import model_validator

from seqwright.data.encodings import Encoding, encoding_remarks
from seqwright.data.examples import PartName
from seqwright.data.files import existing, place_of, share_of
from seqwright.data.rows import Dialect, dialect_of
from seqwright.errors import DataError, SettingError, by_setting
from seqwright.setting_classes import Settings

Files = str | tuple[str, ...]
SourceT = TypeVar("SourceT")
ExampleT = TypeVar("ExampleT")


class Share(NamedTuple, Generic[SourceT]):
    """Those examples of a source whose place lies in [low, high)."""

    source: SourceT
    low: float = 0.0
    high: float = 1.0

    @property
    def partial(self) -> bool:
        """Whether it is less than the whole source."""
        return self.low > 0 or self.high < 1

    def holds(self, text: str) -> bool:
        """Whether the example with this text belongs to it, where shares are scattered."""
        return not self.partial or self.low <= place_of(text) < self.high


def paths_of(files: Files) -> tuple[Path, ...]:
    """The path of each file; all of them are there."""
    return tuple(map(existing, [files] if isinstance(files, str) else files))


def refuse_impossible_shares(train: object, valid: object, test: object) -> None:
    """Refuse a share to train on, and shares that leave nothing."""
    if isinstance(train, str) and train.endswith("%"):
        raise SettingError(f"data.train is '{train}', expected a file: training takes what the shares leave")
    if sum(share_of(part, given) or 0.0 for part, given in {"valid": valid, "test": test}.items()) >= 1:
        raise SettingError(f"data.valid '{valid}' and data.test '{test}' leave nothing to train on: lower them")


def pieces_of(
    train: Any, valid: Any, test: Any, *, opened: Callable[[Any], SourceT], from_end: bool = False
) -> dict[PartName, Share[SourceT]]:
    """Which stretch of which source makes each part; `opened` makes a source of what a setting names.

    Training has what is after the shares, or before them where they are cut off the end.
    """
    whole = opened(train)
    of_valid, of_test = share_of("valid", valid) or 0.0, share_of("test", test) or 0.0
    low, middle, high = (1 - of_valid - of_test, 1 - of_test, 1.0) if from_end else (0.0, of_valid, of_valid + of_test)
    pieces: dict[PartName, Share[SourceT]] = {"train": Share(whole, 0.0, low) if from_end else Share(whole, high)}
    pieces["valid"] = Share(whole, low, middle) if of_valid else Share(opened(valid))
    if test is not None:
        pieces["test"] = Share(whole, middle, high) if of_test else Share(opened(test))
    return pieces


def piece_of(pieces: Mapping[PartName, SourceT], part: PartName) -> SourceT:
    """A part, or a sentence on how to have it."""
    if part not in pieces:
        have_it = f"set data.{part} to a file, or to a share such as '10%'"
        raise DataError(f"there is no {part} part: " + by_setting(have_it, f"choose {' or '.join(pieces)}"))
    return pieces[part]


def last_rows(rows: int, cut_off: Mapping[PartName, str | int]) -> dict[PartName, tuple[int, int]]:
    """The first of so many rows that belongs to each part, and the one after its last.

    `cut_off` says how much is cut off the end for each part but training: a share, or a number of rows.
    """
    high, edges = rows, dict[PartName, tuple[int, int]]()
    for part in reversed(list(cut_off)):
        given = cut_off[part]
        low = high - (given if isinstance(given, int) else max(1, int((share_of(part, given) or 0.0) * rows)))
        edges[part] = low, high
        high = low
    return {"train": (0, high), **edges}


def some(examples: Iterator[ExampleT], complaint: str) -> Iterator[ExampleT]:
    """The examples; where there are none, the complaint."""
    empty = True
    for example in examples:
        empty = False
        yield example
    if empty:
        raise DataError(complaint)


class FilesSettings(Settings):
    """Examples in files of the user's own: one for each part, or one that is cut into parts."""

    train: str
    """A file."""

    valid: str = "10%"
    """The same, or a share of the training data such as "10%"."""

    test: str | None = None
    """The same, or a share of the training data; without it there is no test part."""

    encoding: Encoding = None

    @model_validator(mode="after")
    def _possible_shares(self) -> "FilesSettings":
        refuse_impossible_shares(self.train, self.valid, self.test)
        return self


class PartedFiles(ABC, Generic[SourceT, ExampleT]):
    """Examples that are read from the user's files, as often as they are asked for: what all such readers share."""

    settings: Any
    dialect: Dialect
    example = "nothing"  # what does not fall into a part that is empty
    remedy = "give more data, another share, or a file for this part"

    def __init__(self, settings: Any, opened: Callable[[Any], SourceT], *, from_end: bool = False) -> None:
        self.settings, self.dialect = settings, dialect_of(settings)
        self._pieces = pieces_of(settings.train, settings.valid, settings.test, opened=opened, from_end=from_end)

    def located(self, source: Any) -> Iterable[Path]:
        """The files or folders of a source, the one to name first; it may be a path itself, or several."""
        if isinstance(source, tuple):
            return source
        return [source if isinstance(source, Path) else source.path]

    @abstractmethod
    def read(self, part: PartName, piece: Share[SourceT]) -> Iterator[ExampleT]:
        """The examples of a part."""

    def causes(self, part: PartName, piece: Share[Any]) -> Any:
        """What decides which examples those are: contents and settings; paths do not count."""
        return [piece.source.fingerprint(), piece.low, piece.high]

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return list(self._pieces)

    def paths(self) -> list[Path]:
        """Every file or folder that is read, each once."""
        return list(dict.fromkeys(path for piece in self._pieces.values() for path in self.located(piece.source)))

    def examples(self, part: PartName) -> Iterator[ExampleT]:
        """Every example of a part in the order of the file, blank ones included."""
        piece = piece_of(self._pieces, part)
        where = next(iter(self.located(piece.source)))
        empty = f"the {part} part is empty: {self.example} of {where} falls into it; {self.remedy}"
        return some(self.read(part, piece), empty)

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of what decides what `examples(part)` gives."""
        causes, written = self.causes(part, piece_of(self._pieces, part)), self.dialect.causes()
        return hashlib.sha256(json.dumps([causes, written] if written else causes).encode()).hexdigest()

    def source_remarks(self, source: Any) -> list[str]:
        """What the user should look at twice in one source."""
        return [told for path in self.located(source) for told in encoding_remarks(path, self.dialect.encoding)]

    def remarks(self) -> list[str]:
        """What the user should look at twice, a sentence each, of each source once."""
        sources = {tuple(self.located(piece.source)): piece.source for piece in self._pieces.values()}
        return list(dict.fromkeys(told for source in sources.values() for told in self.source_remarks(source)))
