"""Images without files of their own: IDX files, .npz arrays, and sheets of tiles.

N images · Y rows of pixels · X columns · C channels
"""

import gzip
import json
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.data.decoded_images import Pixels, decoded_image
from seqwright.data.files import content_hash, existing, lines, require_file, require_small, too_large, unpacked
from seqwright.data.image_sources import Found
from seqwright.data.image_stores import content_of, mark_of_bytes
from seqwright.data.images import ImageExample
from seqwright.data.limits import file_limits
from seqwright.errors import DataError, by_setting

UNSIGNED_BYTES = 8  # the type that the header of an IDX file names
IMAGE_ARRAYS = ("images", "image", "x", "data", "pixels")
LABEL_ARRAYS = ("labels", "label", "y", "targets", "target")


class Sheet(NamedTuple):
    """How images stand on a sheet: tiles of so many pixels in rows, or each row of pixels a whole image."""

    tile: int | None = None
    layout: Literal["tiles", "rows"] = "tiles"


class ImageArrays(ABC):
    """Images and labels that are read whole."""

    def __init__(self, *paths: Path) -> None:
        self.paths, self.location = paths, paths[0]

    @abstractmethod
    def read(self) -> tuple[Pixels, Sequence[str]]:
        """`pixels_NYXC`, and the label of each."""

    def causes(self) -> list[Any]:
        """What decides the images beside the contents of the files."""
        return []

    def found(self) -> Iterator[Found]:
        """Every image with its label."""
        pixels_NYXC, labels = self.read()
        if len(pixels_NYXC) != len(labels):
            raise DataError(
                f"{self.location} has {len(pixels_NYXC):,} images, but {len(labels):,} labels "
                f"{'' if len(self.paths) == 1 else f'in {self.paths[-1]} '}belong to them: give as many"
            )
        for number, (pixels_YXC, label) in enumerate(zip(pixels_NYXC, labels, strict=True), start=1):
            example = ImageExample(pixels_YXC, label, f"{self.location.name} {number}")
            yield Found(example, partial(_mark, pixels_YXC))

    def fingerprint(self) -> str:
        """Of every file."""
        return json.dumps([*map(content_hash, self.paths), *self.causes()])

    def remarks(self) -> list[str]:
        """Nothing."""
        return []


# ------------------------------------------------------------------------------------------------------- IDX


class IdxImages(ImageArrays):
    """The format of MNIST: a file of images, and one of labels whose name has `labels` for `images`."""

    def __init__(self, path: Path, label_file: str | None = None) -> None:
        super().__init__(path, _beside(path, label_file, _idx_labels(path.name)))

    def read(self) -> tuple[Pixels, Sequence[str]]:
        """Shades of grey, or a last axis of three colours."""
        images, labels = (_idx(path) for path in self.paths)
        if images.ndim not in {3, 4} or (images.ndim == 4 and images.shape[3] not in {1, 3}):
            raise DataError(
                f"{self.location} has {images.ndim} axes, {images.shape}, expected images × rows × columns: see "
                "whether it is the file of the images"
            )
        if labels.ndim != 1:
            raise DataError(f"{self.paths[1]} has {labels.ndim} axes, expected one label for each image")
        return images if images.ndim == 4 else images[..., None], [str(label) for label in labels.tolist()]


def is_idx(path: Path) -> bool:
    """Whether a name is that of an IDX file."""
    return any(word in path.name.lower() for word in ("ubyte", ".idx", "idx3", "idx1"))


def _idx_labels(name: str) -> str:
    return name.replace("images", "labels").replace("idx3", "idx1").replace("idx4", "idx1")


def _idx(path: Path) -> Pixels:
    require_file(path)
    try:
        with unpacked(path) as file:
            head = file.read(4)
            if len(head) < 4 or head[:2] != b"\0\0" or head[2] != UNSIGNED_BYTES or not 1 <= head[3] <= 4:
                raise DataError(f"{path} is no IDX file of bytes, by its first four: get it again")
            shape = struct.unpack(f">{head[3]}I", _exactly(file, 4 * head[3], path))
            size = int(np.prod(shape, dtype=object))
            if size > file_limits().document:
                raise DataError(too_large(path, file_limits().document))
            content = _exactly(file, size, path)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is damaged ({error}): get it again") from error
    if not size:
        raise DataError(f"{path} is empty by its header, {shape}: get it again")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _exactly(file: Any, size: int, path: Path) -> bytes:
    content: bytes = file.read(size)
    if len(content) < size:
        raise DataError(f"{path} ends after {len(content):,} of {size:,} bytes: get it again")
    return content


# ------------------------------------------------------------------------------------------------------- .npz


class NpzImages(ImageArrays):
    """Arrays of NumPy, called `images` and `labels` or the like; `a.npz/train` means those with `train` in the name."""

    def __init__(self, path: Path) -> None:
        inside = path.suffix.lower() != ".npz"
        self._word = path.name if inside else ""
        super().__init__(path.parent if inside else path)

    @staticmethod
    def fits(path: Path) -> bool:
        """Whether a path is such a file, or leads into one."""
        return any(each.suffix.lower() == ".npz" for each in (path, path.parent))

    def read(self) -> tuple[Pixels, Sequence[str]]:
        """Bytes, or fractions from 0 to 1."""
        require_file(self.location)
        require_small(self.location)
        try:
            with np.load(self.location, allow_pickle=False) as file:
                self._refuse_large(file)
                names = self._named(file.files)
                images, labels = (np.asarray(file[name]) for name in names)
        except (OSError, ValueError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, SyntaxError) as error:
            told = " ".join(str(error).split())[:100]
            raise DataError(f"{self.location} is no .npz file that can be read ({told}): save it again") from error
        return bytes_of_pixels(images, self.location), labels_of_array(labels, self.location)

    def causes(self) -> list[Any]:
        """The arrays that are meant."""
        return [self._word]

    def _named(self, every: Sequence[str]) -> tuple[str, str]:
        """The names of the arrays of images and of labels."""
        found = []
        for words in (IMAGE_ARRAYS, LABEL_ARRAYS):
            meant = {
                name.lower().replace(self._word.lower(), "").strip("_-"): name for name in every if self._has(name)
            }
            name = next((meant[word] for word in words if word in meant), None)
            if name is None:
                of = f" with '{self._word}'" if self._word else ""
                raise DataError(
                    f"{self.location} has no array called {' or '.join(words)}{of} but "
                    f"{', '.join(every[:8]) or 'none'}: rename it; of several parts name one, as in a.npz/train"
                )
            found.append(name)
        return found[0], found[1]

    def _has(self, name: str) -> bool:
        return self._word.lower() in name.lower()

    def _refuse_large(self, file: Any) -> None:
        """What its parts unpack to is told by the archive, before memory is used."""
        if sum(info.file_size for info in file.zip.infolist()) > file_limits().document:
            raise DataError(too_large(self.location, file_limits().document))


def bytes_of_pixels(images: NDArray[Any], where: object) -> Pixels:
    """Bytes, from bytes or from fractions."""
    images = images[..., None] if images.ndim == 3 else images
    if images.ndim != 4 or images.shape[3] not in {1, 3} or not images.size:
        raise DataError(f"{where} has images of the shape {images.shape}, expected images × rows × columns (× 1 or 3)")
    if images.dtype.kind == "f" and np.isfinite(images).all() and 0 <= images.min() <= images.max() <= 1:
        images = (images * 255).round().astype(np.uint8)
    if images.dtype.kind not in "ui" or images.min() < 0 or images.max() > 255:
        raise DataError(f"{where} has images of {images.dtype}, expected bytes, or fractions from 0 to 1: scale them")
    return images.astype(np.uint8)


def labels_of_array(labels: NDArray[Any], where: object) -> list[str]:
    """A word for each, from words or numbers."""
    flat = labels.reshape(len(labels), -1) if labels.ndim else labels.reshape(0, 0)
    if flat.shape[1] != 1 or flat.dtype.kind not in "uiUSb":
        raise DataError(f"{where} has labels of {labels.dtype} {labels.shape}, expected a number or a word for each")
    return [each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each) for each in flat[:, 0].tolist()]


# ------------------------------------------------------------------------------------------------------ sheets


class ImageSheets(ImageArrays):
    """Sheets of images of one size, as `tile` says, with their labels in one file: a line each, or a list in JSON."""

    def __init__(self, paths: Sequence[Path], sheet: Sheet, label_file: str | None = None) -> None:
        self._sheet = sheet
        usual = f"{paths[0].name.removesuffix(paths[0].suffix)}.labels.txt"
        super().__init__(*paths, _beside(paths[0], label_file, usual))

    def read(self) -> tuple[Pixels, Sequence[str]]:
        """The tiles of each sheet from left to right, the upper ones first; behind the last label they are empty."""
        *sheets, labels = self.paths
        found, known = np.concatenate([self._tiles(path) for path in sheets]), _listed_labels(labels)
        spare = found[len(known) :]
        in_last_row = len(sheets) == 1 and len(spare) and not spare.any()
        return found[: len(known)] if in_last_row else found, known

    def causes(self) -> list[Any]:
        """How they stand on the sheet."""
        return list(self._sheet)

    def _tiles(self, path: Path) -> Pixels:
        tile, layout = self._sheet
        if tile is None:
            raise DataError(f"{path} is one image: say how large the tiles on it are, as in data.tile=32")
        pixels_YXC = decoded_image(content_of(existing(str(path))), path)
        rows, columns, channels = pixels_YXC.shape
        if layout == "rows":
            if columns != tile * tile:
                raise DataError(
                    f"{path} has rows of {columns} pixels, but a tile of data.tile={tile} has {tile * tile}"
                )
            return pixels_YXC.reshape(rows, tile, tile, channels)
        if rows % tile or columns % tile:
            raise DataError(
                f"{path} has {rows} × {columns} pixels, which no tiles of {tile} × {tile} fill: correct data.tile"
            )
        cut = pixels_YXC.reshape(rows // tile, tile, columns // tile, tile, channels)
        return np.ascontiguousarray(cut.swapaxes(1, 2)).reshape(-1, tile, tile, channels)


def _listed_labels(path: Path) -> list[str]:
    if path.suffix.lower() != ".json":
        return [line.strip() for line in lines(path)]
    try:
        found = json.loads(content_of(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON ({error}), expected a list of labels") from error
    if not isinstance(found, list) or not all(isinstance(each, str | int) for each in found):
        raise DataError(f"{path} is no list of labels, expected one such as [3, 8, 8]")
    return [str(each) for each in found]


def _beside(path: Path, label_file: str | None, usual: str) -> Path:
    """The file of labels, seen from the folder of the images."""
    found = path.parent / Path(usual if label_file is None else label_file).expanduser()
    if not found.is_file() or found == path:
        remedy = by_setting("name it with data.label_file", "put it there")
        raise DataError(f"the labels of {path} are not in {found}: {remedy}")
    return found


def _mark(pixels_YXC: Pixels) -> str:
    return mark_of_bytes(np.ascontiguousarray(pixels_YXC).tobytes())
