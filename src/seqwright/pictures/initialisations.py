"""What the ways to begin a recurrent network do before anything is learnt.

T time · K steps back · Q shares: 0.05, 0.25, 0.75 and 0.95
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqwright.errors import UserError
from seqwright.pictures import Array, blank, legible, pen
from seqwright.pictures.gradients import COLOURS, norm_scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = ("-", "--", "-.", (0, (1, 1)), "-", "--")


class Beginning(NamedTuple):
    """A way to begin: which share of the values is saturated at each step, how the states are spread, how the gradient
    fades. `note` is what else is said of it.
    """

    name: str
    note: str
    saturated_T: Array
    spread_TQ: Array
    norm_K: Array


def initialisation_picture(beginnings: Sequence[Beginning], *, title: str = "") -> "Figure":
    """Above, all in one: the saturated share by step, and the gradient by steps back. Below, how the states of each are
    spread.
    """
    if not beginnings:
        raise UserError("there is no initialisation to draw; give at least one")
    with pen([title, *(each.name for each in beginnings)]):
        figure = blank(7.0, 4.6, layout="constrained")
        upper, lower = figure.subfigures(2, 1, height_ratios=(1.5, 1), squeeze=False)[:, 0]
        share, reach = upper.subplots(1, 2)
        for number, each in enumerate(beginnings):
            style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "linewidth": 1.3}
            style["linestyle"] = STYLES[number % len(STYLES)]
            share.plot(
                np.arange(1, len(each.saturated_T) + 1), 100 * each.saturated_T, **style, label=each.name + each.note
            )
            reach.plot(np.arange(len(each.norm_K)), np.maximum(each.norm_K, np.finfo(np.float64).tiny), **style)
        share.set(xlabel="step", ylabel="values beyond ±0.95, %", ylim=(-2, 102))
        reach.set(xlabel="k, steps back in time")
        norm_scale(reach, [each.norm_K for each in beginnings])
        upper.legend(*share.get_legend_handles_labels(), loc="outside upper left", ncols=3, borderpad=0)
        panels = lower.subplots(1, len(beginnings), sharey=True, squeeze=False)[0]
        for number, (axes, each) in enumerate(zip(panels, beginnings, strict=True)):
            lowest_T, low_T, high_T, highest_T = each.spread_TQ.T
            step = np.arange(1, len(low_T) + 1)
            for below_T, above_T in ((lowest_T, highest_T), (low_T, high_T)):  # nine tenths of all values, and half
                axes.fill_between(step, below_T, above_T, color=COLOURS[number % len(COLOURS)], alpha=0.3, linewidth=0)
            axes.set(ylim=(-1.08, 1.08), yticks=[-1, 0, 1], xlabel="step")
            axes.set_title(legible(each.name, 22), loc="left", fontsize=8)
        panels[0].set_ylabel("hidden state")
        if title:
            figure.suptitle(legible(title, 150), x=0.01, ha="left", fontsize=10)
    return figure
