"""`score`: how surprising a text is to a language model, token by token."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from seqwright.cli.asking import Asking, Result
from seqwright.cli.given import split_lines
from seqwright.cli.opening import opened_for
from seqwright.cli.options import Answers, Things
from seqwright.cli.terminal import say
from seqwright.escapes import visible
from seqwright.inputs import Given
from seqwright.metrics.language import Extent, extent, language_scores
from seqwright.outputs.next_token import Surprise

MOST_BITS = 16.0  # from here on a token is shown as surprising as can be


def score_texts(things: Things, answers: Answers) -> None:
    """Print each text with its tokens coloured by surprisal, or as JSON; what all of them cost comes last."""
    things = replace(things, texts=split_lines(things.texts))
    asking, console = Asking("score", things, answers, skips_blank=True), Console()
    run = opened_for("score", things.run, answers.which)
    bits, unknown, read = list[float](), 0, Extent()

    def predict(examples: Given[str], first: int) -> Iterator[list[Result]]:
        nonlocal unknown, read
        for surprise in run.inputs.predict(run.model, examples.examples, method="surprises"):
            bits.extend(surprise.bits)
            unknown, read = unknown + surprise.unknown, read.plus(extent(surprise.text))
            yield [Result(surprisal_line(surprise, console), _fields(surprise))]

    asking.give(run, predict)
    if bits and not answers.json:
        found = language_scores(math.fsum(bits) * math.log(2), len(bits), read)
        say(
            f"{len(bits):,} tokens, {math.fsum(bits) / len(bits):.3f} bits per token (perplexity "
            f"{found['perplexity']:.2f}); {found['bits_per_character']:.3f} bits per character, "
            f"{found['bits_per_byte']:.3f} per byte"
        )
    if unknown:
        say(f"unknown tokens: {unknown:,}; the model need not predict what stands there: the bits are optimistic")


def surprisal_line(surprise: Surprise, console: Console) -> str | Text:
    """The text, each token on a ground the redder the less it was expected; without colours, its bits behind it."""
    tokens = list(zip([*surprise.pieces[:-1], " end"], surprise.bits, strict=True))
    mean = f"  {_mean(surprise):.2f} bits per token"
    if console.color_system is None or console.no_color:
        return "".join(f"{piece}[{bits:.1f}]" for piece, bits in tokens) + mean
    line = Text()
    for piece, bits in tokens[:-1]:
        pale = round(255 * (1 - min(bits, MOST_BITS) / MOST_BITS))
        line.append(visible(piece), style=f"rgb(0,0,0) on rgb(255,{pale},{pale})")
    return line.append(mean, style="dim")


def _mean(surprise: Surprise) -> float:
    return math.fsum(surprise.bits) / len(surprise.bits)


def _fields(surprise: Surprise) -> dict[str, Any]:
    pairs = zip(surprise.pieces, surprise.bits, strict=True)
    tokens = [{"token": piece, "bits": round(bits, 4)} for piece, bits in pairs]
    mean = _mean(surprise)
    sums = {"bits": math.fsum(surprise.bits), "bits_per_token": mean, "perplexity": 2.0**mean}
    return {**{name: round(value, 4) for name, value in sums.items()}, "tokens": tokens}
