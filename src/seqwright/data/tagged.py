"""Tagged text in the user's own files: one word a line, its tag in another column, a blank line between sentences.

Everything streams: it is read as often as it is asked for and never held in memory. A share such as `valid = "10%"` is
cut from the training data by a hash of the sentence, so the parts do not depend on the order of the sentences and never
have one in common.
"""

import hashlib
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import Field, model_validator

from seqwright.data.examples import PartName
from seqwright.data.pieces import piece_of, pieces_of, refuse_impossible_shares, some
from seqwright.data.tagged_columns import ColumnFile, Sentence
from seqwright.errors import SettingError
from seqwright.settings import Settings

ColumnNumber = Annotated[int, Field(ge=1)]


class TaggedData(Protocol):
    """Sentences with a tag for each word: they can be read again and again, part by part."""

    def parts(self) -> list[PartName]:
        """The parts that exist: always "train" and "valid", perhaps "test"."""

    def examples(self, part: PartName) -> Iterator[Sentence]:
        """Every sentence of a part in its fixed order; none is empty."""

    def fingerprint(self, part: PartName) -> str:
        """A sha256 that changes whenever `examples(part)` would give something else."""

    def paths(self) -> list[Path]:
        """Every file of the user's that is read, each once."""

    def remarks(self) -> list[str]:
        """What the user should look at twice, a sentence each."""


class TaggedFilesSettings(Settings):
    """Tagged text in files of the user's own."""

    kind: Literal["tagged"] = "tagged"

    train: str
    """A file in columns as the shared tasks of CoNLL have them, plain or .gz: one word a line, tabs or spaces between
    the columns, a blank line between sentences. Lines with -DOCSTART- are skipped."""

    valid: str = "10%"
    """The same, or a share of the training data such as "10%"."""

    test: str | None = None
    """The same, or a share of the training data; without it there is no test part."""

    token: ColumnNumber | None = None
    """The column of the words, counted from 1. Left out: the first, or the second of a .conllu file."""

    tag: ColumnNumber | None = None
    """The column of the tags. Left out: the last, or the fourth of a .conllu file."""

    @model_validator(mode="after")
    def _fit_together(self) -> "TaggedFilesSettings":
        refuse_impossible_shares(self.train, self.valid, self.test)
        if self.token is not None and self.token == self.tag:
            raise SettingError(f"data.token and data.tag both mean column {self.token}: choose two columns")
        return self


class TaggedFiles:
    """Tagged text read from the user's files (a `TaggedData`)."""

    def __init__(self, settings: TaggedFilesSettings) -> None:
        self.settings = settings
        self._pieces = pieces_of(
            settings.train, settings.valid, settings.test, opened=partial(_source, settings=settings)
        )

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return list(self._pieces)

    def paths(self) -> list[Path]:
        """Every file that is read, each once."""
        return list(dict.fromkeys(piece.source.path for piece in self._pieces.values()))

    def remarks(self) -> list[str]:
        """Nothing: what is odd in a file is refused."""
        return []

    def examples(self, part: PartName) -> Iterator[Sentence]:
        """Every sentence of a part in the order of the file."""
        piece = piece_of(self._pieces, part)
        sentences = (each for each in piece.source.sentences() if piece.holds(" ".join(each.words)))
        return some(
            sentences,
            f"the {part} part is empty: no sentence of {piece.source.path} falls into it; give more data, another "
            "share, or a file for this part",
        )

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents and of the settings that decide what `examples(part)` gives; paths do not count."""
        piece = piece_of(self._pieces, part)
        said = json.dumps([piece.source.fingerprint(), piece.low, piece.high])
        return hashlib.sha256(said.encode()).hexdigest()


def _source(name: str, settings: TaggedFilesSettings) -> ColumnFile:
    return ColumnFile(Path(name).expanduser(), settings.token, settings.tag)
