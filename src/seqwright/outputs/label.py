"""A label: one of some classes.

B batch · N rows · C classes
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import torch
from torch import nn

from seqwright.batches import Batches, Column, Rows
from seqwright.batches.labelled import Labelled
from seqwright.data.decimals import is_missing
from seqwright.data.labels import FEW_LABELS, class_counts, short
from seqwright.errors import DataError, nearest
from seqwright.inputs import Examples, Input, Picture, Stacked
from seqwright.metrics.labels import Counts, accuracy, class_scores, confusion, macro_f1, matthews, seen_classes
from seqwright.outputs import Baselines, Report, Targets, each_row
from seqwright.outputs.classes import ClassesOutput, listed
from seqwright.outputs.linear import NOT_HERE, elsewhere, logistic_regression, thinned


class HasLabel(Protocol):
    """An example that somebody gave a label; a blank one where it is not known."""

    @property
    def label(self) -> str:
        """The label."""


class Classification(NamedTuple):
    """What an example is taken for; a blank one is taken for nothing."""

    label: str
    probability: float
    probabilities: dict[str, float]  # of every label, the likeliest first
    losses: dict[str, float]  # -log p of every label

    def __repr__(self) -> str:
        return f"Classification(label={self.label!r}, probability={self.probability:.4g})"


NOTHING = Classification("", 0.0, {}, {})


@dataclass(frozen=True)
class LabelOutput(ClassesOutput[HasLabel, Labelled, Classification]):
    """Each label with the number of its training examples; none has any where the model was trained elsewhere."""

    most: int | None = field(default=None, compare=False)  # labels whose probability a prediction has; None: all
    file: ClassVar[str] = "labels.json"

    @classmethod
    def learn(cls, train: Examples[HasLabel], settings: Any, input: Input[Any, Any], *, like: Any = None) -> Self:
        """The labels of the training part: numbers by size, words by the alphabet."""
        read = set(input.encode(train).example_N.tolist())
        return cls(class_counts(example.label for n, example in enumerate(train) if n in read and example.label))

    @property
    def majority(self) -> str:
        """The label that most training examples have."""
        return max(self.counts, key=lambda label: self.counts[label])

    @property
    def rarest(self) -> str:
        """The label that fewest training examples have."""
        return min(self.counts, key=lambda label: self.counts[label])

    def number(self, label: str) -> int:
        """The number of a label."""
        if label not in self.counts:
            known = self.labels
            raise DataError(f"there is no label '{label}'; there are {', '.join(known)}.{nearest(label, known)}")
        return self.labels.index(label)

    def encode(self, examples: Examples[HasLabel], rows: Rows[Any], *, seed: int = 0) -> Targets:
        """The number of each row's label, -1 where it has none."""
        read, numbers = set(rows.example_N.tolist()), self.numbers()
        labels = [example.label if n in read else "" for n, example in enumerate(examples)]
        self._refuse_unknown_labels(examples.name, Counter(filter(None, labels)))
        label_M = np.array([numbers.get(label, -1) for label in labels], dtype=np.int64)
        label_N = label_M[rows.example_N]
        return Targets(Column(label_N), np.flatnonzero(label_N >= 0))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Labelled:
        """What is read, with the number of the label."""
        known = np.zeros(len(stacked["real_BT"]), dtype=np.int64) if targets is None else np.array(targets)
        return Labelled(**stacked, target_B=torch.from_numpy(known))

    def predict(
        self, model: nn.Module, batches: Batches[Labelled], examples: Examples[HasLabel], decoding: Any = None
    ) -> Iterator[Classification]:
        """The likeliest label of each example, and the probabilities of all."""
        found: dict[int, list[float]] = {}
        for batch, logits_BC in each_row(model, batches):
            logp_BC = logits_BC.double().log_softmax(-1)
            found |= dict(zip(batch.example_B.tolist(), logp_BC.tolist(), strict=True))
        for number, _ in enumerate(examples):
            yield self._classification(found[number]) if number in found else NOTHING

    def _classification(self, logp_C: Sequence[float]) -> Classification:
        # Between equals the order of the labels decides, as everywhere.
        ranked = sorted(zip(self.labels, np.exp(logp_C).tolist(), strict=True), key=lambda pair: -pair[1])
        losses = {label: -logp for label, logp in zip(self.labels, logp_C, strict=True)}
        return Classification(*ranked[0], dict(ranked[: self.most]), losses)

    def combined(self, predictions: Sequence[Classification]) -> Classification:
        """The mean of the probabilities."""
        if NOTHING in predictions:
            return NOTHING
        logp_NC = [[-each.losses[label] for label in self.labels] for each in predictions]
        return self._classification((np.logaddexp.reduce(logp_NC) - np.log(len(logp_NC))).tolist())

    def ranking(self, top: int) -> Self:
        """The likeliest labels."""
        return replace(self, most=top)

    # ------------------------------------------------------------------------------------------------ scores

    @property
    def score_names(self) -> tuple[str, ...]:
        """Of two labels, also the F1 of the rarer one and Matthews' correlation."""
        return ("loss", "accuracy", "macro_f1", *(("f1", "matthews") if len(self.labels) == 2 else ()))

    def scores(self, predictions: Sequence[Classification], examples: Examples[HasLabel]) -> dict[str, float]:
        """Loss, accuracy and F1."""
        pairs = self._pairs(predictions, examples)
        losses = [prediction.losses[label] for prediction, label in pairs]
        return {"loss": float(np.mean(losses)), **self._of_counts(self._confusion(pairs))}

    def target(self, example: HasLabel) -> str | None:
        """The label."""
        return example.label or None

    def uncertainty(self, examples: int) -> str:
        """95 % of a binomial, where it is widest."""
        return f", accuracy by up to ± {196 * math.sqrt(0.25 / examples):.0f} %"

    def report(self, predictions: Sequence[Classification], examples: Examples[HasLabel]) -> Report:
        """The F1 of each label, if there are few; how many of each were found; the confusion matrix."""
        counts_CC = self._confusion(self._pairs(predictions, examples))
        averaged = [label for label, seen in zip(self.labels, seen_classes(counts_CC), strict=True) if seen]
        each = dict(zip(self.labels, class_scores(counts_CC), strict=True))
        few = len(self.labels) <= FEW_LABELS
        return Report(
            scores={f"f1_{label}": each[label].f1 for label in averaged} if few else {},
            signatures={"macro_f1": self.averaged(averaged, "labels")},
            groups={label: (int(counts_CC[i, i]), int(counts_CC[i].sum())) for i, label in enumerate(self.labels)},
            group_columns=("label", "right"),
            picture=Picture("confusion", {"counts_CC": counts_CC, "labels": self.labels}),
        )

    @property
    def signatures(self) -> dict[str, str]:
        """How the scores are made."""
        regression = "baseline: logistic regression"
        rarer = f"of '{self.rarest}', the rarer label" if len(self.labels) == 2 else ""
        told = {
            "loss": "nats per example",
            "accuracy": "right answers, which is micro F1 too",
            "macro_f1": "mean over the labels",
            "f1": rarer,
            "matthews": "Matthews correlation, from -100 to 100" if rarer else "",
            "baseline_majority_accuracy": f"baseline: always '{self.majority}'",
            **{f"baseline_linear_{name}": regression for name in self.score_names if name != "loss"},
        }
        return {name: text for name, text in told.items() if text}

    def _pairs(
        self, predictions: Sequence[Classification], examples: Examples[HasLabel]
    ) -> list[tuple[Classification, str]]:
        """The predictions that can be compared with a label."""
        self._refuse_unknown_labels(examples.name, Counter(example.label for example in examples if example.label))
        both = zip(predictions, (example.label for example in examples), strict=True)
        pairs = [(prediction, label) for prediction, label in both if prediction.label and label]
        if not pairs:
            raise DataError(f"no example of {examples.name} can be read and has a label: there is nothing to score")
        return pairs

    def _confusion(self, pairs: Sequence[tuple[Classification, str]]) -> Counts:
        numbers = self.numbers()
        predicted, true = [numbers[prediction.label] for prediction, _ in pairs], [numbers[label] for _, label in pairs]
        return confusion(predicted, true, classes=len(self.labels))

    def _of_counts(self, counts_CC: Counts) -> dict[str, float]:
        scores = {"accuracy": accuracy(counts_CC), "macro_f1": macro_f1(counts_CC)}
        if len(self.labels) == 2:
            scores["f1"] = class_scores(counts_CC)[self.number(self.rarest)].f1
            scores["matthews"] = matthews(counts_CC)
        return scores

    # ------------------------------------------------------------------------------------------------ baselines

    def baselines(self, train: Examples[HasLabel], part: Examples[HasLabel], input: Input[Any, Any]) -> Baselines:
        """The most frequent label of training, and a logistic regression over what the input shows."""
        labels, truth = ([example.label for example in examples] for examples in (train, part))
        read = [number for number in input.encode(part).example_N.tolist() if truth[number]]
        true = [self.number(truth[number]) for number in read]
        always = accuracy(confusion([self.number(self.majority)] * len(true), true, classes=len(self.labels)))
        told = f"always saying '{self.majority}' is right for {always:.1f} %"
        if elsewhere(train, part):
            return Baselines(
                {"baseline_majority_accuracy": always}, told, [f"there is no logistic regression: {NOT_HERE}"]
            )
        usable = [number for number in input.encode(train).example_N.tolist() if labels[number]]
        some = thinned(usable, input.baseline_examples)
        features, asked = input.features(train), input.features(part)
        known = [self.number(labels[number]) for number in some]
        regression = logistic_regression(input.vectorizer(), [features[number] for number in some], known)
        predicted = regression.predict([asked[number] for number in read]).tolist()
        linear = self._of_counts(confusion(predicted, true, classes=len(self.labels)))
        scores = {f"baseline_linear_{name}": score for name, score in linear.items()}
        told += f", logistic regression for {scores['baseline_linear_accuracy']:.1f} %"
        return Baselines({"baseline_majority_accuracy": always, **scores}, told, [])

    # ------------------------------------------------------------------------------------------------ told

    def part_sentence(self, examples: Examples[HasLabel], rows: Rows[Any]) -> str:
        """`(ham 3,338, spam 499; 2 without a label)`: how many rows have each label."""
        targets = self.encode(examples, rows)
        count_C = np.bincount(np.array(targets.rows.take(targets.learnable, None)), minlength=len(self.labels))
        told = [f"{name} {count:,}" for name, count in zip(self.labels[:FEW_LABELS], count_C.tolist(), strict=False)]
        unlabelled = len(rows.example_N) - len(targets.learnable)
        rest = f"; {unlabelled:,} without a label" if unlabelled else ""
        return f"({', '.join(told)}{', …' if len(self.labels) > FEW_LABELS else ''}{rest})"

    def line(self, prediction: Classification, top: int = 1) -> str:
        """The likeliest labels with their probabilities."""
        best = list(prediction.probabilities.items())[:top]
        return "\t".join(f"{label}\t{probability:.4f}" for label, probability in best)

    def fields(self, prediction: Classification, top: int = 1) -> dict[str, Any]:
        """The likeliest labels with their probabilities."""
        best = dict(list(prediction.probabilities.items())[:top])
        probability = prediction.probability if prediction.label else None  # of nothing that was read there is none
        return {"label": prediction.label or None, "probability": probability, "probabilities": best}

    def answer(self, prediction: Classification, example: HasLabel) -> dict[str, Any]:
        """The label, the predicted one, and the probability of each."""
        rounded = {label: round(prediction.probabilities.get(label, 0.0), 4) for label in self.labels}
        return {"label": example.label, "predicted": prediction.label, "probabilities": rounded}

    def remarks(self) -> list[str]:
        """Labels that a model can hardly learn, and those that may say that the label is not known."""
        once, missing = self.rare(), list(filter(is_missing, self.labels))
        remarks = []
        if once:
            told = f"labels that only one example of the training part has: {listed(once, 5)}"
            remarks.append(f"{told}; give more, or leave {'it' if len(once) == 1 else 'them'} out")
        if missing:
            told = f"classes whose names people write for a missing value: {listed(missing, 5)}"
            remarks.append(f"{told}; if that is meant, leave those cells blank")
        return remarks

    def _refuse_unknown_labels(self, name: str, counts: Mapping[str, int]) -> None:
        """Refuse examples with labels that nobody could have learnt."""
        unknown = {label: count for label, count in counts.items() if label not in self.counts}
        if not unknown:
            return
        label, count = next(iter(unknown.items()))
        others = f" and {len(unknown) - 1:,} more labels" if len(unknown) > 1 else ""
        shown = listed(self.labels, 6)
        found = f"has the label '{short(label)}' ({count:,} example{'s' if count > 1 else ''}){others}, but"
        if not self.trained_here:
            raise DataError(
                f"the file {found} the model knows only {shown}: write these into the file."
                f"{nearest(label, self.labels)}"
            )
        raise DataError(
            f"{name} {found} training knew only {shown}: add such examples to the training part or leave them out of "
            f"this one.{nearest(label, self.labels)}"
        )
