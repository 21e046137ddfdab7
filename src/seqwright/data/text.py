"""Running text in the user's own files, plain or .gz: each line, paragraph, article or file is a document.

Lines and paragraphs stream, as often as they are asked for, so a corpus may be larger than the machine. A share such
as `valid = "5%"` is cut from the training text: scattered, by a hash of the document, so that no document of one part
is in another; or off its end, so that one long text can be split too.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import model_validator

from seqwright.data.encodings import Encoding
from seqwright.data.examples import Data, PartName
from seqwright.data.files import content_hash, joined, lines
from seqwright.data.pieces import Files, PartedFiles, Share, paths_of, refuse_impossible_shares
from seqwright.data.rows import Dialect
from seqwright.errors import SettingError
from seqwright.setting_classes import Settings

Form = Literal["lines", "paragraphs", "articles", "files"]
TITLE = re.compile(r"= [^=](.*[^=])? =")  # of an article of WikiText; that of a section is = = Section = =


TextData = Data[str]


class TextFilesSettings(Settings):
    """Running text in files of the user's own."""

    train: Files
    """A text file, or a list of them; each may be compressed (.gz)."""

    valid: Files = "5%"
    """Files in the same form, or a share of the training text such as "5%"."""

    test: Files | None = None
    """Files in the same form, or a share of the training text; without it there is no test part."""

    documents: Form = "lines"
    """What stands for itself: each line, each paragraph (blank lines are between them), each article (it begins with
    its title between blank lines, ` = Title = `, as in WikiText), or each file."""

    split: Literal["scattered", "end"] = "scattered"
    """Where a share is taken from: documents from all over the text, or its end; there a document is cut in two
    between two lines."""

    encoding: Encoding = None

    @model_validator(mode="after")
    def _fit_together(self) -> "TextFilesSettings":
        for part, files in {"train": self.train, "valid": self.valid, "test": self.test}.items():
            if files is not None and not files:
                raise SettingError(f"data.{part} names no file; give at least one")
        refuse_impossible_shares(self.train, self.valid, self.test)
        return self


class TextFiles(PartedFiles[tuple[Path, ...], str]):
    """A corpus read from the user's files; a blank line is a blank document where lines are documents.

    Lines are stripped of the spaces around them where these were put there by the program that cut them into words.
    """

    def __init__(self, settings: TextFilesSettings, *, stripped: bool = False) -> None:
        super().__init__(settings, paths_of, from_end=settings.split == "end")
        self._stripped = stripped
        self.remedy = "give more text, another share, or files for this part"
        if settings.split == "scattered" and settings.documents != "lines":
            self.remedy = f'set data.split to "end", or {self.remedy}'

    def read(self, part: PartName, piece: Share[tuple[Path, ...]]) -> Iterator[str]:
        """Every document of a part in the order of the files."""
        form = self.settings.documents
        if self.settings.split == "end" and piece.partial:
            low, high = piece.low * self._size, piece.high * self._size
            texts = _documents((line for line in _lines(piece.source, self.dialect) if low <= line.before < high), form)
        else:
            texts = (text for text in _documents(_lines(piece.source, self.dialect), form) if piece.holds(text))
        return map(_stripped, texts) if self._stripped else texts

    def causes(self, part: PartName, piece: Share[tuple[Path, ...]]) -> list[Any]:
        """The contents, the documents and the stretch."""
        cut = [self.settings.split, piece.low, piece.high] if piece.partial else []
        said = [[content_hash(path) for path in piece.source], self.settings.documents, cut]
        return [*said, "stripped"] if self._stripped else said

    @cached_property
    def _size(self) -> int:
        """The characters of the training files."""
        return sum(len(line.text) + 1 for line in _lines(self._pieces["train"].source, self.dialect))


def _stripped(text: str) -> str:
    """A text without the spaces around each of its lines."""
    return "\n".join(line.strip() for line in text.split("\n"))


# From lines to documents


class _Line(NamedTuple):
    text: str
    file: int  # the number of its file
    before: int  # how many characters of all files are before it


def _lines(files: Iterable[Path], dialect: Dialect) -> Iterator[_Line]:
    before = 0
    for number, path in enumerate(files):
        for text in lines(path, dialect.encoding_of(path)):
            yield _Line(text, number, before)
            before += len(text) + 1


def _documents(found: Iterable[_Line], form: Form) -> Iterator[str]:
    """Lines put together; in a whole file every line is closed by a line feed, the last one too."""
    if form == "lines":
        yield from (line.text for line in found)
    elif form == "paragraphs":
        for (_, blank), some in groupby(found, key=lambda line: (line.file, not line.text.strip())):
            if not blank:
                yield joined((line.text for line in some), "\n", "a paragraph")
    elif form == "articles":
        yield from _articles(found)
    else:
        for _, some in groupby(found, key=lambda line: line.file):
            yield joined((f"{line.text}\n" for line in some), "", "a file that is one document")


def _articles(found: Iterable[_Line]) -> Iterator[str]:
    """Lines from one title to the next. What only looks like a title, in a formula, has no blank lines around it."""
    article: list[str] = []
    file, blank = 0, True
    for line, following in pairwise(chain(found, [_Line("", -1, 0)])):
        alone = (blank or line.file != file) and not following.text.strip()
        if article and (line.file != file or (alone and TITLE.fullmatch(line.text.strip()))):
            yield "\n".join(article)
            article = []
        if article or line.text.strip():
            article.append(line.text)
        file, blank = line.file, not line.text.strip()
    if article:
        yield "\n".join(article)
