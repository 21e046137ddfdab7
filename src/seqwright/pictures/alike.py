"""Images in rows: one that was asked about, and those that a model takes for most like it.

Y rows of pixels · X columns · C channels
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from seqwright.errors import UserError
from seqwright.pictures import blank, pen
from seqwright.pictures.contact_sheet import Pixels, draw_thumbnail, height_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 0.9  # inches of an image and the gap beside it
APART = 0.25  # of that, between what was asked about and its neighbours


class AlikeRow(NamedTuple):
    """An image with its name, and its neighbours, the nearest first, each with what stands above it."""

    name: str
    pixels_YXC: Pixels
    nearest: Sequence[tuple[str, Pixels]]


def alike_sheet(rows: Sequence[AlikeRow]) -> "Figure":
    """A line for each image, which stands at its beginning, apart from its neighbours."""
    if not rows:
        raise UserError("a sheet of neighbours was given no images; give one or more")
    most = max(len(row.nearest) for row in rows)
    high = height_of(rows[0].pixels_YXC, SIDE)
    labels = [label for row in rows for label in (row.name, *(label for label, _ in row.nearest))]
    wide = 1 + APART + most
    with pen(labels):
        figure = blank(wide * SIDE + 0.1, len(rows) * high + 0.1, layout="constrained")
        axes = figure.subplots()
        axes.set(xlim=(0, wide), ylim=(len(rows) * high / SIDE, 0), aspect="equal")
        axes.set_axis_off()
        for number, row in enumerate(rows):
            top = number * high / SIDE
            draw_thumbnail(axes, row.pixels_YXC, row.name, 0, top, SIDE)
            for place, (label, pixels_YXC) in enumerate(row.nearest):
                draw_thumbnail(axes, pixels_YXC, label, 1 + APART + place, top, SIDE)
        middle = 1 + APART / 2
        axes.plot([middle, middle], [0.02, len(rows) * high / SIDE - 0.02], color="#bbbbbb", linewidth=0.6)
    return figure
