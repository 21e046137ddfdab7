"""Features of images that another program has computed: a safetensors file with a grid of vectors for each image.

N images · Y rows of the grid · X columns · C channels
"""

from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from seqwright.data.files import existing
from seqwright.errors import DataError, nearest

Features = NDArray[np.float32]
KINDS = ("F16", "F32")


class FeatureFile:
    """A tensor for each image, (rows, columns, channels), under the image's path or name, with its ending or without.

    It stays open; a tensor is read when somebody asks for it. What is wrong with any of them is said at the beginning.
    """

    def __init__(self, name: str) -> None:
        self.path: Path = existing(name)
        try:
            opened: Any = safe_open
            self._file = opened(self.path, framework="numpy")
            self.keys: list[str] = sorted(self._file.keys())
            self.shape = self._common_shape()
        except (SafetensorError, OSError, ValueError, OverflowError) as error:
            told = " ".join(str(error).split())[:100]
            raise DataError(
                f"{self.path} is no safetensors file that can be read ({told}): compute the features again"
            ) from error

    def _common_shape(self) -> tuple[int, int, int]:
        """That of all tensors."""
        first: tuple[int, ...] = ()
        for key in self.keys:
            found = self._file.get_slice(key)
            shape, kind = tuple(found.get_shape()), found.get_dtype()
            if len(shape) != 3 or 0 in shape or kind not in KINDS:
                raise DataError(
                    f"{self.path} has '{key}' as {kind} of the shape {shape}, expected (rows, columns, channels) of "
                    "float16 or float32: compute the features again"
                )
            first = first or shape
            if shape != first:
                raise DataError(
                    f"{self.path} has '{key}' in the shape {shape}, but '{self.keys[0]}' in {first}: compute all from "
                    "images of one size"
                )
        if not first:
            raise DataError(f"{self.path} has no tensors, expected one for each image: compute the features again")
        return first[0], first[1], first[2]

    @cached_property
    def _key_of(self) -> dict[str, str]:
        """The key of each path, each name of a file, and each of both without the ending."""
        found: dict[str, str] = {}
        for key in self.keys:
            path = PurePosixPath(key)
            for name in (path.stem, path.name, path.with_suffix("").as_posix() if path.name else key):
                found.setdefault(name, key)
        return found | {key: key for key in self.keys}

    def find(self, name: str) -> "GridFeatures | None":
        """The features of an image by its path, if there are any."""
        path = PurePosixPath(name.replace("\\", "/"))
        found = (self._key_of.get(each) for each in (path.as_posix(), path.name, path.stem))
        return next((GridFeatures(self, key) for key in found if key is not None), None)

    def of(self, name: str, where: str) -> "GridFeatures":
        """The features of an image that needs some."""
        found = self.find(name)
        if found is None:
            raise DataError(
                f"{where} names the image '{name}', of which {self.path} has no features: compute them, or leave the "
                f"image out.{nearest(name, self.keys)}"
            )
        return found

    def read(self, key: str) -> Features:
        """`features_YXC`."""
        found: Any = self._file.get_tensor(key)
        features_YXC: Features = found.astype(np.float32)
        if not np.isfinite(features_YXC).all():
            raise DataError(f"{self.path} has numbers in '{key}' that are not finite: compute the features again")
        return features_YXC


class GridFeatures(NamedTuple):
    """The features of an image, read when they are asked for."""

    file: FeatureFile
    key: str

    @property
    def value_YXC(self) -> Features:
        """The grid of vectors."""
        return self.file.read(self.key)
