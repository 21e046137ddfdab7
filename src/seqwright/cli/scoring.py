"""`score`: how surprising a text is to a language model, token by token."""

import math
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import json_text, say
from seqwright.cli.translating import asked, some_lines
from seqwright.errors import DataError
from seqwright.inputs import Given
from seqwright.metrics.language import Extent, extent, language_scores
from seqwright.outputs.next_token import Surprise

MOST_BITS = 16.0  # from here on a token is shown as surprising as can be


def score_texts(folder: Path, texts: list[str], file: Path | None, *, as_json: bool, which: str) -> None:
    """Print each text with its tokens coloured by surprisal, or as JSON; what all of them cost comes last."""
    texts, file = asked("score", texts, file)
    run = opened_for("score", folder, which)
    console = Console(highlight=False, soft_wrap=True)
    bits, tokens, unknown, read, blank = 0.0, 0, 0, Extent(), 0
    for block in some_lines(texts, file):
        some = [line for line in block if line.strip()]
        blank += len(block) - len(some)
        for remark in run.inputs.input.remarks(Given(some)):
            say(remark)
        for surprise in run.inputs.predict(run.model, some, method="surprises"):
            print(_json(surprise)) if as_json else console.print(coloured(surprise))
            bits, tokens = bits + math.fsum(surprise.bits), tokens + len(surprise.bits)
            unknown, read = unknown + surprise.unknown, read.plus(extent(surprise.text))
    if not tokens:
        raise DataError("there is no text to score, only blank lines; give some")
    if not as_json:
        found = language_scores(bits * math.log(2), tokens, read)
        say(
            f"{tokens:,} tokens, {bits / tokens:.3f} bits each (perplexity {found['perplexity']:.2f}); "
            f"{found['bits_per_character']:.3f} bits per character, {found['bits_per_byte']:.3f} per byte"
        )
    if blank:
        say(f"blank lines left out: {blank:,}")
    if unknown:
        say(f"unknown tokens: {unknown:,}; the model need not say what stands there, so the bits are optimistic")


def coloured(surprise: Surprise) -> Text:
    """The text, each token on a ground the redder the less it was expected; the bits of its end stand after it."""
    line = Text()
    for piece, bits in zip(surprise.pieces[:-1], surprise.bits[:-1], strict=True):
        share = min(bits, MOST_BITS) / MOST_BITS
        pale = round(255 * (1 - share))
        line.append(piece, style=f"rgb(0,0,0) on rgb(255,{pale},{pale})")
    mean = math.fsum(surprise.bits) / len(surprise.bits)
    return line.append(f"  {mean:.2f} bits per token", style="dim")


def _json(surprise: Surprise) -> str:
    tokens: list[dict[str, Any]] = [
        {"token": piece, "bits": round(bits, 4)} for piece, bits in zip(surprise.pieces, surprise.bits, strict=True)
    ]
    total = math.fsum(surprise.bits)
    return json_text({"text": surprise.text, "bits": round(total, 4), "tokens": tokens})
