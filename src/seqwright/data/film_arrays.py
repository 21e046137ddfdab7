"""Films without files of their own: the arrays of an .npz file.

N films · T frames · Y rows of pixels · X columns · C channels
"""

import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqwright.data.decoded_images import Pixels
from seqwright.data.files import content_hash, require_file, require_small, too_large
from seqwright.data.film_sources import FoundFilm
from seqwright.data.films import NOWHERE, FilmExample, Place
from seqwright.data.image_arrays import bytes_of_pixels, labels_of_array
from seqwright.data.image_stores import mark_of_bytes
from seqwright.data.limits import file_limits
from seqwright.errors import DataError

ARRAYS = ("films", "labels", "places", "lengths")  # of which only the first must be there


class FilmArrays:
    """Arrays of NumPy: `films` (N, T, Y, X), or with channels at the end, `labels`, `places` (N, T, 2), `lengths`.

    Places are x and y in pixels, not a number where they are not known; `lengths` say how many frames of each film are
    real. Of several parts in a file one is `a.npz/train`: the arrays with `train` in their names.
    """

    def __init__(self, path: Path) -> None:
        inside = path.suffix.lower() != ".npz"
        self._word = path.name if inside else ""
        self.path = self.location = path.parent if inside else path

    @staticmethod
    def fits(path: Path) -> bool:
        """Whether a path is such a file, or leads into one."""
        return any(each.suffix.lower() == ".npz" for each in (path, path.parent))

    def found(self) -> Iterator[FoundFilm]:
        """Every film with what is said of it."""
        arrays = self._read()
        pixels_NTYXC, length_N = self._films(arrays)
        count, frames = pixels_NTYXC.shape[:2]
        labels = labels_of_array(arrays["labels"], self.path) if "labels" in arrays else [""] * count
        place_NT2 = arrays["places"] if "places" in arrays else np.zeros((count, 0, 2))
        if len(labels) != count or place_NT2.shape not in {(count, frames, 2), (count, 0, 2)}:
            raise DataError(
                f"{self.path} has {count:,} films of {frames:,} frames, but {len(labels):,} labels and places of the "
                f"shape {place_NT2.shape}: give as many labels, and (films, frames, 2)"
            )
        if place_NT2.dtype.kind not in "fiu" or np.isinf(place_NT2.astype(np.float64)).any():
            raise DataError(f"{self.path} has places that are no numbers: give x and y, and NaN where nobody knows")
        for number in range(count):
            film_TYXC = pixels_NTYXC[number, : length_N[number]]
            places = _places(place_NT2[number, : length_N[number]])
            example = FilmExample(film_TYXC, labels[number], places, f"{self.path.name} {number + 1}")
            yield FoundFilm(example, partial(_mark_of, film_TYXC))

    def fingerprint(self) -> str:
        """Of the file."""
        return json.dumps([content_hash(self.path), self._word])

    def remarks(self) -> list[str]:
        """Nothing."""
        return []

    def _read(self) -> dict[str, NDArray[Any]]:
        require_file(self.path)
        require_small(self.path)
        try:
            with np.load(self.path, allow_pickle=False) as file:
                if sum(info.file_size for info in file.zip.infolist()) > file_limits().document:
                    raise DataError(too_large(self.path, file_limits().document))
                names = {kind: self._named(kind, file.files) for kind in ARRAYS}
                return {kind: np.asarray(file[name]) for kind, name in names.items() if name is not None}
        except (OSError, ValueError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, SyntaxError) as error:
            told = " ".join(str(error).split())[:100]
            raise DataError(f"{self.path} is no .npz file that can be read ({told}): save it again") from error

    def _named(self, kind: str, every: Sequence[str]) -> str | None:
        """The name of an array; there must be one of films."""
        stem = kind.removesuffix("s")
        found = [name for name in every if stem in name.lower() and self._word.lower() in name.lower()]
        exact = [name for name in found if name.lower() == kind]
        if len(exact or found) == 1:
            return (exact or found)[0]
        if not found and kind != "films":
            return None
        some = f" with '{self._word}' in its name" if self._word else ""
        raise DataError(
            f"{self.path} has {len(found)} arrays of {kind}{some} among {', '.join(every) or 'none'}: call one "
            f"'{kind}', or name a part as in {self.path.name}/train"
        )

    def _films(self, arrays: dict[str, NDArray[Any]]) -> tuple[Pixels, NDArray[np.int64]]:
        films = arrays["films"]
        films = films[..., None] if films.ndim == 4 else films
        if films.ndim != 5 or not films.size:
            raise DataError(
                f"{self.path} has films of the shape {films.shape}, expected films × frames × rows × columns (× 1 or 3)"
            )
        pixels_NTYXC = bytes_of_pixels(films.reshape(-1, *films.shape[2:]), self.path).reshape(films.shape)
        lengths = arrays.get("lengths", np.full(len(films), films.shape[1]))
        whole = lengths.shape == (len(films),) and lengths.dtype.kind in "ui"
        if not whole or lengths.min() < 1 or lengths.max() > films.shape[1]:
            raise DataError(f"{self.path} has lengths that fit no films of up to {films.shape[1]} frames: correct them")
        return pixels_NTYXC, lengths.astype(np.int64)


def _places(place_T2: NDArray[Any]) -> tuple[Place, ...]:
    """None at all where none is known."""
    plain = [(float(x), float(y)) for x, y in place_T2.tolist()]
    known = [NOWHERE if math.isnan(x + y) else (x, y) for x, y in plain]
    return () if all(place is NOWHERE for place in known) else tuple(known)


def _mark_of(film_TYXC: Pixels) -> str:
    return mark_of_bytes(np.ascontiguousarray(film_TYXC).tobytes())
