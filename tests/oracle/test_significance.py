"""Intervals and paired tests against the same drawn by hand, and against what must hold of any."""

import math
from collections import Counter

import numpy as np
import pytest

from seqwright.errors import DataError
from seqwright.metrics.significance import SEED, Ratio, ratio_confidence, text_confidence

WORDS = [*"adfghklmnoprstw"]
RESAMPLES = 200


def corpus(sentences: int = 60) -> list[str]:
    rng = np.random.default_rng(7)
    return [" ".join(rng.choice(WORDS, size=rng.integers(5, 12))) for _ in range(sentences)]


def spoilt(texts: list[str], share: float) -> list[str]:
    """The same texts, some words of which are others."""
    rng = np.random.default_rng(11)
    return [
        " ".join(str(rng.choice(WORDS)) if rng.random() < share else word for word in text.split()) for text in texts
    ]


def bleu_counts(hypothesis: str, reference: str) -> list[int]:
    """Lengths, and for n = 1 to 4 the n-grams found and all: what BLEU is made of (Papineni et al. 2002)."""
    said, wanted = hypothesis.split(), reference.split()
    counts = [len(said), len(wanted)]
    for n in range(1, 5):
        grams, others = (
            Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for words in (said, wanted)
        )
        counts += [sum((grams & others).values()), sum(grams.values())]
    return counts


def bleu_of(counts: list[float]) -> float:
    said, wanted, *pairs = counts
    found = [(pairs[i], pairs[i + 1]) for i in range(0, 8, 2)]
    precision = math.exp(sum(math.log(right / every) for right, every in found) / 4)
    return 100 * min(1.0, math.exp(1 - wanted / said)) * precision


def test_the_interval_and_the_p_of_bleu_are_those_of_a_bootstrap_by_hand() -> None:
    references = corpus()
    texts = {"base": spoilt(references, 0.3), "other": spoilt(references, 0.4)}
    found = text_confidence(texts, references, lowercase=False, resamples=RESAMPLES)
    counts = {
        name: np.array([bleu_counts(*pair) for pair in zip(row, references, strict=True)], dtype=float)
        for name, row in texts.items()
    }
    drawn = np.random.default_rng(SEED).choice(len(references), size=(RESAMPLES, len(references)), replace=True)
    scores = {name: np.array([bleu_of(of[rows].sum(0)) for rows in drawn]) for name, of in counts.items()}
    for name, resampled in scores.items():
        ordered = np.sort(resampled)
        assert found[name]["bleu"].interval == pytest.approx((ordered[-6] - ordered[5]) / 2, abs=1e-4)
    difference = np.abs(scores["other"] - scores["base"])
    found_difference = abs(bleu_of(counts["other"].sum(0)) - bleu_of(counts["base"].sum(0)))
    p = (np.sum(difference - difference.mean() > found_difference) + 1) / (RESAMPLES + 1)
    assert found["other"]["bleu"].p == pytest.approx(p)
    assert found["base"]["bleu"].p is None


def test_a_large_difference_is_sure_and_a_small_one_is_not() -> None:
    references = corpus()
    texts = {"base": spoilt(references, 0.2), "nearly": spoilt(references, 0.21), "worse": spoilt(references, 0.8)}
    found = text_confidence(texts, references, lowercase=True, resamples=RESAMPLES)
    worse, nearly = found["worse"]["bleu"].p, found["nearly"]["bleu"].p
    assert worse is not None
    assert nearly is not None
    assert worse < 0.01 < 0.05 < nearly
    assert set(found["worse"]) == {"bleu", "chrf"}


def test_the_interval_of_an_accuracy_is_that_of_the_binomial() -> None:
    right = np.array([1.0] * 640 + [0.0] * 360)
    ratio = Ratio(right, np.ones(1000))
    assert ratio.value == 0.64
    found = ratio_confidence({"one": ratio}, resamples=2000)["one"]
    assert found.interval == pytest.approx(1.96 * math.sqrt(0.64 * 0.36 / 1000), rel=0.08)
    assert found.p is None


def test_a_ratio_weighs_each_example_by_what_it_divides_by() -> None:
    rng = np.random.default_rng(3)
    over = rng.integers(1, 50, 300).astype(float)
    bits = over * rng.normal(2.0, 0.3, 300)
    found = ratio_confidence({"a": Ratio(bits, over), "b": Ratio(bits * 1.02, over)}, resamples=500)
    drawn = np.random.default_rng(SEED).choice(300, size=(500, 300), replace=True)
    by_hand = np.sort([bits[rows].sum() / over[rows].sum() for rows in drawn])
    assert found["a"].interval == pytest.approx((by_hand[-13] - by_hand[12]) / 2)
    assert found["b"].p == pytest.approx(1 / 501)  # worse everywhere, so in every resample


def test_what_is_equal_does_not_differ() -> None:
    references = corpus(20)
    text = spoilt(references, 0.3)
    assert (
        text_confidence({"one": text, "same": list(text)}, references, lowercase=False, resamples=50)["same"]["bleu"].p
        == 1.0
    )
    ratio = Ratio(np.arange(9.0), np.ones(9))
    assert ratio_confidence({"one": ratio, "same": ratio._replace()}, resamples=50)["same"].p == 1.0


def test_rows_of_another_length_are_refused() -> None:
    with pytest.raises(DataError, match="1 hypotheses for 2 references"):
        text_confidence({"one": ["a b"]}, ["a b", "c"], lowercase=False, resamples=10)
