"""Pictures of attention weights: one alignment, all heads at a glance, sub-words merged into words.

T rows (who reads) · S columns (what is read) · H heads · L layers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqwright.errors import SettingError, UserError
from seqwright.pictures import POINT, Array, blank, ceiling, ink, legible, pen
from seqwright.pictures.head_view import head_view
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
        word = widest(above) + 0.12
        # Few short words stay horizontal: wider cells are easier to read than a turned page.
        turned = word * columns > max(3.2, CELL * columns)
        cell_width = min(CELL, LARGEST / columns) if turned else max(CELL, word)
        cell_height = min(CELL, LARGEST / rows)
        width, height = cell_width * columns, cell_height * rows
        bar_height = min(1.2, max(0.6, height))  # lower, and its numbers would touch
        left = widest(beside) + 0.12 + AXIS * bool(row_axis)
        heading = heading_of(title, left + width + 0.4)
        words_top = 0.08 + heading.height + AXIS * bool(column_axis)
        top = words_top + (tallest(above) + 0.1 if turned else 0.2)
        figure = blank(
            max(left + max(width + 0.55, widest([column_axis], 8)), heading.width),
            top + max(height, bar_height, widest([row_axis], 8)) + 0.1,
        )
        axes = axes_at(figure, left, top, width, height)
        # The hairline in the cell's own colour closes the gaps that some viewers show between cells.
        axes.pcolormesh(weights_TS, cmap=ink(), vmin=0, vmax=ceiling(weights_TS), edgecolors="face", linewidth=0.1)
        axes.invert_yaxis()
        _write_words(axes, above, beside, turned=turned, cell=(cell_width, cell_height))
        draw_bar(axes_at(figure, left + width + 0.12, top, 0.09, bar_height), ceiling(weights_TS))
        write_heading(figure, heading)
        write_at(figure, left, words_top - AXIS, column_axis, fontsize=8, color=QUIET, va="top")
        write_at(figure, 0.05, top, row_axis, fontsize=8, color=QUIET, va="top", rotation=90)
    return figure


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
        left = 0.6 + widest(beside, 6.5)
        heading = heading_of(title, left + right * across)
        top = 0.3 + heading.height
        bar_height = min(1.2, max(0.6, high))
        figure = blank(
            max(left + right * across + 0.4, heading.width),
            top + max(down * layers + tallest(below, 6.5), bar_height) + 0.1,
        )
        for layer, head in np.ndindex(layers, across):
            axes = axes_at(figure, left + right * head, top + down * layer, wide, high)
            axes.imshow(weights_LHTS[layer, head], cmap=ink(), vmin=0, vmax=1, aspect="auto")
            axes.set(xticks=[], yticks=[])
            frame(axes)
        for layer in range(layers):
            write_at(figure, 0.08, top + down * layer + high / 2, f"layer {layer + 1}", fontsize=8, va="center")
            for row, word in enumerate(beside):
                place = top + down * layer + cell * (row + 0.5)
                write_at(figure, left - 0.04, place, word, fontsize=6.5, ha="right", va="center")
        for head in range(across):
            write_at(figure, left + right * head + wide / 2, top - 0.06, f"head {head + 1}", fontsize=8, ha="center")
            for column, (word, rotation) in enumerate(map(upright, below)):
                place = left + right * head + cell * (column + 0.5), top + down * (layers - 1) + high + 0.04
                write_at(figure, *place, word, fontsize=6.5, rotation=rotation, ha="center", va="top")
        draw_bar(axes_at(figure, left + right * across, top, 0.09, bar_height), 1.0)
        write_heading(figure, heading)
    return figure


def _small_cell(layers: int, across: int, rows: int, columns: int) -> float:
    """The side of a cell in inches: a page wide, but never below two pixels a cell nor above the largest figure."""
    longer = max(rows, columns)
    panel = max(1.1, min(2.0, 6.5 / across), 0.02 * longer)
    return min(CELL, panel / longer, LARGEST / (layers * rows), LARGEST / (across * columns))


class Choice(NamedTuple):
    """Which layer is drawn by itself, and which head of it."""

    layer: int | None = None  # from 1
    head: int | None = None  # from 1

    def __str__(self) -> str:
        """`layer 3, head 5`."""
        return ", ".join(f"{noun} {number}" for noun, number in self._asdict().items() if number is not None)


def figures(looked: Looked, choice: Choice | None = None) -> dict[str, "Figure"]:
    """Every picture of what was looked at, by the name to save it under.

    `cross-attention` is the mean over layers and heads, `cross-attention-heads` shows each. Where a layer is chosen,
    `cross-attention-layer-3` is the mean over its heads and `cross-attention-layer-3-lines` its head view; where a head
    is, `cross-attention-layer-3-head-5` is that head.
    """
    choice = choice or Choice()
    source, target = (legible(text, 200) if text else "" for text in (looked.source, looked.target))
    below = f"\n{looked.title}: {source}" if looked.title else f"\n{source}"
    below += f"\n→ {target}" if target else ""
    drawn = {}
    for name, kind in chosen_maps(looked.maps, choice).items():
        layers, across = kind.weights.shape[:2]
        stem, labels = name.replace(" ", "-"), {"row_axis": kind.row_axis, "column_axis": kind.column_axis}
        if choice.layer is None:
            whole_TS, title = kind.weights.mean(axis=(0, 1)), name + _mean_of(layer=layers, head=across) + below
            drawn[stem] = alignment(whole_TS, kind.columns, kind.rows, title=title, **labels)
            if across > 1:
                drawn[f"{stem}-heads"] = heads(kind.weights, kind.rows, kind.columns, title=name + below, **labels)
            continue
        some = range(across) if choice.head is None else [choice.head - 1]
        stem, title = f"{stem}-{choice}".replace(", ", "-").replace(" ", "-"), f"{name}, {choice}"
        mean_TS, mean = kind.weights[choice.layer - 1, list(some)].mean(axis=0), _mean_of(head=len(some))
        drawn[stem] = alignment(mean_TS, kind.columns, kind.rows, title=title + mean + below, **labels)
        drawn[f"{stem}-lines"] = head_view(kind, choice.layer - 1, some, title=title + below)
    return drawn


def chosen_maps(maps: dict[str, AttentionMap], choice: Choice) -> dict[str, AttentionMap]:
    """The maps that have such a layer and such a head."""
    found = {}
    for name, kind in maps.items():
        sizes = zip(choice, kind.weights.shape[:2], strict=True)
        if all(number is None or 1 <= number <= size for number, size in sizes):
            found[name] = kind
    if not found:
        layers, across = (max(kind.weights.shape[axis] for kind in maps.values()) for axis in (0, 1))
        raise SettingError(f"there is no {choice}; there are {layers} layers of {across} heads, numbered from 1")
    return found


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
