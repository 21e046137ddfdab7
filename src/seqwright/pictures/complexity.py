"""What a layer costs against its size, on scales where a power is a straight line: measured, and as theory has it."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from seqwright.errors import UserError
from seqwright.pictures import blank, pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart by colour-blind readers too (Okabe and Ito 2008); the marks tell them apart in grey print.
COLOURS = ("#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7")
DASHES = (0, (4, 3))
NEAR = 0.05  # of the height of a panel: numbers that stand closer would touch
MARKS = ("o", "s", "^", "v", "D", "P")


class Curve(NamedTuple):
    """One layer's measured values at each size, and what theory has there: only its slope counts."""

    name: str
    sizes: Sequence[int]
    values: Sequence[float]
    theory: Sequence[float]
    slope: float  # as fitted


class CostPanel(NamedTuple):
    """One quantity against one size."""

    quantity: str
    size: str
    curves: Sequence[Curve]


def complexity_picture(panels: Sequence[CostPanel]) -> "Figure":
    """A panel for each quantity and size, two in a row, with the fitted exponent at the end of each line.

    Dashed lines are theory, drawn through the largest size.
    """
    if not panels:
        raise UserError("there is nothing measured to draw; give at least two sizes")
    names = list(dict.fromkeys(curve.name for panel in panels for curve in panel.curves))
    with pen(names):
        columns = min(2, len(panels))
        rows = -(-len(panels) // columns)
        figure = blank(4.4 * columns, 0.9 + 2.9 * rows, layout="constrained")
        # Between two panels stand the exponents of one and the name of the other's axis.
        engine: Any = figure.get_layout_engine()
        engine.set(w_pad=0.08, wspace=0.05)
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=True):
            for curve in panel.curves:
                _draw(axes, curve, names.index(curve.name))
            _scale(axes, panel)
            _write_slopes(axes, panel.curves, names)
        _write_legend(figure, names)
    return figure


def _draw(axes: "Axes", curve: Curve, number: int) -> None:
    colour = COLOURS[number % len(COLOURS)]
    style: dict[str, Any] = {"color": colour, "marker": MARKS[number % len(MARKS)], "markersize": 4, "linewidth": 1.4}
    axes.plot(curve.sizes, curve.values, **style)
    scale = curve.values[-1] / curve.theory[-1]
    axes.plot(curve.sizes, [scale * value for value in curve.theory], color=colour, linewidth=0.8, linestyle=DASHES)


def _write_slopes(axes: "Axes", curves: Sequence[Curve], names: Sequence[str]) -> None:
    """The exponent at the end of each line, pushed up where two would touch."""
    low, high = (math.log(limit) for limit in axes.get_ylim())
    below = -math.inf
    for curve in sorted(curves, key=lambda curve: curve.values[-1]):
        place = (math.log(curve.values[-1]) - low) / (high - low)
        below = max(place, below + NEAR)
        axes.annotate(
            f"{curve.slope:.2f}",
            (1.01, below),
            xycoords="axes fraction",
            va="center",
            color=COLOURS[names.index(curve.name) % len(COLOURS)],
            fontsize=7,
            annotation_clip=False,
        )


def _scale(axes: "Axes", panel: CostPanel) -> None:
    """Logarithmic both ways, every size named."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted({size for curve in panel.curves for size in curve.sizes})
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set(xlabel=panel.size, ylabel=panel.quantity)
    values = [value for curve in panel.curves for value in curve.values]
    axes.set_ylim(min(values) / 2, max(values) * 2)
    axes.grid(linewidth=0.4, color="#e3e3e3")
    axes.set_axisbelow(True)


def _write_legend(figure: "Figure", names: Sequence[str]) -> None:
    """The layers, and what a dashed line is, above everything."""
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=COLOURS[i % len(COLOURS)], marker=MARKS[i % len(MARKS)], markersize=4, label=name)
        for i, name in enumerate(names)
    ]
    theory = Line2D(
        [],
        [],
        color="#777777",
        linewidth=0.8,
        linestyle=DASHES,
        label="theory, by the table",
    )
    figure.legend(handles=[*lines, theory], loc="outside upper left", ncols=3, borderpad=0)
