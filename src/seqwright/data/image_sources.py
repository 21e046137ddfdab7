"""Images in files of their own: a folder for each label, or a table with the path of an image in each row."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol

from seqwright.data.decoded_images import ENDINGS, Undecoded, UnreadableImageError
from seqwright.data.faults import RowError
from seqwright.data.files import content_hash
from seqwright.data.image_stores import is_store, store_of
from seqwright.data.images import ImageExample
from seqwright.data.labelled_tables import LABEL_WORDS
from seqwright.data.rows import Dialect
from seqwright.data.tables import FORMS, Column, Record, TableFile, Usual
from seqwright.errors import DataError, by_setting

IMAGE_WORDS = ("image", "path", "file", "filename", "file_name", "image_path", "filepath", "img", "photo")
USUAL = {"image": Usual(IMAGE_WORDS, (0, 1)), "label": Usual(LABEL_WORDS, (1, 0), text=False)}
MOST_NAMED = 3  # files in a remark


class Found(NamedTuple):
    """An example, and what tells its image from others, for cutting parts."""

    example: ImageExample
    mark: Callable[[], str]


class ImageSource(Protocol):
    """Images of one file or folder."""

    location: Path

    def found(self) -> Iterator[Found]:
        """Every image with its label, in a fixed order."""

    def fingerprint(self) -> str:
        """Changes with whatever decides the images."""

    def remarks(self) -> list[str]:
        """What the user should look at twice."""


class LabelledImageFolders:
    """The images of each label are the files of a folder with its name; what no image is called like is passed over."""

    def __init__(self, path: Path) -> None:
        self.path, self._store = path, store_of(path)
        self.location = self._store.location

    def found(self) -> Iterator[Found]:
        """Every image of every label."""
        empty = True
        for member in self._store.members():
            if not named_like_an_image(member.path.name) or len(member.path.parts) == 1:
                continue
            if len(member.path.parts) > 2:
                raise DataError(
                    f"{self.path / member.path} lies too deep, expected a folder for each label with images in it: "
                    f"perhaps '{self.path / member.path.parent.parent}' was meant"
                )
            empty, name = False, member.path.as_posix()
            image = Undecoded(member.content, str(self.path / name))
            yield Found(ImageExample(image, member.path.parts[0], name), member.mark)
        if empty:
            raise DataError(f"{self.path} has no folder with images in it, expected one for each label")

    def fingerprint(self) -> str:
        """Of the folder, or of the archive."""
        return self._store.fingerprint()

    def remarks(self) -> list[str]:
        """What is passed over, and folders without an image."""
        loose, others, labels = list[str](), list[str](), set[str]()
        for member in self._store.members():
            image = named_like_an_image(member.path.name)
            if image and len(member.path.parts) > 1:
                labels.add(member.path.parts[0])
            else:
                (loose if image else others).append(member.path.as_posix())
        empty = sorted(self._store.folders() - labels)
        told = [
            (loose, "images of {} in no label's folder, passed over"),
            (others, "files of {} whose names are not those of images, passed over"),
            (empty, "folders of {} without an image, which are no labels"),
        ]
        return [f"{what.format(self.path)}: {len(some):,} ({_some(some)})" for some, what in told if some]


class ImageTable:
    """A table with the path of an image and its label in each row; paths are below the table's folder, or another."""

    def __init__(self, path: Path, asked: dict[str, Column], images: str | None, dialect: Dialect) -> None:
        self.path, self.location, self.dialect = path, path, dialect
        forms, otherwise = (".txt", *FORMS), ", a folder for each label, or an archive of such folders"
        self._table = TableFile(path, USUAL, asked, forms, otherwise, dialect=dialect)
        root = path.parent if images is None else path.parent / Path(images).expanduser()
        if not is_store(root):
            raise DataError(
                f"there is no folder or archive {root} with the images of {path}: "
                + by_setting("correct data.images, which is seen from the table's folder", "put it there")
            )
        self._store = store_of(root)

    def found(self) -> Iterator[Found]:
        """The image of every row."""
        return self._table.read(self._found)

    def _found(self, record: Record) -> Found:
        path = _path(record)
        if not path:
            return Found(no_image(record.where, "names no image"), str)
        value = record.values["label"]
        label = "" if value is None else value.strip() if isinstance(value, str) else json.dumps(value)
        member = self._store.find(path)
        if member is not None:
            return Found(
                ImageExample(Undecoded(member.content, str(self._store.path / path)), label, path), member.mark
            )
        told = f"names the image '{path}', which is not in {self._store.path}"
        if self.dialect.bad_rows == "refuse":
            skip = by_setting("correct it, say where the images lie with data.images, or set data.bad_rows=skip")
            raise RowError(f"{record.where} {told}: {skip}", record.line, "an image that is not there")
        return Found(no_image(record.where, told, path)._replace(label=label), partial(str, path))

    def fingerprint(self) -> str:
        """Of the table and of the images that it names."""
        images = self._store.fingerprint(filter(None, map(_path, self._table.records())))
        return json.dumps([content_hash(self.path), images, *map(str, self._table.asked.values())])

    def remarks(self) -> list[str]:
        """What the table leaves open."""
        return self._table.remarks()


def _path(record: Record) -> str:
    return str(record.values["image"] or "").strip() if record.values else ""


def no_image(where: str, told: str, name: str = "") -> ImageExample:
    """An example that cannot be read, and why."""
    return ImageExample(Undecoded(partial(_refuse, where, told), where), name=name or where)


def _refuse(where: str, told: str) -> NoReturn:
    raise UnreadableImageError(f"{where} {told}: correct it", "not there")


def named_like_an_image(name: str) -> bool:
    """Whether a file's name ends as those of images do."""
    return name.lower().endswith(ENDINGS)


def _some(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
