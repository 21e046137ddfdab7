"""How far back a gradient reaches: its norm against the number of steps, on a scale where a power is a line.

R rows · K steps back, from 0
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqwright.errors import UserError
from seqwright.pictures import INK, Array, blank, legible, pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart by colour-blind readers too, and by their lightness in grey print.
COLOURS = (INK[3], "#c8590a", "#5c7a29", "#7a4fa3", "#b3386d", "#333333")
FAINT = "#9a9a9a"
POWERS = (1.1, 0.9)  # the lectures' examples: one explodes, one vanishes
DASHES = (0, (4, 2))
LOWEST, HIGHEST = 1e-12, 1e6  # what a picture shows at most: beyond, nothing is learnt or everything breaks


class Reach(NamedTuple):
    """The gradient norms of one layer of a run, from several places; `trained`, or with the weights it began with."""

    run: str
    layer: int
    trained: bool
    norm_RK: Array


def gradient_picture(reaches: Sequence[Reach]) -> "Figure":
    """‖∂h_t/∂h_{t-k}‖ against k: a panel for each layer, a colour for each run, the median and where most rows lie.

    Solid lines are trained, dashed ones are weights as they began; the lectures' 1.1^k and 0.9^k are dotted.
    """
    if not reaches:
        raise UserError("there are no gradients to draw; follow those of at least one layer")
    runs = list(dict.fromkeys(reach.run for reach in reaches))
    layers = sorted({reach.layer for reach in reaches})
    with pen(runs):
        figure = blank(1.2 + 3.3 * len(layers) + 0.8 * (len(layers) == 1), 3.6, layout="constrained")
        panels = figure.subplots(1, len(layers), sharey=True, squeeze=False)[0]
        for axes, layer in zip(panels, layers, strict=True):
            mine = [reach for reach in reaches if reach.layer == layer]
            for reach in mine:
                _draw(axes, reach, COLOURS[runs.index(reach.run) % len(COLOURS)])
            _draw_powers(axes, max(reach.norm_RK.shape[1] for reach in mine) - 1)
            axes.set_xlabel("k, steps back in time")
            if len(layers) > 1:
                axes.set_title(f"layer {layer}", loc="left", fontsize=9)
        furthest = max(reach.norm_RK.shape[1] for reach in reaches) - 1
        middle = [np.percentile(reach.norm_RK, (10, 50, 90), axis=0) for reach in reaches]
        norm_scale(panels[0], [*middle, np.array([power**furthest for power in POWERS])])
        _write_legend(figure, runs, begun=not all(reach.trained for reach in reaches))
    return figure


def _draw(axes: "Axes", reach: Reach, colour: str) -> None:
    k = np.arange(reach.norm_RK.shape[1])
    low_K, median_K, high_K = (_positive(row) for row in np.percentile(reach.norm_RK, (10, 50, 90), axis=0))
    if reach.trained and len(reach.norm_RK) > 1:
        axes.fill_between(k, low_K, high_K, color=colour, alpha=0.15, linewidth=0)
    style: dict[str, Any] = {"linewidth": 1.5} if reach.trained else {"linewidth": 1.0, "linestyle": DASHES}
    mark = "o" if len(k) < 8 else ""
    axes.plot(k, median_K, color=colour, marker=mark, markersize=3, **style)


def _positive(values: Array) -> Array:
    """What a logarithmic scale can show: exactly nothing is drawn far below it."""
    return np.maximum(values, np.finfo(np.float64).tiny)


def _draw_powers(axes: "Axes", furthest: int) -> None:
    k = np.arange(furthest + 1)
    for power in POWERS:
        axes.plot(k, power**k, color=FAINT, linewidth=0.8, linestyle=":", zorder=1)
        place: dict[str, Any] = {"textcoords": "offset points", "xytext": (3, 0), "annotation_clip": False}
        axes.annotate(f"{power}$^k$", (furthest, power**furthest), **place, color=FAINT, fontsize=7, va="center")
    for text in axes.texts:
        text.set_parse_math(True)


def norm_scale(axes: "Axes", norms: Sequence[Array]) -> None:
    """A logarithmic axis of gradient norms that shows those that are given, as far as they mean anything."""
    axes.set_yscale("log")
    axes.minorticks_off()
    seen = np.concatenate([norm.ravel() for norm in norms])
    seen = seen[seen > 0]
    axes.set_ylim(max(seen.min() / 2, LOWEST), min(seen.max() * 2, HIGHEST))
    axes.set_ylabel(r"$\|\,\partial h_t\,/\,\partial h_{t-k}\,\|$", parse_math=True)


def _write_legend(figure: "Figure", runs: Sequence[str], *, begun: bool) -> None:
    """Above everything the runs by their colours, below everything what the kinds of lines are."""
    from matplotlib.lines import Line2D

    names = [legible(run, 40) for run in runs]
    named = [
        Line2D([], [], color=COLOURS[number % len(COLOURS)], linewidth=2, label=name)
        for number, name in enumerate(names)
    ]
    widest = 0.55 + 0.07 * max(map(len, names))  # inches, by letters of 8 points
    columns = max(1, int(figure.get_size_inches()[0] / widest))
    figure.legend(handles=named, loc="outside upper left", ncols=columns, borderpad=0, columnspacing=1.4)
    dashed = "; dashed: the weights it began with" if begun else ""
    figure.supxlabel(f"solid: trained, the median and 80 % of the places{dashed}", fontsize=7, color="#555555")
