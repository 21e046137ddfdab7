"""Films in the user's own files: folders of frames, GIFs, archives of them, tables with their paths, .npz arrays.

A share such as `valid = "10%"` is cut from the training data by a checksum of the film, so that the parts do not depend
on the order of the films and never have one in common.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from seqwright.data.encodings import Encoding
from seqwright.data.examples import PartName
from seqwright.data.files import existing, expanded
from seqwright.data.film_arrays import FilmArrays
from seqwright.data.film_sources import FilmSource, FilmTable, LabelledFilmFolders
from seqwright.data.films import FilmExample
from seqwright.data.image_stores import is_store
from seqwright.data.labels import FoldLabels, folded, spelling_remarks
from seqwright.data.pieces import FilesSettings, PartedFiles, Share
from seqwright.data.rows import BadRows, Separator, dialect_of
from seqwright.data.tables import Column


class FilmFilesSettings(FilesSettings):
    """Films in files of the user's own."""

    train: str
    """A folder, or a .zip, .tar or .tar.gz file, in which the films of each label lie below a folder with its name,
    each a folder of frames (walk/7/001.png) or a GIF (walk/7.gif); a table (.csv, .tsv, .jsonl, .xlsx, .parquet, .txt)
    with the path of a film in each row, and its label or its places; or an .npz file with the arrays `films`, (films,
    frames, rows, columns), and `labels`, `places` or both."""

    film: Column = None
    """The column of a table with the paths of the films. Left out: what is named "film" or a word like it ("path",
    "file", "video"), or else the first column."""

    label: Column = None
    """The column of a table with the labels. Left out: what is named "label" or a word like it, or else the second."""

    places: Column = None
    """The column of a table with the places: x and y in pixels for each frame, as in "3.5,1 4,1.5", a dash where it is
    not known. Left out: what is named "places", "track" or "positions"."""

    films: str | None = None
    """The folder or archive that the paths of a table lead into, seen from the table's folder, which it is if left
    out."""

    label_names: dict[str, str] = Field(default={})
    """What the labels shall be called, as in { 0 = "walk", 1 = "run" }; others stay as they are."""

    fold_labels: FoldLabels = False
    encoding: Encoding = None
    separator: Separator = None
    bad_rows: BadRows = "refuse"


class FilmFiles(PartedFiles[FilmSource, FilmExample]):
    """Films read from the user's files."""

    example = "no film"

    def __init__(self, settings: FilmFilesSettings) -> None:
        super().__init__(settings, lambda given: _source(given, settings))

    def located(self, source: FilmSource) -> list[Path]:
        """The folder, the archive, the table or the arrays."""
        return [source.location]

    def read(self, part: PartName, piece: Share[FilmSource]) -> Iterator[FilmExample]:
        """Every film of a part."""
        spelled = folded if self.settings.fold_labels else str
        names = {spelled(label): name for label, name in self.settings.label_names.items()}
        for example, mark in piece.source.found():
            if not piece.partial or piece.holds(mark()):
                label = spelled(example.label)
                yield example._replace(label=names.get(label, label))

    def causes(self, part: PartName, piece: Share[FilmSource]) -> list[Any]:
        """The content, what the labels are called and the stretch."""
        settings = self.settings
        return [piece.source.fingerprint(), settings.label_names, settings.fold_labels, piece.low, piece.high]

    def remarks(self) -> list[str]:
        """Also labels that are spelled in several ways."""
        return [*super().remarks(), *spelling_remarks(example.label for example in self.examples("train"))]

    def source_remarks(self, source: FilmSource) -> list[str]:
        """What the folders or the table leave open."""
        return source.remarks()


def _source(given: str, settings: FilmFilesSettings) -> FilmSource:
    """What a part names, told by its ending."""
    path = expanded(given)
    if is_store(path):
        return LabelledFilmFolders(path)
    if FilmArrays.fits(path):
        return FilmArrays(path)
    asked = {"film": settings.film, "label": settings.label, "places": settings.places}
    return FilmTable(existing(str(path)), asked, settings.films, dialect_of(settings))
