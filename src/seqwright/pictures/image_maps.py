"""Maps over an image: what is looked at in it, what a label hangs on, which places are alike.

Y rows of pixels · X columns · C channels · P rows of a map · Q its columns · L layers · H heads · N images
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.errors import UserError
from seqwright.pictures import Array, blank, ink, legible, pen
from seqwright.pictures.layout import QUIET, axes_at, draw_bar, frame, heading_of, write_at, write_heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pixels = NDArray[np.uint8]

WARM = ("#ffffff", "#fde3c8", "#f7a35c", "#d8590a", "#7f2704")  # paper to ink, beside the blue of weights
PALE = 0.32  # how much of an image's contrast is left under a map
SIDE, GAP = 1.0, 0.1  # inches of a map and between two
SMALLEST = 0.42  # of one of many heads
MARK = "#d8590a"
MOST_ACROSS = 7.0  # inches of maps in a line


class SeenImage(NamedTuple):
    """An image as a model read it, and what the model takes it for; `patch` pixels of it are a cell of a map."""

    name: str
    pixels_YXC: Pixels
    label: str
    probability: float
    target: str = ""  # the right label; blank where nobody knows
    patch: tuple[float, float] = (1.0, 1.0)  # rows and columns

    @property
    def sentence(self) -> str:
        """`seven.png: 7, 99.8 %`."""
        right = f" (it is {self.target})" if self.target and self.target != self.label else ""
        return f"{self.name}: {self.label}, {100 * self.probability:.1f} %{right}"


class ImageAttention(NamedTuple):
    """Where each head of each layer looks from the place that the label is found from, and the rollout of all."""

    seen: SeenImage
    reader: str  # what looks: "the class token", or "the mean of the patches"
    weight_LHPQ: Array
    rollout_PQ: Array
    every_LHTT: Array  # of all vectors, those before the patches first
    rollout_TT: Array


class ImageSaliency(NamedTuple):
    """|∂ log p(label) / ∂x| at each pixel, the largest over its channels; 1 in all."""

    seen: SeenImage
    saliency_YX: Array


class PlaceSimilarity(NamedTuple):
    """How alike the vector at a place is to those of all others: the cosine, layer by layer."""

    seen: SeenImage
    place: tuple[int, int]  # row and column of the finest map, from 0
    layers: tuple[str, ...]
    cosine_LPQ: Sequence[Array]  # maps may become coarser from layer to layer


# ------------------------------------------------------------------------------------------------------ parts


def warm() -> Any:
    """The colour map of what a label hangs on."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("warm", WARM)


def draw_image(axes: "Axes", pixels_YXC: Pixels, *, pale: bool = False) -> None:
    """An image in its own colours; or in pale grey, to stand under a map."""
    rows, columns, channels = pixels_YXC.shape
    extent, plain = (0.0, columns, rows, 0.0), pixels_YXC / 255
    if pale:
        grey_YX = plain.mean(2)
        axes.imshow(1 - PALE * (1 - grey_YX), cmap="gray", vmin=0, vmax=1, extent=extent, interpolation="nearest")
    elif channels == 1:
        axes.imshow(plain[:, :, 0], cmap="gray", vmin=0, vmax=1, extent=extent, interpolation="nearest")
    else:
        axes.imshow(plain, extent=extent, interpolation="nearest")
    _bare(axes, rows, columns)


def draw_map(
    axes: "Axes", seen: SeenImage, map_PQ: Array, colours: Any, *, low: float = 0.0, top: float | None = None
) -> None:
    """A map over the pale image, more of its colour where it is larger, from `low` to `top`, or to what is largest."""
    top = float(map_PQ.max()) if top is None else top
    share_PQ = ((map_PQ - low) / (top - low or 1.0)).clip(0, 1)
    high, wide = map_PQ.shape[0] * seen.patch[0], map_PQ.shape[1] * seen.patch[1]
    draw_image(axes, seen.pixels_YXC, pale=True)
    axes.imshow(
        share_PQ,
        cmap=colours,
        vmin=0,
        vmax=1,
        alpha=0.15 + 0.8 * share_PQ**0.7,
        extent=(0, wide, high, 0),
        interpolation="nearest",
    )
    _bare(axes, *seen.pixels_YXC.shape[:2])


def _bare(axes: "Axes", rows: int, columns: int) -> None:
    axes.set(xlim=(0, columns), ylim=(rows, 0), xticks=[], yticks=[], aspect="auto")
    frame(axes)


def _tall(seen: SeenImage, side: float) -> float:
    """Inches of an image that is so wide."""
    rows, columns, _ = seen.pixels_YXC.shape
    return float(side * rows / columns)


# --------------------------------------------------------------------------------------------------- pictures


def heads_picture(found: ImageAttention, *, title: str, layer: int | None = None, head: int | None = None) -> "Figure":
    """A small map for each head of each layer, or for those that are chosen, counted from 1."""
    layers, heads = found.weight_LHPQ.shape[:2]
    rows, columns = _chosen("layer", layer, layers), _chosen("head", head, heads)
    side = float(np.clip((MOST_ACROSS - GAP * len(columns)) / len(columns), SMALLEST, 2.2 if layer else SIDE))
    high, left, gap = _tall(found.seen, side), 0.85 + SIDE, 0.06
    heading = heading_of(f"{title}\n{found.seen.sentence}", left + len(columns) * (side + gap))
    top = heading.height + 0.25
    with pen([title, found.seen.sentence]):
        whole = max(top + len(rows) * (high + gap), top + 2 * _tall(found.seen, SIDE) + 0.6)
        figure = blank(max(left + len(columns) * (side + gap), heading.width) + 0.1, whole + 0.1)
        write_heading(figure, heading)
        draw_image(axes_at(figure, 0.1, top, SIDE, _tall(found.seen, SIDE)), found.seen.pixels_YXC)
        below = top + _tall(found.seen, SIDE) + 0.35
        write_at(figure, 0.1, below - 0.07, "rollout", fontsize=8, color=QUIET)
        axes = axes_at(figure, 0.1, below, SIDE, _tall(found.seen, SIDE))
        draw_map(axes, found.seen, found.rollout_PQ, ink(), low=float(found.rollout_PQ.min()))
        for row, number in enumerate(rows):
            down = top + row * (high + gap)
            write_at(
                figure,
                left - 0.1,
                down + high / 2,
                f"layer {number + 1}",
                fontsize=8,
                color=QUIET,
                va="center",
                ha="right",
            )
            for column, each in enumerate(columns):
                map_PQ, across = found.weight_LHPQ[number, each], left + column * (side + gap)
                draw_map(axes_at(figure, across, down, side, high), found.seen, map_PQ, ink())
                if row == 0:
                    write_at(
                        figure, across + side / 2, top - 0.07, f"head {each + 1}", fontsize=8, color=QUIET, ha="center"
                    )
    return figure


def _chosen(noun: str, number: int | None, count: int) -> list[int]:
    if number is not None and not 1 <= number <= count:
        raise UserError(f"there is no {noun} {number}; the model has {count}: choose 1 to {count}")
    return list(range(count)) if number is None else [number - 1]


def rollout_picture(several: Sequence[ImageAttention], *, title: str) -> "Figure":
    """A line for each image: as it is, where the last layer looks in the mean of its heads, and the rollout."""
    names = ("image", "last layer, mean", "rollout over all layers")
    lines = [(each.seen, (each.weight_LHPQ[-1].mean(0), each.rollout_PQ)) for each in several]
    return _lines(lines, names, title, ink())


def saliency_lines(several: Sequence[ImageSaliency], *, title: str) -> "Figure":
    """A line for each image: as it is, and with the pixels that its label hangs on."""
    lines = [(each.seen, (each.saliency_YX,)) for each in several]
    return _lines(lines, ("image", "|∂ log p / ∂x|"), title, warm())


def _lines(
    lines: Sequence[tuple[SeenImage, Sequence[Array]]], names: Sequence[str], title: str, colours: Any
) -> "Figure":
    """Images with maps beside them, what each is taken for at its right; several stand in two columns."""
    side, beside, told = 1.3, 0.12, 1.35
    across = 2 if len(lines) > 2 else 1
    unit = len(names) * (side + beside) + told
    heading = heading_of(title, unit * across)
    top, highest = heading.height + 0.28, max(_tall(seen, side) for seen, _ in lines)
    rows = -(-len(lines) // across)
    with pen([title, *(text for seen, _ in lines for text in (seen.name, seen.label, seen.target))]):
        figure = blank(max(0.1 + unit * across, heading.width), top + rows * (highest + beside))
        write_heading(figure, heading)
        for number, (seen, maps) in enumerate(lines):
            row, column = divmod(number, across)
            down, left, high = top + row * (highest + beside), 0.1 + column * unit, _tall(seen, side)
            draw_image(axes_at(figure, left, down, side, high), seen.pixels_YXC)
            for place, map_PQ in enumerate(maps, start=1):
                at = axes_at(figure, left + place * (side + beside), down, side, high)
                draw_map(at, seen, map_PQ, colours, low=float(map_PQ.min()))
            _write_label(figure, left + len(names) * (side + beside), down + high / 2, seen)
            for place, name in enumerate(names if row == 0 else ()):
                write_at(figure, left + place * (side + beside), top - 0.07, name, fontsize=7, color=QUIET)
    return figure


def _write_label(figure: "Figure", left: float, middle: float, seen: SeenImage) -> None:
    wrong = bool(seen.target) and seen.target != seen.label
    write_at(figure, left, middle - 0.03, legible(seen.label, 22), fontsize=10, va="bottom", weight="bold")
    write_at(figure, left, middle + 0.13, f"{100 * seen.probability:.1f} %", fontsize=8, color=QUIET, va="center")
    told = f"is {legible(seen.target, 20)}" if wrong else legible(seen.name, 24)
    write_at(figure, left, middle + 0.3, told, fontsize=8, color=MARK if wrong else QUIET, va="center")


def similarity_maps(found: PlaceSimilarity, *, title: str) -> "Figure":
    """A map for each layer: the chosen place is marked, and darker is more alike to it."""
    count = 1 + len(found.layers)
    across = min(count, 6)
    side = 1.2
    high, gap = _tall(found.seen, side), 0.14
    lowest = float(np.floor(10 * min(map_PQ.min() for map_PQ in found.cosine_LPQ)) / 10)
    told = f"cosine with the place of row {found.place[0] + 1}, column {found.place[1] + 1}"
    heading = heading_of(f"{title}\n{found.seen.sentence}\n{told}", across * (side + gap))
    top, step = heading.height + 0.3, high + 0.34
    with pen([title, found.seen.sentence, *found.layers]):
        rows = -(-count // across)
        figure = blank(max(0.6 + across * (side + gap), heading.width), top + rows * step - 0.2)
        write_heading(figure, heading)
        for number in range(count):
            row, column = divmod(number, across)
            left, down = 0.1 + column * (side + gap), top + row * step
            axes = axes_at(figure, left, down, side, high)
            name = "image" if number == 0 else found.layers[number - 1]
            write_at(figure, left, down - 0.06, name, fontsize=8, color=QUIET)
            if number == 0:
                draw_image(axes, found.seen.pixels_YXC)
                _mark(axes, found.seen.patch, found.place)
                continue
            map_PQ = found.cosine_LPQ[number - 1]
            seen = found.seen._replace(patch=_cell(found, map_PQ))
            draw_map(axes, seen, map_PQ, ink(), low=lowest, top=1.0)
            _mark(axes, seen.patch, _place_in(found, map_PQ))
        _write_scale(figure, 0.1 + across * (side + gap) - 0.02, top, high, lowest)
    return figure


def _write_scale(figure: "Figure", left: float, top: float, high: float, lowest: float) -> None:
    draw_bar(axes_at(figure, left, top, 0.09, high), 1.0, lowest)


def _cell(found: PlaceSimilarity, map_PQ: Array) -> tuple[float, float]:
    """Pixels of a cell of a map that may be coarser than the first."""
    first = found.cosine_LPQ[0]
    rows, columns = (found.seen.patch[axis] * first.shape[axis] / map_PQ.shape[axis] for axis in (0, 1))
    return rows, columns


def _place_in(found: PlaceSimilarity, map_PQ: Array) -> tuple[int, int]:
    first = found.cosine_LPQ[0]
    row, column = (found.place[axis] * map_PQ.shape[axis] // first.shape[axis] for axis in (0, 1))
    return row, column


def _mark(axes: "Axes", patch: tuple[float, float], place: tuple[int, int]) -> None:
    from matplotlib.patches import Rectangle

    corner = place[1] * patch[1], place[0] * patch[0]
    axes.add_patch(Rectangle(corner, patch[1], patch[0], fill=False, edgecolor=MARK, linewidth=1.6, clip_on=False))


def positions_picture(cosine_PQPQ: Array, *, title: str, most: int = 14) -> "Figure":
    """For each place of a grid how alike its position is to that of every other, of large grids for some places."""
    rows, columns = cosine_PQPQ.shape[:2]
    down, along = (np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)) for n in (rows, columns))
    side, gap = float(np.clip(6.2 / len(along), 0.4, 0.9)), 0.05
    high = side * rows / columns
    lowest = float(np.floor(10 * cosine_PQPQ.min()) / 10)
    told = "each map: the cosine of the position at its own place with those of all places"
    heading = heading_of(f"{title}\n{told}", len(along) * (side + gap))
    top = heading.height + 0.1
    with pen([title]):
        wide = 0.1 + len(along) * (side + gap)
        figure = blank(max(wide + 0.6, heading.width), top + len(down) * (high + gap) + 0.05)
        write_heading(figure, heading)
        for row, place in enumerate(down.tolist()):
            for column, beside in enumerate(along.tolist()):
                axes = axes_at(figure, 0.1 + column * (side + gap), top + row * (high + gap), side, high)
                axes.imshow(
                    cosine_PQPQ[place, beside], cmap=ink(), vmin=lowest, vmax=1, interpolation="nearest", aspect="auto"
                )
                axes.set(xticks=[], yticks=[])
                frame(axes)
        _write_scale(figure, wide + 0.08, top, min(1.5, len(down) * (high + gap)), lowest)
    return figure


def filters_picture(filter_NYXC: Array, *, title: str, told: str) -> "Figure":
    """Filters as small images: grey is zero, each with its own largest value as black or white, or as full colour."""
    count, rows, columns, channels = filter_NYXC.shape
    across = min(count, 10)
    side, gap = 0.55, 0.07
    high = side * rows / columns
    heading = heading_of(f"{title}\n{told}", across * (side + gap))
    top = heading.height + 0.1
    with pen([title, told]):
        figure = blank(
            max(0.15 + across * (side + gap), heading.width), top + -(-count // across) * (high + gap) + 0.05
        )
        write_heading(figure, heading)
        for number, filter_YXC in enumerate(filter_NYXC):
            row, column = divmod(number, across)
            axes = axes_at(figure, 0.1 + column * (side + gap), top + row * (high + gap), side, high)
            shown = 0.5 + 0.5 * filter_YXC / (np.abs(filter_YXC).max() or 1.0)
            plain = shown if channels == 3 else shown.mean(2)
            axes.imshow(plain, cmap="gray", vmin=0, vmax=1, interpolation="nearest", aspect="auto")
            axes.set(xticks=[], yticks=[])
            frame(axes)
    return figure
