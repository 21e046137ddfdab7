"""The head view of one layer of attention: words at both sides, and lines from who reads to what is read.

H heads · T rows (who reads) · S columns (what is read)
"""

import colorsys
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from seqwright.pictures import POINT, Array, blank, legible, pen
from seqwright.pictures.layout import QUIET, axes_at, heading_of, widest, write_at, write_heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from seqwright.pictures.attention import AttentionMap

# The colours of the heads, told apart also where lines cross; after them come others by the golden angle.
HEADS = (
    *("#1f77b4", "#e8710a", "#2ca02c", "#d62728", "#9467bd", "#8c564b"),
    *("#e377c2", "#5f6b73", "#a8a813", "#17becf", "#1b3a8a", "#7a0177"),
)
FAINT = 0.02  # weights below are not drawn: thousands of them would only be a grey veil
GAP = 2.6  # inches between the words
LINE = 0.22  # inches from word to word
LARGEST = 30.0  # inches; beyond, lines come closer and only every n-th word is written
SWATCH = 0.17  # inches: the square of a head


def head_colours(count: int) -> list[str]:
    """A colour for each head."""
    further = [colorsys.hls_to_rgb(0.618 * number % 1, 0.35 + 0.2 * (number % 2), 0.6) for number in range(count)]
    extra = ["#" + "".join(f"{round(255 * part):02x}" for part in rgb) for rgb in further]
    return [*HEADS, *extra][:count]


def head_view(kind: "AttentionMap", layer: int, heads: Sequence[int], *, title: str = "") -> "Figure":
    """Lines between words in the manner of BertViz's head view (Vig 2019): a colour for each head, the darker the more.

    Differs from BertViz: each head leaves a word a little higher or lower than the last, so that heads which look at
    the same word stay apart.
    """
    captions = kind.row_axis or "word that reads", kind.column_axis or "word that is read"
    sides = [[legible(word) for word in words] for words in (kind.rows, kind.columns)]
    colours = [head_colours(kind.weights.shape[1])[head] for head in heads]
    longest = max(map(len, sides))
    line = min(LINE, LARGEST / longest)
    with pen([title, *captions, *sides[0], *sides[1]]):
        left, right = (
            max(widest(words), widest([caption], 8)) + 0.2 for words, caption in zip(sides, captions, strict=True)
        )
        width = left + GAP + right
        heading = heading_of(title, width)
        across = max(1, int((width - 0.7) / (SWATCH * 1.25)))  # squares side by side
        top = heading.height + SWATCH * 1.25 * math.ceil(len(heads) / across) + 0.45
        figure = blank(max(width, heading.width), top + line * longest + 0.12)
        write_heading(figure, heading)
        _draw_swatches(figure, heads, colours, heading.height + 0.1, across)
        axes = axes_at(figure, left, top, GAP, line * longest)
        axes.set(xlim=(0, 1), ylim=(longest, 0))
        axes.set_axis_off()
        _draw_lines(axes, kind.weights[layer, list(heads)], colours)
        edges = (left - 0.06, "right"), (left + GAP + 0.06, "left")
        for words, caption, (edge, side) in zip(sides, captions, edges, strict=True):
            write_at(figure, edge, top - 0.08, caption, fontsize=8, color=QUIET, ha=side)
            for place in range(0, len(words), math.ceil(10 * POINT / line)):
                middle = top + line * (place + 0.5)
                write_at(figure, edge, middle, words[place], fontsize=9, ha=side, va="center_baseline")
    return figure


def _draw_lines(axes: "Axes", weights_HTS: Array, colours: Sequence[str]) -> None:
    """Every weight that can be seen, the strong ones last, above the others."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    head_N, row_N, column_N = np.nonzero(weights_HTS >= FAINT)
    order_N = np.argsort(weights_HTS[head_N, row_N, column_N], kind="stable")
    head_N, row_N, column_N = head_N[order_N], row_N[order_N], column_N[order_N]
    shift_N = 0.2 + 0.6 * (head_N + 0.5) / len(colours)  # within the height of a word
    points_N4 = np.stack([np.zeros(len(order_N)), row_N + shift_N, np.ones(len(order_N)), column_N + shift_N], axis=1)
    colour_N3 = np.array([to_rgb(colour) for colour in colours])[head_N]
    weight_N1 = weights_HTS[head_N, row_N, column_N, None].clip(0, 1)
    shade_N4 = np.concatenate([colour_N3, weight_N1], axis=1)
    axes.add_collection(LineCollection(list(points_N4.reshape(-1, 2, 2)), colors=shade_N4, linewidths=1.3))


def _draw_swatches(figure: "Figure", heads: Sequence[int], colours: Sequence[str], top: float, across: int) -> None:
    """The number of each head on its colour."""
    noun = "heads" if len(heads) > 1 else "head"
    write_at(figure, 0.08, top + SWATCH / 2, noun, fontsize=8, color=QUIET, va="center")
    for place, (head, colour) in enumerate(zip(heads, colours, strict=True)):
        down, right = divmod(place, across)
        axes = axes_at(figure, 0.55 + 1.25 * SWATCH * right, top + 1.25 * SWATCH * down, SWATCH, SWATCH)
        axes.set(facecolor=colour, xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set_visible(False)
        middle: dict[str, Any] = {"ha": "center", "va": "center", "transform": axes.transAxes}
        axes.text(0.5, 0.46, str(head + 1), color="white", fontsize=7, **middle)
