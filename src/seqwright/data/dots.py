"""Made-up films of a dot that moves under noise: how it moves, and where it is in each frame.

Straight to one of four sides, or around a middle, one way or the other. In some frames inside of a film it is hidden:
what is there has to be told from the frames around. A film is drawn from (seed, part, number).

T frames · Y rows of pixels · X columns
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from seqwright.data.decoded_images import Pixels
from seqwright.data.examples import PartName
from seqwright.data.films import FilmExample
from seqwright.data.generated import Generated, GeneratedSettings, TestCount, ValidCount

Values = NDArray[np.float64]

PARTS: tuple[PartName, ...] = ("train", "valid", "test")
STRAIGHT = {"down": (0, 1), "left": (-1, 0), "right": (1, 0), "up": (0, -1)}  # along x and y
TURNS = {"clockwise": 1, "counterclockwise": -1}  # as one sees it: y points down
MOTIONS = (*TURNS, *STRAIGHT)
BRIGHT, DARK = 200, 25  # shades of the dot and of the background
EDGE = 0.5  # pixels between the path and the middle of the outermost pixels
SPREAD = 0.75  # standard deviation of the dot, in pixels


class Motion(NamedTuple):
    """How a dot moves, where it is in each frame, the frames in which it is hidden, and the grain of the noise."""

    label: str
    place_T2: Values  # x and y
    hidden: range
    grain: int


class DotsSettings(GeneratedSettings):
    """Films of a moving dot."""

    card: Literal["dots"] = "dots"
    examples: int = Field(default=4_000, ge=1)
    """How many training films there are."""
    valid: ValidCount = 500
    test: TestCount = 1_000
    size: int = Field(default=8, ge=6, le=64)
    """Rows and columns of a frame."""
    frames: int = Field(default=12, ge=6, le=200)
    """Frames of the longest films; the shortest have two thirds of them."""
    hidden: int = Field(default=2, ge=0)
    """Frames, one after another, in which the dot is not seen."""
    noise: float = Field(default=10.0, ge=0, le=255)
    """Standard deviation of the noise, in shades of 255."""
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Another number gives other films."""

    @model_validator(mode="after")
    def _most_is_seen(self) -> "DotsSettings":
        if 2 * self.hidden > 2 * self.frames // 3:
            raise ValueError(f"hidden = {self.hidden} is more than half of the shortest films; lower it")
        return self


class Dots(Generated):
    """Films of a moving dot, with the name of its motion and its place in each frame."""

    def examples(self, part: PartName) -> Iterator[FilmExample]:
        """Every film of a part."""
        return (self._example(part, number) for number in range(self.size(part)))

    def motion(self, part: PartName, number: int) -> Motion:
        """All that is true of a film."""
        return drawn_motion(self.settings, PARTS.index(part), number)

    def _example(self, part: PartName, number: int) -> FilmExample:
        motion = self.motion(part, number)
        places = tuple((float(x), float(y)) for x, y in motion.place_T2)
        return FilmExample(film_of_motion(motion, self.settings), motion.label, places, f"dots {number + 1}")


def drawn_motion(settings: DotsSettings, part: int, number: int) -> Motion:
    """The motion of a number."""
    rng = np.random.default_rng((settings.seed, part, number))
    label = str(rng.choice(MOTIONS))
    frames = int(rng.integers(2 * settings.frames // 3, settings.frames + 1))
    drawn = _around if label in TURNS else _along
    place_T2 = drawn(rng, label, np.linspace(0, 1, frames), settings.size - 1 - 2 * EDGE) + EDGE
    first = int(rng.integers(1, max(2, frames - settings.hidden)))
    return Motion(label, place_T2, range(first, min(frames - 1, first + settings.hidden)), int(rng.integers(2**32)))


def _along(rng: np.random.Generator, label: str, time_T: Values, room: float) -> Values:
    """A straight line over half of the room or more."""
    x, y = STRAIGHT[label]
    long = rng.uniform(0.5, 1) * room
    begin, beside = rng.uniform(0, room - long), rng.uniform(0, room)
    along_T = begin + long * (time_T if x + y > 0 else 1 - time_T)
    beside_T = np.full_like(along_T, beside)
    return np.stack([along_T, beside_T] if x else [beside_T, along_T], axis=1)


def _around(rng: np.random.Generator, label: str, time_T: Values, room: float) -> Values:
    """Half of a circle or more."""
    radius = rng.uniform(0.3, 0.5) * room
    middle_2 = rng.uniform(radius, room - radius, size=2)
    turn_T = rng.uniform(0, 2 * np.pi) + TURNS[label] * rng.uniform(np.pi, 2 * np.pi) * time_T
    circle_T2: Values = middle_2 + radius * np.stack([np.cos(turn_T), np.sin(turn_T)], axis=1)
    return circle_T2


def film_of_motion(motion: Motion, settings: DotsSettings) -> Pixels:
    """`pixels_TYXC`: the dot, where it is not hidden, with normal noise over everything."""
    axis = np.arange(settings.size)
    x_T1, y_T1 = motion.place_T2[:, :1], motion.place_T2[:, 1:]
    near_TYX = np.exp(-((axis - y_T1) ** 2)[:, :, None] / (2 * SPREAD**2))
    near_TYX = near_TYX * np.exp(-((axis - x_T1) ** 2)[:, None, :] / (2 * SPREAD**2))
    near_TYX[list(motion.hidden)] = 0
    noise_TYX = settings.noise * np.random.default_rng(motion.grain).standard_normal(near_TYX.shape)
    shades_TYX = DARK + (BRIGHT - DARK) * near_TYX + noise_TYX
    return shades_TYX.round().clip(0, 255).astype(np.uint8)[..., None]
