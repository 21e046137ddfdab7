"""`score`: how surprising a text is to a language model, token by token."""

import math
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from seqwright.cli.asking import Result, print_results
from seqwright.cli.given import given_blocks, split_lines, without_blank
from seqwright.cli.opening import opened_for
from seqwright.cli.options import Answers, Things
from seqwright.cli.terminal import say
from seqwright.inputs import Given
from seqwright.metrics.language import Extent, extent, language_scores
from seqwright.outputs.next_token import Surprise

MOST_BITS = 16.0  # from here on a token is shown as surprising as can be


def score_texts(things: Things, answers: Answers) -> None:
    """Print each text with its tokens coloured by surprisal, or as JSON; what all of them cost comes last."""
    blocks = given_blocks("score", split_lines(things.texts), things.file)
    run = opened_for("score", things.run, answers.which)
    bits, unknown, read = list[float](), 0, Extent()

    def predict(examples: Given[str], first: int) -> Iterator[list[Result]]:
        nonlocal unknown, read
        for surprise in run.inputs.predict(run.model, examples.examples, method="surprises"):
            bits.extend(surprise.bits)
            unknown, read = unknown + surprise.unknown, read.plus(extent(surprise.text))
            yield [Result(coloured(surprise), _fields(surprise))]

    print_results(run.inputs.input, without_blank("score", blocks), predict, as_json=answers.json)
    if not answers.json:
        found = language_scores(math.fsum(bits) * math.log(2), len(bits), read)
        say(
            f"{len(bits):,} tokens, {math.fsum(bits) / len(bits):.3f} bits per token (perplexity "
            f"{found['perplexity']:.2f}); {found['bits_per_character']:.3f} bits per character, "
            f"{found['bits_per_byte']:.3f} per byte"
        )
    if unknown:
        say(f"unknown tokens: {unknown:,}; the model need not predict what stands there: the bits are optimistic")


def coloured(surprise: Surprise) -> Text:
    """The text, each token on a ground the redder the less it was expected; the bits of its end stand after it."""
    line = Text()
    for piece, bits in zip(surprise.pieces[:-1], surprise.bits[:-1], strict=True):
        share = min(bits, MOST_BITS) / MOST_BITS
        pale = round(255 * (1 - share))
        line.append(piece, style=f"rgb(0,0,0) on rgb(255,{pale},{pale})")
    mean = math.fsum(surprise.bits) / len(surprise.bits)
    return line.append(f"  {mean:.2f} bits per token", style="dim")


def _fields(surprise: Surprise) -> dict[str, Any]:
    pairs = zip(surprise.pieces, surprise.bits, strict=True)
    tokens = [{"token": piece, "bits": round(bits, 4)} for piece, bits in pairs]
    return {"bits": round(math.fsum(surprise.bits), 4), "tokens": tokens}
