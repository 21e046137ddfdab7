"""Texts and their labels, for an ensemble and for a teacher: text × label.

B batch · C classes
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from seqwright.batches import Column, Rows
from seqwright.batches.labelled import Labelled
from seqwright.inputs import Examples, Input, Stacked
from seqwright.outputs import Targets
from tests.contract.fake_tasks.parts import Example, Nested, RowOutput


@dataclass(frozen=True)
class Label(RowOutput[Labelled]):
    """`probability_C` of the labels."""

    labels: tuple[str, ...] = ()
    score_names: ClassVar[tuple[str, ...]] = ("accuracy",)

    @classmethod
    def learn(cls, train: Examples[Example], settings: Any, input: Input[Example, Any], *, like: Any = None) -> Self:
        return cls(tuple(sorted({example["label"] for example in train if example["label"]})))

    def encode(self, examples: Examples[Example], rows: Rows[Any], *, seed: int = 0) -> Targets:
        label = [example["label"] for example in examples]
        named = [label[number] for number in rows.example_N.tolist()]
        target_N = np.array([self.labels.index(name) if name else -1 for name in named])
        return Targets(Column(target_N), np.flatnonzero(target_N >= 0))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Labelled:
        tokens_BT, real_BT = stacked.values()
        target_B = torch.from_numpy(np.array([0] * len(tokens_BT) if targets is None else targets))
        return Labelled(tokens_BT, real_BT, target_B, torch.zeros_like(tokens_BT))

    def said(self, said: Tensor) -> Iterator[Nested]:
        return super().said(said.softmax(-1))

    def combined(self, predictions: Sequence[Nested]) -> Nested:
        return tuple(np.mean(predictions, axis=0).tolist())

    def scores(self, predictions: Sequence[Nested], examples: Examples[Example]) -> dict[str, float]:
        both = [(found, example["label"]) for found, example in zip(predictions, examples, strict=True)]
        right = [bool(said) and self.labels[int(np.argmax(said))] == label for said, label in both if label]
        return {"accuracy": float(np.mean(right))}

    def sizes(self) -> dict[str, Any]:
        return {"classes": len(self.labels)}
