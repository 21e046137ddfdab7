"""Pictures of attention weights: one alignment, all heads at a glance.

T rows (who reads) · S columns (what is read) · H heads · L layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqwright.errors import SettingError, UserError
from seqwright.pictures import POINT, Array, blank, ink, legible, pen
from seqwright.pictures.alignments import CELL, LARGEST, alignment, check_words
from seqwright.pictures.head_view import head_view
from seqwright.pictures.layout import (
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
    from matplotlib.figure import Figure


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
        check_words(self.weights, self.rows, self.columns)


@dataclass(frozen=True)
class Looked:
    """A sentence as it was typed, what the model made of it, and where it looked: the maps by their names.

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
    check_words(weights_LHTS, row_labels, column_labels)
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


class HeadChoice(NamedTuple):
    """Which layer is drawn by itself, and which head of it."""

    layer: int | None = None  # from 1
    head: int | None = None  # from 1

    def __str__(self) -> str:
        """`layer 3, head 5`."""
        return ", ".join(f"{noun} {number}" for noun, number in self._asdict().items() if number is not None)


def figures(looked: Looked, choice: HeadChoice | None = None) -> dict[str, "Figure"]:
    """Every picture of what was looked at, by the name to save it under.

    `cross-attention` is the mean over layers and heads, `cross-attention-heads` shows each. Where a layer is chosen,
    `cross-attention-layer-3` is the mean over its heads and `cross-attention-layer-3-lines` its head view; where a head
    is, `cross-attention-layer-3-head-5` is that head.
    """
    choice = choice or HeadChoice()
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


def chosen_maps(maps: dict[str, AttentionMap], choice: HeadChoice) -> dict[str, AttentionMap]:
    """The maps that have such a layer and such a head."""
    found = {}
    for name, kind in maps.items():
        sizes = zip(choice, kind.weights.shape[:2], strict=True)
        if all(number is None or 1 <= number <= size for number, size in sizes):
            found[name] = kind
    if not found:
        layers, across = (max(kind.weights.shape[axis] for kind in maps.values()) for axis in (0, 1))
        raise SettingError(f"there is no {choice}; layers go from 1 to {layers}, heads from 1 to {across}")
    return found


def _mean_of(**counts: int) -> str:
    many = [f"{count} {noun}s" for noun, count in counts.items() if count > 1]
    return f", mean of {' and '.join(many)}" if many else ""
