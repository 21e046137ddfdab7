"""One HTML file with a text in the colours of single units: it needs no network, no script and no other file."""

from collections.abc import Sequence

from seqwright.pictures import Array
from seqwright.pictures.still_page import escaped, still_page
from seqwright.pictures.units import Course, colour_of, letters_on_value


def units_page(pieces: Sequence[str], on_T: Array, courses: Sequence[Course], *, title: str = "") -> str:
    """The text once for each unit; pointing at a token shows the value, what a rule marks is underlined."""
    sections = (_section(pieces, on_T, course) for course in courses)
    return still_page(title or "Units", "\n".join([HINT, *sections]), STYLE)


def _section(pieces: Sequence[str], on_T: Array, course: Course) -> str:
    spans = []
    for place, (piece, value) in enumerate(zip(pieces, course.value_T.tolist(), strict=True)):
        red, green, blue = colour_of(value)
        style = f"background:rgb({red},{green},{blue});color:{letters_on_value(value)}"
        mark = ' class="on"' if on_T[place] >= 0.5 else ""
        shown = escaped("↵\n" if piece == "\n" else piece)
        spans.append(f'<span{mark} style="{style}" title="{value:.2f}">{shown}</span>')
    return f'<section><h2>{escaped(course.heading)}</h2>\n<p dir="auto">{"".join(spans)}</p></section>'


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; font-weight: 600; margin-bottom: .3rem; }
p { font: 14px/1.8 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; margin: 0; background: white; padding: .5rem; }
span { padding: 1px 0 2px; } .on { border-bottom: 2px solid black; }
.hint { font: inherit; font-size: .9rem; white-space: normal; background: none; padding: 0; }
"""

HINT = """<p class="hint">Each token stands on the colour of what the unit was after it: blue below zero, red above,
white at zero. Point at a token to see the number; what the rule marks is underlined.</p>"""
