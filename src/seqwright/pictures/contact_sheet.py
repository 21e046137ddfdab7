"""Images beside and below each other, each with its label; and what augmentations make of one.

Y rows of pixels · X columns · C channels
"""

import textwrap
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
CAPTIONED, WIDE = 4, 1.8  # images with captions beside each other, inches of one and the gap beside it
LINES, LETTERS = 4, 31  # of a caption, and in a line
DRAWN = 8  # images of an augmentation


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


def caption_sheet(images: Sequence[tuple[str, Pixels]], augmented: Sequence[tuple[str, Sequence[Pixels]]]) -> "Figure":
    """`pixels_YXC` of some images, each above its caption; below them a line for each augmentation, by its name."""
    if not images:
        raise UserError("a contact sheet was given no images; give one or more")
    columns = min(CAPTIONED, len(images))
    lines = [images[first : first + columns] for first in range(0, len(images), columns)]
    high, wide, _ = images[0][1].shape
    row = WIDE * high / wide + (LINES * LETTER * 1.25 + 4) * POINT  # inches
    small = [WIDE * columns / DRAWN * high / wide + (LETTER + 6) * POINT] * len(augmented)
    with pen([caption for caption, _ in images]):
        figure = blank(columns * WIDE + 0.1, len(lines) * row + sum(small) + 0.1, layout="constrained")
        axes = figure.subplots()
        axes.set(xlim=(0, columns), ylim=((len(lines) * row + sum(small)) / WIDE, 0), aspect="equal")
        axes.set_axis_off()
        for number, line in enumerate(lines):
            for column, (caption, pixels_YXC) in enumerate(line):
                _draw_above(axes, pixels_YXC, caption, column, number * row / WIDE)
        for number, (name, several) in enumerate(augmented):
            top = (len(lines) * row + sum(small[:number])) / WIDE
            axes.text(GAP / 2, top, name, fontsize=LETTER, va="top", ha="left")
            for place, pixels_YXC in enumerate(several[:DRAWN]):
                side = columns / DRAWN
                _show(axes, pixels_YXC, place * side, top + (LETTER + 3) * POINT / WIDE, side)
    return figure


def _draw_above(axes: "Axes", pixels_YXC: Pixels, caption: str, left: float, top: float) -> None:
    """One image in the width 1, and its caption below it in a few lines."""
    bottom = _show(axes, pixels_YXC, left, top, 1.0)
    lines = textwrap.wrap(legible(caption, 200), LETTERS) if caption else []
    cut = [*lines[: LINES - 1], lines[LINES - 1][: LETTERS - 1] + "…"] if len(lines) > LINES else lines
    axes.text(left + GAP / 2, bottom + 0.02, "\n".join(cut), fontsize=LETTER, va="top", ha="left", linespacing=1.1)


def _show(axes: "Axes", pixels_YXC: Pixels, left: float, top: float, side: float) -> float:
    """One image in a width; where it ends."""
    high, wide, channels = pixels_YXC.shape
    inner = side * (1 - GAP)
    bottom: float = top + inner * high / wide
    shades: Any = pixels_YXC[:, :, 0] if channels == 1 else pixels_YXC
    extent = (left + GAP / 2, left + GAP / 2 + inner, bottom, top)
    axes.imshow(shades, cmap="gray", vmin=0, vmax=255, extent=extent, interpolation="nearest", aspect="equal")
    return bottom


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
