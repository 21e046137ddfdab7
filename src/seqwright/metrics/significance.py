"""How sure a score is, and whether two models really differ: by drawing the examples again, with replacement.

The interval holds the middle 95 % of the scores of the resamples (Efron & Tibshirani 1993). Whether a model differs
from another is asked of resamples that draw the same examples for both (Koehn 2004): p is the share in which the
difference, less its mean, is larger than the one that was found. BLEU and chrF are resampled by sacreBLEU; a score that
is a ratio of two sums over examples, as accuracy, bits per byte and mean squared error are, here in the same way.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.metrics.text import check_counts

SEED = 12345  # sacreBLEU's own
FEWEST = 20  # examples: what fewer of them say when they are drawn again is nothing


class Confidence(NamedTuple):
    """Half of the width of the 95 % interval, and how often chance alone makes so large a difference to the baseline.

    The baseline itself has no such p.
    """

    interval: float
    p: float | None


class Ratio(NamedTuple):
    """A score that is a sum over examples divided by another: what each example adds to either."""

    sum_N: NDArray[np.float64]
    over_N: NDArray[np.float64]

    @property
    def value(self) -> float:
        """The score."""
        return float(self.sum_N.sum() / self.over_N.sum())


def text_confidence(
    texts: Mapping[str, Sequence[str]], references: Sequence[str], *, lowercase: bool, resamples: int
) -> dict[str, dict[str, Confidence]]:
    """BLEU and chrF of each row of texts, the first of which is the baseline."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import PairedTest

    for row in texts.values():
        check_counts(row, references)
    named: list[tuple[str, Sequence[str]]] = [(name, list(row)) for name, row in texts.items()]
    metrics = {"bleu": BLEU(lowercase=lowercase), "chrf": CHRF(lowercase=lowercase)}
    found: dict[str, dict[str, Confidence]] = {name: {} for name in texts}
    for name, metric in metrics.items():
        test = PairedTest(named, {name: metric}, [list(references)], test_type="bs", n_samples=resamples)
        _, columns = test()
        results: list[Any] = next(column for title, column in columns.items() if title != "System")
        for row, result in zip(texts, results, strict=True):
            p = None if result.p_value is None else float(result.p_value)
            equal = p is not None and result.score == results[0].score  # where sacreBLEU's p is its least
            found[row][name] = Confidence(float(result.ci), 1.0 if equal else p)
    return found


def ratio_confidence(ratios: Mapping[str, Ratio], *, resamples: int) -> dict[str, Confidence]:
    """The same for scores that are ratios of sums, the first of which is the baseline's."""
    first, *_ = ratios.values()
    examples = len(first.sum_N)
    drawn_RN = np.random.default_rng(SEED).choice(examples, size=(resamples, examples), replace=True)
    scores = {name: _resampled(ratio, drawn_RN) for name, ratio in ratios.items()}
    baseline_R, found = next(iter(scores.values())), {}
    for name, score_R in scores.items():
        p = None
        if score_R is not baseline_R:
            difference_R, found_difference = np.abs(score_R - baseline_R), abs(ratios[name].value - first.value)
            beyond = difference_R - difference_R.mean() > found_difference
            p = float((beyond.sum() + 1) / (resamples + 1)) if found_difference else 1.0
        found[name] = Confidence(_half_width(score_R), p)
    return found


def _resampled(ratio: Ratio, drawn_RN: NDArray[np.int64]) -> NDArray[np.float64]:
    score_R: NDArray[np.float64] = ratio.sum_N[drawn_RN].sum(1) / ratio.over_N[drawn_RN].sum(1)
    return score_R


def _half_width(score_R: NDArray[np.float64]) -> float:
    """Half of what lies between the fortieth part from below and that from above, as sacreBLEU takes it."""
    sorted_R, outside = np.sort(score_R), len(score_R) // 40
    return float(0.5 * (sorted_R[len(score_R) - outside - 1] - sorted_R[outside]))
