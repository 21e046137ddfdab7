"""Linear baselines over what an input shows of its examples, by scikit-learn.

scikit-learn is imported where something is fitted and not before: it takes a second, and `--help` needs none of it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seqwright.inputs import Examples

C = 2.0  # inverse of the penalty; of two classes the same as a penalty of ½ ‖W‖² where each has a vector of its own
ALPHA = 1.0  # penalty of ridge regression
TOLERANCE, STEPS = 1e-8, 10_000  # down to the minimum, or scores would depend on where the descent stopped
NOT_HERE = "the data it would learn from is not here"


def elsewhere(train: Examples[Any], part: Examples[Any]) -> bool:
    """Whether the training part is not here, and another stands for it: nothing can be learnt from that."""
    return train.fingerprint == part.fingerprint and train.name != part.name


def logistic_regression(vectorizer: Any, features: Any, labels: Sequence[int]) -> Any:
    """Logistic regression (Cox 1958), multinomial for more than two classes: -Σ log p + ‖W‖² / 2C.

    Of two classes W is one vector. The most frequent class where there is nothing to tell examples apart by.
    """
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression

    linear = LogisticRegression(C=C, tol=TOLERANCE, max_iter=STEPS)
    return _fitted(vectorizer, linear, DummyClassifier(), features, labels)


def ridge_regression(vectorizer: Any, features: Any, values: Sequence[float]) -> Any:
    """Ridge regression (Hoerl & Kennard 1970): ‖y - X w - b‖² + α ‖w‖²; the mean where nothing tells examples apart."""
    from sklearn.dummy import DummyRegressor
    from sklearn.linear_model import Ridge

    ridge = Ridge(alpha=ALPHA, solver="sparse_cg", tol=TOLERANCE, max_iter=STEPS)
    return _fitted(vectorizer, ridge, DummyRegressor(), features, values)


def thinned(numbers: Sequence[int], most: int) -> Sequence[int]:
    """Numbers of examples; of more than a baseline learns from, some at even distances."""
    return numbers[:: -(-len(numbers) // most)]


def _fitted(vectorizer: Any, linear: Any, constant: Any, features: Any, targets: Sequence[float]) -> Any:
    from sklearn.pipeline import make_pipeline

    if len(set(targets)) < 2:
        return constant.fit(np.zeros((len(targets), 1)), targets)
    try:
        return make_pipeline(vectorizer, linear).fit(features, targets)
    except ValueError:  # no word occurs twice
        return constant.fit(np.zeros((len(targets), 1)), targets)
