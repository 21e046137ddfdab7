"""What a kind of data is for: how it becomes inputs and batches, and how a model over it is evaluated.

A task wires `data`, `inputs`, `batches`, `decoding` and `metrics`; `runs` asks it and knows none of them.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from torch import nn

from seqwright.batches import Batches
from seqwright.data.examples import PartName
from seqwright.errors import DataError
from seqwright.outputs import Picture
from seqwright.recipe import Recipe

ExampleT = TypeVar("ExampleT")

VALIDATED = 1000  # examples decoded for the scores at each validation


class Inputs(Protocol):
    """What turns user data into tensors: it is learnt from the training part and travels with the model."""

    def save(self, folder: Path) -> None:
        """Write everything into a folder."""

    def sizes(self) -> dict[str, Any]:
        """What a model over these inputs is built with beside its settings: vocabularies, classes, channels."""


class Prepared(NamedTuple):
    """What training needs of the data."""

    train: Batches[Any]
    evaluate: Callable[[nn.Module], dict[str, float]]
    scores: tuple[str, ...]  # what `evaluate` gives
    lower_is_better: frozenset[str]  # those of them that fall as the model gets better
    notes: list[str]  # what became of the data, for the user


class Evaluation(NamedTuple):
    """How good a model is on a part of the data."""

    scores: dict[str, float]
    signatures: dict[str, str]  # how a score was made, where it has a signature
    groups: dict[str, tuple[int, int]]  # exact matches and count, by kind of example
    answers: list[dict[str, Any]]  # one for each example: source, reference, hypothesis, …
    notes: list[str]  # what became of the data, for the user
    picture: Picture | None = None  # what may be drawn of it
    group_columns: tuple[str, str] = ("kind", "exact")  # what a table calls the kinds and the matches


class Checked(NamedTuple):
    """What was found in the data before training on it."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]  # one for each part
    facts: dict[str, str]
    remarks: list[str]  # what the user should know, a sentence each


class Task(Protocol):
    """The wiring of one kind of data."""

    def learnt_inputs(self, recipe: Recipe, data: Any, tokenizer: Any = None) -> Inputs:
        """Inputs newly learnt from the training part, but for a tokenizer that comes from another run."""

    def loaded_inputs(self, folder: Path) -> Inputs:
        """Inputs that `save` wrote."""

    def prepared(self, recipe: Recipe, data: Any, inputs: Any) -> Prepared:
        """Batches to train on, and how to validate."""

    def checked(self, recipe: Recipe, data: Any, inputs: Any) -> tuple[Checked, Batches[Any]]:
        """What there is to know of the data, and the batches training would have."""

    def evaluated(
        self, recipe: Recipe, data: Any, inputs: Any, model: nn.Module, part: PartName, decoding: Any
    ) -> Evaluation:
        """The full evaluation of a model on a part."""

    def predictions(self, recipe: Recipe, inputs: Any, model: nn.Module, given: list[Any], decoding: Any) -> list[Any]:
        """A prediction for each thing that a user gives."""


def refuse_missing_part(data: Any, part: PartName) -> None:
    """A part that the data does not have cannot be evaluated on."""
    if part not in data.parts():
        raise DataError(f"the data has no {part} part; it has {', '.join(data.parts())}: choose one with --part")


def sample(examples: Iterable[ExampleT], most: int = VALIDATED) -> list[ExampleT]:
    """All examples; of more than `most`, that many at even distances, for neighbours in a file are often alike."""
    found = list(examples)
    if len(found) <= most:
        return found
    return [found[place * len(found) // most] for place in range(most)]
