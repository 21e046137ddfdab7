"""Films with the path that something takes in them, and the one that a model predicts.

T frames · Y rows of pixels · X columns · C channels
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqwright.errors import UserError
from seqwright.pictures import blank, legible, pen
from seqwright.pictures.image_maps import MARK, draw_image
from seqwright.pictures.layout import QUIET, axes_at, write_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Path = Sequence[tuple[float, float]]

SIDE, GAP, ACROSS = 1.7, 0.2, 4  # inches, and films in a line
TRUE = "#7ab5df"


def track_pictures(films: Sequence[tuple[str, NDArray[np.uint8], Path, Path]]) -> "Figure":
    """For each film the brightest that every pixel was, the true path and the predicted one; each begins at its dot."""
    if not films:
        raise UserError("a picture of tracks was given no films; give one or more")
    across = min(ACROSS, len(films))
    rows, columns = films[0][1].shape[1:3]
    high = SIDE * rows / columns
    step = high + 0.32
    with pen([name for name, *_ in films]):
        lines = -(-len(films) // across)
        figure = blank(0.1 + across * (SIDE + GAP), 0.45 + lines * step)
        write_at(figure, 0.1, 0.17, "true path", fontsize=8, color=TRUE, weight="bold", va="center")
        write_at(figure, 0.85, 0.17, "predicted", fontsize=8, color=MARK, weight="bold", va="center")
        for number, (name, pixels_TYXC, true, predicted) in enumerate(films):
            line, column = divmod(number, across)
            left, top = 0.1 + column * (SIDE + GAP), 0.55 + line * step
            off_T = np.linalg.norm(np.array(predicted) - np.array(true)[: len(predicted)], axis=1)
            told = f"{legible(name, 18)}, {np.nanmean(off_T):.2f} px off"
            write_at(figure, left, top - 0.06, told, fontsize=8, color=QUIET)
            _draw_film(axes_at(figure, left, top, SIDE, high), pixels_TYXC, true, predicted)
    return figure


def _draw_film(axes: "Axes", pixels_TYXC: NDArray[np.uint8], true: Path, predicted: Path) -> None:
    draw_image(axes, pixels_TYXC.max(0))
    for path, colour, width in ((true, TRUE, 2.4), (predicted, MARK, 1.2)):
        x_T, y_T = np.array(path).T + 0.5  # a pixel's middle lies half a pixel from its edge
        axes.plot(x_T, y_T, color=colour, linewidth=width, marker=".", markersize=3.5, solid_capstyle="round")
        axes.plot(x_T[:1], y_T[:1], color=colour, marker="o", markersize=5.5)
