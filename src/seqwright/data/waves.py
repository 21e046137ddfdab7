"""Made-up time series: two sine waves of random frequencies and offsets, and a little noise (Géron 2019, chapter 15).

    0.5 sin((t - o₁)(10 f₁ + 10)) + 0.2 sin((t - o₂)(20 f₂ + 20)) + 0.1 (u - 0.5)

f and o are uniform on [0, 1) for each series, u for each point; t runs from 0 to 1 over the whole of a series. The
numbers are drawn as the book draws them, so that with the seed 42 its series come out, to the bit.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import numpy as np
from pydantic import Field

from seqwright.data.examples import PartName
from seqwright.data.generated import Generated, GeneratedSettings, TrainCount, ValidCount
from seqwright.data.series import Ending, SeriesWindow, Values, every_window


class WavesSettings(GeneratedSettings):
    """Sums of two sine waves."""

    card: Literal["waves"] = "waves"
    history: int = Field(default=50, ge=2)
    """How many steps of a series are known."""
    horizon: int = Field(default=1, ge=1)
    """How many steps after them are to be forecast."""
    examples: TrainCount = 7_000
    valid: ValidCount = 2_000
    seed: int = Field(default=42, ge=0, lt=2**32)
    """Another number gives other series."""


class Waves(Generated):
    """Waves as a `SeriesData`: each series holds one past and its future."""

    columns = ("value",)

    def __init__(self, settings: WavesSettings) -> None:
        super().__init__(settings)
        self.history, self.horizon = settings.history, settings.horizon

    def series(self, part: PartName) -> list[Values]:
        """Every series of a part, (steps, 1) each."""
        first = sum(map(self.size, self.parts()[: self.parts().index(part)])) if self.size(part) else 0
        return list(self._drawn[first : first + self.size(part)])

    def examples(self, part: PartName) -> Iterator[SeriesWindow]:
        """Every window of a part: each series is one."""
        return every_window(self, part)

    def ending(self) -> Ending:
        """The past of the first series that was not trained on: its future can be forecast."""
        return Ending(self.columns, self.series(self.parts()[-1])[0][: self.history])

    @cached_property
    def _drawn(self) -> Values:
        settings = self.settings
        count = settings.examples + settings.valid + settings.test
        return waves(count, self.history + self.horizon, np.random.RandomState(settings.seed))


def waves(count: int, steps: int, draw: np.random.RandomState) -> Values:
    """So many waves of so many steps, (count, steps, 1)."""
    frequency_1, frequency_2, offset_1, offset_2 = draw.rand(4, count, 1)
    time = np.linspace(0, 1, steps)
    series = 0.5 * np.sin((time - offset_1) * (frequency_1 * 10 + 10))
    series += 0.2 * np.sin((time - offset_2) * (frequency_2 * 20 + 20))
    series += 0.1 * (draw.rand(count, steps) - 0.5)
    values: Values = series[..., np.newaxis].astype(np.float32)
    return values
