"""Every image of some examples at one size, decoded once: kept in files that are mapped into memory.

Y rows of pixels · X columns · C channels · N rows
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from seqwright.batches import Numbers
from seqwright.cache import kept_folder
from seqwright.data.decoded_images import Pixels, UnreadableImageError
from seqwright.data.images import ImageExample
from seqwright.errors import DataError
from seqwright.inputs import Examples
from seqwright.progress import Progress

FORMAT = 1  # another number whenever the same images come out otherwise
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


class Fitted(NamedTuple):
    """Images at one size, the number of the example of each, and which could not be read."""

    pixels_NYXC: Pixels
    example_N: Numbers
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
    image = Image.fromarray(pixels_YXC[:, :, 0] if frame.channels == 1 else pixels_YXC)
    resized = np.asarray(image.resize((frame.columns, frame.rows), Image.Resampling.BICUBIC, box=box))
    return resized.reshape(frame.shape)


def common_frame(examples: Examples[ImageExample], size: int | None) -> Frame:
    """The size that is set, or that of all images; and three channels where any image has them."""
    channels, found = 1, dict[tuple[int, int], str]()
    for example in examples:
        try:
            rows, columns, depth = example.pixels_YXC.shape
        except UnreadableImageError:
            continue
        channels = max(channels, depth)
        found.setdefault((rows, columns), example.name)
        if size is not None and channels == 3:
            break
    if size is not None:
        return Frame(channels, size, size)
    if len(found) > 1:
        few, many = min(found), max(found)
        raise DataError(
            f"images of {examples.name} have different sizes, such as {few[0]} × {few[1]} ({found[few]}) and "
            f"{many[0]} × {many[1]} ({found[many]}): say which they shall have, as in input.size=64"
        )
    rows, columns = next(iter(found), (1, 1))
    return Frame(channels, rows, columns)


def fitted_part(examples: Examples[ImageExample], frame: Frame) -> Fitted:
    """Every image that can be read at one size; of what a user asks they are not kept."""
    if not examples.fingerprint:
        unread = list[Unread]()
        both = [(number, pixels) for number, pixels in _readable(examples, frame, unread)]
        pixels = [pixels_YXC for _, pixels_YXC in both]
        stacked = np.stack(pixels) if pixels else np.zeros((0, *frame.shape), dtype=np.uint8)
        return Fitted(stacked, np.array([number for number, _ in both], dtype=np.int64), unread)
    key = f"images {FORMAT} {examples.fingerprint} {json.dumps(frame)}"
    if key not in _opened:
        while len(_opened) >= MOST_OPEN:
            del _opened[next(iter(_opened))]
        folder = kept_folder(key, lambda aside: _write(aside, examples, frame), within="images")
        _opened[key] = _mapped(folder, frame)
    return _opened[key]


def _readable(examples: Examples[ImageExample], frame: Frame, unread: list[Unread]) -> Iterator[tuple[int, Pixels]]:
    """The number and the pixels of each image; those that cannot be read are noted."""
    for number, example in enumerate(examples):
        try:
            yield number, fitted(example.pixels_YXC, frame)
        except UnreadableImageError as error:
            unread.append(Unread(example.name, error.reason))


def _write(folder: Path, examples: Examples[ImageExample], frame: Frame) -> None:
    unread, numbers, progress = list[Unread](), list[int](), Progress(f"decoding images of {examples.name}")
    with (folder / "pixels").open("wb") as file:
        for number, pixels_YXC in _readable(examples, frame, unread):
            file.write(np.ascontiguousarray(pixels_YXC).tobytes())
            numbers.append(number)
            progress(number)
    np.save(folder / "numbers.npy", np.array(numbers, dtype=np.int64))
    (folder / "unread.json").write_text(json.dumps(unread), encoding="utf-8")


def _mapped(folder: Path, frame: Frame) -> Fitted:
    example_N: Numbers = np.load(folder / "numbers.npy")
    shape = (len(example_N), *frame.shape)
    empty = np.zeros(shape, dtype=np.uint8)
    pixels = np.memmap(folder / "pixels", dtype=np.uint8, mode="r", shape=shape) if len(example_N) else empty
    unread = [Unread(*each) for each in json.loads((folder / "unread.json").read_text(encoding="utf-8"))]
    return Fitted(pixels, example_N, unread)
