"""What turns a time series into what a model sees, and back: a scale for each channel, learnt from the training part.

With it travels what else is known of the training part and is needed to judge a forecast: the season, the error of the
naive forecast, and the linear forecast.

N horizon · C channels · T time
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from safetensors import SafetensorError
from safetensors.numpy import load, save

from seqwright.errors import RunError
from seqwright.settings import Settings

Values = NDArray[np.floating[Any]]
WEIGHTS = "weights_CTN"


class ScaledSeriesSettings(Settings):
    """How the values of a series are scaled, and its season."""

    kind: Literal["standard", "none"] = "standard"
    """standard: each channel less its mean, over its standard deviation, both of the training part; none: as it is."""
    season: int | None = Field(default=None, ge=1)
    """Steps after which the series repeats itself, for the seasonal naive forecast that the model is compared with; 24
    for the hours of a day. Left out: where the autocorrelation of the training part is highest, up to data.history."""


class Scale(NamedTuple):
    """What is taken from a channel, and what it is then divided by."""

    mean_C: Values
    deviation_C: Values

    @classmethod
    def learnt(cls, series: Sequence[Values], kind: str) -> "Scale":
        """The scale of some series, all of their steps alike; a channel that never changes is only shifted."""
        every_LC = np.concatenate(series).astype(np.float64)
        if kind == "none":
            return cls(np.zeros(every_LC.shape[1]), np.ones(every_LC.shape[1]))
        deviation_C = every_LC.std(0)
        return cls(every_LC.mean(0), np.where(deviation_C > 0, deviation_C, 1.0))


class ScaledSeries(NamedTuple):
    """The channels of a run, its windows, its scale, and what is known of the training part."""

    columns: tuple[str, ...]
    history: int
    horizon: int
    scale: Scale
    season: int
    naive_error_C: Values
    least_squares_CTN: Values

    def scaled(self, values: Values) -> Values:
        """As the model sees it; the last axis is the channel."""
        scaled: Values = ((values - self.scale.mean_C) / self.scale.deviation_C).astype(np.float32)
        return scaled

    def original(self, scaled: Values) -> Values:
        """As the user knows it."""
        values: Values = scaled * self.scale.deviation_C + self.scale.mean_C
        return values

    def sizes(self) -> dict[str, int]:
        """What a model over these series is built with."""
        return {"channels": len(self.columns), "horizon": self.horizon, "history": self.history}

    def save(self, folder: Path) -> None:
        """Write `series.json`, and the linear forecast as `least_squares.safetensors`."""
        folder.mkdir(parents=True, exist_ok=True)
        known = {
            "columns": self.columns,
            "history": self.history,
            "horizon": self.horizon,
            "mean": self.scale.mean_C.tolist(),
            "deviation": self.scale.deviation_C.tolist(),
            "season": self.season,
            "naive_error": self.naive_error_C.tolist(),
        }
        text = json.dumps(known, indent=1, ensure_ascii=False)
        (folder / "series.json").write_text(text + "\n", encoding="utf-8")
        weights = {WEIGHTS: np.ascontiguousarray(self.least_squares_CTN)}
        (folder / "least_squares.safetensors").write_bytes(save(weights))

    @classmethod
    def load(cls, folder: Path) -> "ScaledSeries":
        """Read what `save` wrote."""
        try:
            known = json.loads((folder / "series.json").read_text(encoding="utf-8"))
            weights = load((folder / "least_squares.safetensors").read_bytes())[WEIGHTS]
            return cls(
                columns=tuple(known["columns"]),
                history=known["history"],
                horizon=known["horizon"],
                scale=Scale(np.array(known["mean"]), np.array(known["deviation"])),
                season=known["season"],
                naive_error_C=np.array(known["naive_error"]),
                least_squares_CTN=weights,
            )
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise RunError(
                f"the scale of the series in {folder} is missing or damaged ({error}): copy the run folder again or "
                "train anew"
            ) from error
