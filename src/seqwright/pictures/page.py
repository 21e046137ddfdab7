"""One HTML file that shows where a model looked: it needs no network, no server and no other file.

Its head view is after BertViz (Vig 2019): lines from the words that read to those that are read, a colour for each
head; hovering over a word, or reaching it with the arrow keys, leaves only its lines. Every word of the user travels
escaped, or inside JSON that cannot close its script element.
"""

import json
from importlib import resources
from typing import Any

import numpy as np

from seqwright.pictures.attention import AttentionMap, HeadChoice, Looked
from seqwright.pictures.head_view import head_colours
from seqwright.pictures.still_page import escaped

FOLDER = resources.files("seqwright") / "pictures"
PRECISION = 1000  # weights travel as whole thousandths: an eighth of the size, and nobody sees the fourth digit


def attention_page(looked: Looked, choice: HeadChoice | None = None) -> str:
    """The whole page, ready to be written to a file; it opens at the chosen layer and head."""
    parts = {
        "CHOICE": "".join(
            f' data-{noun}="{number - 1}"'
            for noun, number in (choice or HeadChoice())._asdict().items()
            if number is not None
        ),
        "TITLE": escaped(looked.title or "Attention"),
        "SOURCE": escaped(looked.source),
        "TARGET": _target(looked),
        "STYLE": (FOLDER / "page.css").read_text(encoding="utf-8"),
        "DATA": script_json({name: _packed(name, kind) for name, kind in looked.maps.items()}),
        "SCRIPT": (FOLDER / "page.js").read_text(encoding="utf-8"),
    }
    # One pass over the frame, so that a word of the user that looks like a place in it stays a word.
    pieces = FRAME.split("@@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _target(looked: Looked) -> str:
    if not looked.target:
        return ""
    score = "" if looked.score is None else f'<dt>Score</dt><dd class="number">{looked.score:.4g}</dd>'
    return f'<dt>Output</dt><dd dir="auto">{escaped(looked.target)}</dd>{score}'


def _packed(name: str, kind: AttentionMap) -> dict[str, Any]:
    """A map as the script reads it: its words, its sizes and its weights in a row."""
    layers, heads = kind.weights.shape[:2]
    thousandths = np.rint(kind.weights * PRECISION).astype(int).ravel().tolist()
    return {
        "caption": name[:1].upper() + name[1:],
        "axes": {"rows": kind.row_axis or "words that read", "columns": kind.column_axis or "words that are read"},
        "rows": list(kind.rows),
        "columns": list(kind.columns),
        "layers": layers,
        "heads": heads,
        "colours": head_colours(heads),
        "weights": thousandths,
    }


def script_json(value: Any) -> str:
    """JSON that may stand inside a script element: no character of it can end the element or open a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>@@TITLE@@</title>
<style>@@STYLE@@</style>
</head>
<body>
<header>
<h1 dir="auto">@@TITLE@@</h1>
<dl><dt>Input</dt><dd dir="auto">@@SOURCE@@</dd>@@TARGET@@</dl>
</header>
<noscript><p>The pictures below need JavaScript; nothing is fetched from anywhere.</p></noscript>
<main hidden@@CHOICE@@>
<div class="choices">
<div role="tablist" aria-label="Kind of attention" id="kinds"></div>
<label>Layer <select id="layer"></select></label>
</div>
<div role="tabpanel" id="panel" tabindex="-1">
<p class="hint">Point at a word, or walk with the arrow keys, to see where the model looks;
click or press Enter to keep it, again or Escape to let go.</p>
<div class="pair">
<section aria-labelledby="words-heading">
<h2 id="words-heading">Head view</h2>
<div id="choose-heads"><p class="side" id="head-axis">Heads: click to hide or show one, twice for it alone</p>
<div class="swatches"><div id="head" role="group" aria-labelledby="head-axis"></div>
<button type="button" id="all-heads">all</button></div></div>
<p id="told" role="status" aria-live="polite"></p>
<div class="scroll"><div class="view">
<p class="side" id="rows-axis"></p><span></span><p class="side" id="columns-axis"></p>
<div class="words" id="rows" role="group" aria-labelledby="rows-axis"></div>
<canvas id="lines" aria-hidden="true"></canvas>
<div class="words" id="columns" role="group" aria-labelledby="columns-axis"></div>
</div></div>
</section>
<section aria-labelledby="map-heading">
<h2 id="map-heading">Map</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="map-heading"><table id="map"></table></div>
<p class="scale"><span>0</span><span class="ramp" aria-hidden="true"></span><span id="ceiling"></span></p>
</section>
</div>
<section aria-labelledby="heads-heading" id="overview">
<h2 id="heads-heading">All heads</h2>
<div class="scroll"><div id="heads"></div></div>
</section>
</div>
</main>
<script type="application/json" id="data">@@DATA@@</script>
<script>@@SCRIPT@@</script>
</body>
</html>
"""
