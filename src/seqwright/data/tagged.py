"""Tagged text in the user's own files: one word a line, its tag in another column, a blank line between sentences.

Everything streams: it is read as often as it is asked for and never held in memory. A share such as `valid = "10%"` is
cut from the training data by a hash of the sentence, so the parts do not depend on the order of the sentences and never
have one in common.
"""

import hashlib
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, model_validator

from seqwright.data.examples import Data, PartName
from seqwright.data.faults import RowError, refuse_faults
from seqwright.data.files import content_hash, existing, extension_of, lines
from seqwright.data.pieces import FilesSettings, PartedFiles, Share
from seqwright.data.rows import PLAIN, Dialect, dialect_of
from seqwright.errors import DataError, SettingError, by_setting

NEW_DOCUMENT = "-DOCSTART-"
_GAP = re.compile(r"[ \t]+")
ColumnNumber = Annotated[int, Field(ge=1)]


class TaggedSentence(NamedTuple):
    """Words, each with its tag; `where` is the place of the first one, `file:line`, for those who complain."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    where: str = ""


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


class ColumnFile:
    """A file in columns, as the shared tasks of CoNLL have them: one word a line, with tabs or spaces between columns.

    Left out, `token` is the first column and `tag` the last; of CoNLL-U files (.conllu) they are the form and the
    universal part of speech, and comments, ranges (3-4) and empty nodes (5.1) are no words.
    """

    def __init__(self, path: Path, token: int | None, tag: int | None, dialect: Dialect = PLAIN) -> None:
        self.path, self.dialect = path, dialect
        self.universal = extension_of(path) == ".conllu"
        self.token = token or (2 if self.universal else 1)
        self.tag = tag or (4 if self.universal else None)  # None is the last

    def fingerprint(self) -> str:
        """A sha256 of the content, and of what is read as what."""
        said = f"{content_hash(self.path)} {self.universal} {self.token} {self.tag}"
        return hashlib.sha256(said.encode()).hexdigest()

    def sentences(self) -> Iterator[TaggedSentence]:
        """Every sentence in the order of the file."""
        rows: list[tuple[str, str]] = []
        began = columns = 0
        faults: list[RowError] = []
        for number, line in enumerate(chain(lines(self.path, self.dialect.encoding_of(self.path)), [""]), 1):
            if self.universal and line.startswith("#"):
                continue
            if not line.strip() or line.startswith(NEW_DOCUMENT):
                if rows and not faults:
                    words, tags = zip(*rows, strict=True)
                    yield TaggedSentence(words, tags, f"{self.path}:{began}")
                rows = []
                continue
            cells = _cells(line)
            if self.universal and not cells[0].isdigit():
                continue
            columns = columns or len(cells)
            began = began if rows else number
            try:
                rows.append(self._row(cells, columns, number))
            except RowError as error:
                faults.append(error)
        refuse_faults(faults)

    def _row(self, cells: list[str], columns: int, line: int) -> tuple[str, str]:
        """The word and the tag of a line."""
        needed, where = max(self.token, self.tag or 2), f"{self.path}:{line}"
        if len(cells) < needed:
            raise RowError(
                f"{where} has {len(cells)} column{'s' if len(cells) > 1 else ''}, expected at least {needed}, with "
                "tabs or spaces between them: "
                + by_setting("see whether data.token and data.tag mean the right columns", "complete it"),
                line,
                "too few columns",
            )
        if len(cells) > columns or (self.tag is None and len(cells) != columns):
            remedy = "" if self.tag else by_setting(", or say it with data.tag")
            raise RowError(
                f"{where} has {len(cells)} columns but the lines before it {columns}, so it is not certain where the "
                f"tag stands: put tabs between the columns{remedy}",
                line,
                "another number of columns",
            )
        if self.tag is None and self.token == len(cells):
            raise DataError(f"{where} has its word in the last column, {self.token}: say the tag's with data.tag")
        word, tag = cells[self.token - 1], cells[(self.tag or len(cells)) - 1]
        if not word or not tag:
            missing, column = ("word", self.token) if not word else ("tag", self.tag or len(cells))
            raise RowError(
                f"{where} has no {missing} in column {column}: give one, or leave the line blank", line, f"no {missing}"
            )
        return word, tag


def _cells(line: str) -> list[str]:
    """What stands between tabs, which may hold spaces, or else between spaces; other white space is part of a word."""
    return [cell.strip(" ") for cell in line.split("\t")] if "\t" in line else _GAP.split(line.strip(" "))


class TaggedFiles(PartedFiles[ColumnFile, TaggedSentence]):
    """Tagged text read from the user's files; what is odd in one is refused."""

    example = "no sentence"

    def __init__(self, settings: TaggedFilesSettings) -> None:
        dialect = dialect_of(settings)
        super().__init__(settings, lambda name: ColumnFile(existing(name), settings.token, settings.tag, dialect))

    def read(self, part: PartName, piece: Share[ColumnFile]) -> Iterator[TaggedSentence]:
        """Every sentence of a part."""
        return (each for each in piece.source.sentences() if piece.holds(" ".join(each.words)))
