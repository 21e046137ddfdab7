"""What training, `check` and `eval` get where the input and the output of a task are wired with data and a model.

`wired.py` is the one wiring of every task; `runs` asks it and knows no task.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from torch import nn

from seqwright.batches import Batches
from seqwright.data.examples import PartName
from seqwright.errors import DataError
from seqwright.outputs import Report

ExampleT = TypeVar("ExampleT")

VALIDATED = 1000  # examples decoded for the scores at each validation


class Prepared(NamedTuple):
    """What training needs of the data."""

    train: Batches[Any]
    evaluate: Callable[[nn.Module], dict[str, float]]
    scores: tuple[str, ...]  # what `evaluate` gives
    lower_is_better: frozenset[str]  # those of them that fall as the model gets better
    notes: list[str]  # what became of the data, for the user


@dataclass(frozen=True)
class Evaluation(Report):
    """How good a model is on a part of the data: the report with every score, and what became of the data as notes."""

    answers: list[dict[str, Any]] = field(default_factory=list)  # for each example: source, reference, hypothesis, …


class Checked(NamedTuple):
    """What was found in the data before training on it."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]  # one for each part
    facts: dict[str, str]
    remarks: list[str]  # what the user should know, a sentence each


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
