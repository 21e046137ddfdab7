"""A caption over its image: where a model looked while it wrote each word.

L layers · H heads · T words · Y rows · X columns · C channels
"""

import base64
import html
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqwright.errors import SettingError, UserError
from seqwright.pictures import POINT, Array, blank, legible, pen
from seqwright.pictures.attention import HeadChoice
from seqwright.pictures.layout import QUIET, axes_at, frame, heading_of, write_at, write_heading
from seqwright.pictures.still_page import escaped, still_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Pixels = NDArray[np.uint8]

ACROSS = 6  # panels beside each other
SIDE, GAP = 1.15, 0.12  # inches of a panel, and between two
DIM = 0.45  # of the brightness of a place that is not looked at
FAINT = 0.02  # of the largest weight, below which the page has no mark


@dataclass(frozen=True)
class CaptionMaps:
    """An image, what was written of it, and a map of each word for each layer and head."""

    name: str
    pixels_YXC: Pixels
    text: str
    words: list[str]
    map_LHTYX: Array
    score: float | None = None

    def __post_init__(self) -> None:
        shape, count = self.map_LHTYX.shape, len(self.words)
        if len(shape) != 5 or shape[2] != count:
            raise UserError(f"maps have the shape {shape}, expected one for each of {count} words")

    def of(self, choice: HeadChoice) -> Array:
        """`map_TYX`: the mean over layers and heads, or over those that are chosen."""
        layers, heads = self.map_LHTYX.shape[:2]
        for number, most, noun in ((choice.layer, layers, "layer"), (choice.head, heads, "head")):
            if number is not None and not 1 <= number <= most:
                raise SettingError(f"there is no {noun} {number} that looks at the image; they go from 1 to {most}")
        chosen = self.map_LHTYX if choice.layer is None else self.map_LHTYX[choice.layer - 1][None]
        chosen = chosen if choice.head is None else chosen[:, choice.head - 1][:, None]
        mean_TYX: Array = chosen.mean(axis=(0, 1))
        return mean_TYX


def caption_figure(seen: CaptionMaps, choice: HeadChoice | None = None, *, title: str = "") -> "Figure":
    """The image, and beside it the same for each word: the brighter a place, the more was it looked at.

    Each word has a scale of its own, up to its largest weight, which stands behind it; a map that is nearly even stays
    dim.
    """
    map_TYX = seen.of(choice or HeadChoice())
    high, wide, _ = seen.pixels_YXC.shape
    tall = SIDE * high / wide
    words = ["", *(legible(word, 20) for word in seen.words)]
    across = min(ACROSS, len(words))
    title = f"{title}\n{legible(seen.name, 120)}\n→ {legible(seen.text, 300)}".lstrip("\n")
    with pen([title, *words]):
        heading = heading_of(title, across * (SIDE + GAP))
        row = tall + 13 * POINT + GAP
        lines = -(-len(words) // across)
        figure = blank(max(across * (SIDE + GAP) + GAP, heading.width), heading.height + 0.15 + lines * row)
        write_heading(figure, heading)
        for place, word in enumerate(words):
            down, right = divmod(place, across)
            left, top = GAP + right * (SIDE + GAP), heading.height + 0.15 + down * row
            axes = axes_at(figure, left, top + 12 * POINT, SIDE, tall)
            map_YX = None if place == 0 else map_TYX[place - 1]
            share_YX = None if map_YX is None else map_YX / brightest(map_YX)
            axes.imshow(lit(seen.pixels_YXC, share_YX), interpolation="nearest", aspect="auto")
            axes.set(xticks=[], yticks=[])
            frame(axes)
            write_at(figure, left, top + 10 * POINT, word, fontsize=9, va="bottom")
            weight = "" if map_YX is None else f"{map_YX.max():.2f}"
            write_at(figure, left + SIDE, top + 10 * POINT, weight, fontsize=7, color=QUIET, ha="right", va="bottom")
    return figure


def brightest(map_YX: Array) -> float:
    """The weight that is drawn brightest: the largest, but at least four times that of an even map."""
    return max(float(map_YX.max()), 4 / map_YX.size)


def lit(pixels_YXC: Pixels, share_YX: Array | None) -> Pixels:
    """An image in colour, dimmed but where a map says otherwise; without a map as it is."""
    colour_YXC = np.repeat(pixels_YXC, 3, axis=2) if pixels_YXC.shape[2] == 1 else pixels_YXC
    if share_YX is None:
        return colour_YXC
    rows, columns = colour_YXC.shape[:2]
    down = np.arange(rows) * share_YX.shape[0] // rows
    right = np.arange(columns) * share_YX.shape[1] // columns
    light_YX1 = (DIM + (1 - DIM) * share_YX[down][:, right])[:, :, None]
    veil = 0.45 * share_YX[down][:, right][:, :, None]  # also where the image itself is black
    mixed = colour_YXC * light_YX1 * (1 - veil) + np.array([255, 196, 0]) * veil
    found_YXC: Pixels = mixed.round().clip(0, 255).astype(np.uint8)
    return found_YXC


# ---------------------------------------------------------------------------------------------------- a page

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
.words { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; }
figure { margin: 0; width: 11rem; }
figcaption { text-align: center; overflow-wrap: anywhere; }
svg { width: 100%; display: block; outline: 1px solid #8888; }
image { image-rendering: pixelated; }
.words figure:hover { transform: scale(1.6); position: relative; z-index: 1; }
"""


def caption_page(seen: CaptionMaps, choice: HeadChoice | None = None, *, title: str = "Caption") -> str:
    """The same as a page: pointing at the image of a word enlarges it, pointing at a place says its weight."""
    map_TYX = seen.of(choice or HeadChoice())
    figures = [_figure(seen, None, "")]
    figures += [_figure(seen, map_YX, word) for word, map_YX in zip(seen.words, map_TYX, strict=True)]
    score = "" if seen.score is None else f" <small>({seen.score:.4g})</small>"
    body = f'<p dir="auto"><b>{escaped(seen.text)}</b>{score}<br>{escaped(seen.name)}</p>\n'
    return still_page(title, body + f'<div class="words">{"".join(figures)}</div>', STYLE)


def _figure(seen: CaptionMaps, map_YX: Array | None, word: str) -> str:
    """The image with a veil of yellow over the places that were looked at, and the word below it."""
    rows, columns = (1, 1) if map_YX is None else map_YX.shape
    high, wide, _ = seen.pixels_YXC.shape
    marks = []
    if map_YX is not None:
        marks.append(f'<rect width="{wide}" height="{high}" fill="#000" opacity="0.6"/>')
        across, down, top = wide / columns, high / rows, brightest(map_YX)
        for y, x in zip(*np.nonzero(map_YX >= FAINT * top), strict=True):
            box = f'x="{x * across:g}" y="{y * down:g}" width="{across:g}" height="{down:g}"'
            share = float(map_YX[y, x])
            marks.append(
                f'<rect {box} fill="#ffc400" opacity="{0.7 * share / top:.2f}"><title>{share:.3f}</title></rect>'
            )
    picture = f'<image href="data:image/png;base64,{_png(seen.pixels_YXC)}" width="{wide}" height="{high}"/>'
    name = html.escape(word) or "the image"
    svg = f'<svg viewBox="0 0 {wide} {high}" role="img" aria-label="{name}">{picture}{"".join(marks)}</svg>'
    return f'<figure>{svg}<figcaption dir="auto">{escaped(word) or "&nbsp;"}</figcaption></figure>\n'


def _png(pixels_YXC: Pixels) -> str:
    from PIL import Image

    held = io.BytesIO()
    image: Any = pixels_YXC[:, :, 0] if pixels_YXC.shape[2] == 1 else pixels_YXC
    Image.fromarray(image).save(held, "PNG")
    return base64.b64encode(held.getvalue()).decode()
