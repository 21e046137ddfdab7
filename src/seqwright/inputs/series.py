"""A time series, of one channel or several, as a row of scaled values.

B batch · T time · C channels · L steps of all series joined · N rows
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from seqwright.batches import InMemory, Rows
from seqwright.data.labelled_series import SeriesExample
from seqwright.errors import DataError
from seqwright.inputs import Examples, Input, Room, Stacked
from seqwright.inputs.saved import load_json, save_json
from seqwright.inputs.scaled_series import Scale
from seqwright.settings import Settings

Values = NDArray[np.floating[Any]]
POINTS = 64  # of each channel that a linear baseline sees


class SeriesSettings(Settings):
    """How the values of a series are scaled."""

    kind: Literal["standard", "none"] = "standard"
    """standard: each channel less its mean, over its standard deviation, both of the training part; none: as it is."""


@dataclass(frozen=True)
class SeriesInput(Input[SeriesExample, Values]):
    """A scale for each channel, learnt from the training part."""

    scale: Scale
    noun: ClassVar[str] = "series"

    @classmethod
    def learn(
        cls, train: Examples[SeriesExample], settings: SeriesSettings, *, room: Room, like: Any = None
    ) -> "SeriesInput":
        """The mean and the deviation of each channel."""
        series = [example.values_TC for example in train if len(example.values_TC)]
        if not series:
            raise DataError(
                f"no series of {train.name} has a value: see whether its files have a label and then values"
            )
        channels = {values_TC.shape[1] for values_TC in series}
        if len(channels) > 1:
            few, many = min(channels), max(channels)
            raise DataError(f"series of {train.name} have from {few} to {many} channels: give as many to each")
        return cls(Scale.learnt(series, settings.kind))

    @property
    def channels(self) -> int:
        """How many values each step has."""
        return len(self.scale.mean_C)

    def encode(self, examples: Examples[SeriesExample], *, seed: int = 0) -> Rows[Values]:
        """The scaled values of each series."""
        rows, numbers = [], []
        for number, example in enumerate(examples):
            if len(example.values_TC) and example.values_TC.shape[1] != self.channels:
                raise DataError(
                    f"series {number + 1} of {examples.name} has {example.values_TC.shape[1]} channels, but the run "
                    f"reads {self.channels}: give as many"
                )
            if len(example.values_TC):
                scaled_TC = (example.values_TC - self.scale.mean_C) / self.scale.deviation_C
                rows.append(scaled_TC.astype(np.float32))
                numbers.append(number)
        return InMemory(rows, np.array(numbers, dtype=np.int64))

    def stack(self, rows: Sequence[Values]) -> Stacked:
        """`input_B`, (B, T, C), and `real_BT`: zeros stand at the padding on the right."""
        length_B = np.array([len(row) for row in rows])
        real_BT = np.arange(length_B.max()) < length_B[:, None]
        input_BTC = np.zeros((*real_BT.shape, self.channels), dtype=np.float32)
        input_BTC[real_BT] = np.concatenate(rows)
        return {"input_B": torch.from_numpy(input_BTC), "real_BT": torch.from_numpy(real_BT)}

    def parse(self, given: Any) -> SeriesExample:
        """Values, (steps,) or (steps, channels); or a text of them: `0.1, 0.5, -0.2`, a colon between channels."""
        if isinstance(given, str):
            try:
                given = np.array([channel.replace(",", " ").split() for channel in given.split(":")], dtype=float).T
            except ValueError as error:
                shown = given if len(given) <= 40 else f"{given[:39]}…"
                raise DataError(f"'{shown}' is no series: give numbers, with commas or blanks between them") from error
        values = np.asarray(given, dtype=float)
        values_TC = values[:, None] if values.ndim == 1 else values
        if values_TC.ndim != 2 or not np.isfinite(values_TC).all():
            raise DataError(f"a series is {values.shape} numbers, expected finite ones, (steps) or (steps, channels)")
        return SeriesExample(values_TC)

    def example_fields(self, example: SeriesExample) -> dict[str, Any]:
        """The values, six significant digits of each; of several channels a list for each step."""
        values = [[float(f"{value:.6g}") for value in step] for step in example.values_TC.tolist()]
        return {"series": [step[0] for step in values] if self.channels == 1 else values}

    def features(self, examples: Examples[SeriesExample]) -> list[Values]:
        """Each channel at as many even distances as there are points, whatever its length."""
        return [self._resampled(example.values_TC) for example in examples]

    def _resampled(self, values_TC: Values) -> Values:
        if not len(values_TC):
            return np.zeros(POINTS * self.channels)
        place = np.linspace(0, len(values_TC) - 1, POINTS)
        return np.concatenate([np.interp(place, np.arange(len(values_TC)), channel) for channel in values_TC.T])

    def sizes(self) -> dict[str, int]:
        """The channels."""
        return {"channels": self.channels}

    def save(self, folder: Path) -> None:
        """Write the scale."""
        plain = {"mean": self.scale.mean_C.tolist(), "deviation": self.scale.deviation_C.tolist()}
        save_json(folder / "scale.json", plain)

    @classmethod
    def load(cls, folder: Path) -> "SeriesInput":
        """Read what `save` wrote."""
        return load_json(
            folder / "scale.json",
            lambda plain: cls(Scale(np.array(plain["mean"], dtype=float), np.array(plain["deviation"], dtype=float))),
        )

    def fingerprint(self) -> str:
        """Changes with the scale."""
        return f"{self.scale.mean_C.tolist()} {self.scale.deviation_C.tolist()}"
