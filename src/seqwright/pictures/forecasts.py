"""Forecasts beside what came: the past of a series, the truth, the model and the simple forecasts, a panel for each."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqwright.errors import UserError
from seqwright.pictures import INK, blank, legible, pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAST, MODEL = INK[3], "#c8590a"  # blue and orange, told apart by colour-blind readers too
LATEST, LEAST = 2, 20  # horizons of the past that are drawn, and the fewest steps of it
FEW = 3  # steps ahead that are drawn as marks, since a line would be lost
ROWS, COLUMNS = 3, 2
WIDTH = 6.6  # inches: the legend needs them even above a single panel


class Style(NamedTuple):
    """How a forecast is drawn: as a line, or as a mark so many steps beside its own, so that marks do not hide others.

    Colour, form and place each tell them apart.
    """

    label: str
    colour: str
    line: str
    width: float
    mark: str
    aside: float


STYLES = {
    "naive": Style("naive", "#8a8a8a", ":", 1.0, "s", -0.3),
    "seasonal_naive": Style("seasonal naive", "#5c7a29", "-.", 0.8, "^", -0.1),
    "least_squares": Style("least squares", "#7a4fa3", "--", 1.0, "D", 0.1),
    "forecast": Style("model", MODEL, "-", 1.5, "o", 0.3),
}


class ForecastPanel(NamedTuple):
    """A series: its past, what came of it (nothing where that is not known), and what was forecast, by whom."""

    title: str
    past: Sequence[float]
    truth: Sequence[float]
    forecasts: Mapping[str, Sequence[float]]
    times: Sequence[str] = ()  # of the steps that were forecast


def panels_of(answers: Sequence[Mapping[str, Any]], most: int = ROWS * COLUMNS) -> list[ForecastPanel]:
    """Panels from the answers of an evaluation: some windows, evenly spaced, and their columns in turn."""
    if not answers:
        raise UserError("the evaluation holds no answers, so there is nothing to draw; evaluate again")
    columns = list(dict.fromkeys(str(answer["column"]) for answer in answers))
    windows = list(dict.fromkeys(int(answer["window"]) for answer in answers))
    places = np.unique(np.linspace(0, len(windows) - 1, min(most, len(windows))).round().astype(int)).tolist()
    chosen = []
    for number, place in enumerate(places):
        column = columns[number % len(columns)]
        answer = next(each for each in answers if each["window"] == windows[place] and each["column"] == column)
        forecasts = {name: answer[name] for name in STYLES if name in answer}
        title = f"window {windows[place]:,}" if len(columns) == 1 else f"{column}, window {windows[place]:,}"
        chosen.append(ForecastPanel(title, answer["past"], answer["truth"], forecasts))
    return chosen


def forecast_picture(panels: Sequence[ForecastPanel]) -> "Figure":
    """The panels, two in a row, under one legend. Time is counted from the last known step, which is 0."""
    if not panels:
        raise UserError("there is no series to draw; give at least one panel")
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    with pen(panel.title for panel in panels):
        figure = blank(WIDTH, 0.55 + (2.2 if columns == 1 else 1.75) * rows, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw(axes, panel)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for column, axes in enumerate(grid[-1]):
            lowest = axes if axes.axison else grid[-2][column]
            lowest.set_xlabel("steps from the last known one")
        handles, labels = grid[0][0].get_legend_handles_labels()
        place: dict[str, Any] = {"loc": "outside upper center", "ncols": len(labels), "borderpad": 0}
        figure.legend(handles, labels, **place, handlelength=2.2, columnspacing=1.4)
    return figure


def _draw(axes: "Axes", panel: ForecastPanel) -> None:
    from matplotlib.ticker import MaxNLocator

    horizon = max([len(panel.truth), *map(len, panel.forecasts.values())])
    shown = min(len(panel.past), max(LEAST, LATEST * horizon))
    axes.plot(np.arange(1 - shown, 1), panel.past[-shown:], color=PAST, linewidth=1.1, label="past")
    axes.axvline(0.5, color="#cccccc", linewidth=0.6, zorder=0)
    if len(panel.truth):
        bar: dict[str, Any] = {"linestyle": "", "marker": "_", "markersize": 12, "markeredgewidth": 1.6}
        form = bar if horizon <= FEW else {"linewidth": 1.3}
        axes.plot(np.arange(1, 1 + len(panel.truth)), panel.truth, color="black", label="truth", zorder=3, **form)
    for name, style in STYLES.items():
        if name in panel.forecasts:
            _draw_forecast(axes, panel.forecasts[name], style, as_marks=horizon <= FEW)
    axes.set_title(legible(panel.title, 18 if len(panel.times) else 40), loc="left", fontsize=8)
    if len(panel.times):
        axes.set_title(f"{panel.times[0]} … {panel.times[-1]}", loc="right", fontsize=7, color="#555555")
    axes.margins(x=0.03, y=0.1)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def _draw_forecast(axes: "Axes", values: Sequence[float], style: Style, *, as_marks: bool) -> None:
    step = np.arange(1, 1 + len(values))
    if as_marks:
        filled = style.colour if style.line == "-" else "white"
        form: dict[str, Any] = {"linestyle": "", "marker": style.mark, "markersize": 4.5, "markerfacecolor": filled}
        axes.plot(step + style.aside, values, color=style.colour, label=style.label, zorder=4, **form)
    else:
        form = {"linestyle": style.line, "linewidth": style.width}
        axes.plot(step, values, color=style.colour, label=style.label, zorder=4, **form)
