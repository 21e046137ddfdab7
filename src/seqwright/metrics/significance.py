"""How sure a score is, and whether two models really differ.

The interval holds the middle 95 % of the scores of resamples, examples drawn again with replacement (Efron & Tibshirani
1993). Whether two models differ is asked by approximate randomisation (Noreen 1989; Riezler & Maxwell 2005): what they
predicted for an example is swapped for every other example or so, at random, and p is the share of such swaps that give
at least the difference that was found, either way. Of right and wrong answers McNemar's exact test knows that share
without drawing. Where several models are tested against one, their p are corrected (Holm 1979).

N examples · S sums of which a score is made · R resamples
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqwright.metrics.text import check_counts

SEED = 12345  # sacreBLEU's own
FEWEST = 20  # examples: what fewer of them say when they are drawn again is nothing
LEVEL = 0.05  # of p, up to which models count as different
AT_ONCE = 1 << 22  # swaps that are added up at a time
ROUNDING = 1e-9  # of a score, by which equal differences may be apart

Array = NDArray[np.float64]


class Additive(NamedTuple):
    """A score that is a function of sums over examples: what each example adds, and the score of each row of sums."""

    each_NS: Array
    scores: Callable[[Array], Array]  # of sum_RS: score_R

    @property
    def value(self) -> float:
        """The score of all examples."""
        return float(self.scores(self.each_NS.sum(0, keepdims=True))[0])


PairedTest = Callable[[Additive, Additive, int], float]
"""p of the difference between two scores, by so many trials where it has to draw."""


class Confidence(NamedTuple):
    """Half of the width of the 95 % interval, p of the difference to the baseline, and whether it is among the best.

    The baseline itself has no such p. `test` is what p is from. Among the best are the best row and those not
    significantly worse than it.
    """

    interval: float
    p: float | None
    test: str
    best: bool


def ratio(sum_N: ArrayLike, over_N: ArrayLike) -> Additive:
    """A sum over examples divided by another: accuracy, bits per byte, mean squared error.

    0 where there is nothing to divide by, as the F1 of sentences without entities is.
    """
    each_NS = np.stack([np.asarray(sum_N), np.asarray(over_N)], axis=1).astype(np.float64)
    return Additive(each_NS, lambda sum_RS: quotient(sum_RS[:, 0], sum_RS[:, 1]))


def quotient(sum_R: Array, over_R: Array) -> Array:
    """One divided by the other, 0 where the other is 0."""
    return np.divide(sum_R, over_R, out=np.zeros_like(sum_R), where=over_R != 0)


def mean_over(value_N: ArrayLike) -> Additive:
    """The mean over examples."""
    return ratio(value_N, np.ones_like(value_N))


def text_statistics(
    name: Literal["bleu", "chrf"], hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool
) -> Additive:
    """BLEU or chrF as sacreBLEU makes it of the sums that it takes over sentences."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    check_counts(hypotheses, references)
    metric = {"bleu": BLEU, "chrf": CHRF}[name](lowercase=lowercase)
    each_NS = metric._extract_corpus_statistics(list(hypotheses), [list(references)])
    return Additive(np.array(each_NS, dtype=np.float64), _of_sacrebleu(metric))


def _of_sacrebleu(metric: Any) -> Callable[[Array], Array]:
    return lambda sum_RS: np.array([metric._compute_score_from_stats(sum_S).score for sum_S in sum_RS])


# ---------------------------------------------------------------------------------------------------- one score


def bootstrap_interval(score: Additive, resamples: int) -> float:
    """Half of what lies between the 2.5th and the 97.5th percentile of the resamples, as in sacreBLEU."""
    rng, examples = np.random.default_rng(SEED), len(score.each_NS)
    drawn = (np.bincount(rng.choice(examples, examples), minlength=examples) for _ in range(resamples))
    sorted_R = np.sort(score.scores(np.stack([times_N @ score.each_NS for times_N in drawn])))
    outside = resamples // 40
    return float(0.5 * (sorted_R[resamples - outside - 1] - sorted_R[outside]))


# ---------------------------------------------------------------------------------------------------- two scores


def randomisation_p(one: Additive, other: Additive, trials: int) -> float:
    """Two-sided p by approximate randomisation: (1 + swaps with at least the difference that was found) / (1 + trials).

    Differs from sacreBLEU, whose draws it makes: a difference that is as large as the one that was found counts too.
    Where few sentences differ, or all by as much, such are many, and without them p would be far too small.
    """
    gain_NS = other.each_NS - one.each_NS
    swapped_RN = np.random.default_rng(SEED).integers(2, size=(trials, len(gain_NS)), dtype=bool)
    rows = max(1, AT_ONCE // len(gain_NS))
    gain_RS = np.concatenate([swapped_RN[low : low + rows] @ gain_NS for low in range(0, trials, rows)])
    one_R, other_R = one.scores(one.each_NS.sum(0) + gain_RS), other.scores(other.each_NS.sum(0) - gain_RS)
    found = abs(one.value - other.value)
    least = found - ROUNDING * max(abs(one.value), abs(other.value))
    return float((1 + np.sum(np.abs(one_R - other_R) >= least)) / (1 + trials))


def mcnemar_p(one: Additive, other: Additive, trials: int = 0) -> float:
    """McNemar's exact test (1947) of right and wrong answers: two-sided, by the binomial of those that only one has.

    Nothing is drawn, so that `trials` says nothing.
    """
    from scipy.stats import binomtest

    right_N, other_right_N = one.each_NS[:, 0] > 0, other.each_NS[:, 0] > 0
    only_one, only_other = int(np.sum(right_N & ~other_right_N)), int(np.sum(other_right_N & ~right_N))
    if only_one == only_other:
        return 1.0
    return float(binomtest(only_one, only_one + only_other).pvalue)


TESTS: dict[PairedTest, str] = {randomisation_p: "approximate randomisation", mcnemar_p: "McNemar's exact test"}


def holm(ps: Sequence[float]) -> list[float]:
    """The p of several tests, corrected so that one false alarm among all is as rare as of one test (Holm 1979)."""
    corrected, largest = [1.0] * len(ps), 0.0
    for rank, number in enumerate(sorted(range(len(ps)), key=lambda number: ps[number])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[number]))
        corrected[number] = largest
    return corrected


# ---------------------------------------------------------------------------------------------------- a table


def confidences(
    scores: Mapping[str, Additive], *, baseline: str, best: str, test: PairedTest, resamples: int
) -> dict[str, Confidence]:
    """Of each row of a table: its interval, its corrected p against the baseline, and whether it may be the best.

    `best` is the row with the best score. It and those that no test tells apart from it are the best; where that is
    every row, none is.
    """
    p, p_best = (_against(row, scores, test, resamples) for row in (baseline, best))
    equals = {name for name in scores if name == best or p_best[name] > LEVEL}
    equals = equals if len(equals) < len(scores) else set()
    return {
        name: Confidence(bootstrap_interval(score, resamples), p.get(name), TESTS[test], name in equals)
        for name, score in scores.items()
    }


def _against(row: str, scores: Mapping[str, Additive], test: PairedTest, trials: int) -> dict[str, float]:
    """The corrected p of every other row against one."""
    others = [name for name in scores if name != row]
    return dict(zip(others, holm([test(scores[row], scores[name], trials) for name in others]), strict=True))
