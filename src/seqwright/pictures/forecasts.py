"""Forecasts beside what came: the past of a series, the truth, the model and the simple forecasts, a panel for each."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqwright.errors import UserError
from seqwright.pictures import INK, blank, legible, pen
from seqwright.pictures.time_axis import ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAST, MODEL = INK[3], "#c8590a"  # blue and orange, told apart by colour-blind readers too
LATEST, LEAST = 2, 20  # horizons or seasons of the past that are drawn, and the fewest steps of it
TICKS = 6  # at most, along the time of a panel that has a row for itself; half of them where two share it
BANDS = (0.3, 0.14)  # how dense the intervals are, the narrowest first
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


LEGEND = ("past", "truth", *sorted((style.label for style in STYLES.values()), key=lambda label: label != "model"))


class ForecastPanel(NamedTuple):
    """A series: its past, what came of it (nothing where that is not known), and what was forecast, by whom.

    `times` says when: the last of them is the last step that was forecast, as many before it as are known. `intervals`
    has the lower and the upper bounds of each level, around the model's forecast, for its first steps.
    """

    title: str
    past: Sequence[float]
    truth: Sequence[float]
    forecasts: Mapping[str, Sequence[float]]
    times: Sequence[str] = ()
    season: int = 1
    intervals: Mapping[str, tuple[Sequence[float], Sequence[float]]] = {}

    @property
    def horizon(self) -> int:
        """How many steps ahead it goes."""
        return max([len(self.truth), *map(len, self.forecasts.values())])

    @property
    def shown(self) -> int:
        """How many steps of the past are drawn."""
        return min(len(self.past), steps_drawn(self.horizon, self.season))


def steps_drawn(horizon: int, season: int = 1) -> int:
    """How many steps of a long past are drawn before so many that are forecast."""
    return max(LEAST, LATEST * horizon, LATEST * season)


def panels_of(answers: Sequence[Mapping[str, Any]], season: int = 1, most: int = ROWS * COLUMNS) -> list[ForecastPanel]:
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
        times, past, truth = answer.get("times", ()), answer["past"], answer["truth"]
        title = f"from {times[len(past)]}" if times else f"window {windows[place]:,}"
        title = title if len(columns) == 1 else f"{column}, {title}"
        intervals = answer.get("intervals", {})
        chosen.append(ForecastPanel(title, past, truth, forecasts, times, season, intervals))
    return chosen


def forecast_picture(panels: Sequence[ForecastPanel]) -> "Figure":
    """The panels, two in a row, under one legend. Without times, steps are counted from the last known one."""
    if not panels:
        raise UserError("there is no series to draw; give at least one panel")
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    with pen(panel.title for panel in panels):
        figure = blank(WIDTH, 0.75 + (2.2 if columns == 1 else 1.75) * rows, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw(axes, panel, most=TICKS // columns)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for column, axes in enumerate(grid[-1]):
            lowest = axes if axes.axison else grid[-2][column]
            lowest.set_xlabel("" if panels[0].times else "steps from the last known one")
        handles = dict(zip(*reversed(grid[0][0].get_legend_handles_labels()), strict=True))
        levels = [label for label in handles if label not in LEGEND]
        labels = [label for label in (*LEGEND[:3], *levels, *LEGEND[3:]) if label in handles]
        per_row = len(labels) if len(labels) <= 6 else math.ceil(len(labels) / 2)
        place: dict[str, Any] = {"loc": "outside upper center", "ncols": per_row, "borderpad": 0}
        figure.legend([handles[label] for label in labels], labels, **place, handlelength=2.2, columnspacing=1.4)
    return figure


def _draw(axes: "Axes", panel: ForecastPanel, *, most: int) -> None:
    horizon, shown, last = panel.horizon, panel.shown, list(panel.past[-1:])
    as_marks = horizon <= FEW
    axes.plot(np.arange(1 - shown, 1), panel.past[-shown:], color=PAST, linewidth=1.1, label="past")
    axes.axvline(0, color="#cccccc", linewidth=0.6, zorder=0)
    _draw_intervals(axes, panel, as_marks=as_marks)
    if len(panel.truth):
        bar: dict[str, Any] = {"linestyle": "", "marker": "_", "markersize": 12, "markeredgewidth": 1.6}
        if as_marks:
            axes.plot(np.arange(1, 1 + horizon), panel.truth, color="black", label="truth", zorder=3, **bar)
        else:
            _draw_on(axes, last, panel.truth, color="black", label="truth", zorder=3, linewidth=1.3)
    for name, style in STYLES.items():
        if name in panel.forecasts:
            _draw_forecast(axes, last, panel.forecasts[name], style, as_marks=as_marks)
    axes.set_title(legible(panel.title, 40), loc="left", fontsize=8)
    axes.margins(x=0.03, y=0.1)
    steps = range(1 - shown, 1 + horizon)
    known = dict(zip(reversed(steps), reversed(panel.times), strict=False))
    placed = ticks(steps, panel.season, known, most=most)
    axes.set_xticks([step for step, _ in placed], [label for _, label in placed])


def _draw_on(axes: "Axes", last: Sequence[float], values: Sequence[float], **form: Any) -> None:
    """A line that begins where the past ends."""
    axes.plot(np.arange(1 - len(last), 1 + len(values)), [*last, *values], **form)


def _draw_forecast(
    axes: "Axes", last: Sequence[float], values: Sequence[float], style: Style, *, as_marks: bool
) -> None:
    if as_marks:
        filled = style.colour if style.line == "-" else "white"
        form: dict[str, Any] = {"linestyle": "", "marker": style.mark, "markersize": 4.5, "markerfacecolor": filled}
        step = np.arange(1, 1 + len(values)) + style.aside
        axes.plot(step, values, color=style.colour, label=style.label, zorder=4, **form)
    else:
        form = {"linestyle": style.line, "linewidth": style.width}
        _draw_on(axes, last, values, color=style.colour, label=style.label, zorder=4, **form)


def _draw_intervals(axes: "Axes", panel: ForecastPanel, *, as_marks: bool) -> None:
    """Bands around the model's forecast that open at the last known step; of few steps, bars through its marks."""
    bands = sorted(panel.intervals.items(), key=lambda item: float(item[0]))
    label: str | None = f"{' and '.join(level for level, _ in bands)} %"
    for (_, (low, high)), dense in zip(bands, BANDS, strict=False):
        form: dict[str, Any] = {"color": MODEL, "alpha": dense, "label": label, "zorder": 2}
        label = None  # one for all
        step = np.arange(1, 1 + len(low))
        if as_marks:
            axes.vlines(step + STYLES["forecast"].aside, low, high, linewidth=5, **form)
        else:
            start = list(panel.past[-1:])
            axes.fill_between([0, *step][1 - len(start) :], [*start, *low], [*start, *high], linewidth=0, **form)
