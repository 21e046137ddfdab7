"""How many answers are right after so many examples: a line for each kind of question, and one for all."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from seqwright.pictures import INK, blank, pen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Told apart by colour-blind readers too (Okabe and Ito 2008); the dashes tell them apart in grey print.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
NEAR = 5.0  # percent: labels that stand closer would touch


def shots_picture(
    shots: Sequence[int], shares: Mapping[str, Sequence[float]], *, chance: float | None = None
) -> "Figure":
    """`shares` has, for each kind of question, the share of right answers (0 to 1) after each number of examples.

    The kind "all" is drawn last and darkest. `chance` is the share that can be right without any example.
    """
    kinds = [*(kind for kind in shares if kind != "all"), *(["all"] if "all" in shares else [])]
    with pen(kinds):
        figure = blank(5.2, 3.2, layout="constrained")
        axes = figure.subplots()
        places = range(len(shots))  # 0, 1, 2, 4, 8 at equal distances: each doubling counts alike
        heights = _apart({kind: 100 * shares[kind][-1] for kind in kinds})
        for number, kind in enumerate(kinds):
            colour = INK[-1] if kind == "all" else COLOURS[number % len(COLOURS)]
            dash = "-" if kind == "all" else DASHES[number % len(DASHES)]
            values = [100 * share for share in shares[kind]]
            width = 2.0 if kind == "all" else 1.2
            axes.plot(places, values, color=colour, linestyle=dash, linewidth=width, marker="o", markersize=3.5)
            label = f"{kind}  {values[-1]:.0f} %"
            axes.annotate(
                label, (len(shots) - 1, heights[kind]), (7, 0), textcoords="offset points", va="center", color=colour,
                fontsize=8, fontweight="bold" if kind == "all" else "normal", annotation_clip=False,
            )  # fmt: skip
        if chance is not None:
            axes.axhline(100 * chance, color="#999999", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)
            place, shift = (len(shots) - 1, 100 * chance), (0, 3)
            axes.annotate("chance", place, shift, textcoords="offset points", ha="right", color="#777777", fontsize=8)
        axes.set_xticks(list(places), [str(count) for count in shots])
        axes.set_xlabel("examples in the prompt")
        axes.set_ylabel("right answers (%)")
        axes.set_ylim(-2, 104)
        axes.set_yticks(range(0, 101, 20))
        axes.grid(axis="y", linewidth=0.4, color="#e3e3e3")
        axes.set_axisbelow(True)
    return figure


def _apart(heights: Mapping[str, float]) -> dict[str, float]:
    """The heights of labels, pushed down from the highest so that none touches another, and up from the lowest."""
    placed: dict[str, float] = {}
    above = 100 + NEAR
    for kind in sorted(heights, key=lambda kind: -heights[kind]):
        above = placed[kind] = min(heights[kind], above - NEAR)
    below = -NEAR
    for kind in sorted(placed, key=lambda kind: placed[kind]):
        below = placed[kind] = max(placed[kind], below + NEAR)
    return placed
