"""Squared error and correlations, against NumPy's own and against ranks counted one by one."""

import numpy as np
import pytest

from seqwright.errors import DataError
from seqwright.metrics.regression import Values, pearson, spearman, squared_error

DRAW = np.random.default_rng(7)
TRUE = DRAW.integers(0, 6, 53).astype(float)  # with many equal ones
SAID = TRUE + DRAW.normal(0, 2, 53).round(1)


def counted_rank(values: Values, place: int) -> float:
    """One more than how many are smaller, and half of the others that are equal."""
    smaller = sum(other < values[place] for other in values)
    equal = sum(other == values[place] for other in values) - 1
    return 1 + float(smaller) + float(equal) / 2


def test_the_squared_error_is_that_of_a_loop() -> None:
    wanted = sum((said - true) ** 2 for said, true in zip(SAID, TRUE, strict=True)) / 53
    assert squared_error(SAID.tolist(), TRUE.tolist()) == pytest.approx(wanted)


def test_pearsons_correlation_is_numpys() -> None:
    assert pearson(SAID.tolist(), TRUE.tolist()) == pytest.approx(100 * np.corrcoef(SAID, TRUE)[0, 1])


def test_spearmans_correlation_is_pearsons_of_counted_ranks() -> None:
    said, true = (np.array([counted_rank(values, place) for place in range(53)]) for values in (SAID, TRUE))
    assert spearman(SAID.tolist(), TRUE.tolist()) == pytest.approx(100 * np.corrcoef(said, true)[0, 1])


def test_only_the_order_matters_to_spearman() -> None:
    assert spearman([1, 2, 3, 1000], [-5, 0, 7, 8]) == pytest.approx(100)
    assert pearson([1, 2, 3, 1000], [-5, 0, 7, 8]) < 70
    assert spearman([4, 3, 2, 1], [-5, 0, 7, 8]) == pytest.approx(-100)


def test_who_always_says_the_same_has_no_correlation() -> None:
    assert pearson([2, 2, 2], [1, 2, 3]) == spearman([2, 2, 2], [1, 2, 3]) == 0


@pytest.mark.parametrize(
    ("predicted", "true", "sentence"), [([1], [1, 0], "1 predictions for 2 values"), ([], [], "no values")]
)
def test_answers_that_do_not_fit_are_refused(predicted: list[float], true: list[float], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        pearson(predicted, true)
