"""The courses of several trainings in one drawing."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from seqwright.errors import UserError
from seqwright.pictures import blank, legible, pen
from seqwright.pictures.curves import JournalSeries, series, smoothed
from seqwright.pictures.layout import widest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito 2008: told apart by colour-blind readers too; a second round of them is dashed.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES = ("-", "--", ":")
FEW = 20  # points, up to which each is marked
MINUTES = 120.0  # seconds, from which time is told in minutes

Course = Sequence[Mapping[str, Any]]
"""The journal of a training, each line with the second of training at which it was written, `at`."""


class JournalPanel(NamedTuple):
    """What is drawn beside what: a key of the journal's lines of one event."""

    event: str
    key: str
    title: str


def training_courses(courses: Mapping[str, Course], panels: Sequence[JournalPanel]) -> "Figure":
    """How each training went over its time, a panel for each quantity that any journal has."""
    found = {panel: {name: _series(course, panel) for name, course in courses.items()} for panel in panels}
    drawn = {panel: rows for panel, rows in found.items() if any(row.steps.size for row in rows.values())}
    if not drawn:
        raise UserError("no training has left a journal with its pace, so there is nothing to draw")
    longest = max(line["at"] for course in courses.values() for line in course)
    unit, name = (60.0, "minutes") if longest >= MINUTES else (1.0, "seconds")
    with pen([*courses, *(panel.title for panel in drawn)]):
        width = 3.7 * len(drawn) + 0.3
        beside = max(1, int(width // (widest([legible(name, 40) for name in courses], 8) + 0.65)))
        figure = blank(width, 2.7 + 0.2 * math.ceil(len(courses) / beside), layout="constrained")
        axes = figure.subplots(1, len(drawn), squeeze=False)[0]
        for one, (panel, rows) in zip(axes, drawn.items(), strict=True):
            _draw(one, rows, unit)
            one.set_title(panel.title, loc="left")
            one.set_xlabel(f"{name} of training")
            one.set_xlim(0, 1.02 * longest / unit)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=beside, handlelength=2.2)
    return figure


def _series(course: Course, panel: JournalPanel) -> JournalSeries:
    return series([{**line, "step": line["at"]} for line in course if line["event"] == panel.event], panel.key)


def _draw(axes: "Axes", rows: Mapping[str, JournalSeries], unit: float) -> None:
    """A line for each row, of its own colour or style; many points are smoothed."""
    for number, (name, found) in enumerate(rows.items()):
        colour, style = COLOURS[number % len(COLOURS)], STYLES[number // len(COLOURS) % len(STYLES)]
        mark = "o" if len(found.steps) <= FEW else ""
        look: dict[str, Any] = {"color": colour, "marker": mark, "markersize": 3, "linewidth": 1.2}
        axes.plot(found.steps / unit, smoothed(found.values), style, **look, label=legible(name, 40))
    axes.grid(axis="y", linewidth=0.4, alpha=0.4)
