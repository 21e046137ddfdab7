"""Labelled images in the user's own files: folders, archives, tables, IDX files, .npz arrays or sheets of tiles.

A share such as `valid = "10%"` is cut from the training data by a checksum of the image, so that the parts do not
depend on the order of the images and never have one in common.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from seqwright.data.decoded_images import ENDINGS
from seqwright.data.encodings import Encoding
from seqwright.data.examples import PartName
from seqwright.data.files import existing, expanded
from seqwright.data.image_arrays import IdxImages, ImageSheets, NpzImages, Sheet, is_idx
from seqwright.data.image_sources import ImageSource, ImageTable, LabelledImageFolders
from seqwright.data.image_stores import is_store
from seqwright.data.images import ImageExample
from seqwright.data.labels import FoldLabels, folded, spelling_remarks
from seqwright.data.pieces import Files, PartedFiles, Share, refuse_impossible_shares
from seqwright.data.rows import BadRows, Separator, dialect_of
from seqwright.data.tables import Column
from seqwright.errors import DataError, SettingError
from seqwright.setting_classes import Settings


class ImageFilesSettings(Settings):
    """Labelled images in files of the user's own."""

    train: Files
    """A folder, or a .zip, .tar or .tar.gz file, in which the images of each label are the files of a folder with its
    name, as in "pets.zip/train"; a table (.csv, .tsv, .jsonl, .xlsx, .parquet, .txt) with the path of an image and its
    label in each row; a file of images in the format of MNIST (IDX, plain or .gz); an .npz file with the arrays
    `images` and `labels`; or a sheet of tiles, or a list of such."""

    valid: Files = "10%"
    """The same, or a share of the training data such as "10%"."""

    test: Files | None = None
    """The same, or a share of the training data; without it there is no test part."""

    image: Column = None
    """The column of a table with the paths of the images. Left out: what is named "image" or a word like it ("path",
    "file", "filename"), or else the first column."""

    label: Column = None
    """The column of a table with the labels. Left out: what is named "label" or a word like it, or else the second."""

    images: str | None = None
    """The folder or archive that the paths of a table lead into, seen from the table's folder, which it is if left
    out. Paths may lack their endings (".jpg")."""

    label_file: str | dict[PartName, str] | None = None
    """The file with the labels of a sheet or of an IDX file, seen from its folder; or one for each part. Left out: for
    a sheet `a.png` the file `a.labels.txt`, for IDX the name with "labels" in place of "images"."""

    tile: int | None = Field(default=None, ge=1)
    """Rows and columns of a tile on a sheet."""

    sheet: Literal["tiles", "rows"] = "tiles"
    """How images stand on a sheet: tiles beside and below each other, or each row of its pixels a whole image."""

    label_names: dict[str, str] = Field(default={})
    """What the labels shall be called, as in { 0 = "airplane", 1 = "car" }; others stay as they are."""

    fold_labels: FoldLabels = False
    encoding: Encoding = None
    separator: Separator = None
    bad_rows: BadRows = "refuse"

    @model_validator(mode="after")
    def _possible_shares(self) -> "ImageFilesSettings":
        refuse_impossible_shares(self.train, self.valid, self.test)
        return self


class ImageFiles(PartedFiles[ImageSource, ImageExample]):
    """Labelled images read from the user's files; of a published corpus nothing is remarked on."""

    example = "no image"

    def __init__(self, settings: ImageFilesSettings, *, published: bool = False) -> None:
        super().__init__(settings, lambda given: _source(given, settings))
        self._published = published

    def located(self, source: ImageSource) -> list[Path]:
        """The folder, the archive, the table or the arrays."""
        return [source.location]

    def read(self, part: PartName, piece: Share[ImageSource]) -> Iterator[ImageExample]:
        """Every image of a part."""
        spelled = folded if self.settings.fold_labels else str
        names = {spelled(label): name for label, name in self.settings.label_names.items()}
        for example, mark in piece.source.found():
            if not piece.partial or piece.holds(mark()):
                label = spelled(example.label)
                yield example._replace(label=names.get(label, label))

    def causes(self, part: PartName, piece: Share[ImageSource]) -> list[Any]:
        """The content, what the labels are called and the stretch."""
        settings = self.settings
        return [piece.source.fingerprint(), settings.label_names, settings.fold_labels, piece.low, piece.high]

    def remarks(self) -> list[str]:
        """Also labels that are spelled in several ways."""
        if self._published:
            return []
        return [*super().remarks(), *spelling_remarks(example.label for example in self.examples("train"))]

    def source_remarks(self, source: ImageSource) -> list[str]:
        """What the folders or the table leave open."""
        return source.remarks()


def _source(given: Files, settings: ImageFilesSettings) -> ImageSource:
    """What a part names, told by its ending."""
    paths = tuple(map(expanded, [given] if isinstance(given, str) else given))
    if not paths:
        raise SettingError("a part of [data] names no file; give one, or a share such as '10%'")
    if paths[0].name.lower().endswith(ENDINGS) and not paths[0].is_dir() and not is_store(paths[0]):
        return ImageSheets(paths, Sheet(settings.tile, settings.sheet), _label_file(given, settings))
    if len(paths) > 1:
        raise DataError(
            f"{paths[0]} and {len(paths) - 1} more are given for one part, and only sheets can be: give one"
        )
    path = paths[0]
    if is_store(path):
        return LabelledImageFolders(path)
    if NpzImages.fits(path):
        return NpzImages(path)
    path = existing(str(path))
    if is_idx(path):
        return IdxImages(path, _label_file(given, settings))
    return ImageTable(path, {"image": settings.image, "label": settings.label}, settings.images, dialect_of(settings))


def _label_file(given: Files, settings: ImageFilesSettings) -> str | None:
    """The file of labels for what a part names."""
    if not isinstance(settings.label_file, dict):
        return settings.label_file
    parts: dict[PartName, Any] = {"train": settings.train, "valid": settings.valid, "test": settings.test}
    return next((file for part, file in settings.label_file.items() if parts[part] == given), None)
