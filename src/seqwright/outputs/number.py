"""A number that somebody gave an example, predicted by regression: a score, a similarity, a price.

B batch · N rows
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from torch import nn

from seqwright.batches import Batches, Column, Rows
from seqwright.batches.labelled import Labelled
from seqwright.data.decimals import is_missing
from seqwright.data.labels import numbers_of
from seqwright.errors import DataError
from seqwright.inputs import Examples, Input, Picture, Stacked
from seqwright.metrics.regression import pearson, spearman, squared_error
from seqwright.outputs import Baselines, Output, Report, Targets, each_row
from seqwright.outputs.label import HasLabel
from seqwright.outputs.linear import NOT_HERE, elsewhere, ridge_regression, thinned

REGRESSION = "baseline: ridge regression"
SIGNATURES = {
    "loss": "squared error, values with deviation 1",
    "mse": "squared error of the values",
    "pearson": "Pearson's correlation, from -100 to 100",
    "spearman": "that of the ranks",
    "baseline_mean_mse": "baseline: always the mean",
    "baseline_linear_mse": REGRESSION,
    "baseline_linear_pearson": REGRESSION,
    "baseline_linear_spearman": REGRESSION,
}


class Value(NamedTuple):
    """The number that is predicted; None for a blank example."""

    value: float | None

    def __repr__(self) -> str:
        return f"Value({'nothing was read' if self.value is None else format(self.value, '.6g')})"


@dataclass(frozen=True)
class NumberOutput(Output[HasLabel, Labelled, Value]):
    """The values of the training examples: their mean, their standard deviation, the lowest and the highest.

    A model says values less the mean, over the deviation.
    """

    mean: float
    deviation: float
    lowest: float
    highest: float
    file: ClassVar[str] = "values.json"
    score_names: ClassVar[tuple[str, ...]] = ("loss", "mse", "pearson", "spearman")
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"loss", "mse"})
    signatures: ClassVar[Mapping[str, str]] = SIGNATURES

    @property
    def trained_here(self) -> bool:
        """Whether these are of training examples; of a model that was trained elsewhere nobody knows them."""
        return self.lowest < self.highest

    @classmethod
    def learn(cls, train: Examples[HasLabel], settings: Any, input: Input[Any, Any], *, like: Any = None) -> Self:
        """What is known of the values of the training part."""
        found = np.array(list(_values(train, input.encode(train)).values()), dtype=np.float64)
        if not len(found):
            raise DataError(
                "no example of the training part can be read and has a value: see whether data.label means the right "
                "column"
            )
        if found.min() == found.max():
            raise DataError(
                f"every example of the training part has the value {found[0]:g}, expected different ones: see whether "
                "data.label means the right column"
            )
        return cls(*(float(value) for value in (found.mean(), found.std(), found.min(), found.max())))

    def value(self, standard: float) -> float:
        """The value that a model means."""
        return standard * self.deviation + self.mean

    def encode(self, examples: Examples[HasLabel], rows: Rows[Any], *, seed: int = 0) -> Targets:
        """The value of each row as a model says it, 0 where it has none."""
        known = _values(examples, rows)
        value_N = np.array([known.get(example, np.nan) for example in rows.example_N.tolist()], dtype=np.float64)
        standard_N = ((value_N - self.mean) / self.deviation).astype(np.float32)
        return Targets(Column(np.nan_to_num(standard_N)), np.flatnonzero(~np.isnan(value_N)))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Labelled:
        """What is read, with the value."""
        known = np.zeros(len(stacked["real_BT"]), dtype=np.float32) if targets is None else np.array(targets)
        return Labelled(**stacked, target_B=torch.from_numpy(known))

    def predict(
        self, model: nn.Module, batches: Batches[Labelled], examples: Examples[HasLabel], decoding: Any = None
    ) -> Iterator[Value]:
        """The value of each example."""
        found: dict[int, float] = {}
        for batch, predicted_B1 in each_row(model, batches):
            found |= dict(zip(batch.example_B.tolist(), predicted_B1.squeeze(1).double().tolist(), strict=True))
        for number, _ in enumerate(examples):
            yield Value(self.value(found[number]) if number in found else None)

    def combined(self, predictions: Sequence[Value]) -> Value:
        """The mean of the values."""
        values = [each.value for each in predictions if each.value is not None]
        return Value(float(np.mean(values)) if len(values) == len(predictions) else None)

    def scores(self, predictions: Sequence[Value], examples: Examples[HasLabel]) -> dict[str, float]:
        """The loss is that of training, in which values have deviation 1."""
        return self._scores(*self._pairs(predictions, examples))

    def target(self, example: HasLabel) -> str | None:
        """The value, as it was written."""
        return _known(example) or None

    def report(self, predictions: Sequence[Value], examples: Examples[HasLabel]) -> Report:
        """Predictions and values as points."""
        predicted, true = self._pairs(predictions, examples)
        return Report(picture=Picture("values", {"predicted": predicted, "true": true}))

    def _pairs(self, predictions: Sequence[Value], examples: Examples[HasLabel]) -> tuple[list[float], list[float]]:
        both = zip(predictions, examples, strict=True)
        found = [(n, prediction.value, _known(example)) for n, (prediction, example) in enumerate(both)]
        read = [(n, value, label) for n, value, label in found if value is not None and label]
        if not read:
            raise DataError(f"no example of {examples.name} can be read and has a value: there is nothing to score")
        true = numbers_of((_place(n, examples.name), label) for n, _, label in read)
        return [value for _, value, _ in read], true

    def _scores(self, predicted: list[float], true: list[float]) -> dict[str, float]:
        error = squared_error(predicted, true)
        correlations = {"pearson": pearson(predicted, true), "spearman": spearman(predicted, true)}
        return {"loss": error / self.deviation**2, "mse": error, **correlations}

    def baselines(self, train: Examples[HasLabel], part: Examples[HasLabel], input: Input[Any, Any]) -> Baselines:
        """The mean of training, and a ridge regression over what the input shows."""
        truth = _values(part, input.encode(part))
        true = list(truth.values())
        always = squared_error([self.mean] * len(true), true)
        told = f"always saying the mean has a squared error of {always:.3f}"
        if elsewhere(train, part):
            return Baselines(
                {"baseline_mean_mse": always}, told, [f"there is no regression to compare with: {NOT_HERE}"]
            )
        known = _values(train, input.encode(train))
        some, features, asked = (
            thinned(list(known), input.baseline_examples),
            input.features(train),
            input.features(part),
        )
        vectorizer, shown = input.vectorizer(), [features[number] for number in some]
        regression = ridge_regression(vectorizer, shown, [known[number] for number in some])
        linear = self._scores(regression.predict([asked[number] for number in truth]).tolist(), true)
        told += f", ridge regression {linear['mse']:.3f} (Pearson {linear['pearson']:.1f})"
        scores = {f"baseline_linear_{name}": score for name, score in linear.items() if name != "loss"}
        return Baselines({"baseline_mean_mse": always, **scores}, told, [])

    def part_sentence(self, examples: Examples[HasLabel], rows: Rows[Any]) -> str:
        """`with values from 0 to 5, 2.70 in the mean; 2 without a value`."""
        found = np.array(list(_values(examples, rows).values()))
        unknown = len(rows.example_N) - len(found)
        rest = f"; {unknown:,} without a value" if unknown else ""
        return f"with values from {found.min():g} to {found.max():g}, {found.mean():.2f} in the mean{rest}"

    def line(self, prediction: Value, top: int = 1) -> str:
        """The value."""
        return "" if prediction.value is None else f"{prediction.value:.4f}"

    def fields(self, prediction: Value, top: int = 1) -> dict[str, Any]:
        """The value."""
        return {"value": None if prediction.value is None else round(prediction.value, 4)}

    def answer(self, prediction: Value, example: HasLabel) -> dict[str, Any]:
        """The value and the predicted one, to the last digit: scores can be made of it again."""
        label = _known(example)
        known = float(label) if label else None
        return {"value": known, "predicted": prediction.value}


def _known(example: HasLabel) -> str:
    """The label; a blank one where a word such as n/a says that the value is not known."""
    return "" if is_missing(example.label) else example.label


def _values(examples: Examples[HasLabel], rows: Rows[Any]) -> dict[int, float]:
    """The values of the examples that can be read and have one, by their numbers."""
    read = set(rows.example_N.tolist())
    labels = {n: label for n, example in enumerate(examples) if n in read and (label := _known(example))}
    values = numbers_of((_place(n, examples.name), label) for n, label in labels.items())
    return dict(zip(labels, values, strict=True))


def _place(number: int, name: str) -> str:
    return f"example {number + 1} of {name}"
