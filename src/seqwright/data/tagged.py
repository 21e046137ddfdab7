"""Tagged text in the user's own files: one word a line, its tag in another column, a blank line between sentences.

Everything streams: it is read as often as it is asked for and never held in memory. A share such as `valid = "10%"` is
cut from the training data by a hash of the sentence, so the parts do not depend on the order of the sentences and never
have one in common.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from seqwright.data.examples import Data, PartName
from seqwright.data.pieces import FilesSettings, PartedFiles, Share
from seqwright.data.tagged_columns import ColumnFile, TaggedSentence
from seqwright.errors import SettingError

ColumnNumber = Annotated[int, Field(ge=1)]
TaggedData = Data[TaggedSentence]


class TaggedFilesSettings(FilesSettings):
    """Tagged text in files of the user's own."""

    train: str
    """A file in columns as the shared tasks of CoNLL have them, plain or .gz: one word a line, tabs or spaces between
    the columns, a blank line between sentences. Lines with -DOCSTART- are skipped."""

    token: ColumnNumber | None = None
    """The column of the words, counted from 1. Left out: the first, or the second of a .conllu file."""

    tag: ColumnNumber | None = None
    """The column of the tags. Left out: the last, or the fourth of a .conllu file."""

    @model_validator(mode="after")
    def _fit_together(self) -> "TaggedFilesSettings":
        if self.token is not None and self.token == self.tag:
            raise SettingError(f"data.token and data.tag both mean column {self.token}: choose two columns")
        return self


class TaggedFiles(PartedFiles[ColumnFile, TaggedSentence]):
    """Tagged text read from the user's files; what is odd in one is refused."""

    example = "no sentence"

    def __init__(self, settings: TaggedFilesSettings) -> None:
        super().__init__(settings, partial(_source, settings=settings))

    def located(self, source: ColumnFile) -> list[Path]:
        """The file."""
        return [source.path]

    def read(self, part: PartName, piece: Share[ColumnFile]) -> Iterator[TaggedSentence]:
        """Every sentence of a part."""
        return (each for each in piece.source.sentences() if piece.holds(" ".join(each.words)))

    def causes(self, part: PartName, piece: Share[ColumnFile]) -> list[Any]:
        """The content, the columns and the stretch."""
        return [piece.source.fingerprint(), piece.low, piece.high]


def _source(name: str, settings: TaggedFilesSettings) -> ColumnFile:
    return ColumnFile(Path(name).expanduser(), settings.token, settings.tag)
