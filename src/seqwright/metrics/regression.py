"""Scores of numbers that somebody gave to texts: squared error, and how well their order and their size are followed.

N texts
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqwright.errors import DataError

Values = NDArray[np.float64]


def squared_error(predicted: Sequence[float], true: Sequence[float]) -> float:
    """The mean of the squared differences."""
    predicted_N, true_N = _values(predicted, true)
    return float(np.mean((predicted_N - true_N) ** 2))


def pearson(predicted: Sequence[float], true: Sequence[float]) -> float:
    """How near to a straight line the two lie (Pearson 1895), from -100 to 100; 0 where one of them never changes."""
    return _correlation(*_values(predicted, true))


def spearman(predicted: Sequence[float], true: Sequence[float]) -> float:
    """How alike the orders of the two are (Spearman 1904), from -100 to 100: Pearson's correlation of their ranks."""
    predicted_N, true_N = _values(predicted, true)
    return _correlation(_ranks(predicted_N), _ranks(true_N))


def _correlation(predicted_N: Values, true_N: Values) -> float:
    if np.ptp(predicted_N) == 0 or np.ptp(true_N) == 0:  # less their mean, these need not be 0 but rounding
        return 0.0
    predicted_N, true_N = predicted_N - predicted_N.mean(), true_N - true_N.mean()
    size = np.sqrt((predicted_N @ predicted_N) * (true_N @ true_N))
    return float(100 * (predicted_N @ true_N) / size) if size > 0 else 0.0


def _ranks(value_N: Values) -> Values:
    """The place of each value in their order; equal ones share the mean of their places."""
    _, which_N, count = np.unique(value_N, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    middle: Values = last - (count - 1) / 2
    return middle[which_N]


def _values(predicted: Sequence[float], true: Sequence[float]) -> tuple[Values, Values]:
    if len(predicted) != len(true):
        raise DataError(f"there are {len(predicted)} predictions for {len(true)} values; give one for each text")
    if not len(true):
        raise DataError("there are no values to score; give at least one text with its value")
    return np.asarray(predicted, dtype=np.float64), np.asarray(true, dtype=np.float64)
