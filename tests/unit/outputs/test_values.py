"""Forecasts as an output: how many windows their intervals are learnt from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.data.series import SeriesWindow
from seqwright.errors import RunError
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


@pytest.mark.parametrize("horizon", [-1, 0, 3, "9" * 400])
def test_a_horizon_that_the_linear_forecast_does_not_have_is_refused(horizon: int | str, tmp_path: Path) -> None:
    forecasts(2, 5).save(tmp_path)
    assert ValuesOutput.load(tmp_path, None).horizon == 5
    path = tmp_path / "values.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"horizon": horizon}))
    with pytest.raises(RunError, match=r"values\.json cannot be read as values \(horizon is "):
        ValuesOutput.load(tmp_path, None)
