"""Which steps of a series a classifier's label hangs on, and what it would say if the series ended earlier.

T time · C channels · K ends · L labels
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.pictures import INK, Array, blank, legible, pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (INK[4], "#c8590a", "#5c7a29", "#7a4fa3")  # of labels, told apart by colour-blind readers too
SHADES = ("#ffffff", "#fde3c8", "#f7b879", "#e8863a")  # of saliency, light enough for a line to stand on
MOST_CHANNELS = 6  # in a picture: those on which most hangs
MOST_LABELS = len(COLOURS)
WIDE, TALL, COURSE = 6.4, 1.15, 1.25  # inches: of the picture, of a channel, of the course
GAP = 0.07  # of the height of the course, between two names at its end


class Saliency(NamedTuple):
    """A series as the user knows it, what its label hangs on, and the probabilities if it ended after fewer steps."""

    value_TC: Array
    saliency_TC: Array  # |∂ log p / ∂x| of the predicted label, x as the model sees it; 1 in all
    columns: tuple[str, ...]  # what the channels are called, where that is known
    label: str  # that is predicted
    target: str  # the right one; blank where it is not known
    labels: tuple[str, ...]  # the likeliest first
    end_K: NDArray[np.integer[Any]]  # after so many steps the series would end
    probability_KL: Array

    @property
    def steps(self) -> int:
        """How many steps half of the saliency lies on, the greatest first."""
        falling_T = np.sort(self.saliency_TC.sum(1))[::-1]
        return int(np.searchsorted(falling_T.cumsum(), 0.5) + 1)

    @property
    def decided(self) -> int:
        """The first end from which on the predicted label stays the likeliest."""
        other = np.flatnonzero(self.probability_KL.argmax(1) != 0)
        return int(self.end_K[other[-1] + 1 if len(other) else 0])

    @property
    def sentence(self) -> str:
        """The same in words."""
        found = f"{self.label} {self.probability_KL[-1, 0]:.4f}"
        right = f" (it is {self.target})" if self.target and self.target != self.label else ""
        return (
            f"{found}{right}: half of the saliency lies on {self.steps} of {len(self.value_TC)} steps, most on step "
            f"{int(self.saliency_TC.sum(1).argmax()) + 1}; decided from step {self.decided} on"
        )


def saliency_picture(found: Saliency, *, title: str) -> "Figure":
    """A panel for each channel, its steps shaded by saliency, and below them the probabilities as it continues."""
    from matplotlib.colors import LinearSegmentedColormap

    channels = np.sort(np.argsort(-found.saliency_TC.sum(0), kind="stable")[:MOST_CHANNELS])
    shades = LinearSegmentedColormap.from_list("saliency", SHADES)
    with pen([title, *found.labels, *found.columns]):
        figure = blank(WIDE, 0.9 + TALL * len(channels) + COURSE, layout="constrained")
        heights = [TALL] * len(channels) + [COURSE]
        panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        top = max(float(found.saliency_TC.max()), np.finfo(np.float64).tiny)
        for axes, channel in zip(panels[:-1], channels.tolist(), strict=True):
            _draw_channel(axes, found, channel, shades, top)
        _draw_course(panels[-1], found)
        for axes in panels[:-1]:
            axes.tick_params(labelbottom=False)
        panels[-1].set_xlabel("step")
        figure.suptitle(legible(title, 90), x=0.01, ha="left", fontsize=10)
        told = "shaded: the steps that the label hangs on, |∂ log p / ∂x|, the darkest the most"
        figure.supxlabel(told, fontsize=7, color="#555555")
    return figure


def _draw_channel(axes: "Axes", found: Saliency, channel: int, shades: object, top: float) -> None:
    value_T, step_T = found.value_TC[:, channel], np.arange(1, len(found.value_TC) + 1)
    low, high = float(value_T.min()), float(value_T.max())
    room = 0.08 * (high - low or 1.0)
    axes.imshow(
        found.saliency_TC[None, :, channel],
        cmap=shades,  # type: ignore[arg-type]
        vmin=0.0,
        vmax=top,
        aspect="auto",
        extent=(0.5, len(step_T) + 0.5, low - room, high + room),
        interpolation="nearest",
    )
    axes.plot(step_T, value_T, color=INK[6], linewidth=1.1, marker="." if len(step_T) < 12 else "")
    axes.set_ylim(low - room, high + room)
    axes.set_xlim(0.5, len(step_T) + 0.5)
    several = found.value_TC.shape[1] > 1
    name = found.columns[channel] if found.columns else f"channel {channel + 1}" if several else "value"
    axes.set_ylabel(legible(name, 14))


def _draw_course(axes: "Axes", found: Saliency) -> None:
    """The probability of the likeliest labels after so many steps, each with its name at its end."""
    count = min(MOST_LABELS, len(found.labels))
    mark = "." if len(found.end_K) < 12 else ""
    for label, colour in reversed([*zip(range(count), COLOURS, strict=False)]):
        axes.plot(found.end_K, found.probability_KL[:, label], color=colour, linewidth=1.4, marker=mark)
    at = _apart(found.probability_KL[-1, :count], GAP * 1.9)
    for label, colour in zip(range(count), COLOURS, strict=False):
        right = " ✓" if found.labels[label] == found.target else ""
        axes.annotate(
            f"{legible(found.labels[label], 14)}{right}",
            (1.0, at[label]),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            color=colour,
            fontsize=8,
            va="center",
            annotation_clip=False,
        )
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.set_ylabel("p if it\nended here")


def _apart(place_L: Array, gap: float) -> list[float]:
    """Places for names, falling, none nearer to the one above than the gap, and the lowest not below 0."""
    found: list[float] = []
    for number, place in enumerate(place_L.tolist()):
        lowest = gap * (len(place_L) - 1 - number)
        found.append(min(max(place, lowest), found[-1] - gap if found else 1.0))
    return found
