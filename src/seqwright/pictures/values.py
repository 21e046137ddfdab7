"""What was predicted of each text beside the value it has, as a cloud of points.

N texts
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from seqwright.errors import UserError
from seqwright.pictures import INK, blank, legible, pen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 3.6  # inches
FEW = 200  # points; of more, each is fainter


def value_scatter(predicted: Sequence[float], true: Sequence[float], *, title: str = "") -> "Figure":
    """A point for each text: to the right its value, upwards the predicted one. On the line, the two are equal."""
    if len(predicted) != len(true) or not len(true):
        raise UserError(
            f"there are {len(predicted)} predictions for {len(true)} values; a picture needs one for each text"
        )
    low, high = float(min(*predicted, *true)), float(max(*predicted, *true))
    room = 0.04 * (high - low or 1.0)
    ends = (low - room, high + room)
    with pen([title]):
        figure = blank(SIDE, SIDE, layout="constrained")
        axes = figure.subplots()
        axes.plot(ends, ends, color="#999999", linewidth=0.8, zorder=1)
        faint = max(0.15, min(0.8, FEW / len(true)))
        axes.scatter(np.asarray(true), np.asarray(predicted), s=9, color=INK[4], alpha=faint, linewidths=0, zorder=2)
        axes.set(xlim=ends, ylim=ends, xlabel="true", ylabel="predicted", aspect="equal")
        if title:
            axes.set_title(legible(title, 60), loc="left")
    return figure
