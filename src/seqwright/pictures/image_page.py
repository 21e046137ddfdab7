"""One HTML file that shows where a ViT looks in an image: it needs no network, no server and no other file.

Pointing at a patch, or reaching it with the arrow keys, shows where that patch looks in every head.
"""

import base64
import io
from importlib import resources
from typing import Any

import numpy as np
from PIL import Image

from seqwright.pictures import Array
from seqwright.pictures.image_maps import ImageAttention, Pixels
from seqwright.pictures.page import script_json
from seqwright.pictures.still_page import escaped

FOLDER = resources.files("seqwright") / "pictures"
MOST_WEIGHTS = 8_000_000  # in a page; of more the mean over the heads is shown


def image_page(found: ImageAttention, *, title: str, before: tuple[str, ...] = ()) -> str:
    """The whole page, ready to be written to a file; `before` names the vectors that stand before the patches."""
    parts = {
        "TITLE": escaped(title),
        "SENTENCE": escaped(found.seen.sentence),
        "STYLE": (FOLDER / "image_page.css").read_text(encoding="utf-8"),
        "DATA": script_json(_packed(found, before)),
        "SCRIPT": (FOLDER / "image_page.js").read_text(encoding="utf-8"),
    }
    pieces = FRAME.split("@@")  # in one pass, so that a word of the user that looks like a place stays a word
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _packed(found: ImageAttention, before: tuple[str, ...]) -> dict[str, Any]:
    """What the script reads."""
    every_LHTT = found.every_LHTT
    together = every_LHTT.size > MOST_WEIGHTS
    every_LHTT = every_LHTT.mean(1, keepdims=True) if together else every_LHTT
    layers, heads, vectors, _ = every_LHTT.shape
    rows, columns = found.rollout_PQ.shape
    return {
        "image": _data_address(found.seen.pixels_YXC),
        "pixels": list(found.seen.pixels_YXC.shape[:2]),
        "patch": list(found.seen.patch),
        "grid": [rows, columns],
        "before": list(before),
        "mean": found.reader.startswith("the mean"),
        "layers": layers,
        "heads": heads,
        "together": together,
        "vectors": vectors,
        "weights": _bytes(every_LHTT),
        "rollout": _bytes(found.rollout_TT),
    }


def _bytes(weights: Array) -> str:
    """Each row of weights as bytes, the largest of it 255: nobody sees a finer shade."""
    top = weights.max(-1, keepdims=True)
    share = np.divide(weights, top, out=np.zeros_like(weights), where=top > 0)
    return base64.b64encode(np.rint(255 * share).astype(np.uint8).tobytes()).decode()


def _data_address(pixels_YXC: Pixels) -> str:
    held = io.BytesIO()
    Image.fromarray(pixels_YXC[:, :, 0] if pixels_YXC.shape[2] == 1 else pixels_YXC).save(held, "PNG")
    return f"data:image/png;base64,{base64.b64encode(held.getvalue()).decode()}"


FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>@@TITLE@@</title>
<style>@@STYLE@@</style>
</head>
<body>
<h1 dir="auto">@@TITLE@@</h1>
<p dir="auto">@@SENTENCE@@</p>
<noscript><p>The maps below need JavaScript; nothing is fetched from anywhere.</p></noscript>
<main hidden>
<section aria-labelledby="image-heading">
<h2 id="image-heading">Who looks</h2>
<div id="readers" role="group" aria-label="Vectors that are no patches"></div>
<canvas id="image" tabindex="0" role="img" aria-describedby="told"></canvas>
<p id="told" role="status" aria-live="polite"></p>
<p class="hint">Point at a patch, or walk with the arrow keys, to see where it looks; click or press Enter to keep it,
again or Escape to let go.</p>
<h2>Rollout</h2>
<canvas id="rollout" role="img" aria-label="Attention rollout of the vector that looks"></canvas>
<p class="hint">How much of each patch reaches it through all layers (Abnar &amp; Zuidema 2020).</p>
</section>
<section aria-labelledby="heads-heading" class="wide">
<h2 id="heads-heading">Where it looks</h2>
<div class="scroll"><div id="heads"></div></div>
<p class="hint">Each map has its own scale: the darkest patch is the one that is looked at most.</p>
</section>
</main>
<script type="application/json" id="data">@@DATA@@</script>
<script>@@SCRIPT@@</script>
</body>
</html>
"""
