"""Images with captions in the user's own files: a table with the path of an image and a caption in each row.

An image may have several captions, in further rows or in further columns; it is one example all the same. A share such
as `valid = "10%"` is cut from the training data by a checksum of the image, or off the end.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from seqwright.data.decoded_images import Undecoded
from seqwright.data.examples import PartName
from seqwright.data.faults import RowError
from seqwright.data.files import content_hash, existing, expanded
from seqwright.data.image_features import FeatureFile
from seqwright.data.image_sources import IMAGE_WORDS, Found, no_image
from seqwright.data.image_stores import ImageFile, Store, is_store, store_of
from seqwright.data.images import ImageExample
from seqwright.data.pieces import Files, FilesSettings, PartedFiles, Share
from seqwright.data.rows import BadRows, Dialect, Separator, dialect_of
from seqwright.data.tables import FORMS, Column, Columns, Record, TableFile, Usual, require_text, several
from seqwright.errors import DataError, SettingError, by_setting

CAPTION_WORDS = ("caption", "captions", "text", "description", "sentence", "sentences", "comment", "alt", "title")
NUMBERED = re.compile(rf"(?:{'|'.join(CAPTION_WORDS)})[ _-]?\d+")  # caption_1, caption_2, …
NUMBER_OF_CAPTION = re.compile(r"(?<=[^/#])#\d+$")  # behind a path, as Flickr8k has it: a.jpg#0
IMAGE = Usual(IMAGE_WORDS, (0, 1))
CAPTION = Usual(CAPTION_WORDS, (1, 0), text=False)


class CaptionedFilesSettings(FilesSettings):
    """Images with captions in files of the user's own."""

    train: str
    """A table (.csv, .tsv, .jsonl, .xlsx, .parquet, .txt) with the path of an image and a caption in each row. Further
    captions of an image stand in further rows with its path, in further columns, or in JSON in a list."""

    image: Column = None
    """The column with the paths of the images: its name, or its number counted from 1 in a file without a header line.
    Left out: what is named "image" or a word like it ("path", "file", "filename"), or else the first column."""

    caption: Columns = None
    """The column with the captions, or several, as in ["caption_1", "caption_2"]. Left out: what is named "caption" or
    a word like it ("text", "description", "sentence"), or such words with numbers, or else the second column."""

    images: Files | None = None
    """The folder or archive that the paths lead into, or a list of such, seen from the table's folder, which it is if
    left out. Paths may lack their endings (".jpg"), or have others."""

    captions: str | None = None
    """A table with the captions, where the others only name images; seen from their folder. Behind a path may stand the
    number of the caption, as in "a.jpg#0"."""

    features: str | None = None
    """A safetensors file with a tensor for each image, (rows, columns, channels), under its path or name: they are read
    in place of the pixels."""

    separator: Separator = None
    bad_rows: BadRows = "refuse"


class CaptionRow(NamedTuple):
    """A row of a table: where it stands, the path of its image, and what is said of it."""

    where: str
    line: int
    name: str
    captions: tuple[str, ...]


class CaptionTable:
    """The rows of a table with images and captions; without columns of captions, those of the images alone."""

    def __init__(self, path: Path, image: Column, captions: Columns, dialect: Dialect, *, alone: bool = False) -> None:
        self.path = path
        chosen = several(captions)
        if captions is not None and not chosen:
            raise SettingError("data.caption is empty, expected the name of a column with captions, or several")
        table = partial(TableFile, path, forms=(".txt", *FORMS), dialect=dialect)
        if not chosen and not alone:
            names = table({"image": IMAGE}, {"image": image}).names()
            plain = {*map(str.casefold, names)} & {*CAPTION_WORDS}
            chosen = () if plain else tuple(name for name in names if NUMBERED.fullmatch(name.casefold()))
        asked: dict[str, Column] = {"image": image}
        usual = {"image": IMAGE}
        if chosen:
            asked |= {f"caption {column}": column for column in chosen}
            usual |= {f"caption {column}": Usual(text=False, setting="caption") for column in chosen}
        elif not alone:
            asked, usual = {**asked, "caption": None}, {**usual, "caption": CAPTION}
        self.table = table(usual, asked)

    def rows(self) -> Iterator[CaptionRow]:
        """Every row in the order of the file."""
        return self.table.read(self.row)

    def row(self, record: Record) -> CaptionRow:
        """What a row says."""
        if not record.values:
            return CaptionRow(record.where, record.line, "", ())
        values = [value for key, value in record.values.items() if key != "image"]
        name = NUMBER_OF_CAPTION.sub("", str(record.values["image"] or "").strip())
        return CaptionRow(record.where, record.line, name, tuple(_captions(values, record)))

    def causes(self) -> list[Any]:
        """The content and the columns."""
        return [content_hash(self.path), *map(str, self.table.asked.items())]


class CaptionedImages:
    """The images of a table, each with all its captions, in the order in which the table first names them."""

    def __init__(self, path: Path, settings: CaptionedFilesSettings) -> None:
        self.path = self.location = path
        self.dialect = dialect_of(settings)
        apart = settings.captions is not None
        self._table = CaptionTable(path, settings.image, None if apart else settings.caption, self.dialect, alone=apart)
        self._captions = self._of_their_own(settings) if apart else None
        given = [None] if settings.images is None else several_files(settings.images)
        self._stores = [self._store(each) for each in given]
        self._features = None if settings.features is None else FeatureFile(settings.features)

    def _of_their_own(self, settings: CaptionedFilesSettings) -> CaptionTable:
        path = existing(str(self.path.parent / expanded(settings.captions or "")))
        return CaptionTable(path, settings.image, settings.caption, self.dialect)

    def _store(self, given: str | None) -> Store:
        root = self.path.parent if given is None else self.path.parent / expanded(given)
        if not is_store(root):
            raise DataError(
                f"there is no folder or archive {root} with the images of {self.path}: "
                + by_setting("correct data.images, which is seen from the table's folder", "put it there")
            )
        return store_of(root)

    @cached_property
    def _captions_of(self) -> Mapping[str, tuple[str, ...]]:
        """The captions that stand in a table of their own, by the path of their image."""
        found: dict[str, tuple[str, ...]] = {}
        for row in self._captions.rows() if self._captions is not None else ():
            found[row.name] = (*found.get(row.name, ()), *row.captions)
        return found

    def found(self) -> Iterator[Found]:
        """Every image with its captions."""
        images: dict[str, tuple[Found, list[str]]] = {}
        for row, found in self._table.table.read(self._found):
            key = row.name or row.where  # a blank path is no image that another row could name again
            images.setdefault(key, (found, []))[1].extend(row.captions)
        for name, ((example, mark), captions) in images.items():
            whole = (*captions, *self._captions_of.get(name, ()))
            yield Found(example._replace(captions=whole), mark)

    def _found(self, record: Record) -> tuple[CaptionRow, Found]:
        row = self._table.row(record)
        if not row.name:
            return row, Found(no_image(row.where, "names no image"), str)
        found = self._image(row)
        if self._features is not None:
            features = self._features.of(row.name, row.where)
            found = found._replace(example=found.example._replace(features=features))
        return row, found

    def _image(self, row: CaptionRow) -> Found:
        member = self._member(row.name)
        if member is not None:
            return Found(ImageExample(Undecoded(member.content, str(member.path)), name=row.name), member.mark)
        told = f"names the image '{row.name}', which is not in {' or '.join(str(each.path) for each in self._stores)}"
        if self.dialect.bad_rows == "refuse" and self._features is None:
            skip = by_setting("correct it, say where the images lie with data.images, or set data.bad_rows=skip")
            raise RowError(f"{row.where} {told}: {skip}", row.line, "an image that is not there")
        return Found(no_image(row.where, told, row.name), partial(str, row.name))

    def _member(self, name: str) -> ImageFile | None:
        """The file of an image."""
        return next(filter(None, (_member(store, name) for store in self._stores)), None)

    def fingerprint(self) -> str:
        """Of the tables, of the images that they name, and of their features."""
        names = [row.name for row in self._table.rows() if row.name]
        found = [[_member(store, name) for name in names] for store in self._stores]
        images = [
            store.fingerprint(str(member.path) for member in members if member is not None)
            for store, members in zip(self._stores, found, strict=True)
        ]
        captions = [] if self._captions is None else self._captions.causes()
        features = [] if self._features is None else [content_hash(self._features.path)]
        return json.dumps([self._table.causes(), images, captions, features])

    def remarks(self) -> list[str]:
        """What the tables leave open."""
        apart = [] if self._captions is None else self._captions.table.remarks()
        return [*self._table.table.remarks(), *apart]


class CaptionedFiles(PartedFiles[CaptionedImages, ImageExample]):
    """Images with captions read from the user's files; of a published corpus nothing is remarked on."""

    example = "no image"

    def __init__(self, settings: CaptionedFilesSettings, *, published: bool = False, from_end: bool = False) -> None:
        super().__init__(settings, lambda name: CaptionedImages(existing(name), settings), from_end=from_end)
        self._published, self._from_end = published, from_end

    def located(self, source: CaptionedImages) -> list[Path]:
        """The table."""
        return [source.location]

    def read(self, part: PartName, piece: Share[CaptionedImages]) -> Iterator[ImageExample]:
        """Every image of a part."""
        if not piece.partial:
            return (example for example, _ in piece.source.found())
        if not self._from_end:
            return (example for example, mark in piece.source.found() if piece.holds(mark()))
        every = list(piece.source.found())
        return (found.example for n, found in enumerate(every) if piece.low <= n / len(every) < piece.high)

    def causes(self, part: PartName, piece: Share[CaptionedImages]) -> list[Any]:
        """The content and the stretch."""
        return [piece.source.fingerprint(), piece.low, piece.high, self._from_end]

    def source_remarks(self, source: CaptionedImages) -> list[str]:
        """What the table leaves open."""
        return [] if self._published else source.remarks()


def _member(store: Store, name: str) -> ImageFile | None:
    """The file of an image; one with another ending will do, as that of an image that was converted."""
    stem = str(PurePosixPath(name).with_suffix("")) if PurePosixPath(name).name else name
    return store.find(name) or store.find(stem)


def several_files(files: Files) -> list[str]:
    """What a setting names, one or several."""
    return [files] if isinstance(files, str) else list(files)


def _captions(values: list[Any], record: Record) -> Iterator[str]:
    """The captions of a row that are not blank; JSON may have a list of them."""
    for value in values:
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is None:
                continue
            try:
                text = require_text(each, record.where, "for a caption").strip()
            except DataError as error:
                raise RowError(str(error), record.line, "no text for a caption") from error
            if text:
                yield text
