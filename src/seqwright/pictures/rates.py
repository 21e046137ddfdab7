"""The loss at each learning rate of a range test, and the rate that was chosen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from seqwright.pictures import blank, pen
from seqwright.pictures.curves import TRAIN, VALID

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def rate_curve(rates: Sequence[float], losses: Sequence[float], smoothed: Sequence[float], chosen: float) -> "Figure":
    """The losses over the rates, also smoothed by a Gaussian kernel; what diverges is cut off at the top."""
    lowest = int(np.argmin(smoothed))
    with pen():
        figure = blank(5.5, 2.9, layout="constrained")
        axes = figure.subplots()
        axes.plot(rates, losses, color=TRAIN, alpha=0.35, linewidth=0.7, label="loss")
        axes.plot(rates, smoothed, color=TRAIN, linewidth=1.4, label="smoothed")
        axes.plot(
            rates[lowest], smoothed[lowest], "o", color=TRAIN, markersize=4, label=f"lowest at {rates[lowest]:.2g}"
        )
        axes.axvline(chosen, color=VALID, linewidth=1.2, label=f"chosen: {chosen:g}")
        axes.set_xscale("log")
        axes.set_xlabel("learning rate")
        axes.set_ylabel("loss")
        below, above = smoothed[lowest], max(smoothed[: lowest + 1])
        margin = 0.25 * (above - below) or 1.0
        axes.set_ylim(below - margin, above + margin)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, borderpad=0, handlelength=1.4, columnspacing=1.2
        )
    return figure
