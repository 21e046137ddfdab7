"""Handwritten digits, 8 × 8 shades of grey: 1,797 by 43 people, which scikit-learn carries (Alpaydin & Kaynak 1998).

A hash of its pixels decides which part a digit belongs to.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Literal

from pydantic import Field

from seqwright.data.examples import PartName
from seqwright.data.generated import CardSettings, WithoutFiles
from seqwright.data.images import ImageExample
from seqwright.data.pieces import piece_of, pieces_of

BRIGHTEST = 16  # of the shades in which the digits are published


class HandwrittenDigitsSettings(CardSettings):
    """Handwritten digits."""

    card: Literal["digits"] = "digits"
    valid: str = Field(default="10%", pattern=r"%$")
    """The share of the digits that is the validation part."""
    test: str = Field(default="20%", pattern=r"%$")
    """The share of the digits that is the test part."""


class HandwrittenDigits(WithoutFiles):
    """Handwritten digits as labelled images."""

    def __init__(self, settings: HandwrittenDigitsSettings) -> None:
        self._pieces = pieces_of("digits", settings.valid, settings.test, opened=str)

    def parts(self) -> list[PartName]:
        """Always train, valid and test."""
        return list(self._pieces)

    def examples(self, part: PartName) -> Iterator[ImageExample]:
        """The digits of a part in their own order."""
        piece = piece_of(self._pieces, part)
        return (example for example in _digits() if piece.holds(example.content().hex()))

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the digits themselves."""
        found = hashlib.sha256()
        for example in self.examples(part):
            found.update(example.label.encode() + example.content())
        return found.hexdigest()


@cache
def _digits() -> tuple[ImageExample, ...]:
    from sklearn.datasets import load_digits

    found = load_digits()
    pixels_NYX = (found.images * (255 / BRIGHTEST)).round().astype("uint8")
    return tuple(
        ImageExample(pixels_YX[:, :, None], str(label), f"digit {number}")
        for number, (pixels_YX, label) in enumerate(zip(pixels_NYX, found.target.tolist(), strict=True), start=1)
    )
