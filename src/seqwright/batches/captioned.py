"""Batches of images with captions: in an epoch one caption of each image, drawn anew; in none all of them.

B batch · T time · C channels · Y rows of pixels · X columns · P places of a grid · N images · M captions
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from seqwright.batches import Batch, Ids, Numbers, Rows
from seqwright.batches.bucketed import Bucketed

CAPTION = 1  # tells what a caption is drawn from, (seed, epoch, number, 1), from what its image is cropped by


@dataclass(frozen=True)
class Captioned(Batch):
    """A batch of images and captions. `input_BT` is what the decoder reads, `target_BT` what it should say after each.

    `image_B` are pixels (B, C, Y, X), or in their place features of the places of a grid (B, P, C).
    """

    image_B: Tensor
    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor

    @property
    def real(self) -> None:
        """An image is real as a whole."""


class SeveralTexts(Rows[list[Ids]]):
    """The captions of each image, a row for each image: `image_M` is the row of the image of each caption."""

    def __init__(self, text_M: Rows[Ids], image_M: Numbers, example_N: Numbers) -> None:
        self.text_M, self.image_M, self.example_N = text_M, image_M, example_N

    def take(self, numbers: Numbers, epoch: int | None) -> list[list[Ids]]:
        """All captions of some images."""
        return [list(self.text_M.take(np.flatnonzero(self.image_M == number), epoch)) for number in numbers]


class WithEachText(Rows[tuple[Any, Ids]]):
    """An image beside one of its captions, a row for each caption."""

    def __init__(self, images: Rows[Any], texts: Rows[Ids], image_M: Numbers) -> None:
        self.images, self.texts, self.image_M = images, texts, image_M
        self.example_N = images.example_N[image_M]

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_NS` of the image and of the caption."""
        return np.concatenate((self.images.lengths(epoch)[self.image_M], self.texts.lengths(epoch)), axis=1)

    def take(self, numbers: Numbers, epoch: int | None) -> list[tuple[Any, Ids]]:
        """Some captions with their images."""
        images = self.images.take(self.image_M[numbers], epoch)
        return list(zip(images, self.texts.take(numbers, epoch), strict=True))


class OneOfSeveral(Bucketed[tuple[Any, Ids], Captioned]):
    """Batches of images with captions; an epoch takes one of each image, drawn from (seed, epoch, number)."""

    def __init__(
        self,
        rows: WithEachText,
        collate: Callable[[Sequence[tuple[Any, Ids]]], Captioned],
        *,
        tokens: int,
        seed: int,
        marks: int,
        only: Numbers,
    ) -> None:
        self._image_M = rows.image_M[only]
        super().__init__(rows, collate, tokens=tokens, seed=seed, marks=marks, only=only)

    def taken(self, epoch: int | None) -> Numbers:
        """The number of one caption of each image; in no epoch those of all."""
        if epoch is None:
            return self.only
        image_N, first_N, count_N = np.unique(self._image_M, return_index=True, return_counts=True)
        drawn = (np.random.default_rng((self.seed, epoch, number, CAPTION)) for number in image_N.tolist())
        place_N = [int(rng.integers(count)) for rng, count in zip(drawn, count_N.tolist(), strict=True)]
        return self.only[first_N + np.array(place_N, dtype=np.int64)]
