"""Films: frames one after another, what somebody said of the whole, and where something is in each frame.

T frames · Y rows of pixels · X columns · C channels
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from seqwright.data.decoded_images import Pixels

Place = tuple[float, float]
"""x and y in pixels: 0, 0 is the middle of the pixel at the upper left; not a number (NaN) where it is not known."""
NOWHERE: Place = (float("nan"), float("nan"))


class UndecodedFilm(NamedTuple):
    """A film in files, in an archive or in memory, which is decoded when somebody asks for it."""

    frames: Callable[[], Pixels]
    content: Callable[[], bytes]


class FilmExample(NamedTuple):
    """A film, what somebody said of it, and the place of something in each frame; blank where it is not known."""

    film: Pixels | UndecodedFilm  # an array is (T, Y, X, C), of one channel or three
    label: str = ""
    places: tuple[Place, ...] = ()
    name: str = ""  # for people: a path, or a number

    @property
    def pixels_TYXC(self) -> Pixels:
        """The frames; of what is no film it is said why."""
        return self.film.frames() if isinstance(self.film, UndecodedFilm) else self.film

    def content(self) -> bytes:
        """The same for two films that are the same."""
        if isinstance(self.film, UndecodedFilm):
            return self.film.content()
        return f"{self.film.shape}".encode() + np.ascontiguousarray(self.film).tobytes()
