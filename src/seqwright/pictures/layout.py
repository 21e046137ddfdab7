"""Placing things on a figure in inches from its upper left corner: axes, texts, headings, a colour bar."""

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqwright.pictures import DPI, blank, ink, legible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

QUIET = "#555555"  # the ink of what is said about an axis


def axes_at(figure: "Figure", left: float, top: float, width: float, height: float) -> "Axes":
    """Axes placed in inches from the upper left corner of the figure."""
    whole_width, whole_height = figure.get_size_inches()
    bottom = whole_height - top - height
    return figure.add_axes((left / whole_width, bottom / whole_height, width / whole_width, height / whole_height))


def write_at(figure: "Figure", left: float, top: float, text: str, **style: Any) -> None:
    """Text placed in inches from the upper left corner of the figure."""
    width, height = figure.get_size_inches()
    figure.text(left / width, 1 - top / height, text, **style)


def frame(axes: "Axes") -> None:
    """A thin line all around."""
    for spine in axes.spines.values():
        spine.set(visible=True, linewidth=0.5, edgecolor="#666666")


def upright(label: str) -> tuple[str, int]:
    """A label for a narrow column: turned, or set downwards where the script is written so (Chinese, Japanese)."""
    downwards = all(unicodedata.east_asian_width(letter) in "WF" for letter in label)
    return ("\n".join(label), 0) if downwards else (label, 90)


def draw_bar(axes: "Axes", darkest: float, lightest: float = 0.0) -> None:
    """The colour bar: which ink is which value."""
    shades, reach = np.linspace(0, 1, 256)[:, None], (0.0, 1.0, lightest, darkest)
    axes.imshow(shades, cmap=ink(), aspect="auto", origin="lower", extent=reach)
    ticks = [lightest, (lightest + darkest) / 2, darkest]
    axes.set_xticks([])
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=7)
    axes.tick_params(length=2, pad=2, labelright=True, right=True, labelleft=False, left=False)
    frame(axes)


class Heading(NamedTuple):
    """A title in lines: the first paragraph large, the others small below it; its size in inches."""

    large: list[str]
    small: list[str]
    width: float
    height: float


def heading_of(title: str, width: float) -> Heading:
    """The title, its lines about `width` inches long, but never shorter than can be read with ease."""
    large: list[str] = []
    small: list[str] = []
    for number, part in enumerate(title.split("\n")):
        lines, letter, fewest = (small, 0.065, 64) if number else (large, 0.08, 54)
        lines += textwrap.wrap(legible(part, 500), max(fewest, int(width / letter))) if part else []
    height = 0.1 + 0.17 * len(large) + 0.14 * len(small) if large or small else 0.0
    return Heading(large, small, 0.16 + max(widest(large, 10), widest(small, 8)), height)


def write_heading(figure: "Figure", heading: Heading) -> None:
    """Set it in the upper left corner."""
    for lines, top, size, colour in (
        (heading.large, 0.08, 10, "black"),
        (heading.small, 0.11 + 0.17 * len(heading.large), 8, QUIET),
    ):
        for number, line in enumerate(lines):
            write_at(figure, 0.08, top + number * size * 0.017, line, fontsize=size, color=colour, va="top")


def widest(texts: Sequence[str], size: float = 9) -> float:
    """The width in inches of the widest of `texts`, measured with the fonts that will draw it."""
    return max((box.width for box in _boxes(((text, 0) for text in texts), size)), default=0.0) / DPI


def tallest(labels: Sequence[str], size: float = 9) -> float:
    """The height in inches that `labels` need when they are set upright."""
    return max((box.height for box in _boxes(map(upright, labels), size)), default=0.0) / DPI


def _boxes(texts: Iterable[tuple[str, int]], size: float) -> "list[Bbox]":
    figure = blank(1, 1)
    written = [figure.text(0, 0, text, fontsize=size, rotation=rotation) for text, rotation in texts]
    return [text.get_window_extent() for text in written]
