"""One HTML file with the logit lens: it needs no network, no script and no other file."""

from collections.abc import Sequence

from seqwright.pictures import INK, blended
from seqwright.pictures.lens import Lens, LensPrediction, cell_label, letters_on_probability
from seqwright.pictures.still_page import escaped, still_page


def lens_page(lens: Lens, *, title: str = "", text: str = "") -> str:
    """A table of layers and tokens; pointing at a cell shows the likeliest tokens with their probabilities."""
    layers = reversed(list(zip(lens.layers, lens.predictions, strict=True)))
    rows = [
        *([_words(lens.target_axis, lens.target)] if lens.target else []),
        *(f'<tr><th scope="row">{escaped(name)}</th>{"".join(map(_cell, row))}</tr>' for name, row in layers),
        _words(lens.input_axis, lens.input),
    ]
    table = "\n".join(['<div class="scroll"><table>', *rows, "</table></div>"])
    return still_page(title or "Logit lens", f'<p dir="auto">{escaped(text)}</p>\n{HINT}\n{table}', STYLE)


def _words(axis: str, tokens: Sequence[str]) -> str:
    cells = "".join(f'<td class="word">{escaped(cell_label(token))}</td>' for token in tokens)
    return f'<tr class="words"><th scope="row">{escaped(axis)}</th>{cells}</tr>'


def _cell(prediction: LensPrediction) -> str:
    red, green, blue = blended(INK, prediction.probability)
    style = f"background:rgb({red},{green},{blue});color:{letters_on_probability(prediction.probability)}"
    title = "\n".join(f"{probability:.3f}  {token}" for token, probability in prediction.likeliest)
    mark = ' class="right"' if prediction.right else ""
    return f'<td{mark} style="{style}" title="{escaped(title)}">{escaped(cell_label(prediction.token))}</td>'


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; background: white; color: #1d2129; }
h1 { font-size: 1.3rem; margin: 0; } p { margin: .4rem 0; color: #5b6472; }
.scroll { overflow-x: auto; } table { border-collapse: separate; border-spacing: 2px; font-size: 13px; }
th { font-weight: 400; text-align: right; padding-right: .6rem; white-space: nowrap; position: sticky; left: 0;
  background: white; }
td { text-align: center; padding: .1rem .45rem; white-space: pre; border-radius: 3px; border: 2px solid transparent; }
.words th { color: #5b6472; } .right { border-color: #e8710a; }
"""

HINT = """<p>Each cell is the likeliest token if that layer were the last, the darker the surer; framed where it is
right. Point at a cell to see the next likeliest.</p>"""
