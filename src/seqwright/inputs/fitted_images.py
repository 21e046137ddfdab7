"""Every image of some examples at one size, decoded once: kept in files that are mapped into memory.

Y rows of pixels · X columns · C channels · N rows
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from seqwright.batches import Numbers
from seqwright.cache import kept_folder
from seqwright.data.decoded_images import Pixels, UnreadableImageError
from seqwright.data.images import ImageExample
from seqwright.data.limits import file_limits
from seqwright.errors import DataError
from seqwright.inputs import Examples
from seqwright.progress import Progress

FORMAT = 2  # another number whenever the same images come out otherwise
MOST_NAMED = 3  # images in a sentence
MOST_OPEN = 8  # parts whose files stay open: opening one reads it from end to end
LUMA = (0.299, 0.587, 0.114)  # of red, green and blue (ITU-R BT.601)


class Frame(NamedTuple):
    """What every image is brought to."""

    channels: int
    rows: int
    columns: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """(Y, X, C)."""
        return self.rows, self.columns, self.channels


class Unread(NamedTuple):
    """An image that cannot be read, by its name, and why in a few words."""

    name: str
    reason: str


class Sizes(NamedTuple):
    """The rows and columns that images had, of the smallest and of the largest."""

    least: tuple[int, int]
    most: tuple[int, int]

    def told(self) -> str:
        """`32 × 32`, or `60 × 80 to 500 × 375`."""
        few, many = (f"{rows:,} × {columns:,}" for rows, columns in self)
        return few if few == many else f"{few} to {many}"


class Fitted(NamedTuple):
    """Images at one size, the number of the example of each, their sizes before, and which could not be read."""

    pixels_NYXC: Pixels
    example_N: Numbers
    sizes: Sizes | None  # of none where there are no images
    unread: Sequence[Unread] = ()

    def told(self) -> str:
        """`3 images cannot be read: cats/7.png (damaged), …`; nothing where all can."""
        if not self.unread:
            return ""
        some = ", ".join(f"{each.name} ({each.reason})" for each in self.unread[:MOST_NAMED])
        more = ", …" if len(self.unread) > MOST_NAMED else ""
        return f"{len(self.unread):,} image{'s' if len(self.unread) > 1 else ''} cannot be read: {some}{more}"


_opened: dict[str, Fitted] = {}


def fitted(pixels_YXC: Pixels, frame: Frame) -> Pixels:
    """An image at the size and with the channels of a frame.

    Its shorter side is resized until the frame is covered, and the middle is cut out.
    """
    if pixels_YXC.shape[2] < frame.channels:
        pixels_YXC = np.repeat(pixels_YXC, frame.channels, axis=2)
    if pixels_YXC.shape[2] > frame.channels:
        pixels_YXC = (pixels_YXC @ np.array(LUMA)).round().astype(np.uint8)[:, :, None]
    rows, columns, _ = pixels_YXC.shape
    if (rows, columns) == (frame.rows, frame.columns):
        return pixels_YXC
    scale = max(frame.rows / rows, frame.columns / columns)
    high, wide = frame.rows / scale, frame.columns / scale  # of what is cut out, before it is resized
    box = ((columns - wide) / 2, (rows - high) / 2, (columns + wide) / 2, (rows + high) / 2)
    return resized(pixels_YXC, frame, box)


def resized(pixels_YXC: Pixels, frame: Frame, box: tuple[float, float, float, float] | None = None) -> Pixels:
    """An image, or what a box cuts out of it, at another size: bicubic, over more pixels where it shrinks."""
    if pixels_YXC.shape == frame.shape and box is None:
        return pixels_YXC
    image = Image.fromarray(pixels_YXC[:, :, 0] if frame.channels == 1 else pixels_YXC)
    found = np.asarray(image.resize((frame.columns, frame.rows), Image.Resampling.BICUBIC, box=box))
    return found.reshape(frame.shape)


def common_frame(examples: Examples[ImageExample], size: int | None) -> Frame:
    """The size that is set, or that of all images; and three channels where any image has them."""
    return agreed_frame(((each.name, partial(_shape, each)) for each in examples), size, examples.name)


def _shape(example: ImageExample) -> tuple[int, ...]:
    return example.pixels_YXC.shape


def agreed_frame(
    shapes: Iterable[tuple[str, Callable[[], tuple[int, ...]]]], size: int | None, name: str, noun: str = "images"
) -> Frame:
    """The same of anything with a name and a shape, (…, Y, X, C); what cannot be read has none."""
    channels, found = 1, dict[tuple[int, int], str]()
    for each, shape in shapes:
        try:
            rows, columns, depth = shape()[-3:]
        except UnreadableImageError:
            continue
        channels = max(channels, depth)
        found.setdefault((rows, columns), each)
        if size is not None and channels == 3:
            break
    if size is not None:
        return Frame(channels, size, size)
    if len(found) > 1:
        few, many = min(found), max(found)
        raise DataError(
            f"{noun} of {name} have different sizes, such as {few[0]} × {few[1]} ({found[few]}) and "
            f"{many[0]} × {many[1]} ({found[many]}): say which they shall have, as in input.size=64"
        )
    rows, columns = next(iter(found), (1, 1))
    return Frame(channels, rows, columns)


def fitted_part(examples: Examples[ImageExample], frame: Frame) -> Fitted:
    """Every image that can be read at one size; of what a user asks they are not kept."""
    if not examples.fingerprint:
        reading = Reading(examples, frame)
        pixels = list(reading)
        stacked = np.stack(pixels) if pixels else np.zeros((0, *frame.shape), dtype=np.uint8)
        return Fitted(stacked, np.array(reading.numbers, dtype=np.int64), reading.sizes, reading.unread)
    limits = file_limits()  # which decide what can be read
    key = f"images {FORMAT} {examples.fingerprint} {json.dumps([frame, limits.pixels, limits.document])}"
    if key not in _opened:
        while len(_opened) >= MOST_OPEN:
            del _opened[next(iter(_opened))]
        folder = kept_folder(key, lambda aside: _write(aside, Reading(examples, frame)), within="images")
        _opened[key] = _mapped(folder, frame)
    return _opened[key]


class Reading:
    """A pass over images that notes their numbers and sizes, and those that cannot be read."""

    def __init__(self, examples: Examples[ImageExample], frame: Frame) -> None:
        self.examples, self.frame = examples, frame
        self.numbers, self.unread = list[int](), list[Unread]()
        self.sizes: Sizes | None = None

    def __iter__(self) -> Iterator[Pixels]:
        """The pixels of each that can be read."""
        for number, example in enumerate(self.examples):
            try:
                pixels_YXC = example.pixels_YXC
            except UnreadableImageError as error:
                self.unread.append(Unread(example.name, error.reason))
                continue
            size = (pixels_YXC.shape[0], pixels_YXC.shape[1])
            known = self.sizes or Sizes(size, size)
            self.sizes = Sizes(min(known.least, size, key=_area), max(known.most, size, key=_area))
            self.numbers.append(number)
            yield fitted(pixels_YXC, self.frame)


def _area(size: tuple[int, int]) -> tuple[int, int]:
    return size[0] * size[1], size[0]


def _write(folder: Path, reading: Reading) -> None:
    progress = Progress(f"decoding images of {reading.examples.name}")
    with (folder / "pixels").open("wb") as file:
        for pixels_YXC in reading:
            file.write(np.ascontiguousarray(pixels_YXC).tobytes())
            progress(len(reading.numbers))
    np.save(folder / "numbers.npy", np.array(reading.numbers, dtype=np.int64))
    (folder / "noted.json").write_text(json.dumps([reading.sizes, reading.unread]), encoding="utf-8")


def _mapped(folder: Path, frame: Frame) -> Fitted:
    example_N: Numbers = np.load(folder / "numbers.npy")
    shape = (len(example_N), *frame.shape)
    empty = np.zeros(shape, dtype=np.uint8)
    pixels = np.memmap(folder / "pixels", dtype=np.uint8, mode="r", shape=shape) if len(example_N) else empty
    sizes, unread = json.loads((folder / "noted.json").read_text(encoding="utf-8"))
    known = None if sizes is None else Sizes(*(tuple(size) for size in sizes))
    return Fitted(pixels, example_N, known, [Unread(*each) for each in unread])
