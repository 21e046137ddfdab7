"""Numbers and labels in, drawings out: what every drawing shares, from the pen to the saved file.

Nothing here keeps a figure alive or changes matplotlib for the rest of the program: a drawing is an ordinary `Figure`,
and settings hold only inside `with pen(...)`. matplotlib is imported when the first figure is drawn.
"""

import functools
import io
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqwright.errors import UserError
from seqwright.whole_file import bytes_whole

if TYPE_CHECKING:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

Array = NDArray[np.floating[Any]]

FONT = "DejaVu Sans"  # comes with matplotlib, so every machine sets the same lines
POINT = 1 / 72  # of an inch
DPI = 200

# White paper to dark ink, lightness falling in equal steps (CIELAB 100, 86, 71, 57, 43, 28, 14): twice the weight looks
# twice as dark, also in grey print and to colour-blind readers.
INK = ("#ffffff", "#b6dbf3", "#7ab5df", "#4e8ec1", "#386897", "#2f4363", "#21232c")

# What is left out of a file so that the same figure is the same bytes on every day and under every version.
UNDATED: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def ink() -> "LinearSegmentedColormap":
    """The colour map of all weights, from 0 (paper) to the ceiling (ink)."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("ink", INK)


def blended(colours: Sequence[str], share: float) -> tuple[int, int, int]:
    """The red, green and blue at a place between the first colour (0) and the last (1)."""
    place = min(1.0, max(0.0, share)) * (len(colours) - 1)
    lower = min(int(place), len(colours) - 2)
    below, above = (bytes.fromhex(colours[number][1:]) for number in (lower, lower + 1))
    red, green, blue = (round(a + (place - lower) * (b - a)) for a, b in zip(below, above, strict=True))
    return red, green, blue


def letters_on(colour: tuple[int, int, int]) -> str:
    """Black or white, whichever has the higher contrast on a colour (WCAG 2.2, relative luminance)."""
    linear = (part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour)
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"


def darkest_weight(weights_TS: Array) -> float:
    """The weight drawn darkest: 0.25, 0.5 or 1, so that pictures can be compared and faint maps can still be read.

    Uniform attention never looks darker than half: the ceiling is at least twice the uniform weight.
    """
    peak = max(float(weights_TS.max()), 2 / weights_TS.shape[-1])
    return next((top for top in (0.25, 0.5) if peak <= top), 1.0)


def legible(label: str, longest: int = 28) -> str:
    """A label on one line: breaks and lone spaces made visible, control characters replaced, cut with … if too long."""
    if label.strip(" ") == "":
        return "␣" * max(1, min(len(label), longest))
    line = "".join(map(_visible, label))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _visible(character: str) -> str:
    control = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
    return {"\n": "↵", "\t": "⇥"}.get(character, "�") if control else character


def blank(width: float, height: float, **arguments: Any) -> "Figure":
    """An empty figure of so many inches that draws itself in memory, shows itself in a notebook and has no window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from seqwright.pictures.drawing import Drawing

    figure = Drawing(figsize=(width, height), dpi=DPI, **arguments)
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def pen(text: Iterable[str] = ()) -> Iterator[None]:
    """Inside, figures are set for a paper: 9 point letters, thin lines, fonts that have every character of `text`."""
    import matplotlib as mpl

    letters = frozenset("".join(text))
    settings: dict[str, Any] = {
        "font.family": families(letters),
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.linewidth": 0.6,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "text.parse_math": False,  # "$5 or $6" are prices
    }
    with mpl.rc_context(settings), quiet():  # type: ignore[arg-type]
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Inside, matplotlib does not repeat for every letter what `families` has said once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s)Glyph .* missing from font")
        yield


@functools.lru_cache(maxsize=64)
def families(letters: frozenset[str]) -> list[str]:
    """Font families that together have all `letters`: the standard one, then installed ones for what it lacks."""
    from matplotlib import font_manager

    chosen = [FONT]
    standard = font_manager.findfont(FONT)
    missing = {letter for letter in letters if letter.isprintable() and not _draws(standard, letter)}
    if missing:
        entries = [entry for entry in font_manager.fontManager.ttflist if entry.style == "normal"]
        # A font of last resort claims every character but draws only the emblem of its script.
        entries = [entry for entry in entries if "resort" not in entry.name.lower()]
        entries.sort(key=lambda entry: ("Sans" not in entry.name, entry.name, entry.weight != 400, entry.fname))
        for entry in entries:
            found = {letter for letter in missing if _draws(entry.fname, letter)}
            if found:
                chosen.append(entry.name)
                missing -= found
            if not missing:
                break
    if missing:
        shown = "".join(sorted(missing)[:10])
        warnings.warn(
            f"no installed font has the characters '{shown}', so PNG and PDF pictures show boxes in their place; "
            "install a font that has them (Noto Sans covers most scripts) or use the SVG or the HTML page",
            stacklevel=2,
        )
    return [*chosen, "sans-serif"]  # where an SVG is read without any of them


def _draws(font_path: str, letter: str) -> bool:
    from matplotlib import font_manager

    font = font_manager.get_font(font_path)
    return bool(font.scalable and font.get_char_index(ord(letter)))


def save(figure: "Figure", path_stem: str | Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write the figure as `path_stem` + each format and give the paths; the same figure makes the same bytes.

    Each file appears when it is whole, in place of what was there.
    """
    unknown = [form for form in formats if form not in UNDATED]
    if unknown:
        raise UserError(f"a picture cannot be saved as '{unknown[0]}'; choose among {', '.join(UNDATED)}")
    stem = Path(path_stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{form}") for form in formats]
    with _printing():
        for path, form in zip(paths, formats, strict=True):
            with bytes_whole(path) as file:
                figure.savefig(file, format=form, dpi=DPI, metadata=UNDATED[form], facecolor="white")
    return paths


def png_of(figure: "Figure") -> bytes:
    """The figure as a PNG file that never was on disk: what a notebook shows."""
    found = io.BytesIO()
    with _printing():
        figure.savefig(found, format="png", dpi=DPI, metadata=UNDATED["png"], facecolor="white")
    return found.getvalue()


def svg_of(figure: "Figure") -> str:
    """The figure as an SVG element that can stand inside an HTML page."""
    text = io.StringIO()
    with _printing():
        figure.savefig(text, format="svg", metadata=UNDATED["svg"], facecolor="white")
    return text.getvalue()[text.getvalue().index("<svg") :]


@contextmanager
def _printing() -> Iterator[None]:
    """Inside, the same figure makes the same bytes."""
    import matplotlib as mpl

    # Text stays text in an SVG: it can be searched, edited, and is set in the reader's fonts.
    settings: dict[str, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "seqwright",
        "pdf.fonttype": 42,
        "font.sans-serif": [FONT],
    }
    with mpl.rc_context(settings), quiet():  # type: ignore[arg-type]
        yield
