"""Which label was taken for which, as a table of shades.

C classes: rows are what is true, columns what was predicted
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqwright.errors import UserError
from seqwright.pictures import INK, POINT, blank, blended, ink, legible, letters_on, pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST = 12.0  # inches: the side of the table where there are very many classes
ROOMY = 0.62  # inches: the side of a cell in which a count and its share stand one above the other
READABLE = 7 * POINT  # the least side of a cell with a label beside it
MARGIN = 0.1  # inches around everything
NUMBERED = 0.3  # inches: the least side of a cell with a number in it


def confusion_table(counts_CC: NDArray[np.integer[Any]], labels: Sequence[str], *, title: str = "") -> "Figure":
    """A row for each true label, a column for each that was predicted; the darker, the larger the share of the row.

    Where there is room, a cell says the count and its share of the row, otherwise the count or nothing; labels that
    could not be read are left out.
    """
    classes = len(labels)
    if counts_CC.shape != (classes, classes) or not classes:
        raise UserError(
            f"a confusion table of the shape {counts_CC.shape} was given with {classes} labels; it needs a row and a "
            "column for each label"
        )
    side = min(ROOMY, LARGEST / classes)
    shown = [legible(label, 24) for label in labels] if side >= READABLE else []
    true_C1 = counts_CC.sum(axis=1, keepdims=True)
    share_CC = np.divide(counts_CC, true_C1, out=np.zeros(counts_CC.shape), where=true_C1 > 0)
    with pen([title, *shown]):
        figure = blank(1.9 + classes * side, 1.6 + classes * side, layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(share_CC, cmap=ink(), vmin=0, vmax=1, aspect="equal")
        _write_labels(axes, shown, side)
        if side >= NUMBERED:
            _write_counts(axes, counts_CC, share_CC, roomy=side >= ROOMY)
        axes.set(xlabel="predicted", ylabel="true")
        if title:
            axes.set_title(legible(title, 120), loc="left", wrap=True)
        for spine in axes.spines.values():
            spine.set(visible=True, linewidth=0.5, edgecolor="#666666")
        bar: Any = figure.colorbar(image, ax=axes, fraction=0.05, pad=0.03, ticks=[0, 0.5, 1])
        bar.ax.set_yticklabels(["0", "0.5", "1"], fontsize=7)
        bar.set_label("share of the row", fontsize=7)
        bar.outline.set_linewidth(0.5)
        figure.draw_without_rendering()
        box = figure.get_tightbbox()  # a square table leaves something blank on two sides: it is cut off
        figure.set_size_inches(box.width + MARGIN, box.height + MARGIN)
    return figure


def _write_labels(axes: "Axes", shown: list[str], side: float) -> None:
    size = min(9.0, 0.8 * side / POINT)
    # Upright where the longest would run into its neighbour: a letter is about six tenths of its height wide.
    upright = any(0.6 * size * POINT * len(label) > 0.9 * side for label in shown)
    axes.set_xticks(range(len(shown)), shown, rotation=90 if upright else 0, fontsize=size)
    axes.set_yticks(range(len(shown)), shown, fontsize=size)
    axes.tick_params(length=0)


def _write_counts(
    axes: "Axes", counts_CC: NDArray[np.integer[Any]], share_CC: NDArray[np.float64], *, roomy: bool
) -> None:
    for (row, column), count in np.ndenumerate(counts_CC):
        share = share_CC[row, column]
        text = f"{count:,}\n{100 * share:.1f} %" if roomy else f"{count}" if count < 10_000 else f"{count // 1000}k"
        colour = letters_on(blended(INK, float(share)))
        axes.text(column, row, text, ha="center", va="center", fontsize=8 if roomy else 6, color=colour)
