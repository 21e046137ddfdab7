"""An image as a row of pixels of one size; `stack` scales them by what was learnt of the training part.

B batch · C channels · Y rows of pixels · X columns · N rows · K shades
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, field_validator

from seqwright.batches import Numbers, Rows
from seqwright.data.decoded_images import Pixels, Undecoded
from seqwright.data.files import existing
from seqwright.data.image_sources import no_image
from seqwright.data.image_stores import content_of
from seqwright.data.images import ImageExample
from seqwright.data.limits import file_limits
from seqwright.errors import DataError
from seqwright.inputs import Examples, Input, Picture, Room, Stacked
from seqwright.inputs.augmentations import AUGMENTATIONS, augmented
from seqwright.inputs.fitted_images import Fitted, Frame, common_frame, fitted, fitted_part, resized
from seqwright.inputs.saved import load_json, save_json
from seqwright.setting_classes import Settings

SHADES = 256
THUMBNAIL = 256  # values of an image that a linear baseline sees, at most
SHOWN, DRAWS = 48, 8  # images on a contact sheet, and how often each augmentation is drawn on it
Augmentation = Literal["crop", "shift", "flip", "colour", "grey", "blur", "solarise", "cut-out"]


class ImageSettings(Settings):
    """How images become pixels of one size."""

    size: int | None = Field(default=None, ge=1, le=4096)
    """Rows and columns of the pixels that are read. An image of another size is resized until its shorter side fits,
    and its middle is cut out. Left out: the size of the images, which must all have the same."""

    augment: tuple[Augmentation, ...] = ()
    """What is done to a training image in each epoch, drawn for it anew, in the order in which it is named: crop (a
    part of it, resized), shift (by up to an eighth), flip (left for right), colour (brightness, contrast, saturation),
    grey, blur, solarise and cut-out (a square is blank). Nothing is done to what is evaluated."""

    @field_validator("augment", mode="before")
    @classmethod
    def _any_sequence(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list) else given


def shown_places(labels: Sequence[str]) -> list[int]:
    """The places of some examples of each label, at even distances among those that have it; few labels have more."""
    of_label: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        of_label.setdefault(label, []).append(place)
    each = max(1, SHOWN // max(1, len(of_label)))
    found = (places[:: -(-len(places) // each)][:each] for _, places in sorted(of_label.items()))
    return [place for places in found for place in places][:SHOWN]


def scale_of(pixels_NYXC: Pixels) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The mean and the deviation of each channel over all pixels, as fractions of the brightest shade."""
    channels = pixels_NYXC.shape[3]
    count_CK = np.zeros((channels, SHADES), dtype=np.int64)
    for pixels_YXC in pixels_NYXC:
        for channel in range(channels):
            count_CK[channel] += np.bincount(pixels_YXC[:, :, channel].ravel(), minlength=SHADES)
    shade_K, every = np.arange(SHADES) / (SHADES - 1), count_CK.sum(1)
    mean_C = count_CK @ shade_K / every
    deviation_C = np.sqrt(np.maximum(count_CK @ shade_K**2 / every - mean_C**2, 0))
    deviation_C[deviation_C < 1 / SHADES] = 1.0  # of a channel that never changes
    return tuple(mean_C.tolist()), tuple(deviation_C.tolist())


def scaled_pixels(pixels_NYXC: Pixels, mean: Sequence[float], deviation: Sequence[float]) -> NDArray[np.float32]:
    """`x_NCYX`: pixels less the mean of their channel, over its deviation."""
    mean_C, deviation_C = (np.array(each, dtype=np.float32) for each in (mean, deviation))
    scaled = (pixels_NYXC.astype(np.float32) / (SHADES - 1) - mean_C) / deviation_C
    return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))


def checked_scale(plain: Any) -> tuple[Frame, tuple[float, ...], tuple[float, ...]]:
    """A size with the mean and the deviation of each channel, as they were saved."""
    frame = Frame(*(int(plain[name]) for name in Frame._fields))
    mean_C, deviation_C = (tuple(map(float, plain[name])) for name in ("mean", "deviation"))
    if min(frame) < 1 or frame.channels not in {1, 3} or not len(mean_C) == len(deviation_C) == frame.channels:
        raise ValueError("expected a size, and a mean and a deviation of each channel")
    if frame.rows * frame.columns > (most := file_limits().pixels):
        raise ValueError(f"expected at most {most:,} pixels")
    if not all(deviation > 0 for deviation in deviation_C):
        raise ValueError("expected deviations above 0")
    return frame, mean_C, deviation_C


class ImageRows(Rows[Pixels]):
    """Fitted images, each of length 1: so many tokens in a batch are so many images."""

    def __init__(self, images: Fitted, augment: tuple[str, ...] = (), seed: int = 0) -> None:
        self.images, self.augment, self.seed = images, augment, seed
        self.example_N = images.example_N
        self.length_N = np.ones(len(self.example_N), dtype=np.int64)

    def take(self, numbers: Numbers, epoch: int | None) -> list[Pixels]:
        """Some images, augmented as drawn from (seed, epoch, number); in no epoch as they are."""
        taken = [self.images.pixels_NYXC[number] for number in numbers.tolist()]
        if epoch is None or not self.augment:
            return taken
        return [
            augmented(pixels_YXC, self.augment, np.random.default_rng((self.seed, epoch, number)))
            for number, pixels_YXC in zip(numbers.tolist(), taken, strict=True)
        ]


@dataclass(frozen=True)
class ImageInput(Input[ImageExample, Pixels]):
    """The size of the images, and of each channel the mean and the deviation over all pixels of the training part."""

    settings: ClassVar[type[Settings]] = ImageSettings
    noun: ClassVar[str] = "images"
    unit: ClassVar[str] = "images"
    at_once: ClassVar[int] = 64
    baseline_examples: ClassVar[int] = 5_000

    frame: Frame
    mean_C: tuple[float, ...]
    deviation_C: tuple[float, ...]
    augment: tuple[str, ...] = ()

    @classmethod
    def learn(cls, train: Examples[ImageExample], settings: ImageSettings, *, room: Room, like: Any = None) -> Self:
        """The size, unless it is set; whether any image has colours; the mean and the deviation of each channel."""
        frame = common_frame(train, settings.size)
        images = fitted_part(train, frame)
        if not len(images.example_N):
            raise DataError(f"no image of {train.name} can be read; {images.told()}")
        return cls(frame, *scale_of(images.pixels_NYXC), settings.augment)

    def encode(self, examples: Examples[ImageExample], *, seed: int = 0) -> ImageRows:
        """The pixels of every image that can be read."""
        return ImageRows(self._fitted(examples), self.augment, seed)

    def _fitted(self, examples: Examples[ImageExample]) -> Fitted:
        """Every image that can be read; what a user types is decoded once too, whoever asks for it."""
        key = (self.frame, "image")
        if key not in examples.tokenised:
            found = ImageRows(fitted_part(examples, self.frame))
            if examples.fingerprint:
                return found.images
            examples.tokenised[key] = found
        known: Any = examples.tokenised[key]
        return known.images  # type: ignore[no-any-return]

    def stack(self, rows: Sequence[Pixels]) -> Stacked:
        """`input_B`, (B, C, Y, X), less the mean and over the deviation; `real_BT`, (B, 1), counts each image once."""
        input_BCYX = scaled_pixels(np.stack(rows), self.mean_C, self.deviation_C)
        return {"input_B": torch.from_numpy(input_BCYX), "real_BT": torch.ones(len(rows), 1, dtype=torch.bool)}

    def parse(self, given: Any) -> ImageExample:
        """A path, the bytes of a file, or an array of bytes, (rows, columns) or (rows, columns, channels)."""
        if isinstance(given, ImageExample):
            return given
        if isinstance(given, str) and not given:  # a blank row of a table
            return no_image("a blank row", "names no image")
        if isinstance(given, bytes):
            return _checked(ImageExample(Undecoded(lambda: given, "the image"), name="the image"))
        if isinstance(given, str | Path):
            path = existing(str(given))
            return _checked(ImageExample(Undecoded(partial(content_of, path), str(path)), name=str(given)))
        return ImageExample(as_pixels(given), name="the image")

    def example_fields(self, example: ImageExample) -> dict[str, Any]:
        """Its name."""
        return {"image": example.name}

    def line_start(self, example: ImageExample) -> str:
        """Its name, for which of many a line is could not be seen."""
        return f"{example.name}\t"

    def picture(self, examples: Examples[ImageExample]) -> Picture | None:
        """Some images of every label at even distances; below, one after each augmentation of the settings, and all."""
        images, labels = self._fitted(examples), [example.label for example in examples]
        places = shown_places([labels[number] for number in images.example_N.tolist()])
        sheet = [(labels[images.example_N[place]], images.pixels_NYXC[place]) for place in places]
        every = {"all together": self.augment} if len(self.augment) > 1 else {}
        rows = [
            (name, [augmented(sheet[0][1], names, np.random.default_rng((0, n))) for n in range(DRAWS)])
            for name, names in {**{name: (name,) for name in self.augment}, **every}.items()
        ]
        return Picture("images", {"images": sheet, "augmented": rows}) if sheet else None

    def thumbnail(self, example: ImageExample) -> Pixels:
        """The image as it is read."""
        return fitted(example.pixels_YXC, self.frame)

    def extent(self, rows: ImageRows) -> dict[str, str]:
        """Rows and columns of the smallest image and of the largest, before they are resized."""
        sizes = rows.images.sizes
        few, many = ("", "") if sizes is None else (f"{rows:,} × {columns:,}" for rows, columns in sizes)
        return {"smallest": few, "largest": many}

    def part_sentence(self, examples: Examples[ImageExample], rows: ImageRows) -> tuple[str, str]:
        """How many images are read, of which size, and which cannot be."""
        read, told = len(rows.example_N), rows.images.told()
        sizes = f" of {rows.images.sizes.told()} pixels" if rows.images.sizes else ""
        return f"{read:,} images{sizes}", f"; left out: {told}" if told else ""

    def blank_remarks(self, examples: Examples[ImageExample], first: int = 0) -> list[str]:
        """Which images cannot be read."""
        told = self._fitted(examples).told()
        return [told] if told else []

    def digest(self, example: ImageExample) -> bytes:
        """Of the file, or of the pixels."""
        return hashlib.blake2b(example.content(), digest_size=8).digest()

    def features(self, examples: Examples[ImageExample]) -> Sequence[NDArray[np.float32]]:
        """The pixels of a thumbnail; of an image that cannot be read zeros."""
        images, side = self._fitted(examples), int((THUMBNAIL / self.frame.channels) ** 0.5)
        frame = self.frame._replace(rows=min(side, self.frame.rows), columns=min(side, self.frame.columns))
        pixels = dict(zip(images.example_N.tolist(), images.pixels_NYXC, strict=True))
        blank = np.zeros(self.frame.shape, dtype=np.uint8)
        found = (resized(pixels.get(number, blank), frame) for number, _ in enumerate(examples))
        return [each.ravel().astype(np.float32) for each in found]

    def sizes(self) -> dict[str, int]:
        """The channels, the rows of pixels and the columns."""
        return self.frame._asdict()

    def save(self, folder: str | Path) -> None:
        """Write the size and the scale."""
        plain = {**self.frame._asdict(), "mean": self.mean_C, "deviation": self.deviation_C, "augment": self.augment}
        save_json(Path(folder, "image.json"), plain)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote."""
        return load_json(Path(folder, "image.json"), cls._from_plain)

    @classmethod
    def _from_plain(cls, plain: Any) -> Self:
        augment = tuple(map(str, plain["augment"]))
        if not set(augment) <= AUGMENTATIONS.keys():
            raise ValueError(f"expected augmentations among {', '.join(AUGMENTATIONS)}")
        return cls(*checked_scale(plain), augment)


def _checked(example: ImageExample) -> ImageExample:
    """An image of the user's own, refused at once where it cannot be read; its pixels are not kept."""
    _ = example.pixels_YXC
    return example


def as_pixels(given: Any) -> Pixels:
    """An array as an image of bytes; shades that are fractions go from 0 to 1."""
    found = np.asarray(given)
    if found.dtype.kind == "f" and found.size and np.isfinite(found).all() and 0 <= found.min() <= found.max() <= 1:
        found = (found * (SHADES - 1)).round().astype(np.uint8)
    found = found[:, :, None] if found.ndim == 2 else found
    if found.ndim != 3 or found.shape[2] not in {1, 3} or not found.size or found.dtype.kind not in "ui":
        raise DataError(
            f"an array of the shape {np.shape(given)} and the kind {found.dtype} is no image: give (rows, columns) or "
            "(rows, columns, 3), of whole numbers from 0 to 255 or fractions from 0 to 1"
        )
    if found.min() < 0 or found.max() >= SHADES:
        raise DataError(f"an image has values from {found.min()} to {found.max()}, expected 0 to 255: scale them")
    return found.astype(np.uint8)
