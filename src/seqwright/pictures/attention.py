"""Pictures of attention weights: one alignment, all heads at a glance, sub-words merged into words.

T rows (who reads) · S columns (what is read) · H heads · L layers.
"""

import math
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqwright.errors import UserError
from seqwright.pictures import DPI, POINT, Array, blank, ceiling, ink, legible, pen, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

__all__ = ["AttentionMap", "Looked", "alignment", "figures", "heads", "merged", "save"]

QUIET = "#555555"  # the ink of what is said about an axis
AXIS = 0.2  # inches: a line that says what stands along an axis
CELL = 0.25  # inches: a line of 9 point letters and some air
LARGEST = 30.0  # inches; beyond, cells shrink and only every n-th label is written


@dataclass(frozen=True)
class AttentionMap:
    """The weights of one kind of attention, every layer and head, with the word of each row and column.

    `row_axis` and `column_axis` say what these words are: "target word being written", "source word".
    """

    weights: Array  # [layers, heads, rows, columns]
    rows: Sequence[str]
    columns: Sequence[str]
    row_axis: str = ""
    column_axis: str = ""

    def __post_init__(self) -> None:
        shape = self.weights.shape
        if len(shape) != 4 or 0 in shape:
            raise UserError(f"attention weights have the shape {shape}; expected [layers, heads, rows, columns]")
        _check(self.weights, self.rows, self.columns)


@dataclass(frozen=True)
class Looked:
    """A sentence as it was given, what the model made of it, and where it looked: the maps by their names.

    `target` is empty for a model that only reads; `score` is whatever the decoder says of its result.
    """

    source: str
    target: str
    maps: dict[str, AttentionMap]
    title: str = ""
    score: float | None = None

    def __post_init__(self) -> None:
        if not self.maps:
            raise UserError("there are no attention weights to draw; look at a model that has attention")


def merged(weights_TS: Array, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> Array:
    """Weights between words from weights between their pieces (Clark et al. 2019, section 4.1).

    What is read adds up over the pieces of a word, who reads is averaged, so each row still sums to one. `rows` and
    `columns` hold the places of each word's pieces; layers and heads may stand in front.
    """
    if not all(rows) or not all(columns):
        raise UserError("a word without pieces cannot be merged; give at least one place for each word")
    averaging_RT = np.zeros((len(rows), weights_TS.shape[-2]))
    for word, places in enumerate(rows):
        averaging_RT[word, list(places)] = 1 / len(places)
    summing_SC = np.zeros((weights_TS.shape[-1], len(columns)))
    for word, places in enumerate(columns):
        summing_SC[list(places), word] = 1
    result: Array = averaging_RT @ weights_TS @ summing_SC
    return result


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
    _check(weights_TS, target_labels, source_labels)
    rows, columns = weights_TS.shape
    above = [legible(label) for label in source_labels]
    beside = [legible(label) for label in target_labels]
    with pen([title, row_axis, column_axis, *above, *beside]):
        word = _widest(above) + 0.12
        # Few short words stay horizontal: wider cells are easier to read than a turned page.
        turned = word * columns > max(3.2, CELL * columns)
        cell_width = min(CELL, LARGEST / columns) if turned else max(CELL, word)
        cell_height = min(CELL, LARGEST / rows)
        width, height = cell_width * columns, cell_height * rows
        bar_height = min(1.2, max(0.6, height))  # lower, and its numbers would touch
        left = _widest(beside) + 0.12 + AXIS * bool(row_axis)
        heading = _heading(title, left + width + 0.4)
        words_top = 0.08 + heading.height + AXIS * bool(column_axis)
        top = words_top + (_tallest(above) + 0.1 if turned else 0.2)
        figure = blank(
            max(left + max(width + 0.55, _widest([column_axis], 8)), heading.width),
            top + max(height, bar_height, _widest([row_axis], 8)) + 0.1,
        )
        axes = _axes(figure, left, top, width, height)
        # The hairline in the cell's own colour closes the gaps that some viewers show between cells.
        axes.pcolormesh(weights_TS, cmap=ink(), vmin=0, vmax=ceiling(weights_TS), edgecolors="face", linewidth=0.1)
        axes.invert_yaxis()
        _write_words(axes, above, beside, turned=turned, cell=(cell_width, cell_height))
        _draw_bar(_axes(figure, left + width + 0.12, top, 0.09, bar_height), ceiling(weights_TS))
        _write_heading(figure, heading)
        _write(figure, left, words_top - AXIS, column_axis, fontsize=8, color=QUIET, va="top")
        _write(figure, 0.05, top, row_axis, fontsize=8, color=QUIET, va="top", rotation=90)
    return figure


def _write_words(axes: "Axes", above: list[str], beside: list[str], *, turned: bool, cell: tuple[float, float]) -> None:
    """Words on top and at the left: every one, or every n-th where a cell is lower than a line."""
    each_column, each_row = (max(1, math.ceil(10 * POINT / side)) for side in cell)
    axes.tick_params(length=0, pad=3, labeltop=True, labelbottom=False, labelsize=9)
    axes.set_xticks(np.arange(0, len(above), each_column) + 0.5, above[::each_column])
    axes.set_yticks(np.arange(0, len(beside), each_row) + 0.5, beside[::each_row])
    if turned:
        texts, rotations = zip(*map(_upright, above[::each_column]), strict=True)
        axes.set_xticklabels(texts)
        for label, rotation in zip(axes.get_xticklabels(), rotations, strict=True):
            label.set_rotation(rotation)
    _frame(axes)


def _draw_bar(axes: "Axes", darkest: float) -> None:
    """The colour bar: which ink is which weight."""
    axes.imshow(np.linspace(0, 1, 256)[:, None], cmap=ink(), aspect="auto", origin="lower", extent=(0, 1, 0, darkest))
    ticks = [0, darkest / 2, darkest]
    axes.set_xticks([])
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=7)
    axes.tick_params(length=2, pad=2, labelright=True, right=True, labelleft=False, left=False)
    _frame(axes)


def heads(
    weights_LHTS: Array,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    *,
    title: str = "",
    row_axis: str = "",
    column_axis: str = "",
) -> "Figure":
    """Every layer (down) and head (across) as a small map, all on one scale from 0 (white) to 1.

    Words are written at the left and at the bottom where they can be read, else not at all. What they are stands in
    the title.
    """
    _check(weights_LHTS, row_labels, column_labels)
    layers, across, rows, columns = weights_LHTS.shape
    cell = _small_cell(layers, across, rows, columns)
    readable = cell >= 7.5 * POINT
    beside = [legible(label, 14) for label in row_labels] if readable else []
    below = [legible(label, 14) for label in column_labels] if readable else []
    wide, high = cell * columns, cell * rows
    right, down = max(wide + 0.1, 0.5), max(high + 0.1, 0.2)  # a narrow map still leaves room for its caption
    if row_axis and column_axis:
        title = f"{title}\nrows: {row_axis}; columns: {column_axis}"
    with pen([title, *beside, *below]):
        left = 0.6 + _widest(beside, 6.5)
        heading = _heading(title, left + right * across)
        top = 0.3 + heading.height
        bar_height = min(1.2, max(0.6, high))
        figure = blank(
            max(left + right * across + 0.4, heading.width),
            top + max(down * layers + _tallest(below, 6.5), bar_height) + 0.1,
        )
        for layer, head in np.ndindex(layers, across):
            axes = _axes(figure, left + right * head, top + down * layer, wide, high)
            axes.imshow(weights_LHTS[layer, head], cmap=ink(), vmin=0, vmax=1, aspect="auto")
            axes.set(xticks=[], yticks=[])
            _frame(axes)
        for layer in range(layers):
            _write(figure, 0.08, top + down * layer + high / 2, f"layer {layer + 1}", fontsize=8, va="center")
            for row, word in enumerate(beside):
                place = top + down * layer + cell * (row + 0.5)
                _write(figure, left - 0.04, place, word, fontsize=6.5, ha="right", va="center")
        for head in range(across):
            _write(figure, left + right * head + wide / 2, top - 0.06, f"head {head + 1}", fontsize=8, ha="center")
            for column, (word, rotation) in enumerate(map(_upright, below)):
                place = left + right * head + cell * (column + 0.5), top + down * (layers - 1) + high + 0.04
                _write(figure, *place, word, fontsize=6.5, rotation=rotation, ha="center", va="top")
        _draw_bar(_axes(figure, left + right * across, top, 0.09, bar_height), 1.0)
        _write_heading(figure, heading)
    return figure


def _small_cell(layers: int, across: int, rows: int, columns: int) -> float:
    """The side of a cell in inches: a page wide, but never below two pixels a cell nor above the largest figure."""
    longer = max(rows, columns)
    panel = max(1.1, min(2.0, 6.5 / across), 0.02 * longer)
    return min(CELL, panel / longer, LARGEST / (layers * rows), LARGEST / (across * columns))


def figures(looked: Looked) -> dict[str, "Figure"]:
    """Every picture of what was looked at, by the name to save it under.

    `cross-attention` is the mean over layers and heads, `cross-attention-layer-1` over the heads of one layer,
    `cross-attention-heads` shows each.
    """
    source, target = (legible(text, 200) if text else "" for text in (looked.source, looked.target))
    below = f"\n{looked.title}: {source}" if looked.title else f"\n{source}"
    below += f"\n→ {target}" if target else ""
    drawn = {}
    for name, kind in looked.maps.items():
        stem, words = name.replace(" ", "-"), (kind.columns, kind.rows)
        axes = {"row_axis": kind.row_axis, "column_axis": kind.column_axis}
        layers, across = kind.weights.shape[:2]
        mean_LTS = kind.weights.mean(axis=1)
        title = name + _mean_of(layer=layers, head=across) + below
        drawn[stem] = alignment(mean_LTS.mean(axis=0), *words, title=title, **axes)
        for layer in range(layers if layers > 1 else 0):
            title = f"{name}, layer {layer + 1}" + _mean_of(head=across) + below
            drawn[f"{stem}-layer-{layer + 1}"] = alignment(mean_LTS[layer], *words, title=title, **axes)
        if across > 1:
            drawn[f"{stem}-heads"] = heads(kind.weights, kind.rows, kind.columns, title=name + below, **axes)
    return drawn


def _mean_of(**counts: int) -> str:
    many = [f"{count} {noun}s" for noun, count in counts.items() if count > 1]
    return f", mean of {' and '.join(many)}" if many else ""


def _check(weights: Array, rows: Sequence[str], columns: Sequence[str]) -> None:
    found, expected = weights.shape[-2:], (len(rows), len(columns))
    if found != expected or 0 in expected:
        raise UserError(
            f"attention weights of {found[0]} rows and {found[-1]} columns were given with {expected[0]} row words and "
            f"{expected[1]} column words; each row and each column needs one word"
        )
    if not np.isfinite(weights).all():
        raise UserError("attention weights hold values that are not finite; only finite weights can be drawn")


def _axes(figure: "Figure", left: float, top: float, width: float, height: float) -> "Axes":
    """Axes placed in inches from the upper left corner of the figure."""
    whole_width, whole_height = figure.get_size_inches()
    bottom = whole_height - top - height
    return figure.add_axes((left / whole_width, bottom / whole_height, width / whole_width, height / whole_height))


def _write(figure: "Figure", left: float, top: float, text: str, **style: Any) -> None:
    """Text placed in inches from the upper left corner of the figure."""
    width, height = figure.get_size_inches()
    figure.text(left / width, 1 - top / height, text, **style)


def _frame(axes: "Axes") -> None:
    for spine in axes.spines.values():
        spine.set(visible=True, linewidth=0.5, edgecolor="#666666")


def _upright(label: str) -> tuple[str, int]:
    """A label for a narrow column: turned, or set downwards where the script is written so (Chinese, Japanese)."""
    downwards = all(unicodedata.east_asian_width(letter) in "WF" for letter in label)
    return ("\n".join(label), 0) if downwards else (label, 90)


class Heading(NamedTuple):
    """A title in lines: the first paragraph large, the others small below it; its size in inches."""

    large: list[str]
    small: list[str]
    width: float
    height: float


def _heading(title: str, width: float) -> Heading:
    """The title, its lines about `width` inches long, but never shorter than can be read with ease."""
    large: list[str] = []
    small: list[str] = []
    for number, part in enumerate(title.split("\n")):
        lines, letter, fewest = (small, 0.065, 64) if number else (large, 0.08, 54)
        lines += textwrap.wrap(legible(part, 500), max(fewest, int(width / letter))) if part else []
    height = 0.1 + 0.17 * len(large) + 0.14 * len(small) if large or small else 0.0
    return Heading(large, small, 0.16 + max(_widest(large, 10), _widest(small, 8)), height)


def _write_heading(figure: "Figure", heading: Heading) -> None:
    for lines, top, size, colour in (
        (heading.large, 0.08, 10, "black"),
        (heading.small, 0.11 + 0.17 * len(heading.large), 8, QUIET),
    ):
        for number, line in enumerate(lines):
            _write(figure, 0.08, top + number * size * 0.017, line, fontsize=size, color=colour, va="top")


def _widest(texts: Sequence[str], size: float = 9) -> float:
    """The width in inches of the widest of `texts`, measured with the fonts that will draw it."""
    return max((box.width for box in _boxes(((text, 0) for text in texts), size)), default=0.0) / DPI


def _tallest(labels: Sequence[str], size: float = 9) -> float:
    """The height in inches that `labels` need when they are set upright."""
    return max((box.height for box in _boxes(map(_upright, labels), size)), default=0.0) / DPI


def _boxes(texts: Iterable[tuple[str, int]], size: float) -> "list[Bbox]":
    figure = blank(1, 1)
    written = [figure.text(0, 0, text, fontsize=size, rotation=rotation) for text, rotation in texts]
    return [text.get_window_extent() for text in written]
