"""Scores of pronunciations: which share of the words is wrong, and which share of the sounds.

A word may have several pronunciations, and any of them is right.
"""

from collections.abc import Sequence
from typing import NamedTuple

from seqwright.errors import DataError
from seqwright.metrics.text import TextScore, check_counts

NAMES = ("word_error_rate", "phoneme_error_rate")


def pronunciation_errors(
    words: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False
) -> dict[str, TextScore]:
    """The word error and the phoneme error, in percent, of the hypothesis for each word, one reference per row.

    The rows of one word are its pronunciations; it counts once, with its first hypothesis. The phoneme error is the sum
    of the edit distances to the nearest pronunciation of each word, over the sum of the lengths of these.
    """
    counts = counted_errors(words, hypotheses, references, lowercase=lowercase)
    wrong, edits, length = (sum(column) for column in zip(*counts, strict=True))
    signature = f"words:{len(counts)}|nrefs:any|case:{'lc' if lowercase else 'mixed'}"
    values = (100 * wrong / len(counts), 100 * edits / max(1, length))
    return {name: TextScore(value, f"{name}|{signature}") for name, value in zip(NAMES, values, strict=True)}


class WordErrors(NamedTuple):
    """Whether a word is wrong, its distance to the nearest of its pronunciations, and the length of that."""

    wrong: int
    edits: int
    length: int


def counted_errors(
    words: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool
) -> list[WordErrors]:
    """The errors of each word, in the order in which they come first."""
    check_counts(hypotheses, references)
    if len(words) != len(references):
        raise DataError(f"there are {len(words)} words for {len(references)} references; give one for each")
    right: dict[str, list[list[str]]] = {}
    first: dict[str, list[str]] = {}
    for word, hypothesis, reference in zip(words, hypotheses, references, strict=True):
        right.setdefault(word, []).append(_sounds(reference, lowercase))
        first.setdefault(word, _sounds(hypothesis, lowercase))
    found = []
    for word, pronunciations in right.items():
        nearest = min((edit_distance(first[word], each), len(each)) for each in pronunciations)
        found.append(WordErrors(int(first[word] not in pronunciations), *nearest))
    return found


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """How many insertions, deletions and replacements turn one row into the other (Levenshtein 1966)."""
    above = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        row = [i]
        for j, right in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (left != right)))
        above = row
    return above[-1]


def _sounds(text: str, lowercase: bool) -> list[str]:
    return (text.lower() if lowercase else text).split()
