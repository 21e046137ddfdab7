"""Accuracy, F1 and the confusion table, against numbers worked by hand and counted one by one."""

import random

import numpy as np
import pytest

from seqwright.errors import DataError
from seqwright.metrics.labels import accuracy, class_scores, confusion, macro_f1, matthews

#            said:  cat dog cow
WORKED = np.array([[5, 3, 0], [2, 3, 1], [0, 2, 11]])


def test_rows_are_what_is_true_and_columns_what_was_said() -> None:
    assert confusion(predicted=[1, 1, 0, 2], true=[0, 1, 0, 0], classes=3).tolist() == [[1, 1, 1], [0, 1, 0], [0, 0, 0]]


def test_the_worked_example() -> None:
    """27 animals: 8 cats, 6 dogs, 13 cows. Precision of cats 5/7, recall 5/8, F1 2·5/(7+8)."""
    assert accuracy(WORKED) == pytest.approx(100 * 19 / 27)
    cat, dog, cow = class_scores(WORKED)
    assert cat == pytest.approx((100 * 5 / 7, 100 * 5 / 8, 100 * 10 / 15))
    assert dog == pytest.approx((100 * 3 / 8, 100 * 3 / 6, 100 * 6 / 14))
    assert cow == pytest.approx((100 * 11 / 12, 100 * 11 / 13, 100 * 22 / 25))
    assert macro_f1(WORKED) == pytest.approx(100 * (10 / 15 + 6 / 14 + 22 / 25) / 3)


def test_scores_agree_with_counting_one_by_one() -> None:
    draw = random.Random(3)
    true = [draw.randrange(5) for _ in range(211)]
    said = [label if draw.random() < 0.6 else draw.randrange(5) for label in true]
    counts = confusion(said, true, classes=5)
    both = list(zip(said, true, strict=True))
    assert accuracy(counts) == pytest.approx(100 * sum(a == b for a, b in both) / 211)
    for label, score in enumerate(class_scores(counts)):
        precision = sum(a == b == label for a, b in both) / sum(a == label for a in said)
        recall = sum(a == b == label for a, b in both) / sum(b == label for b in true)
        harmonic = 2 / (1 / precision + 1 / recall)
        assert score == pytest.approx((100 * precision, 100 * recall, 100 * harmonic))


def test_matthews_correlation_of_two_classes_is_the_formula_of_1975() -> None:
    true_no, false_yes, false_no, true_yes = 17, 5, 3, 11
    product = (true_yes + false_yes) * (true_yes + false_no) * (true_no + false_yes) * (true_no + false_no)
    wanted = 100 * (true_yes * true_no - false_yes * false_no) / product**0.5
    assert matthews(np.array([[true_no, false_yes], [false_no, true_yes]])) == pytest.approx(wanted)


def test_matthews_correlation_of_many_classes_is_that_of_the_indicators() -> None:
    """cov(X, Y) / √(cov(X, X) cov(Y, Y)) over one row of 0 and 1 for each answer."""
    draw = random.Random(5)
    true = [draw.randrange(4) for _ in range(97)]
    said = [label if draw.random() < 0.5 else draw.randrange(4) for label in true]
    x, y = np.eye(4)[said], np.eye(4)[true]
    x, y = x - x.mean(0), y - y.mean(0)
    wanted = 100 * (x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum())
    assert matthews(confusion(said, true, classes=4)) == pytest.approx(wanted)


def test_always_the_same_answer_is_worth_nothing_to_matthews() -> None:
    assert matthews(confusion(predicted=[1, 1, 1], true=[0, 1, 1], classes=2)) == 0
    assert matthews(confusion(predicted=[0, 1, 1], true=[0, 1, 1], classes=2)) == pytest.approx(100)
    assert matthews(confusion(predicted=[1, 0, 0], true=[0, 1, 1], classes=2)) == pytest.approx(-100)


def test_a_class_that_is_never_said_has_no_precision_and_counts() -> None:
    counts = confusion(predicted=[0, 0, 0], true=[0, 0, 1], classes=3)
    assert [score.f1 for score in class_scores(counts)] == pytest.approx([80, 0, 0])
    assert macro_f1(counts) == pytest.approx(40)  # the third neither occurs nor was said


@pytest.mark.parametrize(
    ("predicted", "true", "sentence"), [([1], [1, 0], "1 predictions for 2 labels"), ([], [], "no labels")]
)
def test_answers_that_do_not_fit_are_refused(predicted: list[int], true: list[int], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        confusion(predicted, true, classes=2)
