"""Alignment matrices: one, or those of several models on the same sentence side by side.

T rows (target words) · S columns (source words)
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqwright.errors import UserError
from seqwright.pictures import POINT, Array, blank, darkest_weight, ink, legible, pen
from seqwright.pictures.layout import (
    QUIET,
    axes_at,
    draw_bar,
    frame,
    heading_of,
    tallest,
    upright,
    widest,
    write_at,
    write_heading,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXIS = 0.2  # inches: a line that says what stands along an axis
CELL = 0.25  # inches: a line of 9 point letters and some air
LARGEST = 30.0  # inches; beyond, cells shrink and only every n-th label is written
CAPTION = 0.17  # inches: a line over one of several matrices
GAP = 0.35  # inches between two matrices


class AlignmentPanel(NamedTuple):
    """One matrix: its weights, the words of its columns and of its rows, and the lines that stand over it."""

    weights_TS: Array
    sources: Sequence[str]
    targets: Sequence[str]
    caption: tuple[str, ...] = ()


def alignment(
    weights_TS: Array,
    source_labels: Sequence[str],
    target_labels: Sequence[str],
    *,
    title: str = "",
    row_axis: str = "",
    column_axis: str = "",
) -> "Figure":
    """One alignment matrix, source on top and target at the left (in the manner of Bahdanau et al. 2015, figure 3).

    Differs from the paper: zero is white, and the darkest weight is 0.25, 0.5 or 1 as the colour bar says.
    """
    panel = AlignmentPanel(weights_TS, source_labels, target_labels)
    return side_by_side([panel], title=title, row_axis=row_axis, column_axis=column_axis)


def side_by_side(
    panels: Sequence[AlignmentPanel], *, title: str = "", row_axis: str = "", column_axis: str = ""
) -> "Figure":
    """Several alignment matrices of one sentence in a row, all on one scale."""
    for panel in panels:
        check_words(panel.weights_TS, panel.targets, panel.sources)
    shown = [
        panel._replace(
            sources=[legible(word) for word in panel.sources], targets=[legible(word) for word in panel.targets]
        )
        for panel in panels
    ]
    words = [word for panel in shown for word in (*panel.sources, *panel.targets, *panel.caption)]
    darkest = max(darkest_weight(panel.weights_TS) for panel in panels)
    with pen([title, row_axis, column_axis, *words]):
        longest = max(widest(panel.sources) for panel in shown) + 0.12
        # Few short words stay horizontal: wider cells are easier to read than a turned page.
        turned = any(longest * len(panel.sources) > max(3.2, CELL * len(panel.sources)) for panel in shown)
        places, captions_end = _placed(shown, longest, turned=turned, row_axis=bool(row_axis))
        width = places[-1].left + places[-1].width
        heading = heading_of(title, width + 0.4)
        captions_top = 0.08 + heading.height
        words_top = captions_top + CAPTION * max(len(panel.caption) for panel in shown) + AXIS * bool(column_axis)
        top = words_top + (max(tallest(panel.sources) for panel in shown) + 0.1 if turned else 0.2)
        height = max(place.height for place in places)
        bar_height = min(1.2, max(0.6, height))  # lower, and its numbers would touch
        figure = blank(
            max(width + 0.55, captions_end + 0.1, places[-1].left + widest([column_axis], 8), heading.width),
            top + max(height, bar_height, widest([row_axis], 8)) + 0.1,
        )
        for panel, place in zip(shown, places, strict=True):
            _draw(axes_at(figure, place.left, top, place.width, place.height), panel, place, darkest, turned=turned)
            for number, line in enumerate(panel.caption):
                quiet = {"fontsize": 9} if number == 0 else {"fontsize": 8, "color": QUIET}
                write_at(figure, place.begin, captions_top + CAPTION * number, line, va="top", **quiet)
            write_at(figure, place.left, words_top - AXIS, column_axis, fontsize=8, color=QUIET, va="top")
        draw_bar(axes_at(figure, width + 0.12, top, 0.09, bar_height), darkest)
        write_heading(figure, heading)
        write_at(figure, 0.05, top, row_axis, fontsize=8, color=QUIET, va="top", rotation=90)
    return figure


class _Place(NamedTuple):
    """Where a matrix stands, in inches."""

    begin: float  # of the words at its left
    left: float
    width: float
    height: float
    cell: tuple[float, float]


def _placed(
    panels: Sequence[AlignmentPanel], word: float, *, turned: bool, row_axis: bool
) -> tuple[list[_Place], float]:
    """The place of each matrix, and where the lines over the last one end."""
    places: list[_Place] = []
    begin = captions_end = AXIS * row_axis
    for panel in panels:
        rows, columns = panel.weights_TS.shape
        cell = (min(CELL, LARGEST / columns) if turned else max(CELL, word)), min(CELL, LARGEST / rows)
        left = begin + widest(panel.targets) + 0.12
        places.append(_Place(begin, left, cell[0] * columns, cell[1] * rows, cell))
        captions_end = begin + max(widest(panel.caption[:1], 9), widest(panel.caption[1:], 8))
        begin = max(left + places[-1].width, captions_end) + GAP
    return places, captions_end


def _draw(axes: "Axes", panel: AlignmentPanel, place: _Place, darkest: float, *, turned: bool) -> None:
    # The hairline in the cell's own colour closes the gaps that some viewers show between cells.
    axes.pcolormesh(panel.weights_TS, cmap=ink(), vmin=0, vmax=darkest, edgecolors="face", linewidth=0.1)
    axes.invert_yaxis()
    _write_words(axes, list(panel.sources), list(panel.targets), turned=turned, cell=place.cell)


def _write_words(axes: "Axes", above: list[str], beside: list[str], *, turned: bool, cell: tuple[float, float]) -> None:
    """Words on top and at the left: every one, or every n-th where a cell is lower than a line."""
    each_column, each_row = (max(1, math.ceil(10 * POINT / side)) for side in cell)
    axes.tick_params(length=0, pad=3, labeltop=True, labelbottom=False, labelsize=9)
    axes.set_xticks(np.arange(0, len(above), each_column) + 0.5, above[::each_column])
    axes.set_yticks(np.arange(0, len(beside), each_row) + 0.5, beside[::each_row])
    if turned:
        texts, rotations = zip(*map(upright, above[::each_column]), strict=True)
        axes.set_xticklabels(texts)
        for label, rotation in zip(axes.get_xticklabels(), rotations, strict=True):
            label.set_rotation(rotation)
    frame(axes)


def check_words(weights: Array, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse weights that do not fit their words, or that nobody could draw."""
    found, expected = weights.shape[-2:], (len(rows), len(columns))
    if found != expected or 0 in expected:
        raise UserError(
            f"attention weights of {found[0]} rows and {found[-1]} columns were given with {expected[0]} row words and "
            f"{expected[1]} column words; each row and each column needs one word"
        )
    if not np.isfinite(weights).all():
        raise UserError("attention weights hold values that are not finite; only finite weights can be drawn")
