"""Scores of labels: accuracy, F1, Matthews correlation, and which label was taken for which.

C classes: rows are what is true, columns what was predicted
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.errors import DataError

Counts = NDArray[np.int64]


class ClassScore(NamedTuple):
    """How well one label is found, each from 0 to 100."""

    precision: float  # of what was given the label, how much has it
    recall: float  # of what has the label, how much was given it
    f1: float  # 2 · precision · recall / (precision + recall)


def confusion(predicted: Sequence[int], true: Sequence[int], *, classes: int) -> Counts:
    """How often each class (row) was taken for each (column)."""
    if len(predicted) != len(true):
        raise DataError(f"there are {len(predicted)} predictions for {len(true)} labels; give one for each text")
    if not len(true):
        raise DataError("there are no labels to score; give at least one text with its label")
    flat = np.asarray(true, dtype=np.int64) * classes + np.asarray(predicted, dtype=np.int64)
    return np.bincount(flat, minlength=classes * classes).reshape(classes, classes)


def accuracy(counts_CC: Counts) -> float:
    """The share of right answers, from 0 to 100."""
    return float(100 * np.trace(counts_CC) / counts_CC.sum())


def class_scores(counts_CC: Counts) -> list[ClassScore]:
    """Precision, recall and F1 of each class; what would be nothing out of nothing is 0.

    F1 = 2 · right / (predicted + true)
    """
    right_C, predicted_C, true_C = np.diag(counts_CC), counts_CC.sum(0), counts_CC.sum(1)
    shares = (_percent(right_C, predicted_C), _percent(right_C, true_C), _percent(2 * right_C, predicted_C + true_C))
    return [ClassScore(*map(float, row)) for row in zip(*shares, strict=True)]


def macro_f1(counts_CC: Counts) -> float:
    """The mean of the classes' F1, in which rare classes count like frequent ones.

    A class that neither occurs nor was predicted has no part in it.
    """
    each = zip(class_scores(counts_CC), seen_classes(counts_CC), strict=True)
    return float(np.mean([score.f1 for score, seen in each if seen]))


def seen_classes(counts_CC: Counts) -> list[bool]:
    """Of each class whether it occurs or was predicted, so that it has an F1."""
    seen: list[bool] = ((counts_CC.sum(0) + counts_CC.sum(1)) > 0).tolist()
    return seen


def matthews(counts_CC: Counts) -> float:
    """Matthews correlation of what was predicted and what is true, from -100 to 100 (Gorodkin 2004, equation 8).

        R = (n Σ right - Σ predicted true) / √((n² - Σ predicted²) (n² - Σ true²))

    For two classes it is the φ coefficient (Matthews 1975). Who always says the same is worth 0.
    """
    right, predicted_C, true_C = (
        float(np.trace(counts_CC)),
        counts_CC.sum(0, dtype=float),
        counts_CC.sum(1, dtype=float),
    )
    count = predicted_C.sum()
    spread = (count**2 - predicted_C @ predicted_C) * (count**2 - true_C @ true_C)
    return float(100 * (count * right - predicted_C @ true_C) / np.sqrt(spread)) if spread > 0 else 0.0


def _percent(part_C: Counts, whole_C: Counts) -> NDArray[np.float64]:
    return 100 * np.divide(part_C, whole_C, out=np.zeros(len(part_C)), where=whole_C > 0)
