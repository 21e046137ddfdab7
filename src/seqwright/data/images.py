"""Images, and what somebody said of each: the examples that every reader and generator of images gives.

Y rows of pixels · X columns · C channels
"""

from typing import NamedTuple

import numpy as np

from seqwright.data.decoded_images import Pixels, Undecoded
from seqwright.data.image_features import GridFeatures


class ImageExample(NamedTuple):
    """An image, decoded when its pixels are asked for, and what somebody said of it; blank where it is not known."""

    image: Pixels | Undecoded  # an array is (Y, X, C), of one channel or three
    label: str = ""
    name: str = ""  # for people: a path, or a number
    captions: tuple[str, ...] = ()
    features: GridFeatures | None = None  # in place of the pixels, where somebody has computed them

    @property
    def source(self) -> str:
        """What a caption is written from, as a user would type it."""
        return self.name

    @property
    def target(self) -> str:
        """The first caption; a blank one where none is known."""
        return next(iter(self.captions), "")

    @property
    def kind(self) -> str:
        """Scores are not reported by groups."""
        return ""

    @property
    def pixels_YXC(self) -> Pixels:
        """The pixels; of what is no image it is said why."""
        return self.image.decoded() if isinstance(self.image, Undecoded) else self.image

    def content(self) -> bytes:
        """The same for two images that are the same."""
        if isinstance(self.image, Undecoded):
            return self.image.content()
        return f"{self.image.shape}".encode() + np.ascontiguousarray(self.image).tobytes()
