"""Pictures of forecasts: the right numbers at the right steps, and a panel for each series."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from seqwright.errors import UserError
from seqwright.pictures import save
from seqwright.pictures.forecasts import ForecastPanel, forecast_picture, panels_of


def panel(horizon: int, past: int = 60, **others: Any) -> ForecastPanel:
    draw = np.random.default_rng(horizon)
    names = ("forecast", "naive", "seasonal_naive", "least_squares")
    forecasts = {name: draw.normal(size=horizon).tolist() for name in names}
    return ForecastPanel(
        "price in $", draw.normal(size=past).tolist(), draw.normal(size=horizon).tolist(), forecasts, **others
    )


def lines(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in axes.lines}


def test_the_past_ends_at_step_0_and_the_truth_follows() -> None:
    drawn = panel(10)
    found = lines(forecast_picture([drawn]).axes[0])
    assert np.asarray(found["past"].get_xdata()).tolist() == list(range(-19, 1))
    assert np.asarray(found["past"].get_ydata()).tolist() == list(drawn.past[-20:])
    for label, values in (("truth", drawn.truth), ("model", drawn.forecasts["forecast"])):
        assert np.asarray(found[label].get_xdata()).tolist() == list(range(11))  # no hole between past and forecast
        assert np.asarray(found[label].get_ydata()).tolist() == [drawn.past[-1], *values]


def test_a_long_horizon_is_drawn_with_a_long_past() -> None:
    found = lines(forecast_picture([panel(24)]).axes[0])
    assert len(np.asarray(found["past"].get_xdata())) == 48


def test_few_steps_are_marks_near_their_place_that_do_not_hide_each_other() -> None:
    found = lines(forecast_picture([panel(1)]).axes[0])
    forecasts = [found[label] for label in ("naive", "seasonal naive", "least squares", "model")]
    places = [float(np.asarray(line.get_xdata())[0]) for line in forecasts]
    assert len(set(places)) == 4
    assert all(0.5 < place < 1.5 for place in places)
    assert len({line.get_marker() for line in forecasts}) == len({line.get_color() for line in forecasts}) == 4


def test_an_unknown_future_has_no_truth() -> None:
    found = lines(forecast_picture([panel(5)._replace(truth=())]).axes[0])
    assert "truth" not in found
    assert "model" in found


def labels(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_xticklabels()]


def test_known_times_stand_below_the_axis_at_the_turn_of_the_season() -> None:
    begin = datetime(2018, 12, 30, 20)
    times = [(begin + timedelta(hours=hour)).isoformat(" ") for hour in range(72)]
    figure = forecast_picture([panel(24)._replace(times=times, season=24)])
    assert labels(figure.axes[0]) == ["31 Dec\n2018", "1 Jan\n2019", "2 Jan"]
    assert figure.axes[0].get_xticks().tolist() == [-43, -19, 5]  # the last of 72 hours is step 24
    assert figure.axes[0].get_xlabel() == ""


def test_without_times_ticks_stand_at_multiples_of_the_season() -> None:
    figure = forecast_picture([panel(24)._replace(season=24)])
    assert figure.axes[0].get_xticks().tolist() == [-24, 0, 24]
    assert labels(figure.axes[0]) == ["−24", "0", "24"]


def test_two_seasons_of_the_past_are_drawn() -> None:
    found = lines(forecast_picture([panel(3)._replace(season=24)]).axes[0])
    assert len(np.asarray(found["past"].get_xdata())) == 48


def test_intervals_open_at_the_last_known_step() -> None:
    drawn = panel(5)
    low, high = [-1.0, -2, -3, -4, -5], [1.0, 2, 3, 4, 5]
    figure = forecast_picture([drawn._replace(intervals={"95": (low, high), "80": (low[:3], high[:3])})])
    narrow, wide = (np.asarray(band.get_paths()[0].vertices) for band in figure.axes[0].collections)
    assert (0.0, drawn.past[-1]) in [tuple(point) for point in wide.tolist()]
    assert wide[:, 0].max() == 5
    assert narrow[:, 0].max() == 3  # steps that nothing is known of have none
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["past", "truth", "model", "80 and 95 %", "naive", "seasonal naive", "least squares"]


def test_intervals_of_few_steps_are_bars_through_the_marks() -> None:
    figure = forecast_picture([panel(1)._replace(intervals={"80": ([-1.0], [1.0])})])
    (bars,) = figure.axes[0].collections
    assert np.asarray(bars.get_paths()[0].vertices).tolist() == [[1.3, -1.0], [1.3, 1.0]]


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_each_series_has_its_panel_and_all_share_a_legend(count: int) -> None:
    figure = forecast_picture([panel(4)] * count)
    drawn = [axes for axes in figure.axes if axes.lines]
    assert len(drawn) == count
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        *("past", "truth", "model", "naive", "seasonal naive", "least squares")
    ]
    assert all(axes.get_title(loc="left") == "price in $" for axes in drawn)
    assert sum(bool(axes.get_xlabel()) for axes in figure.axes) == min(count, 2)
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_panels_are_spread_over_windows_and_columns() -> None:
    answers = [
        {
            **{"window": window, "column": column, "past": [1.0], "truth": [window], "forecast": [0.0], "naive": [2.0]},
            "intervals": {"80": [[-1.0], [1.0]]},
        }
        for window in range(0, 500, 50)
        for column in ("a", "b")
    ]
    found = panels_of(answers, 7, most=4)
    assert {each.season for each in found} == {7}
    assert [list(bound) for bound in found[0].intervals["80"]] == [[-1.0], [1.0]]
    assert [each.title for each in found] == ["a, window 0", "b, window 150", "a, window 300", "b, window 450"]
    assert [each.truth for each in found] == [[0], [150], [300], [450]]
    assert list(found[0].forecasts) == ["naive", "forecast"]


def test_a_window_whose_times_are_known_is_drawn_over_them() -> None:
    times = [f"2024-01-{day:02}" for day in range(1, 31)]
    answer = {"window": 3, "column": "a", "past": [*range(20)], "truth": [*range(10)], "forecast": [0.0] * 10}
    (found,) = panels_of([{**answer, "times": times}])
    assert found.title == "from 2024-01-21"
    (axes, *_) = forecast_picture([found]).axes
    assert axes.get_xlabel() == ""
    assert [tick.get_text() for tick in axes.get_xticklabels()][1:] == ["8 Jan", "15 Jan", "22 Jan", "29 Jan"]


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(UserError, match="no series to draw"):
        forecast_picture([])
    with pytest.raises(UserError, match="no answers"):
        panels_of([])


def test_the_picture_is_saved_the_same_each_time(tmp_path: Path) -> None:
    written = [save(forecast_picture([panel(3)]), tmp_path / name) for name in ("one", "two")]
    for one, two in zip(*written, strict=True):
        assert one.read_bytes() == two.read_bytes()
