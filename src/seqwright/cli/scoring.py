"""`score`: how surprising a text is to a language model, token by token."""

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from seqwright.cli.language_runs import opened_language_run
from seqwright.cli.terminal import say
from seqwright.cli.translating import some_lines
from seqwright.data.files import require_file
from seqwright.errors import DataError
from seqwright.tasks.language import first_token
from seqwright.tasks.writer import Surprise, Writer

MOST_BITS = 16.0  # from here on a token is shown as surprising as can be
AT_ONCE = 64  # texts


def score_texts(folder: Path, texts: list[str], file: Path | None, *, as_json: bool, which: str) -> None:
    """Print each text with its tokens coloured by surprisal, or as JSON; what all of them cost comes last."""
    if texts and file is not None:
        raise DataError("there are both texts and --file; give one of them")
    if file is not None:
        require_file(file)
    run = opened_language_run(folder, which, "score")
    writer = Writer(run.model, run.inputs, first=first_token(run.recipe, run.inputs))
    console = Console(highlight=False, soft_wrap=True)
    bits = tokens = characters = count = 0.0
    for surprise in _surprises(writer, some_lines(texts, file)):
        print(_json(surprise)) if as_json else console.print(coloured(surprise))
        bits, tokens = bits + math.fsum(surprise.bits), tokens + len(surprise.bits)
        characters, count = characters + len(surprise.text), count + len(surprise.text.encode())
    if tokens and not as_json:
        say(
            f"{tokens:,.0f} tokens, {bits / tokens:.3f} bits each (perplexity {2 ** (bits / tokens):.2f}); "
            f"{bits / max(characters, 1):.3f} bits a character, {bits / max(count, 1):.3f} a byte"
        )


def coloured(surprise: Surprise) -> Text:
    """The text, each token on a ground the redder the less it was expected; the bits of its end stand after it."""
    line = Text()
    for piece, bits in zip(surprise.pieces[:-1], surprise.bits[:-1], strict=True):
        share = min(bits, MOST_BITS) / MOST_BITS
        pale = round(255 * (1 - share))
        line.append(piece, style=f"rgb(0,0,0) on rgb(255,{pale},{pale})")
    mean = math.fsum(surprise.bits) / len(surprise.bits)
    return line.append(f"  {mean:.2f} bits a token", style="dim")


def _surprises(writer: Writer, blocks: Iterable[list[str]]) -> Iterator[Surprise]:
    for block in blocks:
        some = [line for line in block if line.strip()]
        for i in range(0, len(some), AT_ONCE):
            yield from writer.surprises(some[i : i + AT_ONCE])


def _json(surprise: Surprise) -> str:
    tokens: list[dict[str, Any]] = [
        {"token": piece, "bits": round(bits, 4)} for piece, bits in zip(surprise.pieces, surprise.bits, strict=True)
    ]
    total = math.fsum(surprise.bits)
    return json.dumps({"text": surprise.text, "bits": round(total, 4), "tokens": tokens}, ensure_ascii=False)
