"""A time series, or a window of one, of one channel or several, as a row of scaled values.

B batch · T time · C channels · L steps of all series joined · N rows
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray

from seqwright.batches import Numbers, Rows
from seqwright.data.labelled_series import SeriesExample
from seqwright.data.series import SeriesWindow
from seqwright.errors import DataError
from seqwright.inputs import Examples, Input, Room, Stacked
from seqwright.inputs.saved import load_json, save_json
from seqwright.setting_classes import Settings

Values = NDArray[np.floating[Any]]
POINTS = 64  # of each channel that a linear baseline sees


class SeriesSettings(Settings):
    """How the values of a series are scaled."""

    scaling: Literal["standard", "none"] = "standard"
    """standard: each channel less its mean, over its standard deviation, both of the training part; none: as it is."""


class Scale(NamedTuple):
    """What is taken from a channel, and what it is then divided by; or what would be, if it were not left as it is."""

    mean_C: Values
    deviation_C: Values
    applied: bool = True

    @classmethod
    def learnt(cls, series: Sequence[Values], kind: str) -> Self:
        """The scale of some series, all of their steps alike; a channel that never changes is only shifted."""
        every_LC = np.concatenate(series).astype(np.float64)
        deviation_C = every_LC.std(0)
        return cls(every_LC.mean(0), np.where(deviation_C > 0, deviation_C, 1.0), kind == "standard")

    def scaled(self, values: Values) -> Values:
        """As a model sees it; the last axis is the channel."""
        scaled = (values - self.mean_C) / self.deviation_C if self.applied else values
        return scaled.astype(np.float32)

    def original(self, scaled: Values) -> Values:
        """As the user knows it."""
        return scaled * self.deviation_C + self.mean_C if self.applied else scaled.astype(np.float64)

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"mean": self.mean_C.tolist(), "deviation": self.deviation_C.tolist(), "applied": self.applied}

    @classmethod
    def from_plain(cls, plain: Any) -> Self:
        """What `plain` gave."""
        mean_C, deviation_C = (np.array(plain[name], dtype=np.float64) for name in ("mean", "deviation"))
        if mean_C.ndim != 1 or not len(mean_C) or mean_C.shape != deviation_C.shape:
            raise ValueError("expected a mean and a deviation of each channel")
        return cls(mean_C, deviation_C, bool(plain["applied"]))


class ScaledRows(Rows[Values]):
    """Stretches of scaled series, which stand one after another in `value_LC`: windows share what both of them have."""

    length_N: Numbers

    def __init__(self, value_LC: Values, begin_N: Numbers, length_N: Numbers, example_N: Numbers) -> None:
        self.value_LC, self.begin_N, self.length_N, self.example_N = value_LC, begin_N, length_N, example_N

    def take(self, numbers: Numbers, epoch: int | None) -> Any:
        """Some rows, the same in every epoch; as one array, (B, T, C), where all are as long."""
        begin_B, length_B = self.begin_N[numbers], self.length_N[numbers]
        if len(length_B) and (length_B == length_B[0]).all():
            return self.value_LC[begin_B[:, None] + np.arange(length_B[0])]
        both = zip(begin_B.tolist(), length_B.tolist(), strict=True)
        return [self.value_LC[begin : begin + length] for begin, length in both]

    def following(self, steps: int) -> "ScaledRows":
        """So many steps after each."""
        length_N = np.full_like(self.length_N, steps)
        return ScaledRows(self.value_LC, self.begin_N + self.length_N, length_N, self.example_N)

    def extended(self, steps: int) -> "ScaledRows":
        """Each with so many steps after it."""
        return ScaledRows(self.value_LC, self.begin_N, self.length_N + steps, self.example_N)


HasSeries = SeriesExample | SeriesWindow
"""A series, or a window of one: its `values_TC` are what is read, from the step `first` of `series_TC` on."""


def every_series(examples: Examples[HasSeries]) -> list[Values]:
    """Each series of some examples once, though they be windows of it."""
    found = {id(example.series_TC): example.series_TC for example in examples}
    return [series_TC for series_TC in found.values() if len(series_TC)]


@dataclass(frozen=True)
class SeriesInput(Input[HasSeries, Values]):
    """What each channel is called and its scale, learnt from the training part."""

    scale: Scale
    columns: tuple[str, ...] = ()
    reach: float | None = None  # of the training part as it is read, where the model can say nothing beyond 1
    settings: ClassVar[type[Settings]] = SeriesSettings

    @classmethod
    def learn(cls, train: Examples[HasSeries], settings: SeriesSettings, *, room: Room, like: Any = None) -> Self:
        """The mean and the deviation of each channel."""
        series = every_series(train)
        if not series:
            raise DataError(
                f"no series of {train.name} has a value: see whether its files have a label and then values"
            )
        channels = {series_TC.shape[1] for series_TC in series}
        if len(channels) > 1:
            few, many = min(channels), max(channels)
            raise DataError(f"series of {train.name} have from {few} to {many} channels: give as many to each")
        scale = Scale.learnt(series, settings.scaling)
        reach = max(float(np.abs(scale.scaled(series_TC)).max()) for series_TC in series) if room.bounded else None
        return cls(scale, next(iter(train)).columns, reach)

    @property
    def channels(self) -> int:
        """How many values each step has."""
        return len(self.scale.mean_C)

    def encode(self, examples: Examples[HasSeries], *, seed: int = 0) -> ScaledRows:
        """The scaled values of each series."""
        series, begins, rows, steps = list[Values](), dict[int, int](), [], 0
        for number, example in enumerate(examples):
            values_TC, series_TC = example.values_TC, example.series_TC
            if not len(values_TC):
                continue
            if values_TC.shape[1] != self.channels:
                raise DataError(
                    f"series {number + 1} of {examples.name} has {values_TC.shape[1]} channels"
                    f"{_listed(example.columns)}, but the run reads {self.channels}{_listed(self.columns)}: give as "
                    "many"
                )
            if id(series_TC) not in begins:
                begins[id(series_TC)] = steps
                series.append(series_TC)  # while it is kept here, no other has its id
                steps += len(series_TC)
            rows.append((begins[id(series_TC)] + example.first, len(values_TC), number))
        every_LC = np.concatenate([*series, np.zeros((0, self.channels))])
        return ScaledRows(self.scale.scaled(every_LC), *np.array(rows, dtype=np.int64).reshape(-1, 3).T)

    def stack(self, rows: Sequence[Values]) -> Stacked:
        """`input_B`, (B, T, C), and `real_BT`: zeros stand at the padding on the right."""
        length_B = np.array([len(row) for row in rows])
        real_BT = np.arange(length_B.max()) < length_B[:, None]
        if real_BT.all():
            return {"input_B": torch.from_numpy(np.stack(rows)), "real_BT": torch.from_numpy(real_BT)}
        input_BTC = np.zeros((*real_BT.shape, self.channels), dtype=np.float32)
        input_BTC[real_BT] = np.concatenate(rows)
        return {"input_B": torch.from_numpy(input_BTC), "real_BT": torch.from_numpy(real_BT)}

    def parse(self, given: Any) -> SeriesExample:
        """Values, (steps,) or (steps, channels); or a text of them: `0.1, 0.5, -0.2`, a colon between channels."""
        try:
            values = np.asarray(_steps(given) if isinstance(given, str) else given, dtype=float)
        except (TypeError, ValueError) as error:
            shown = str(given) if len(str(given)) <= 40 else f"{str(given)[:39]}…"
            raise DataError(
                f"'{shown}' is no series: give numbers, with commas or blanks between them, a colon between channels, "
                "and as many in each channel"
            ) from error
        if values.ndim not in {1, 2}:
            raise DataError(f"values of the shape {values.shape} are no series: give (steps) or (steps, channels)")
        if not np.isfinite(values).all():
            raise DataError("a series has a missing or infinite value: fill it or leave it out")
        values_TC = values[:, None] if values.ndim == 1 else values
        return SeriesExample(values_TC)

    def example_fields(self, example: HasSeries) -> dict[str, Any]:
        """The values, six significant digits of each; of several channels a list for each step."""
        return {"series": plain_values(example.values_TC)}

    def digest(self, example: HasSeries) -> bytes:
        """Of the values themselves."""
        return hashlib.blake2b(example.values_TC.tobytes(), digest_size=8).digest()

    def part_sentence(self, examples: Examples[HasSeries], rows: Any) -> tuple[str, str]:
        """How many series are read, or windows of how many, and for what their columns are taken."""
        (_, left_out), read, series = super().part_sentence(examples, rows), len(rows.example_N), every_series(examples)
        told = f"{read:,} series" if len(series) == read else f"{read:,} windows of {len(series):,} series"
        return f"{told}{_listed(self.columns)}", "".join([left_out, *(f"; {each}" for each in self.remarks(examples))])

    def warnings(self) -> list[str]:
        """That a model cannot say what it should: its outputs lie between -1 and 1."""
        if self.reach is None or self.reach < 1:
            return []
        return [
            f"model.output_layer is 'recurrent', which says nothing beyond -1 and 1, but the training part reaches "
            f"{self.reach:.3g} as the model sees it: set model.output_layer=dense, or input.scaling=none where the "
            "values are within"
        ]

    def part_remarks(self, examples: Examples[HasSeries]) -> list[str]:
        """Columns that never change, and those that have wandered off since the training part."""
        series, remarks = every_series(examples), []
        if not series:
            return []
        every_LC = np.concatenate(series)
        columns = self.columns or [f"channel {number + 1}" for number in range(self.channels)]
        for column, values_L, before, deviation in zip(columns, every_LC.T, *self.scale[:2], strict=True):
            mean = values_L.mean()
            if np.ptp(values_L) == 0:
                remarks.append(f"'{column}' never changes in {examples.name}: there is nothing to learn of it")
            if abs(mean - before) > 2 * deviation:
                remarks.append(
                    f"'{column}' lies elsewhere in {examples.name} (mean {mean:.4g}) than in training (mean "
                    f"{before:.4g}): expect worse predictions"
                )
        return remarks

    def remarks(self, examples: Examples[HasSeries], first: int = 0) -> list[str]:
        """That columns are called otherwise than in training."""
        others = {example.columns for example in examples if example.columns} - {self.columns}
        return [
            f"the columns {', '.join(other)} are taken for {', '.join(self.columns)}"
            for other in others
            if self.columns
        ]

    def features(self, examples: Examples[HasSeries]) -> list[Values]:
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

    def save(self, folder: str | Path) -> None:
        """Write the columns and the scale."""
        save_json(Path(folder, "scaling.json"), {"columns": self.columns, **self.scale.plain()})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote."""
        return load_json(
            Path(folder, "scaling.json"), lambda plain: cls(Scale.from_plain(plain), tuple(plain["columns"]))
        )


def plain_values(values_TC: Values) -> list[Any]:
    """Six significant digits of each value; of several channels a list for each step."""
    values = [[float(f"{value:.6g}") for value in step] for step in values_TC.tolist()]
    return [step[0] for step in values] if values_TC.shape[1] == 1 else values


def _steps(text: str) -> list[tuple[str, ...]]:
    return list(zip(*(channel.replace(",", " ").split() for channel in text.split(":")), strict=True))


def _listed(columns: Sequence[str]) -> str:
    return f" ({', '.join(columns)})" if columns else ""
