"""Estimators of scikit-learn that train and use a run: `TextClassifier(steps=300).fit(texts, labels).predict(more)`.

They train as a recipe does, the same input, output, model and objective, from examples in memory. scikit-learn is
imported with this module, and this module when one of its names is first used.
"""

import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from seqwright.api import overrides_of
from seqwright.data.examples import PartName
from seqwright.data.in_memory import GivenData
from seqwright.data.labelled_tables import Example
from seqwright.data.series import SeriesWindow
from seqwright.errors import DataError, in_python
from seqwright.kinds import settings_class
from seqwright.model_card import draw_curve, write_card
from seqwright.overrides import with_overrides
from seqwright.recipe import Recipe, recipe_from, with_weights
from seqwright.runs import open_run, train
from seqwright.training.fine_tuning import LAYER_DECAY, fine_tuning, needs_pooling
from seqwright.training.reporter import Quiet, usual_reporter

WINDOWS = 64  # in a batch of a forecaster
READING = {"tokenizer": "words", "vocabulary": 10_000, "lowercase": True, "longest": 400}
RECURRENT = {"width": 64, "embedding": 64}
FROM_SCRATCH = {"tokens": 512, "schedule": "cosine", "rate": 0.003, "validate_every": 100, "keep": 1}


class GivenError(DataError, ValueError):
    """What an estimator was given cannot be learnt from; scikit-learn expects a `ValueError`."""


class RunEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: a run that is trained by `fit`, into a folder of its own or the one that is named.

    `model` is a kind of `sw.list_models(task)`, `settings` a mapping of dotted names as in recipes
    (`{"model.width": 32}`), `weights` a run to fine-tune. `validation_fraction` of what is given chooses the best
    checkpoint; with 0 it is chosen on what is learnt from. `run` names the run folder: what was begun there is resumed,
    or deleted where `fresh`. Without it the folder is temporary, and goes with the estimator.
    """

    task: ClassVar[str]
    usual: ClassVar[str]  # the kind of its model

    def __init__(
        self,
        model: str | None = None,
        steps: int = 500,
        *,
        weights: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        validation_fraction: float = 0.1,
        random_state: Any = 1,
        run: str | Path | None = None,
        fresh: bool = False,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.steps = steps
        self.weights = weights
        self.settings = settings
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.run = run
        self.fresh = fresh
        self.verbose = verbose

    def _train(self, examples: Sequence[Any], held_out: set[int], plain: Mapping[str, Any]) -> None:
        """Train a run on the examples, but for those that are held out for validation, as `plain` settings say."""
        kept = [example for number, example in enumerate(examples) if number not in held_out]
        parts: dict[PartName, list[Any]] = {"train": kept, "valid": [examples[n] for n in sorted(held_out)] or kept}
        folder = Path(tempfile.mkdtemp(prefix="seqwright-")) if self.run is None else Path(self.run)
        if self.run is None:
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        with _as_values(), in_python():
            recipe = self._recipe(f"{len(examples):,} examples", plain, folder)
            told = usual_reporter() if self.verbose else Quiet()
            trained = train(recipe, folder, reporter=told, fresh=self.fresh, data=GivenData(parts))
            if self.run is not None:
                write_card(trained)
                draw_curve(folder)
            self.run_ = open_run(folder)

    def _recipe(self, given: str, plain: Mapping[str, Any], folder: Path) -> Recipe:
        """The settings of a section each: usual ones, those of the estimator, and in their place what was set."""
        sections = {name: dict(section) for name, section in plain.items()}
        training = sections["training"] | {"steps": self.steps, "seed": _seed(self.random_state)}
        whole = {"task": self.task, "data": {"in_memory": given}, **sections, "training": training}
        changed = with_overrides(whole, overrides_of((self.settings or {},)))
        return recipe_from(with_weights(changed, folder / "resolved.toml"), name=folder.name)

    def _held_out(self, count: int) -> int:
        """How many examples are for validation."""
        share = self.validation_fraction
        if not 0 <= share < 1:
            raise GivenError(f"validation_fraction is {share!r}; give a share from 0 to below 1")
        return min(count - 1, max(1, round(share * count))) if share else 0


class TextEstimator(RunEstimator):
    """What reads texts: X is a list, an array or a column of them; of pairs, two columns or mappings."""

    usual = "lstm"

    def _plain(self) -> dict[str, dict[str, Any]]:
        """The usual settings of a model from scratch, or of one that is fine-tuned."""
        if self.weights is not None:
            return self._fine_tuning(open_run(str(self.weights)).recipe.model)
        kind = {"kind": self.model or self.usual}
        recurrent = "embedding" in settings_class("model", kind, self.task).model_fields
        return {"input": READING, "model": kind | (RECURRENT if recurrent else {}), "training": FROM_SCRATCH}

    def _fine_tuning(self, body: Any) -> dict[str, dict[str, Any]]:
        """As `seqwright new --from` writes it: a rate at which what was learnt before is not lost."""
        kind = {"kind": self.model or body.kind}
        known, before = settings_class("model", kind, self.task).model_fields, body.model_dump()
        pooling = {"pooling": "mean"} if needs_pooling(known, before) else {}
        training = {**fine_tuning(before), **({"layer_decay": LAYER_DECAY} if "heads" in before else {})}
        return {"model": {"weights": str(self.weights), **kind, **pooling}, "training": training}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array, tags.input_tags.string = True, False, True
        return tags

    def _predictions(self, X: Any) -> list[Any]:
        check_is_fitted(self, "run_")
        given = [text if pair is None else {"text": text, "text_pair": pair} for text, pair in texts_of(X)]
        with _as_values(), in_python():
            return list(self.run_(given))


class TextClassifier(ClassifierMixin, TextEstimator):  # type: ignore[misc]
    """A classifier of texts, or of pairs of texts. A blank text gets the most frequent label.

    >>> TextClassifier(model="gru", steps=300).fit(texts, labels).predict(["Call me", "You have won"])
    """

    task = "text-classification"

    def fit(self, X: Any, y: Any) -> "TextClassifier":
        """Learn labels, text by text; `run_` is the run, `classes_` has the labels."""
        texts, labels = texts_of(X), column_or_1d(y, warn=True)
        check_consistent_length(texts, labels)
        check_classification_targets(labels)
        self.classes_, number_N = np.unique(labels, return_inverse=True)
        self._names = [str(label) for label in self.classes_.tolist()]
        if len(self._names) < 2:
            raise GivenError(f"y has one class, {self._names[0]!r}; a classifier needs at least two")
        if not all(name.strip() for name in self._names):
            raise GivenError("a label of y is blank; leave such texts out, or name their label")
        self._counts = np.bincount(number_N)
        examples = [
            Example(text, self._names[number], pair) for (text, pair), number in zip(texts, number_N, strict=True)
        ]
        self._train(examples, self._held_out_labels(number_N.tolist()), self._plain())
        return self

    def _held_out_labels(self, labels: Sequence[int]) -> set[int]:
        """Examples for validation, drawn so that every label is left in training."""
        asked, left, found = self._held_out(len(labels)), Counter(labels), set[int]()
        for number in np.random.default_rng(_seed(self.random_state)).permutation(len(labels)).tolist():
            if len(found) < asked and left[labels[number]] > 1:
                left[labels[number]] -= 1
                found.add(number)
        return found

    def predict_proba(self, X: Any) -> Any:
        """`probability_NC`: how probable each label of `classes_` is."""
        predictions = self._predictions(X)
        unread = dict(zip(self._names, (self._counts / self._counts.sum()).tolist(), strict=True))
        rows = [found.probabilities or unread for found in predictions]
        return np.array([[row[name] for name in self._names] for row in rows])

    def predict(self, X: Any) -> Any:
        """The most probable label of each text."""
        probability_NC = self.predict_proba(X)
        return self.classes_[probability_NC.argmax(1)]


class TextRegressor(RegressorMixin, TextEstimator):  # type: ignore[misc]
    """A number for each text, or for each pair of texts. A blank text gets the mean.

    >>> TextRegressor(steps=300).fit(reviews, stars).predict(["Not bad at all"])
    """

    task = "text-regression"

    def fit(self, X: Any, y: Any) -> "TextRegressor":
        """Learn a number for each text; `run_` is the run."""
        texts, values = texts_of(X), np.asarray(column_or_1d(y, warn=True), dtype=float)
        check_consistent_length(texts, values)
        if not np.isfinite(values).all():
            raise GivenError("y has a value that is missing or infinite; leave such texts out")
        if np.ptp(values) == 0:
            several = f"{len(values):,} sample{'s' if len(values) > 1 else ''}"
            raise GivenError(f"y is {values[0]:g} for all of {several}; a regressor needs different values")
        self._mean = float(values.mean())
        examples = [
            Example(text, repr(value), pair) for (text, pair), value in zip(texts, values.tolist(), strict=True)
        ]
        order = np.random.default_rng(_seed(self.random_state)).permutation(len(examples))
        asked = self._held_out(len(examples))
        learnable = np.ptp(values[order[asked:]]) > 0
        self._train(examples, set(order[:asked].tolist()) if learnable else set(), self._plain())
        return self

    def predict(self, X: Any) -> Any:
        """The number of each text."""
        found = (each.value for each in self._predictions(X))
        return np.array([self._mean if value is None else value for value in found])


class Forecaster(RegressorMixin, RunEstimator):  # type: ignore[misc]
    """What follows a window of a series: X is (windows, steps) or (windows, steps, channels), y what follows each.

    `sliding_windows(series, history=…, horizon=…)` cuts both out of a series. The last windows are for validation.

    >>> X, y = sliding_windows(series, history=48, horizon=12)
    >>> Forecaster(model="gru").fit(X[:-100], y[:-100]).predict(X[-100:])
    """

    task, usual = "forecasting", "dense"

    def fit(self, X: Any, y: Any) -> "Forecaster":
        """Learn what follows each window; `run_` is the run."""
        past_NTC, future_NHC = self._checked(X, y)
        count, history, channels = past_NTC.shape
        columns = tuple(f"x{channel}" for channel in range(channels))
        whole = np.concatenate([past_NTC, future_NHC], axis=1)
        examples = [SeriesWindow(series_TC, columns, 0, history, future_NHC.shape[1]) for series_TC in whole]
        kept = count - self._held_out(count)
        training = {**FROM_SCRATCH, "tokens": WINDOWS * history * channels}
        plain = {"model": {"kind": self.model or self.usual}, "training": training}
        self._train(examples, set(range(kept, count)), plain)
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Both as (windows, steps, channels), of numbers."""
        if np.asarray(X).ndim < 3:
            past_NT, future = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
            self._shape = np.shape(future)[1:]
            return past_NT[..., None], np.asarray(future, dtype=float).reshape(len(past_NT), -1, 1)
        past_NTC = validate_data(self, X, dtype=np.float64, allow_nd=True)
        future = np.asarray(y, dtype=float)
        check_consistent_length(past_NTC, future)
        self._shape = future.shape[1:]
        if future.shape[-1] != past_NTC.shape[-1] or future.ndim not in {2, 3} or not np.isfinite(future).all():
            raise GivenError(
                f"y has the shape {future.shape} for windows of {past_NTC.shape}; give numbers, (windows, steps, "
                "channels) of as many channels"
            )
        return past_NTC, future.reshape(len(future), -1, past_NTC.shape[-1])

    def predict(self, X: Any) -> Any:
        """What follows each window, in the shape of the y that was learnt from."""
        check_is_fitted(self, "run_")
        past = validate_data(self, X, dtype=np.float64, allow_nd=True, reset=False)
        with _as_values(), in_python():
            found = self.run_(list(past))
        return np.stack(found).reshape(len(past), *self._shape).astype(float)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output, tags.input_tags.three_d_array = True, True
        return tags


def sliding_windows(series: Any, *, history: int, horizon: int = 1) -> tuple[Any, Any]:
    """Every window of a series, (steps) or (steps, channels), and what follows it: X and y of a `Forecaster`."""
    values = np.asarray(series, dtype=float)
    count = len(values) - history - horizon + 1
    if history < 1 or horizon < 1 or count < 1:
        raise GivenError(
            f"a series of {len(values):,} steps has no window of history={history} and horizon={horizon}; both are at "
            "least 1 and together at most its length"
        )
    starts = range(count)
    X = np.stack([values[first : first + history] for first in starts])
    return X, np.stack([values[first + history : first + history + horizon] for first in starts])


def texts_of(X: Any) -> list[tuple[str, str | None]]:
    """Each text, and the second one where there are two."""
    if isinstance(X, str):
        raise GivenError("X is one text; give a list of texts, [text]")
    given = X.to_numpy() if hasattr(X, "to_numpy") else X
    given = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if not given:
        raise GivenError("X has no text; give at least one")
    return [_pair(each, number) for number, each in enumerate(given)]


def _pair(given: Any, number: int) -> tuple[str, str | None]:
    """One example: a text, a mapping with `text` and perhaps `text_pair`, or a row of one or two texts."""
    found = [given.get("text"), given.get("text_pair")] if isinstance(given, Mapping) else given
    row = [each for each in found if each is not None] if isinstance(found, list | tuple) else [found]
    if len(row) not in {1, 2} or not all(isinstance(each, str) for each in row):
        raise GivenError(f"X[{number}] is {given!r:.60}; give a text, or two that belong together")
    return row[0], row[1] if len(row) == 2 else None


@contextmanager
def _as_values() -> Iterator[None]:
    """Inside, an error of the data is a `ValueError` too, as scikit-learn expects it of what is given."""
    try:
        yield
    except DataError as error:
        raise GivenError(str(error)) from error


def _seed(random_state: Any) -> int:
    """A number that decides all that is drawn; of a generator or of None, a new one each time."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
