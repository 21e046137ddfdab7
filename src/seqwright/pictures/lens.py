"""The logit lens drawn: what each layer would say if it were the last, layers up and tokens across.

L layers, the lowest first · T time, the tokens of a text
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from seqwright.errors import UserError
from seqwright.pictures import INK, blank, blended, ink, legible, letters_on, pen
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
from seqwright.pictures.terminal import fitted_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = 0.21  # inches: the height of a cell
LONGEST = 12  # letters of a token in a cell
ROOMY = 12.0  # inches: up to here cells are as wide as the words above and below, else these are turned
MARK = "#e8710a"  # the frame of what was right


class LensPrediction(NamedTuple):
    """What a layer takes a place for: the likeliest tokens with their probabilities, and whether the first is right."""

    likeliest: Sequence[tuple[str, float]]
    right: bool = False

    @property
    def token(self) -> str:
        """The likeliest."""
        return self.likeliest[0][0]

    @property
    def probability(self) -> float:
        """How sure the layer is of it."""
        return self.likeliest[0][1]


@dataclass(frozen=True)
class Lens:
    """What each layer would say at each place, the lowest layer first.

    `input` are the tokens that were read, `target` what would have been right: the next token, or the hidden one.
    `target` is empty where nobody knows.
    """

    layers: Sequence[str]  # their names
    input: Sequence[str]
    target: Sequence[str]
    predictions: Sequence[Sequence[LensPrediction]]  # [layers][tokens]
    input_axis: str = "token read"
    target_axis: str = "what came next"

    def __post_init__(self) -> None:
        sizes = {len(row) for row in self.predictions}
        if not self.input or len(self.predictions) != len(self.layers) or sizes != {len(self.input)}:
            raise UserError(
                f"the lens has {len(self.layers)} layers and {len(self.input)} tokens, but predictions of "
                f"{len(self.predictions)} × {sorted(sizes)}; each layer predicts something at each token"
            )

    def first(self, count: int) -> "Lens":
        """The same of the first `count` tokens."""
        predictions = [row[:count] for row in self.predictions]
        return replace(self, input=self.input[:count], target=self.target[:count], predictions=predictions)


def cell_label(token: str) -> str:
    """A token in a cell: the space that belongs to it would only push it aside."""
    return legible(token.strip(" ") or token, LONGEST) if token else ""


def lens_table(lens: Lens, *, title: str = "") -> "Figure":
    """A cell for each layer and token with what the layer would say, the darker the surer (nostalgebraist 2020).

    What was read stands below, what would have been right above; where a layer says that, its cell is framed.
    """
    below, above = ([cell_label(token) for token in tokens] for tokens in (lens.input, lens.target))
    inside = sorted({cell_label(prediction.token) for row in lens.predictions for prediction in row})
    with pen([title, *below, *above, *inside]):
        column, word = max(0.3, widest(inside, 7) + 0.08), widest([*below, *above], 8) + 0.1
        column = max(column, word) if word * len(below) <= ROOMY else column
        turned = word > column
        margin = (tallest([*below, *above], 8) if turned else 0.14) + 0.1
        left = max(widest(lens.layers, 8), widest([lens.input_axis, lens.target_axis], 8)) + 0.2
        width, height = column * len(below), LINE * len(lens.layers)
        heading = heading_of(title, left + width + 0.4)
        top = heading.height + 0.08 + margin * any(above)
        figure = blank(max(left + width + 0.55, heading.width), top + max(height, 0.6) + margin + 0.1)
        write_heading(figure, heading)
        axes = axes_at(figure, left, top, width, height)
        probability_LT = np.array([[prediction.probability for prediction in row] for row in lens.predictions])
        axes.pcolormesh(probability_LT, cmap=ink(), vmin=0, vmax=1, edgecolors="white", linewidth=0.6)
        axes.set(xticks=[], yticks=[])
        frame(axes)
        _write_cells(axes, lens)
        for number, name in enumerate(lens.layers):
            write_at(
                figure, left - 0.08, top + height - LINE * (number + 0.5), name, fontsize=8, ha="right", va="center"
            )
        for tokens, axis, edge, side in (
            (above, lens.target_axis, top - 0.05, "bottom"),
            (below, lens.input_axis, top + height + 0.05, "top"),
        ):
            if any(tokens):
                write_at(figure, left - 0.08, edge, axis, fontsize=8, color=QUIET, ha="right", va=side)
            for place, token in enumerate(tokens):
                text, rotation = upright(token) if turned else (token, 0)
                style = {"fontsize": 8, "rotation": rotation, "ha": "center", "va": side}
                write_at(figure, left + column * (place + 0.5), edge, text, **style)
        draw_bar(axes_at(figure, left + width + 0.12, top, 0.09, min(1.2, max(0.6, height))), 1.0)
    return figure


def _write_cells(axes: "Axes", lens: Lens) -> None:
    """The tokens, white on dark, and a frame around those that were right."""
    from matplotlib.patches import Rectangle

    for layer, row in enumerate(lens.predictions):
        for place, prediction in enumerate(row):
            style: dict[str, Any] = {"fontsize": 7, "ha": "center", "va": "center_baseline"}
            axes.text(
                place + 0.5,
                layer + 0.5,
                cell_label(prediction.token),
                color=letters_on_probability(prediction.probability),
                **style,
            )
            if prediction.right:
                box = Rectangle((place + 0.05, layer + 0.08), 0.9, 0.84)
                box.set(edgecolor=MARK, facecolor="none", linewidth=1.1)
                axes.add_patch(box)


def letters_on_probability(probability: float) -> str:
    """Black or white, whichever is read more easily on the ink of a probability."""
    return letters_on(blended(INK, probability))


# ---------------------------------------------------------------------------------------------------- the terminal


def lens_lines(lens: Lens, *, width: int, colour: bool, cell: int = 9) -> Text:
    """The lens for the terminal, tokens down and layers across: as many layers as fit, the last always.

    With `colour` the surer stand on a lighter ground, else a cell ends in the probability in tenths. What was right
    is underlined, or has a * behind it.
    """
    words = [cell_label(token) for token in lens.input]
    margin = max(map(cell_len, words)) + 2
    count = max(1, min(len(lens.layers), (width - margin) // (cell + 1)))
    chosen = [len(lens.layers) - 1 - round(place) for place in np.linspace(0, len(lens.layers) - 1, count)][::-1]
    text = Text(no_wrap=True, overflow="crop")
    text.append(" " * margin + " ".join(_fitted(lens.layers[layer], cell) for layer in chosen).rstrip() + "\n", "dim")
    for place, word in enumerate(words):
        text.append(_fitted(word, margin))
        for layer in chosen:
            prediction = lens.predictions[layer][place]
            if colour:
                text.append(_fitted(cell_label(prediction.token), cell), _ground(prediction))
            else:
                tenths = min(9, int(10 * prediction.probability))
                mark = "*" if prediction.right else " "
                text.append(f"{_fitted(cell_label(prediction.token), cell - 2)}{mark}{tenths}")
            text.append(" ")
        text.append("\n")
    return text


def _ground(prediction: LensPrediction) -> str:
    """Paper to ink, as in the picture."""
    ink_here = INK[round(min(1.0, max(0.0, prediction.probability)) * (len(INK) - 1))]
    return f"{letters_on_probability(prediction.probability)} on {ink_here}{' underline' if prediction.right else ''}"


def _fitted(label: str, cells: int) -> str:
    """A label in exactly so many cells."""
    label = fitted_label(label, cells)
    return label + " " * (cells - cell_len(label))
