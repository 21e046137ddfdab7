"""The tree that a beam search grows: time runs to the right, at each step the best hypotheses stand on top."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from seqwright.errors import UserError
from seqwright.pictures import INK, blank, legible, pen
from seqwright.pictures.layout import QUIET, heading_of, widest, write_heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGEND = (
    "boxes: kept; ■ finished; grey: dropped; dark: led to the best; under each word the log-probability up to it, "
    "after ■ the score that ranks what has finished"
)
LINE = 0.36  # inches from one hypothesis to the next below it
GAP = 0.42  # inches between two steps, for the lines
BEST, PLAIN, FAINT, FAINTEST = INK[4], "#8a93a0", "#7d8794", "#d5dae1"


class Twig(NamedTuple):
    """A hypothesis by its last word: what it grew from (its number), at which step, and what became of it.

    Log-probabilities only fall along a branch. The score divides them by a penalty of the length, so that hypotheses of
    different lengths can be ranked; it says something of those that have finished.
    """

    parent: int | None
    step: int  # from 1
    word: str
    log_probability: float  # of all words up to it
    score: float
    probability: float  # of the word
    fate: str  # kept, finished or dropped


def beam_tree(twigs: Sequence[Twig], best: Sequence[int], *, title: str = "") -> "Figure":
    """The whole tree; `best` are the numbers of the hypotheses that led to the winner, drawn dark.

    A box is a hypothesis that was kept, a shaded one with a mark has finished, grey words without a box were dropped.
    Under each word is the log-probability of the hypothesis up to it, beside the mark the score. Each has the id
    `twig-N` in an SVG.
    """
    if not twigs:
        raise UserError("there is no beam search to draw; give one with a beam above 1")
    words = [legible(twig.word, 14) + (f" ■ {twig.score:.2f}" if twig.fate == "finished" else "") for twig in twigs]
    with pen([title, *words]):
        place, width, height = _placed(twigs, words)
        heading = heading_of(f"{title}\n{LEGEND}" if title else "", width)
        top = 0.55 + heading.height
        figure = blank(max(width, heading.width), top + height)
        wide, high = figure.get_size_inches()
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, wide), ylim=(high, 0))
        axes.axis("off")
        write_heading(figure, heading)
        for step in range(1, 1 + max(twig.step for twig in twigs)):
            middle = next(place[number].middle for number, twig in enumerate(twigs) if twig.step == step)
            axes.text(middle, top - 0.3, str(step), ha="center", va="center", fontsize=7, color=QUIET)
        axes.text(0.08, top - 0.3, "step", va="center", fontsize=7, color=QUIET)
        chosen = set(best)
        for number in sorted(range(len(twigs)), key=lambda number: number in chosen):
            _draw_line(axes, twigs, number, place, top, best=number in chosen)
        for number in range(len(twigs)):
            _draw_word(axes, twigs[number], words[number], place[number], top, number, best=number in chosen)
    return figure


class _Place(NamedTuple):
    """Where a word stands, in inches: its middle, half its box, and how far down."""

    middle: float
    half: float
    down: float


def _placed(twigs: Sequence[Twig], words: Sequence[str]) -> tuple[list[_Place], float, float]:
    """The place of each word, a column per step, and how wide and high the tree is."""
    last = max(twig.step for twig in twigs)
    widths = [widest([words[n] for n, twig in enumerate(twigs) if twig.step == step], 8) for step in range(1, last + 1)]
    widths = [max(width, 0.28) + 0.16 for width in widths]
    begins = [0.45 + sum(widths[:step]) + GAP * step for step in range(last)]
    ranks = [0] * last
    places: list[_Place] = []
    for twig, word in zip(twigs, words, strict=True):
        step = twig.step - 1
        places.append(_Place(begins[step] + widths[step] / 2, widest([word], 8) / 2 + 0.06, ranks[step] * LINE))
        ranks[step] += 1
    return places, begins[-1] + widths[-1] + 0.15, max(ranks) * LINE + 0.1


def _draw_line(
    axes: "Axes", twigs: Sequence[Twig], number: int, place: Sequence[_Place], top: float, *, best: bool
) -> None:
    """From a hypothesis to what it grew from."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    twig, here = twigs[number], place[number]
    down = top + here.down
    if twig.parent is None:
        begin = (0.25, top)
    else:
        parent = place[twig.parent]
        begin = (parent.middle + parent.half, top + parent.down)
    end = (here.middle - here.half, down)
    bend = (begin[0] + end[0]) / 2
    curve = Path([begin, (bend, begin[1]), (bend, down), end], [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    colour, width = (BEST, 1.8) if best else (FAINTEST, 0.6) if twig.fate == "dropped" else (PLAIN, 0.8)
    axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=colour, linewidth=width))


def _draw_word(axes: "Axes", twig: Twig, word: str, place: _Place, top: float, number: int, *, best: bool) -> None:
    down = top + place.down
    text: dict[str, Any] = {"fontsize": 8, "ha": "center", "va": "center", "gid": f"twig-{number}"}
    if twig.fate == "dropped":
        axes.text(place.middle, down, word, color=FAINT, **text)
    else:
        fill = BEST if best else INK[1] if twig.fate == "finished" else "white"
        edge = BEST if best else PLAIN
        box = {"boxstyle": "round,pad=0.22", "facecolor": fill, "edgecolor": edge, "linewidth": 0.7}
        axes.text(place.middle, down, word, color="white" if best else "black", bbox=box, **text)
    below: dict[str, Any] = {"fontsize": 5.5, "ha": "center", "va": "center"}
    axes.text(place.middle, down + 0.145, f"{twig.log_probability:.2f}", color=BEST if best else FAINT, **below)
