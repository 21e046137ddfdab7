"""Intervals and paired tests against the same by hand and by others, and the rate of false alarms on null tables."""

import itertools
import math
import time
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from seqwright.comparison.statistics import MAKERS, RIGHT_OR_WRONG, paired_test, statistics_of
from seqwright.errors import DataError
from seqwright.metrics.significance import (
    SEED,
    Additive,
    bootstrap_interval,
    confidences,
    holm,
    mcnemar_p,
    mean_over,
    randomisation_p,
    ratio,
    text_statistics,
)

WORDS = [*"adfghklmnoprstw"]
RESAMPLES = 200
TABLES = 1000


def corpus(sentences: int = 60) -> list[str]:
    rng = np.random.default_rng(7)
    return [" ".join(rng.choice(WORDS, size=rng.integers(5, 12))) for _ in range(sentences)]


def spoilt(texts: list[str], share: float, seed: int = 11) -> list[str]:
    """The same texts, some words of which are others."""
    rng = np.random.default_rng(seed)
    return [
        " ".join(str(rng.choice(WORDS)) if rng.random() < share else word for word in text.split()) for text in texts
    ]


def bleu_counts(hypothesis: str, reference: str) -> list[int]:
    """Lengths, and for n = 1 to 4 the n-grams found and all: what BLEU is made of (Papineni et al. 2002)."""
    written, target = hypothesis.split(), reference.split()
    counts = [len(written), len(target)]
    for n in range(1, 5):
        grams, others = (
            Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for words in (written, target)
        )
        counts += [sum((grams & others).values()), sum(grams.values())]
    return counts


def bleu_of(counts: list[float]) -> float:
    written, target, *pairs = counts
    found = [(pairs[i], pairs[i + 1]) for i in range(0, 8, 2)]
    precision = math.exp(sum(math.log(right / every) for right, every in found) / 4)
    return 100 * min(1.0, math.exp(1 - target / written)) * precision


# ---------------------------------------------------------------------------------------------------- intervals


def test_the_interval_of_bleu_is_that_of_a_bootstrap_by_hand() -> None:
    references = corpus()
    text = spoilt(references, 0.3)
    counts = np.array([bleu_counts(*pair) for pair in zip(text, references, strict=True)], dtype=float)
    drawn = np.random.default_rng(SEED).choice(len(references), size=(RESAMPLES, len(references)), replace=True)
    ordered = np.sort([bleu_of(counts[rows].sum(0)) for rows in drawn])
    found = text_statistics("bleu", text, references, lowercase=False)
    assert found.value == pytest.approx(BLEU().corpus_score(text, [references]).score)
    assert bootstrap_interval(found, RESAMPLES) == pytest.approx((ordered[-6] - ordered[5]) / 2, abs=1e-4)


def test_the_interval_of_an_accuracy_is_that_of_the_binomial() -> None:
    score = mean_over(np.array([1.0] * 640 + [0.0] * 360))
    assert score.value == 0.64
    assert bootstrap_interval(score, 2000) == pytest.approx(1.96 * math.sqrt(0.64 * 0.36 / 1000), rel=0.08)


def test_a_ratio_weighs_each_example_by_what_it_divides_by() -> None:
    rng = np.random.default_rng(3)
    over = rng.integers(1, 50, 300).astype(float)
    bits = over * rng.normal(2.0, 0.3, 300)
    drawn = np.random.default_rng(SEED).choice(300, size=(500, 300), replace=True)
    by_hand = np.sort([bits[rows].sum() / over[rows].sum() for rows in drawn])
    assert bootstrap_interval(ratio(bits, over), 500) == pytest.approx((by_hand[-13] - by_hand[12]) / 2)
    assert randomisation_p(ratio(bits, over), ratio(bits * 1.02, over), 500) == pytest.approx(1 / 501)


# ---------------------------------------------------------------------------------------------------- tests


@pytest.mark.parametrize(("name", "metric"), [("bleu", BLEU(lowercase=True)), ("chrf", CHRF(lowercase=True))])
@pytest.mark.parametrize("share", [0.31, 0.35])
def test_p_of_texts_is_sacrebleus_own_where_no_differences_are_equal(name, metric, share) -> None:
    references = corpus()
    texts = {"base": spoilt(references, 0.3), "other": spoilt(references, share, seed=5)}
    test = PairedTest(list(texts.items()), {name: metric}, [references], test_type="ar", n_samples=RESAMPLES)
    theirs: Any = next(column for title, column in test()[1].items() if title != "System")[1]
    base, other = (text_statistics(name, row, references, lowercase=True) for row in texts.values())
    assert randomisation_p(base, other, RESAMPLES) == pytest.approx(theirs.p_value)


def test_p_is_the_share_of_all_swaps_where_they_can_be_counted() -> None:
    one, other = np.array([3.0, 1, 4, 1, 5, 9, 2]), np.array([2.5, 1, 3, 2, 5, 7, 0.5])
    found = abs((other - one).sum())
    swaps = [abs(np.dot(signs, other - one)) for signs in itertools.product([-1, 1], repeat=7)]
    exact = np.mean([swap >= found - 1e-12 for swap in swaps])
    assert randomisation_p(mean_over(one), mean_over(other), 20_000) == pytest.approx(exact, abs=0.012)


def test_three_sentences_that_differ_are_no_evidence() -> None:
    references = corpus(40)
    same, other = list(references), [*spoilt(references[:3], 0.9), *references[3:]]
    base, changed = (text_statistics("bleu", row, references, lowercase=False) for row in (same, other))
    assert randomisation_p(base, changed, 1000) == pytest.approx(0.25, abs=0.04)


def discordant(only_one: int, only_other: int, both: int = 0) -> tuple[Additive, Additive]:
    """Two rows of answers, of which some are right in only one."""
    one = mean_over([100.0] * only_one + [0.0] * only_other + [100.0] * both)
    return one, mean_over([0.0] * only_one + [100.0] * only_other + [100.0] * both)


@pytest.mark.parametrize(
    ("only_one", "only_other", "p"), [(3, 0, 0.25), (10, 4, 0.1796), (0, 0, 1.0), (30, 5, 2.236e-5)]
)
def test_p_of_right_and_wrong_answers_is_the_exact_binomial(only_one, only_other, p) -> None:
    one, other = discordant(only_one, only_other, 132 - only_one - only_other)
    assert mcnemar_p(one, other) == pytest.approx(p, rel=0.01)
    assert mcnemar_p(one, other) == mcnemar_p(other, one)


def test_p_of_right_and_wrong_answers_is_the_binomial_in_fractions() -> None:
    for only_one, only_other in itertools.product(range(8), repeat=2):
        count = only_one + only_other
        tail = sum(Fraction(math.comb(count, few), 2**count) for few in range(min(only_one, only_other) + 1))
        assert mcnemar_p(*discordant(only_one, only_other)) == pytest.approx(float(min(Fraction(1), 2 * tail)))


def test_p_of_very_many_right_and_wrong_answers_takes_no_time() -> None:
    mcnemar_p(*discordant(1, 2))  # imports what it needs
    begin = time.perf_counter()
    found = mcnemar_p(*discordant(59_600, 60_400))
    assert time.perf_counter() - begin < 5
    normal = math.erfc((60_000 - 59_600 - 0.5) / math.sqrt(120_000 / 4) / math.sqrt(2))
    assert found == pytest.approx(normal, rel=1e-3)


def test_what_is_equal_does_not_differ() -> None:
    score = mean_over(np.arange(9.0))
    assert randomisation_p(score, score._replace(), 50) == 1.0


def test_p_of_several_rows_is_corrected_as_holm_has_it() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])  # his own step-down, by hand
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_bold_are_the_best_and_what_cannot_be_told_apart_from_it() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(0, 1, 200)
    even = np.array([1.0, -1.0] * 99 + [1.0, 1.0])  # as often better as worse, but for two
    rows = {"low": mean_over(base - 1), "best": mean_over(base + 0.1 * even), "near": mean_over(base)}
    found = confidences(rows, baseline="low", best="best", test=randomisation_p, resamples=200)
    assert {name: each.best for name, each in found.items()} == {"low": False, "best": True, "near": True}
    assert found["low"].p is None
    assert found["near"].p == pytest.approx(2 / 201)  # the smallest of two, corrected
    del rows["low"]
    found = confidences(rows, baseline="near", best="best", test=randomisation_p, resamples=200)
    assert not any(each.best for each in found.values())


# ---------------------------------------------------------------------------------------------------- false alarms


def swapped(one: Additive, other: Additive, rng: np.random.Generator) -> tuple[Additive, Additive]:
    """Two rows between which nothing but chance decides which has which answer."""
    numbers = rng.choice(len(one.each_NS), 40)
    swap = rng.integers(2, size=40, dtype=bool)[:, None]
    a, b = one.each_NS[numbers], other.each_NS[numbers]
    return one._replace(each_NS=np.where(swap, a, b)), other._replace(each_NS=np.where(swap, b, a))


def false_alarms(one: Additive, other: Additive, test=randomisation_p) -> float:
    rng = np.random.default_rng(2)
    return float(np.mean([test(*swapped(one, other, rng), 99) <= 0.05 for _ in range(TABLES)]))


def test_null_tables_of_scores_without_ties_alarm_at_the_level() -> None:
    rng = np.random.default_rng(4)
    over = rng.integers(1, 50, 500).astype(float)
    assert 0.03 <= false_alarms(mean_over(rng.normal(0, 1, 500)), mean_over(rng.normal(0, 2, 500))) <= 0.07
    bits = [ratio(over * rng.gamma(3, 1, 500), over) for _ in range(2)]
    assert 0.03 <= false_alarms(*bits) <= 0.07


def test_null_tables_of_right_and_wrong_answers_alarm_no_more_than_the_level() -> None:
    rng = np.random.default_rng(5)
    one, other = (mean_over(100.0 * (rng.random(500) < 0.8)) for _ in range(2))
    assert 0 < false_alarms(one, other, mcnemar_p) <= 0.05  # it is conservative
    assert 0 < false_alarms(one, other) <= 0.07  # and so is randomisation where many differences are equal


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_null_tables_of_texts_alarm_at_the_level(name) -> None:
    references = corpus(300)
    rows = [text_statistics(name, spoilt(references, 0.3, seed), references, lowercase=False) for seed in (1, 2)]
    assert 0.03 <= false_alarms(*rows) <= 0.07


def test_rows_of_another_length_are_refused() -> None:
    with pytest.raises(DataError, match="1 hypotheses for 2 references"):
        text_statistics("bleu", ["a b"], ["a b", "c"], lowercase=False)


def made_up(kind: str, rng: np.random.Generator, seed: int) -> list[dict[str, Any]]:
    """300 answers of a kind by one of two rows, which are right about as often; what is right is the same in both."""
    right = np.random.default_rng(9)
    references = corpus(300)
    others, texts = spoilt(references, 0.2, 3), spoilt(references, 0.3, seed)

    def guessed(classes: str, share: float) -> tuple[str, str]:
        label = str(right.choice([*classes]))
        return label, str(rng.choice([*classes])) if rng.random() < share else label

    def answer(number: int) -> dict[str, Any]:
        match kind:
            case "hypothesis":
                return {"source": f"w{number}", "reference": references[number], "hypothesis": texts[number]}
            case "references":
                return {"references": [references[number], others[number]], "hypothesis": texts[number]}
            case "places":
                path = right.uniform(0, 7, (5, 2))
                return {"places": path.tolist(), "predicted": (path + rng.normal(0, 0.4, (5, 2))).tolist()}
            case "log_probability":
                return {"text": references[number], "log_probability": -float(rng.gamma(9, 1))}
            case "label":
                return dict(zip(("label", "predicted"), guessed("abbb", 0.4), strict=True))
            case "tags":
                tags = [guessed("xyOOO", 0.4) for _ in range(right.integers(3, 9))]
                both = [[tag if tag == "O" else f"B-{tag}" for tag in some] for some in zip(*tags, strict=True)]
                return {"tags": both[0], "predicted": both[1]}
            case "answers":
                return {"answers": [], "exact": bool(rng.random() < 0.5), "f1": float(rng.random())}
            case "value":
                value = float(right.normal())
                return {"value": value, "predicted": value + float(rng.normal(0, 0.7))}
            case _:
                truth = right.normal(0, 1, 5)
                return {"truth": truth.tolist(), "forecast": (truth + rng.normal(0, 0.5, 5)).tolist()}

    return [answer(number) for number in range(300)]


SCORES = [(kind, name) for kind, makers in MAKERS.items() for name in makers if name not in {"bleu", "chrf"}]
UNTIED = {"bits_per_byte", "word_perplexity", "mse", "mae", "pearson"}


@pytest.mark.parametrize(("kind", "name"), SCORES)
def test_null_tables_of_every_score_alarm_at_most_at_the_level(kind: str, name: str) -> None:
    rows = {str(seed): made_up(kind, np.random.default_rng(seed), seed) for seed in (1, 2)}
    test = paired_test(name, rows["1"])
    one, other = statistics_of(name, rows, lowercase=False).values()
    found = false_alarms(one, other, test)
    assert found <= 0.07
    if name in UNTIED or (kind, name) == ("answers", "f1"):
        assert found >= 0.03
    assert test is (mcnemar_p if (kind, name) in RIGHT_OR_WRONG else randomisation_p)
