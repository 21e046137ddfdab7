"""Scores of answers taken out of a text: exact match and F1, as SQuAD counts them.

An answer is compared without capitals, punctuation marks, articles and needless spaces (Rajpurkar et al. 2016, section
6.1). Of several right answers the most like one counts. A question that cannot be answered has none, and what is right
is to say nothing (Rajpurkar et al. 2018, section 5).
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from seqwright.errors import DataError

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(answer: str) -> str:
    """Lower case, without punctuation marks, English articles and spaces too many."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def same_answer(predicted: str, right: str) -> bool:
    """Whether two answers are the same once both are normalised."""
    return normalised(predicted) == normalised(right)


def overlap_f1(predicted: str, right: str) -> float:
    """2 · precision · recall / (precision + recall) of the words that two answers have in common, from 0 to 1."""
    predicted_words, right_words = normalised(predicted).split(), normalised(right).split()
    if not predicted_words or not right_words:
        return float(predicted_words == right_words)
    common = (Counter(predicted_words) & Counter(right_words)).total()
    return 2 * common / (len(predicted_words) + len(right_words))


def acceptable(right: Sequence[str]) -> list[str]:
    """The answers that something remains of once they are normalised; where there are none, only silence is right."""
    return [answer for answer in right if normalised(answer)] or [""]


class AnswerScore(NamedTuple):
    """How good one answer is."""

    exact: bool
    f1: float  # from 0 to 1
    answerable: bool


def score_of(predicted: str, right: Sequence[str]) -> AnswerScore:
    """An answer, "" to say that there is none, beside all that would be right."""
    known = acceptable(right)
    return AnswerScore(
        any(same_answer(predicted, answer) for answer in known),
        max(overlap_f1(predicted, answer) for answer in known),
        any(known),
    )


def answer_scores(predicted: Sequence[str], right: Sequence[Sequence[str]]) -> dict[str, float]:
    """`exact` and `f1` from 0 to 100 over all questions.

    Where some of them cannot be answered and some can, also over each kind alone: `has_answer_exact`, `has_answer_f1`
    and `no_answer_exact`.
    """
    if len(predicted) != len(right) or not predicted:
        raise DataError(f"there are {len(predicted):,} answers to {len(right):,} questions; expected one to each")
    scores = [score_of(*both) for both in zip(predicted, right, strict=True)]
    means = _means(scores, "")
    answerable = [score for score in scores if score.answerable]
    if not answerable or len(answerable) == len(scores):
        return means
    silent = [score for score in scores if not score.answerable]
    return {**means, **_means(answerable, "has_answer_"), "no_answer_exact": _means(silent, "")["exact"]}


class Threshold(NamedTuple):
    """How far the best answer has to lie above saying nothing, and the F1 of all questions if that is asked of it."""

    margin: float
    f1: float


def best_threshold(predicted: Sequence[str], margin: Sequence[float], right: Sequence[Sequence[str]]) -> Threshold:
    """The threshold with the highest F1 (Devlin et al. 2019, section 4.3).

    `predicted` is the best answer to each question and `margin` its score above that of saying nothing; those with a
    margin above the threshold are given.
    """
    given = [score_of(*both).f1 for both in zip(predicted, right, strict=True)]
    silent = [score_of("", answers).f1 for answers in right]
    order = sorted(range(len(predicted)), key=lambda place: -margin[place])
    total = best = sum(silent)
    threshold = margin[order[0]] if order else 0.0
    for rank, place in enumerate(order):
        total += given[place] - silent[place]
        following = margin[order[rank + 1]] if rank + 1 < len(order) else margin[place] - 1.0
        if total > best and following < margin[place]:
            best, threshold = total, (margin[place] + following) / 2
    return Threshold(threshold, 100 * best / max(len(predicted), 1))


def _means(scores: Sequence[AnswerScore], before: str) -> dict[str, float]:
    return {
        f"{before}exact": 100 * sum(score.exact for score in scores) / len(scores),
        f"{before}f1": 100 * sum(score.f1 for score in scores) / len(scores),
    }
