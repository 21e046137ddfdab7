"""Made-up waveforms: sines, squares, saws, triangles, chirps and bursts, of random frequency, phase, height and length.

    x_t = a w(f t + φ) + σ ε_t

w is the form, which is the label; a, f and φ are uniform, ε is normal. Every number of a series is drawn from (seed,
part, number), so that a series stays what it is however many there are.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from seqwright.data.examples import PartName
from seqwright.data.generated import Generated, GeneratedSettings, TestCount, ValidCount
from seqwright.data.labelled_series import SeriesExample
from seqwright.errors import DataError

Turns = NDArray[np.float64]

PARTS: tuple[PartName, ...] = ("train", "valid", "test")


def _sine(turn_T: Turns) -> Turns:
    wave_T: Turns = np.sin(2 * np.pi * turn_T)
    return wave_T


def _chirp(turn_T: Turns) -> Turns:
    """A sine whose frequency rises to three times what it was."""
    rise_T = 1 + 2 * np.linspace(0, 1, len(turn_T))
    return _sine(np.cumsum(rise_T * np.gradient(turn_T)) + turn_T[0])


def _burst(turn_T: Turns) -> Turns:
    """A sine that swells and fades once."""
    middle = 0.3 + 0.4 * (turn_T[0] % 1)
    place_T = np.linspace(0, 1, len(turn_T))
    swell_T: Turns = np.exp(-(((place_T - middle) / 0.1) ** 2))
    return _sine(2 * turn_T) * swell_T


FORMS: dict[str, Callable[[Turns], Turns]] = {
    "burst": _burst,
    "chirp": _chirp,
    "saw": lambda turn_T: 2 * (turn_T % 1) - 1,
    "sine": _sine,
    "square": lambda turn_T: np.where(turn_T % 1 < 0.5, 1.0, -1.0),
    "triangle": lambda turn_T: 4 * np.abs(turn_T % 1 - 0.5) - 1,
}


class WaveformsSettings(GeneratedSettings):
    """Waveforms of random frequency, phase, height and length."""

    card: Literal["waveforms"] = "waveforms"
    examples: int = Field(default=3_000, ge=len(FORMS))
    """How many training examples there are."""
    valid: ValidCount = 600
    test: TestCount = 600
    shortest: int = Field(default=60, ge=16)
    """Least steps of a series."""
    longest: int = Field(default=100, ge=16)
    """Most steps of a series."""
    noise: float = Field(default=0.1, ge=0, allow_inf_nan=False)
    """Standard deviation of the noise; the waves are between 0.7 and 1.3 high."""
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Another number gives other series."""


class Waveforms(Generated):
    """Waveforms as labelled series."""

    def __init__(self, settings: WaveformsSettings) -> None:
        if settings.shortest > settings.longest:
            raise DataError(
                f"data.shortest = {settings.shortest} is more than data.longest = {settings.longest}; lower it"
            )
        super().__init__(settings)

    def examples(self, part: PartName) -> Iterator[SeriesExample]:
        """Every series of a part; the forms take turns."""
        return (self._drawn(part, number) for number in range(self.size(part)))

    def _drawn(self, part: PartName, number: int) -> SeriesExample:
        settings = self.settings
        rng = np.random.default_rng((settings.seed, PARTS.index(part), number))
        label = list(FORMS)[number % len(FORMS)]
        steps = int(rng.integers(settings.shortest, settings.longest + 1))
        frequency, phase, height = rng.uniform(0.04, 0.08), rng.uniform(), rng.uniform(0.7, 1.3)
        wave_T = height * FORMS[label](frequency * np.arange(steps, dtype=np.float64) + phase)
        return SeriesExample((wave_T + settings.noise * rng.standard_normal(steps))[:, None], label)
