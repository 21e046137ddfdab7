"""A film as a row of frames of one size; `stack` scales them by what was learnt of the training part.

B batch · T frames · C channels · Y rows of pixels · X columns · N rows · K shades
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from seqwright.batches import Column, Numbers, Rows
from seqwright.data.decoded_images import Pixels
from seqwright.data.film_sources import film_at, no_film
from seqwright.data.films import FilmExample
from seqwright.errors import DataError
from seqwright.inputs import Examples, Input, Picture, Room, Stacked
from seqwright.inputs.fitted_films import FittedFilms, fitted_film, fitted_films
from seqwright.inputs.fitted_images import Frame, agreed_frame, resized
from seqwright.inputs.image import as_pixels, checked_scale, scale_of, scaled_pixels, shown_places
from seqwright.inputs.saved import load_json, save_json
from seqwright.setting_classes import Settings

THUMBNAIL, MOMENTS = 64, 4  # values of a frame that a linear baseline sees, at most, and frames
SHOWN = 12  # films on a contact sheet, each by its frames


class FilmSettings(Settings):
    """How films become frames of one size."""

    size: int | None = Field(default=None, ge=1, le=4096)
    """Rows and columns of the frames that are read; others are resized whole. Left out: the size of the films, which
    must all have the same."""

    longest: int = Field(default=256, ge=1)
    """Frames that are read of a film, at most; what comes after them is left out."""


class FilmRows(Rows[Pixels]):
    """Fitted films, of which at most so many frames are read; as long as their frames."""

    def __init__(self, films: FittedFilms, longest: int) -> None:
        self.films, self.longest = films, longest
        self.example_N = films.example_N
        self.length_N: Numbers = np.minimum(films.length_N, longest)

    @property
    def sizes(self) -> Rows[Any]:
        """The rows and columns of the frames of each, before they were resized."""
        return Column(self.films.size_N2, self.example_N)

    def take(self, numbers: Numbers, epoch: int | None) -> list[Pixels]:
        """Some films, the same in every epoch."""
        both = zip(self.films.begin_N[numbers].tolist(), self.length_N[numbers].tolist(), strict=True)
        return [self.films.pixels_LYXC[begin : begin + length] for begin, length in both]


@dataclass(frozen=True)
class FilmInput(Input[FilmExample, Pixels]):
    """The size of the frames, and of each channel the mean and the deviation over all pixels of the training part."""

    settings: ClassVar[type[Settings]] = FilmSettings
    noun: ClassVar[str] = "films"
    unit: ClassVar[str] = "frames"
    at_once: ClassVar[int] = 512
    baseline_examples: ClassVar[int] = 5_000

    frame: Frame
    mean_C: tuple[float, ...]
    deviation_C: tuple[float, ...]
    longest: int = 256

    @classmethod
    def learn(cls, train: Examples[FilmExample], settings: FilmSettings, *, room: Room, like: Any = None) -> Self:
        """The size, unless it is set; whether any film has colours; the mean and the deviation of each channel."""
        shapes = ((each.name, partial(_shape, each)) for each in train)
        frame = agreed_frame(shapes, settings.size, train.name, "films")
        films = fitted_films(train, frame)
        if not len(films.example_N):
            raise DataError(f"no film of {train.name} can be read; {films.told()}")
        return cls(frame, *scale_of(films.pixels_LYXC), settings.longest)

    def encode(self, examples: Examples[FilmExample], *, seed: int = 0) -> FilmRows:
        """The frames of every film that can be read."""
        return FilmRows(self._fitted(examples), self.longest)

    def _fitted(self, examples: Examples[FilmExample]) -> FittedFilms:
        """Every film that can be read; what a user types is decoded once too, whoever asks for it."""
        if examples.fingerprint:
            return fitted_films(examples, self.frame)
        key = (self.frame, "film")
        if key not in examples.tokenised:
            examples.tokenised[key] = FilmRows(fitted_films(examples, self.frame), self.longest)
        known: Any = examples.tokenised[key]
        return known.films  # type: ignore[no-any-return]

    def stack(self, rows: Sequence[Pixels]) -> Stacked:
        """`input_B`, (B, T, C, Y, X), less the mean and over the deviation; `real_BT`. Zeros stand at the padding."""
        length_B = np.array([len(row) for row in rows])
        real_BT = np.arange(length_B.max()) < length_B[:, None]
        channels, high, wide = self.frame
        input_BTCYX = np.zeros((*real_BT.shape, channels, high, wide), dtype=np.float32)
        input_BTCYX[real_BT] = scaled_pixels(np.concatenate(rows), self.mean_C, self.deviation_C)
        return {"input_B": torch.from_numpy(input_BTCYX), "real_BT": torch.from_numpy(real_BT)}

    def parse(self, given: Any) -> FilmExample:
        """The path of a folder of frames or of a GIF, or an array, (frames, rows, columns) or with channels."""
        if isinstance(given, FilmExample):
            return given
        if isinstance(given, str) and not given:  # a blank row of a table
            return no_film("a blank row", "names no film")
        if isinstance(given, str | Path):
            example = film_at(Path(given).expanduser(), str(given))
            _ = example.pixels_TYXC  # refused at once where it cannot be read
            return example
        array = np.asarray(given)
        if array.ndim not in {3, 4} or not len(array):
            raise DataError(
                f"an array of the shape {array.shape} is no film: give (frames, rows, columns), or channels at the end"
            )
        return FilmExample(np.stack([as_pixels(frame) for frame in array]), name="the film")

    def example_fields(self, example: FilmExample) -> dict[str, Any]:
        """Its name."""
        return {"film": example.name}

    def line_start(self, example: FilmExample) -> str:
        """Its name, for which of many a line is could not be seen."""
        return f"{example.name}\t"

    def picture(self, examples: Examples[FilmExample]) -> Picture | None:
        """Some films of every label at even distances, a line of frames for each."""
        films, labels = self._fitted(examples), [example.label for example in examples]
        places = shown_places([labels[number] for number in films.example_N.tolist()])[:: max(1, 48 // SHOWN)][:SHOWN]
        rows = FilmRows(films, self.longest)
        lines = [
            (labels[films.example_N[place]] or "film", _moments(rows.take(np.array([place]), None)[0]))
            for place in places
        ]
        return Picture("images", {"images": [], "augmented": lines}) if lines else None

    def thumbnail(self, example: FilmExample) -> Pixels:
        """The frame in the middle, as it is read."""
        pixels_TYXC = example.pixels_TYXC
        middle = len(pixels_TYXC) // 2
        found_YXC: Pixels = fitted_film(pixels_TYXC[middle : middle + 1], self.frame)[0]
        return found_YXC

    def part_sentence(self, examples: Examples[FilmExample], rows: FilmRows) -> tuple[str, str]:
        """How many films are read, with how many frames of which size, and which cannot be."""
        films = rows.films
        few, many = films.length_N.min(initial=1 << 40), films.length_N.max(initial=0)
        frames = f"{many:,}" if few >= many else f"{few:,} to {many:,}"
        told = f" with {frames} frames of {films.sizes.told()} pixels" if films.sizes else ""
        left_out = f"; left out: {films.told()}" if films.unread else ""
        return f"{len(films.example_N):,} films{told}", "".join([left_out, *(f"; {each}" for each in self._cut(rows))])

    def _cut(self, rows: FilmRows) -> list[str]:
        """That not all frames are read, if so."""
        count = int((rows.films.length_N > self.longest).sum())
        return [f"of {count:,} with over {self.longest:,} frames the rest is not read"] if count else []

    def remarks(self, examples: Examples[FilmExample], first: int = 0) -> list[str]:
        """That not all frames are read."""
        return self._cut(self.encode(examples))

    def blank_remarks(self, examples: Examples[FilmExample], first: int = 0) -> list[str]:
        """Which films cannot be read."""
        told = self._fitted(examples).told()
        return [told] if told else []

    def digest(self, example: FilmExample) -> bytes:
        """Of the files, or of the pixels."""
        return hashlib.blake2b(example.content(), digest_size=8).digest()

    def features(self, examples: Examples[FilmExample]) -> Sequence[NDArray[np.float32]]:
        """Thumbnails of a few frames at even distances; of a film that cannot be read zeros."""
        rows, blank = self.encode(examples), np.zeros((1, *self.frame.shape), dtype=np.uint8)
        films = dict(zip(rows.example_N.tolist(), rows.take(np.arange(len(rows.example_N)), None), strict=True))
        return [self.thumbnails(films.get(number, blank), MOMENTS).ravel() for number, _ in enumerate(examples)]

    def thumbnails(self, pixels_TYXC: Pixels, moments: int | None = None) -> NDArray[np.float32]:
        """`value_TF` of each frame, or of some at even distances, as a linear baseline sees them."""
        side = int((THUMBNAIL / self.frame.channels) ** 0.5)
        frame = self.frame._replace(rows=min(side, self.frame.rows), columns=min(side, self.frame.columns))
        some = pixels_TYXC if moments is None else _moments(pixels_TYXC, moments)
        return np.stack([resized(np.ascontiguousarray(each), frame).ravel() for each in some]).astype(np.float32)

    def sizes(self) -> dict[str, int]:
        """The channels, the rows of pixels and the columns."""
        return self.frame._asdict()

    def save(self, folder: str | Path) -> None:
        """Write the size and the scale."""
        plain = {**self.frame._asdict(), "mean": self.mean_C, "deviation": self.deviation_C, "longest": self.longest}
        save_json(Path(folder, "film.json"), plain)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote."""
        return load_json(Path(folder, "film.json"), cls._from_plain)

    @classmethod
    def _from_plain(cls, plain: Mapping[str, Any]) -> Self:
        longest = int(plain["longest"])
        if longest < 1:
            raise ValueError("expected frames to read")
        return cls(*checked_scale(plain), longest)


def _moments(pixels_TYXC: Pixels, count: int = 8) -> Sequence[Pixels]:
    """So many frames at even distances."""
    places = np.linspace(0, len(pixels_TYXC) - 1, count).round().astype(int).tolist()
    return [pixels_TYXC[place] for place in places]


def _shape(example: FilmExample) -> tuple[int, ...]:
    return example.pixels_TYXC.shape
