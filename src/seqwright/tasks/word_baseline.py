"""Baselines of classifiers and raters: linear models over the words of a text, whatever their order, by scikit-learn.

scikit-learn is imported where something is fitted and not before: it takes a second, and `--help` needs none of it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, final

WORD = re.compile(r"\w+|[^\w\s]")
MOST_WORDS = 50_000
C = 2.0  # inverse of the penalty; of two classes the same as a penalty of ½ ‖W‖² where each has a vector of its own
ALPHA = 1.0  # penalty of ridge regression
TOLERANCE, STEPS = 1e-8, 10_000  # down to the minimum, or scores would depend on where the descent stopped


class ToBeat(NamedTuple):
    """How good it is to know nothing of a text, or only its words."""

    scores: dict[str, float]  # by the names they are reported under
    sentence: str
    notes: list[str]


@final
class WordBaseline:
    """Logistic regression (Cox 1958), multinomial for more than two classes, over which words occur.

        -Σ log p + ‖W‖² / 2C

    Of two classes W is one vector, as scikit-learn has it. Where there is one class only, or no word in two texts, it
    predicts the most frequent class.
    """

    def __init__(self, texts: Iterable[str | set[str]], labels: Sequence[int]) -> None:
        from sklearn.dummy import DummyClassifier
        from sklearn.linear_model import LogisticRegression

        self.model = fitted(LogisticRegression(C=C, tol=TOLERANCE, max_iter=STEPS), DummyClassifier(), texts, labels)

    def __call__(self, texts: Iterable[str | set[str]]) -> list[int]:
        """The number of the likeliest class of each text."""
        answers: list[int] = self.model.predict([words(text) for text in texts]).tolist()
        return answers


@final
class WordRating:
    """Ridge regression (Hoerl & Kennard 1970) over which words occur; the mean rating where none is in two texts.

    ‖y - X w - b‖² + α ‖w‖²
    """

    def __init__(self, texts: Iterable[str | set[str]], ratings: Sequence[float]) -> None:
        from sklearn.dummy import DummyRegressor
        from sklearn.linear_model import Ridge

        ridge = Ridge(alpha=ALPHA, solver="sparse_cg", tol=TOLERANCE, max_iter=STEPS)
        self.model = fitted(ridge, DummyRegressor(), texts, ratings)

    def __call__(self, texts: Iterable[str | set[str]]) -> list[float]:
        """The rating of each text."""
        answers: list[float] = self.model.predict([words(text) for text in texts]).tolist()
        return answers


def fitted(linear: Any, constant: Any, texts: Iterable[str | set[str]], targets: Sequence[float]) -> Any:
    """A pipeline of scikit-learn: x_v = idf_v where the word v occurs, scaled to length 1, then the linear model.

    The constant one stands in for it where there is nothing to tell texts apart by, or nothing to tell apart.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    found = [words(text) for text in texts]
    if len(set(targets)) < 2 or not recurring(found):
        return constant.fit(found, targets)
    features = TfidfVectorizer(analyzer=in_order, binary=True, min_df=2, max_features=MOST_WORDS)
    return make_pipeline(features, linear).fit(found, targets)


def recurring(texts: Sequence[set[str]]) -> bool:
    """Whether any word occurs in two texts."""
    seen: set[str] = set()
    for text in texts:
        if not seen.isdisjoint(text):
            return True
        seen |= text
    return False


def in_order(text: str | set[str]) -> list[str]:
    """The words of a text in the alphabet's order: that of a set is another one in each process."""
    return sorted(words(text))


def words(text: str | set[str]) -> set[str]:
    """The different words and marks of a text, in small letters; or those that were found already."""
    return text if isinstance(text, set) else set(WORD.findall(text.lower()))
