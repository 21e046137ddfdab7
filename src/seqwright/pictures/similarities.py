"""How alike the vectors of one word are in several texts, layer by layer.

L layers · N places where the word stands
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqwright.errors import UserError
from seqwright.pictures import INK, POINT, Array, blank, blended, ink, legible, letters_on, pen
from seqwright.pictures.layout import QUIET, axes_at, draw_bar, frame, heading_of, widest, write_at, write_heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL = 0.36  # inches: room for a cosine of two digits
ACROSS = 7  # panels in a row
LINE = 0.18  # inches: a line of the texts
ACCENT = "#b4500a"


class WordInContext(NamedTuple):
    """A text and the word in it: what stands before it, the word, and what comes after."""

    before: str
    word: str
    after: str


def similarity_picture(
    cosine_LNN: Array, layers: Sequence[str], sentences: Sequence[WordInContext], *, title: str = ""
) -> "Figure":
    """A map of the cosines between all places for each layer, from what is the same everywhere to the last layer.

    All maps share one scale; the numbers in the cells are hundredths.
    """
    count = len(sentences)
    if cosine_LNN.shape != (len(layers), count, count) or count < 2:
        raise UserError(
            f"cosines of the shape {cosine_LNN.shape} were given with {len(layers)} layers and {count} sentences; "
            "expected [layers, sentences, sentences], of two sentences or more"
        )
    lowest = _floor(cosine_LNN)
    side = max(CELL * count, 0.9)
    columns = min(ACROSS, len(layers))
    rows = -(-len(layers) // columns)
    step, down = side + 0.22, side + 0.5
    with pen([title, *("".join(sentence) for sentence in sentences)]):
        width = 0.35 + step * columns + 0.4
        texts = [_cut(sentence) for sentence in sentences]
        heading = heading_of(title, width)
        top = heading.height + 0.12 + LINE * count + 0.5
        text_width = max(widest(["".join(text)], 8) for text in texts) + 0.5
        figure = blank(max(width, heading.width, text_width), top + down * rows - 0.38)
        write_heading(figure, heading)
        for number, text in enumerate(texts):
            _write_sentence(figure, heading.height + 0.12 + LINE * number, number + 1, text)
        for place, (name, cosine_NN) in enumerate(zip(layers, cosine_LNN, strict=True)):
            row, column = divmod(place, columns)
            axes = axes_at(figure, 0.35 + step * column, top + down * row, side, side)
            _draw_panel(axes, cosine_NN, name, lowest, numbered=column == 0)
        draw_bar(axes_at(figure, 0.35 + step * columns - 0.1, top, 0.09, side), 1.0, lowest)
    return figure


def _floor(cosine_LNN: Array) -> float:
    """The cosine that stays white: the next tenth below all of them."""
    return min(0.9, math.floor(10 * float(cosine_LNN.min())) / 10)


def _cut(sentence: WordInContext) -> WordInContext:
    """As much of a long text as stands around the word."""
    before, after = sentence.before, sentence.after
    before = before if len(before) <= 40 else "…" + before[-39:]
    after = after if len(after) <= 40 else after[:39] + "…"
    return WordInContext(*(part and legible(part, 60) for part in (before, sentence.word, after)))


def _write_sentence(figure: "Figure", top: float, number: int, text: WordInContext) -> None:
    """A text on a line, the word in another colour."""
    write_at(figure, 0.27, top, str(number), fontsize=8, color=QUIET, va="top", ha="right")
    left = 0.35
    for part, colour in zip(text, ("black", ACCENT, "black"), strict=True):
        write_at(figure, left, top, part, fontsize=8, color=colour, va="top")
        left += _advance(part)


def _advance(part: str) -> float:
    """How far a part moves what comes after it, the spaces at its ends included."""
    return widest([f"|{part}|"], 8) - widest(["||"], 8) if part else 0.0


def _draw_panel(axes: "Axes", cosine_NN: Array, name: str, lowest: float, *, numbered: bool) -> None:
    count = len(cosine_NN)
    axes.imshow(cosine_NN, cmap=ink(), vmin=lowest, vmax=1, aspect="auto")
    axes.set_title(name, fontsize=8, pad=14)
    axes.tick_params(length=0, pad=2, labeltop=True, labelbottom=False, labelsize=7, labelcolor=QUIET)
    axes.set_xticks(range(count), [str(number + 1) for number in range(count)])
    axes.set_yticks(range(count), [str(number + 1) if numbered else "" for number in range(count)])
    frame(axes)
    if count * 14 * POINT > axes.get_window_extent().width / axes.figure.dpi:
        return  # no room for numbers
    for (row, column), cosine in np.ndenumerate(cosine_NN):
        colour = letters_on(blended(INK, float((cosine - lowest) / (1 - lowest))))
        label = "1" if cosine > 0.9995 else f"{cosine:.2f}".replace("0.", ".", 1)
        axes.text(column, row, label, fontsize=7, ha="center", va="center", color=colour)
