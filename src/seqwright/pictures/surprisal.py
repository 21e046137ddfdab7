"""How surprising each token of a text was: the text in shades of red, and a bar for each token.

T time, the tokens of the text
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from seqwright.errors import UserError
from seqwright.pictures import Array, blank, legible, pen
from seqwright.pictures.layout import QUIET, axes_at, heading_of, tallest, widest, write_at, write_heading
from seqwright.pictures.still_page import escaped, still_page
from seqwright.pictures.units import LETTER, SIGNED, colour_of, letters_on_value, lines_of, signed, write_letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BITS = 16.0  # from here on a token is as red as can be
LABELLED = 60  # bars that have room for their tokens
BAR = 0.17  # inches: a bar with its token


def surprisal_picture(pieces: Sequence[str], bits: Sequence[float], *, title: str = "") -> "Figure":
    """The text above, each token the redder the less it was expected; the same in bits below, with the mean."""
    if not pieces or len(pieces) != len(bits):
        raise UserError(f"there are {len(pieces)} tokens and {len(bits)} numbers of bits; each token needs one")
    share_T = np.minimum(np.array(bits) / MOST_BITS, 1.0)
    lines = lines_of(pieces)
    letter_wide, letter_high = LETTER
    text_wide = letter_wide * max(line[-1].cell + line[-1].cells for line in lines)
    text_high = letter_high * len(lines)
    labels = [legible(piece.strip(" ") or piece, 14) for piece in pieces] if len(pieces) <= LABELLED else []
    bars_wide = max(text_wide - 0.4, 4.0, BAR * len(labels))
    with pen([title, *pieces]):
        heading = heading_of(title, bars_wide + 0.5)
        top = heading.height + 0.12
        below = top + text_high + 0.35
        turned = bool(labels) and widest(labels, 7) > bars_wide / len(labels)
        room = 0.2 + (tallest(labels, 7) if turned else 0.15)
        figure = blank(max(bars_wide + 1.25, text_wide + 0.3, heading.width), below + 1.2 + room)
        write_heading(figure, heading)
        axes = axes_at(figure, 0.15, top, text_wide, text_high)
        axes.set(xlim=(0, text_wide / letter_wide), ylim=(len(lines), 0))
        axes.set_axis_off()
        write_letters(axes, lines, share_T, np.zeros(len(pieces)))
        _draw_bars(axes_at(figure, 0.55, below, bars_wide, 1.2), bits, share_T, labels, turned=turned)
        write_at(figure, 0.15, below - 0.1, "bits", fontsize=8, color=QUIET)
    return figure


def _draw_bars(axes: "Axes", bits: Sequence[float], share_T: Array, labels: Sequence[str], *, turned: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    mean = float(np.mean(bits))
    axes.bar(
        range(1, len(bits) + 1), bits, width=0.8, color=signed()((share_T + 1) / 2), edgecolor="#777777", linewidth=0.4
    )
    axes.axhline(mean, color=QUIET, linewidth=0.7, linestyle=(0, (4, 3)), zorder=0)
    axes.text(1.005, mean, f"mean {mean:.2f}", transform=axes.get_yaxis_transform(), fontsize=7, va="center")
    axes.set_xlim(0.4, len(bits) + 0.6)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    axes.tick_params(axis="y", labelsize=7)
    if labels:
        axes.set_xticks(range(1, len(labels) + 1), labels, rotation=90 if turned else 0, fontsize=7)
        axes.tick_params(axis="x", length=0, pad=3)
    else:
        axes.set_xlabel("token", fontsize=8, color=QUIET, labelpad=2)
        axes.tick_params(axis="x", labelsize=7)


def surprisal_page(pieces: Sequence[str], bits: Sequence[float], *, title: str = "") -> str:
    """One HTML file with the coloured text: it needs no network, no script and no other file."""
    spans = []
    for piece, cost in zip(pieces, bits, strict=True):
        share = min(1.0, cost / MOST_BITS)
        red, green, blue = colour_of(share)
        style = f"background:rgb({red},{green},{blue});color:{letters_on_value(share)}"
        shown = escaped("↵\n" if piece == "\n" else piece)
        spans.append(f'<span style="{style}" title="{cost:.2f} bits, p = {2**-cost:.3g}">{shown}</span>')
    ramp = f"background:linear-gradient(to right, {', '.join(SIGNED[len(SIGNED) // 2 :])})"
    hint = f"""<p class="hint">{len(bits):,} tokens, {float(np.mean(bits)):.2f} bits each. 0 <span class="ramp"
style="{ramp}"></span> {MOST_BITS:g} bits; point at a token to see its own.</p>"""
    return still_page(title or "Surprisal", f'{hint}\n<p class="text" dir="auto">{"".join(spans)}</p>', STYLE)


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: white;
  color: #1d2129; }
h1 { font-size: 1.3rem; } .hint { color: #5b6472; font-size: .9rem; }
.text { font: 15px/1.9 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
span { padding: 2px 0; border-radius: 2px; }
.ramp { display: inline-block; width: 8rem; height: .7rem; border: 1px solid #d5dae1; vertical-align: middle; }
"""
