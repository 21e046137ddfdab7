"""Scores of a language model, all from one number: the negative log-likelihood of a whole text, in nats.

Models with other tokens can be compared where the sum is divided by what does not depend on the tokens: characters,
bytes or words. The sum always includes the ends of the documents, which the model has to foretell too.
"""

import math
from typing import NamedTuple

from seqwright.errors import DataError
from seqwright.metrics.text import perplexity


class Extent(NamedTuple):
    """How long a text is, whatever the tokens."""

    documents: int = 0
    characters: int = 0  # Unicode code points, without the ends
    bytes: int = 0  # in UTF-8, without the ends
    words: int = 0  # whatever stands between white space; each document's end is one more, as usual for WikiText

    def plus(self, other: "Extent") -> "Extent":
        """The extent of both texts together."""
        return Extent(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def extent(document: str) -> Extent:
    """How long a document is."""
    return Extent(1, len(document), len(document.encode()), len(document.split()) + 1)


def bits_per(negative_log_likelihood: float, count: int) -> float:
    """`sum of negative log-likelihoods / (ln 2 · count)`: what a character, byte or token costs."""
    if count < 1:
        raise DataError(f"the bits of {count} characters were asked for; there must be at least one")
    return negative_log_likelihood / (math.log(2) * count)


def bits_per_character(negative_log_likelihood: float, text: Extent) -> float:
    """`NLL / (ln 2 · characters)`: the ends cost bits but are no characters."""
    return bits_per(negative_log_likelihood, text.characters)


def bits_per_byte(negative_log_likelihood: float, text: Extent) -> float:
    """`NLL / (ln 2 · bytes)`: how many bits a perfect coder needs for eight of the text."""
    return bits_per(negative_log_likelihood, text.bytes)


def word_perplexity(negative_log_likelihood: float, text: Extent) -> float:
    """`exp(NLL / (words + documents))`: perplexity as if words were the tokens, and each end one of them."""
    return perplexity(negative_log_likelihood, text.words)


def language_scores(negative_log_likelihood: float, tokens: int, text: Extent) -> dict[str, float]:
    """Every score; `tokens` counts the ends too, and `loss` is in nats per token."""
    wavering = perplexity(negative_log_likelihood, tokens)
    return {
        "loss": negative_log_likelihood / tokens,
        "perplexity": wavering,
        "bits_per_character": bits_per_character(negative_log_likelihood, text),
        "bits_per_byte": bits_per_byte(negative_log_likelihood, text),
        "word_perplexity": word_perplexity(negative_log_likelihood, text),
    }
