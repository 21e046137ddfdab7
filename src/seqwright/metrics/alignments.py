"""Alignments between the words of a sentence and of its translation: how sharp, how whole, how right they are.

T rows (target words) · S columns (source words)
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.errors import DataError, UserError

Array = NDArray[np.floating[Any]]
Link = tuple[int, int]
"""The number of a source word and that of a target word, each from 0."""


def merged(weights_TS: Array, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> Array:
    """Weights between words from weights between their pieces (Clark et al. 2019, section 4.1).

    What is read adds up over the pieces of a word, who reads is averaged, so each row still sums to one. `rows` and
    `columns` hold the places of each word's pieces; layers and heads may stand in front.
    """
    if not all(rows) or not all(columns):
        raise UserError("a word without pieces cannot be merged; give at least one place for each word")
    averaging_RT = np.zeros((len(rows), weights_TS.shape[-2]))
    for word, places in enumerate(rows):
        averaging_RT[word, list(places)] = 1 / len(places)
    summing_SC = np.zeros((weights_TS.shape[-1], len(columns)))
    for word, places in enumerate(columns):
        summing_SC[list(places), word] = 1
    result: Array = averaging_RT @ weights_TS @ summing_SC
    return result


class Quality(NamedTuple):
    """What can be said of an alignment without knowing the right one."""

    entropy: float  # bits
    coverage: float
    diagonality: float

    def __str__(self) -> str:
        if math.isnan(self.entropy):
            return "entropy, coverage and diagonality undefined: nothing was written"
        numbers = f"entropy {self.entropy:.2f} bits, coverage {self.coverage:.2f}"
        return f"{numbers}, diagonality {self.diagonality:+.2f}".replace("+nan", "undefined")


def quality(weights_TS: Array) -> Quality:
    """The three numbers of a map whose last row and last column are the ends of the two sentences.

    The end of the source is no word that needs to be covered, but looking at it is looking somewhere.
    """
    words_TS = weights_TS[:-1, :-1]
    return Quality(entropy(weights_TS[:-1]), coverage(words_TS), diagonality(words_TS))


def entropy(weights_TS: Array) -> float:
    """The mean over rows of -Σ_s p_ts log₂ p_ts: 0 where each looks at one word only, log₂ S where at all alike."""
    if not weights_TS.size:
        return float("nan")
    logs_TS = np.log2(weights_TS, out=np.zeros(weights_TS.shape), where=weights_TS > 0)
    return float(np.abs((weights_TS * logs_TS).sum(-1)).mean())


def coverage(weights_TS: Array) -> float:
    """The share of the source that got its due, 1/S Σ_s min(Σ_t p_ts, 1) (after Wu et al. 2016, section 7, eq. 14).

    A word has its due when it was looked at for a whole target word. It is 1 only where the target has at least as
    many words as the source.
    """
    return float(np.minimum(weights_TS.sum(0), 1).mean()) if weights_TS.size else float("nan")


def diagonality(weights_TS: Array) -> float:
    """The correlation, weighted by attention, between the place of a word and the place that it looks at.

    1 where both go along together, as in languages of the same word order, -1 where one runs backwards, 0 where one
    says nothing of the other. Not a number where it is undefined: all look at one word, or there is only one.
    """
    total = weights_TS.sum()
    if total <= 0:
        return float("nan")
    place_T, place_S = np.arange(weights_TS.shape[0]), np.arange(weights_TS.shape[1])
    share_T, share_S = weights_TS.sum(1) / total, weights_TS.sum(0) / total
    from_mean_T, from_mean_S = place_T - share_T @ place_T, place_S - share_S @ place_S
    spread = np.sqrt((share_T @ from_mean_T**2) * (share_S @ from_mean_S**2))
    if spread < 1e-9:
        return float("nan")
    return float(from_mean_T @ (weights_TS / total) @ from_mean_S / spread)


def mean_quality(found: Sequence[Quality]) -> Quality:
    """The mean of each number over many sentences, over those for which it is defined."""
    numbers = np.array(found, dtype=float).reshape(-1, len(Quality._fields))
    known = ~np.isnan(numbers)
    sums, counts = np.where(known, numbers, 0.0).sum(0), known.sum(0)
    means = [total / count if count else float("nan") for total, count in zip(sums, counts, strict=True)]
    return Quality(*map(float, means))


def links(weights_TS: Array) -> frozenset[Link]:
    """Each target word with the source word that it looks at most."""
    if not weights_TS.size:
        return frozenset()
    return frozenset((int(source), target) for target, source in enumerate(weights_TS.argmax(-1)))


class Gold(NamedTuple):
    """What people say are translations of each other: surely, and possibly (the sure ones are possible too)."""

    sure: frozenset[Link]
    possible: frozenset[Link]


class AlignmentScores(NamedTuple):
    """Shares from 0 to 1."""

    error_rate: float
    precision: float
    recall: float


def alignment_scores(found: Sequence[frozenset[Link]], gold: Sequence[Gold]) -> AlignmentScores:
    """The alignment error rate over all sentences (Och & Ney 2003, section 4.1), A found, S sure, P possible.

    AER = 1 - (#(A ∩ S) + #(A ∩ P)) / (#A + #S)      precision = #(A ∩ P) / #A      recall = #(A ∩ S) / #S
    """
    if len(found) != len(gold):
        raise DataError(f"there are {len(found)} alignments for {len(gold)} gold ones; give one per sentence")
    every = sum(map(len, found))
    sure = sum(len(each.sure) for each in gold)
    if not every or not sure:
        raise DataError("the gold alignments have no sure link, or nothing was aligned; there is nothing to compare")
    hit_sure = sum(len(links & each.sure) for links, each in zip(found, gold, strict=True))
    hit_possible = sum(len(links & each.possible) for links, each in zip(found, gold, strict=True))
    return AlignmentScores(1 - (hit_sure + hit_possible) / (every + sure), hit_possible / every, hit_sure / sure)
