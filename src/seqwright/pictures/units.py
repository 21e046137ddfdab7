"""What single units do over a text: a map of many of them, and the text itself in the colours of one.

U units · T time, the tokens of the text
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from seqwright.errors import UserError
from seqwright.pictures import INK, Array, blank, blended, ink, legible, letters_on, pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

# From -1 over paper to 1, after ColorBrewer's RdBu, which colour-blind readers can tell apart.
SIGNED = ("#2166ac", "#4e94c8", "#a3cde3", "#ffffff", "#f8bfa4", "#de725a", "#b2182b")
MARKS = "=- +#"  # the same without colours
MONO = "DejaVu Sans Mono"  # comes with matplotlib
QUIET = "#555555"
LETTER = (0.08, 0.19)  # inches: the width and the height of a letter in a coloured text
WIDEST = 84  # letters in a line


class UnitsPanel(NamedTuple):
    """What some units of a layer did: `signed` between -1 and 1, gates between 0 and 1."""

    name: str
    units: Sequence[int]  # their numbers
    value_UT: Array
    signed: bool


class Course(NamedTuple):
    """What one unit did, token by token, and what is said of it."""

    heading: str
    value_T: Array


def signed() -> "LinearSegmentedColormap":
    """The colour map of all states, from -1 (blue) over 0 (paper) to 1 (red)."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("signed", SIGNED)


def colour_of(value: float) -> tuple[int, int, int]:
    """The red, green and blue of a value, as `signed` has them."""
    return blended(SIGNED, (value + 1) / 2)


def letters_on_value(value: float) -> str:
    """Black or white, whichever is read more easily on the colour of a value."""
    return letters_on(colour_of(value))


# ---------------------------------------------------------------------------------------------------- many units


def state_map(
    panels: Sequence[UnitsPanel], pieces: Sequence[str], bits: Sequence[float] = (), *, title: str = ""
) -> "Figure":
    """Units down, tokens across, a panel for each thing that was heard; above them how surprising each token was."""
    if not panels or not pieces or any(panel.value_UT.shape[1] != len(pieces) for panel in panels):
        raise UserError("a map of units needs at least one panel, and in each of them a value for every token")
    labels = [legible(piece.strip(" ") or piece, 14) for piece in pieces]
    upright = max(map(cell_len, labels)) > 2
    cell = 0.17 if upright else 0.15
    heights = [0.6] * bool(bits) + [max(0.5, 0.115 * len(panel.units)) for panel in panels]
    with pen([title, *labels]):
        width = max(4.5, 1.5 + cell * len(pieces))
        height = 0.75 + sum(heights) + 0.22 * len(heights) + (0.15 * max(map(cell_len, labels)) if upright else 0.2)
        figure = blank(width, height, layout="constrained")
        grid = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        if bits:
            _draw_bits(grid[0], bits)
        for axes, panel in zip(grid[bool(bits) :], panels, strict=True):
            _draw_panel(figure, axes, panel)
        for axes in {grid[0], grid[-1]}:
            axes.set_xticks(range(len(labels)), labels, rotation=90 if upright else 0, fontsize=7)
            axes.tick_params(axis="x", length=0, labelbottom=True)
        if title:
            figure.suptitle(legible(title, 150), x=0.01, ha="left", fontsize=10, wrap=True)
    return figure


def _draw_bits(axes: "Axes", bits: Sequence[float]) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.bar(range(len(bits)), bits, width=0.7, color=INK[4])
    axes.set_title("surprisal in bits", loc="left", fontsize=8, pad=3)
    axes.tick_params(axis="x", length=0, pad=2)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
    axes.tick_params(axis="y", labelsize=7)


def _draw_panel(figure: "Figure", axes: "Axes", panel: UnitsPanel) -> None:
    image = axes.imshow(
        panel.value_UT,
        cmap=signed() if panel.signed else ink(),
        vmin=-1 if panel.signed else 0,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
    )
    axes.set_title(panel.name, loc="left", fontsize=8, pad=3)
    axes.set_yticks(range(len(panel.units)), [str(unit) for unit in panel.units], fontsize=6)
    axes.tick_params(length=0, pad=2, labelbottom=False)
    axes.set_ylabel("unit", fontsize=7)
    for spine in axes.spines.values():
        spine.set(visible=True, linewidth=0.5, edgecolor="#666666")
    ticks = ["−1", "0", "1"] if panel.signed else ["0", "0.5", "1"]
    bar: Any = figure.colorbar(
        image, ax=axes, pad=0.01, aspect=12, ticks=[float(tick.replace("−", "-")) for tick in ticks]
    )
    bar.ax.set_yticklabels(ticks, fontsize=6)
    bar.ax.tick_params(length=2)
    bar.outline.set_linewidth(0.5)


# ---------------------------------------------------------------------------------------------------- one unit


class Letter(NamedTuple):
    """A letter on a line: its first cell, how many it takes, and the number of its token."""

    text: str
    cell: int
    cells: int
    token: int


def lines_of(pieces: Iterable[str], widest: int = WIDEST) -> list[list[Letter]]:
    """The letters of the tokens in lines, broken where the text is, or after a space where a line is full.

    A token that is a line break is shown as ↵.
    """
    found: list[list[Letter]] = [[]]
    for token, piece in enumerate(pieces):
        for character in "↵\n" if piece == "\n" else piece:
            if character == "\n":
                found.append([])
            elif found[-1] and not cell_len(character):  # an accent
                found[-1][-1] = found[-1][-1]._replace(text=found[-1][-1].text + character)
            else:
                _put(found, legible(character) if character != " " else " ", token, widest)
    return [line for line in found if line]


def _put(found: list[list[Letter]], text: str, token: int, widest: int) -> None:
    """Put a letter at the end of the last line; where that is full, what stands after its last space moves on."""
    cells = max(1, cell_len(text))
    end = found[-1][-1].cell + found[-1][-1].cells if found[-1] else 0
    if end + cells > widest:
        space = max((place for place, letter in enumerate(found[-1]) if letter.text == " "), default=-1)
        moved = found[-1][space + 1 :] if space >= len(found[-1]) // 2 else []
        found[-1] = found[-1][: len(found[-1]) - len(moved)]
        first = moved[0].cell if moved else end
        found.append([letter._replace(cell=letter.cell - first) for letter in moved])
        end -= first
    found[-1].append(Letter(text, end, cells, token))


def coloured_text(pieces: Sequence[str], on_T: Array, courses: Sequence[Course], *, title: str = "") -> "Figure":
    """The text once for each unit, every letter on the colour of what the unit was after it (Karpathy et al. 2015).

    Underlined are the tokens of which a rule marks at least half: `on_T` is the share.
    """
    if not courses or any(len(course.value_T) != len(pieces) for course in courses):
        raise UserError("a coloured text needs at least one unit, and of each a value for every token")
    lines = lines_of(pieces)
    letter_wide, letter_high = LETTER
    width = letter_wide * max(line[-1].cell + line[-1].cells for line in lines)
    block = letter_high * len(lines) + 0.42
    top = 0.35 if title else 0.1
    with pen([title, *pieces, *(course.heading for course in courses)]):
        whole_width, whole_height = max(width, 5.0) + 0.3, top + block * len(courses) + 0.35
        figure = blank(whole_width, whole_height)
        for number, course in enumerate(courses):
            above = top + block * number + 0.24
            high = letter_high * len(lines)
            box = (0.15 / whole_width, 1 - (above + high) / whole_height, width / whole_width, high / whole_height)
            axes = figure.add_axes(box)
            axes.set(xlim=(0, width / letter_wide), ylim=(len(lines), 0))
            axes.set_axis_off()
            write_letters(axes, lines, course.value_T, on_T)
            heading = 1 - (above - 0.05) / whole_height
            figure.text(0.15 / whole_width, heading, legible(course.heading, 120), fontsize=8, color=QUIET)
        if title:
            figure.text(0.15 / whole_width, 1 - 0.2 / whole_height, legible(title, 120), fontsize=10)
        _draw_scale(figure, whole_width, whole_height)
    return figure


def write_letters(axes: "Axes", lines: Sequence[Sequence[Letter]], value_T: Array, on_T: Array) -> None:
    """The letters on the colours of their tokens' values; the marked ones are underlined."""
    import matplotlib as mpl

    families = [MONO, *mpl.rcParams["font.family"]]
    colours = signed()
    for row, line in enumerate(lines):
        values = [float(value_T[letter.token]) for letter in line]
        bars = [(letter.cell, letter.cells) for letter in line]
        grounds = [colours((value + 1) / 2) for value in values]
        axes.broken_barh(bars, (row + 0.04, 0.92), facecolors=grounds, edgecolors=grounds, linewidth=0.2)
        for letter, value in zip(line, values, strict=True):
            if letter.text != " ":
                place = letter.cell + letter.cells / 2, row + 0.72
                style: dict[str, Any] = {"fontsize": 8, "family": families, "color": letters_on_value(value)}
                axes.text(*place, letter.text, ha="center", va="baseline", **style)
        marked = [bar for letter, bar in zip(line, bars, strict=True) if on_T[letter.token] >= 0.5]
        axes.broken_barh(marked, (row + 0.86, 0.1), facecolors="black", linewidth=0)


def _draw_scale(figure: "Figure", width: float, height: float) -> None:
    axes = figure.add_axes((0.35 / width, 0.12 / height, 1.6 / width, 0.1 / height))
    axes.imshow(np.linspace(0, 1, 256)[None, :], cmap=signed(), aspect="auto", extent=(-1, 1, 0, 1))
    axes.set_axis_off()
    for x, label, side in ((-1.05, "−1", "right"), (1.05, "1", "left")):
        axes.text(x, 0.4, label, fontsize=7, ha=side, va="center", color=QUIET)


# ---------------------------------------------------------------------------------------------------- the terminal


def unit_lines(pieces: Sequence[str], value_T: Array, *, width: int, colour: bool) -> Text:
    """The text in the colours of a unit; without colours, under each letter one of = - + # or nothing, from -1 to 1."""
    text = Text(no_wrap=True, overflow="crop")
    for line in lines_of(pieces, max(8, width)):
        marks = Text()
        for letter in line:
            value = float(value_T[letter.token])
            red, green, blue = colour_of(value)
            letters = "rgb(255,255,255)" if letters_on_value(value) == "white" else "rgb(0,0,0)"
            ground = f"{letters} on rgb({red},{green},{blue})"
            text.append(letter.text, style=ground if colour else "")
            marks.append(MARKS[round((min(1.0, max(-1.0, value)) + 1) / 2 * (len(MARKS) - 1))] * letter.cells)
        text.append("\n")
        if not colour:
            text.append_text(marks).append("\n")
    return text
