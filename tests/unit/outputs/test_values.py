"""Forecasts as an output: how many windows their intervals are learnt from."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.data.series import SeriesWindow
from seqwright.inputs import Given
from seqwright.inputs.series import Scale
from seqwright.metrics.forecasts import Intervals
from seqwright.outputs import values
from seqwright.outputs.values import ValuesOutput


def forecasts(channels: int, horizon: int) -> ValuesOutput:
    columns, zeros_C = tuple(map(str, range(channels))), np.zeros(channels)
    return ValuesOutput(columns, 3, horizon, 1, Scale(zeros_C, zeros_C + 1), zeros_C, np.zeros((channels, 4, horizon)))


@pytest.mark.parametrize(
    ("channels", "horizon", "windows"), [(1, 1, 613), (1, 2, 512), (3, 2, 170), (5, 7, 100)], ids=str
)
def test_intervals_are_learnt_from_as_many_windows_as_fit_into_memory(
    channels: int, horizon: int, windows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes: list[tuple[int, ...]] = []

    def fitted(error_MNC: Any, step: int) -> None:
        shapes.append(error_MNC.shape)

    monkeypatch.setattr(Intervals, "fitted", fitted)
    monkeypatch.setattr(values, "VALUES_LEARNT_FROM", 1024)
    output = forecasts(channels, horizon)
    window = SeriesWindow(np.zeros((3 + horizon, channels)), output.columns, 0, 3, horizon)
    output.calibrate([window.future_NC] * 613, Given([window] * 613), step=1, folder=tmp_path)
    assert shapes == [(windows, horizon, channels)]
