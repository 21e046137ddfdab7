"""Images beside and below each other, each with its label; and what augmentations make of one.

Y rows of pixels · X columns · C channels
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqwright.errors import UserError
from seqwright.pictures import POINT, blank, legible, pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pixels = NDArray[np.uint8]

COLUMNS = 8
SIDE = 0.9  # inches of an image and the gap beside it
GAP = 0.08  # of that
LETTER = 7.0  # points


def contact_sheet(images: Sequence[tuple[str, Pixels]], augmented: Sequence[tuple[str, Sequence[Pixels]]]) -> "Figure":
    """`pixels_YXC` of some images, each below its label; below them a line for each augmentation, by its name.

    Of films there are only lines, of their frames.
    """
    if not images and not augmented:
        raise UserError("a contact sheet was given no images; give one or more")
    columns = min(COLUMNS, len(images)) if not augmented else COLUMNS
    lines = [images[first : first + columns] for first in range(0, len(images), columns)]
    lines += [[(name if n == 0 else "", each) for n, each in enumerate(several)] for name, several in augmented]
    row = height_of(images[0][1] if images else augmented[0][1][0], SIDE)
    with pen([label for line in lines for label, _ in line]):
        figure = blank(columns * SIDE + 0.1, len(lines) * row + 0.1, layout="constrained")
        axes = figure.subplots()
        axes.set(xlim=(0, columns), ylim=(len(lines) * row / SIDE, 0), aspect="equal")
        axes.set_axis_off()
        for number, line in enumerate(lines):
            for column, (label, pixels_YXC) in enumerate(line):
                draw_thumbnail(axes, pixels_YXC, label, column, number * row / SIDE, SIDE)
    return figure


def height_of(pixels_YXC: Pixels, side: float) -> float:
    """Inches of a line of such images with their labels, each so many inches wide."""
    high, wide, _ = pixels_YXC.shape
    return float(side * high / wide + (LETTER + 4) * POINT)


def draw_thumbnail(axes: "Axes", pixels_YXC: Pixels, label: str, left: float, top: float, side: float) -> None:
    """One image with its label above it, in the width 1, which is so many inches."""
    high, wide, channels = pixels_YXC.shape
    begin = top + (LETTER + 3) * POINT / side
    extent = (left + GAP / 2, left + 1 - GAP / 2, begin + (1 - GAP) * high / wide, begin)
    shades: Any = pixels_YXC[:, :, 0] if channels == 1 else pixels_YXC
    axes.imshow(shades, cmap="gray", vmin=0, vmax=255, extent=extent, interpolation="nearest", aspect="equal")
    shown = legible(label, 16) if label else ""
    axes.text(left + GAP / 2, begin - 0.03, shown, fontsize=LETTER, va="bottom", ha="left")
