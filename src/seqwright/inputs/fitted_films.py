"""Every film of some examples with frames of one size, decoded once: kept in files that are mapped into memory.

L frames of all films joined · T frames · Y rows of pixels · X columns · C channels · N rows
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seqwright.batches import Numbers
from seqwright.cache import kept_folder
from seqwright.data.decoded_images import Pixels, UnreadableImageError
from seqwright.data.films import FilmExample
from seqwright.data.limits import file_limits
from seqwright.inputs import Examples
from seqwright.inputs.fitted_images import LUMA, Frame, Sizes, Unread, resized
from seqwright.progress import Progress

FORMAT = 1  # another number whenever the same films come out otherwise
MOST_OPEN = 8  # parts whose files stay open
MOST_NAMED = 3  # films in a sentence


class FittedFilms(NamedTuple):
    """The frames of all films, where each film begins and how many it has, its size before, and what cannot be read."""

    pixels_LYXC: Pixels
    begin_N: Numbers
    length_N: Numbers
    example_N: Numbers
    size_N2: Numbers  # rows and columns
    unread: Sequence[Unread] = ()

    @property
    def sizes(self) -> Sizes | None:
        """The smallest and the largest frame, if there is any."""
        every = sorted((rows * columns, rows, columns) for rows, columns in self.size_N2.tolist())
        return Sizes(every[0][1:], every[-1][1:]) if every else None

    def told(self) -> str:
        """`3 films cannot be read: walk/7.gif (damaged), …`; nothing where all can."""
        if not self.unread:
            return ""
        some = ", ".join(f"{each.name} ({each.reason})" for each in self.unread[:MOST_NAMED])
        more = ", …" if len(self.unread) > MOST_NAMED else ""
        return f"{len(self.unread):,} film{'s' if len(self.unread) > 1 else ''} cannot be read: {some}{more}"


_opened: dict[str, FittedFilms] = {}


def fitted_film(pixels_TYXC: Pixels, frame: Frame) -> Pixels:
    """A film at the size and with the channels of a frame; it is resized whole, so that each place stays in it."""
    channels = pixels_TYXC.shape[3]
    if channels < frame.channels:
        pixels_TYXC = np.repeat(pixels_TYXC, frame.channels, axis=3)
    if channels > frame.channels:
        pixels_TYXC = (pixels_TYXC @ np.array(LUMA)).round().astype(np.uint8)[..., None]
    if pixels_TYXC.shape[1:] == frame.shape:
        return pixels_TYXC
    return np.stack([resized(np.ascontiguousarray(pixels_YXC), frame) for pixels_YXC in pixels_TYXC])


def fitted_films(examples: Examples[FilmExample], frame: Frame) -> FittedFilms:
    """Every film that can be read; of what a user asks they are not kept."""
    if not examples.fingerprint:
        reading = ReadingFilms(examples, frame)
        films = list(reading)
        return _joined(np.concatenate([*films, np.zeros((0, *frame.shape), dtype=np.uint8)]), reading)
    limits = file_limits()  # which decide what can be read
    key = f"films {FORMAT} {examples.fingerprint} {json.dumps([frame, limits.pixels, limits.document])}"
    if key not in _opened:
        while len(_opened) >= MOST_OPEN:
            del _opened[next(iter(_opened))]
        folder = kept_folder(key, lambda aside: _write(aside, ReadingFilms(examples, frame)), within="images")
        _opened[key] = _mapped(folder, frame)
    return _opened[key]


class ReadingFilms:
    """A pass over films that notes their numbers, lengths and sizes, and those that cannot be read."""

    def __init__(self, examples: Examples[FilmExample], frame: Frame) -> None:
        self.examples, self.frame = examples, frame
        self.noted, self.unread = list[tuple[int, int, int, int]](), list[Unread]()

    def __iter__(self) -> Iterator[Pixels]:
        """The frames of each that can be read."""
        for number, example in enumerate(self.examples):
            try:
                pixels_TYXC = example.pixels_TYXC
            except UnreadableImageError as error:
                self.unread.append(Unread(example.name, error.reason))
                continue
            frames, rows, columns, _ = pixels_TYXC.shape
            self.noted.append((number, frames, rows, columns))
            yield fitted_film(pixels_TYXC, self.frame)


def _joined(pixels_LYXC: Pixels, reading: ReadingFilms) -> FittedFilms:
    return _numbered(pixels_LYXC, np.array(reading.noted, dtype=np.int64).reshape(-1, 4), reading.unread)


def _numbered(pixels_LYXC: Pixels, noted_N4: Numbers, unread: Sequence[Unread]) -> FittedFilms:
    number_N, length_N = noted_N4[:, 0], noted_N4[:, 1]
    return FittedFilms(pixels_LYXC, np.cumsum(length_N) - length_N, length_N, number_N, noted_N4[:, 2:], unread)


def _write(folder: Path, reading: ReadingFilms) -> None:
    progress = Progress(f"decoding films of {reading.examples.name}")
    with (folder / "pixels").open("wb") as file:
        for pixels_TYXC in reading:
            file.write(np.ascontiguousarray(pixels_TYXC).tobytes())
            progress(len(reading.noted))
    np.save(folder / "numbers.npy", np.array(reading.noted, dtype=np.int64).reshape(-1, 4))
    (folder / "noted.json").write_text(json.dumps(reading.unread), encoding="utf-8")


def _mapped(folder: Path, frame: Frame) -> FittedFilms:
    noted_N4: Numbers = np.load(folder / "numbers.npy")
    shape = (int(noted_N4[:, 1].sum()), *frame.shape)
    pixels = np.memmap(folder / "pixels", dtype=np.uint8, mode="r", shape=shape) if shape[0] else np.zeros(shape, "u1")
    unread = json.loads((folder / "noted.json").read_text(encoding="utf-8"))
    return _numbered(pixels, noted_N4, [Unread(*each) for each in unread])
