"""What training, `check` and `eval` get where the input and the output of a task are wired with data and a model.

`wired.py` is the one wiring of every task; `runs` asks it and knows no task.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from torch import nn

from seqwright.batches import Batches
from seqwright.data.examples import PartName
from seqwright.errors import DataError, UserError
from seqwright.outputs import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ExampleT = TypeVar("ExampleT")

VALIDATED = 1000  # examples decoded for the scores at each validation
BASELINE = "baseline_"  # what the names of the scores of simple rules begin with
MOST_TOLD = 5  # scores in a line


class Prepared(NamedTuple):
    """What training needs of the data."""

    train: Batches[Any]
    evaluate: Callable[[nn.Module], dict[str, float]]
    scores: tuple[str, ...]  # what `evaluate` gives
    lower_is_better: frozenset[str]  # those of them that fall as the model gets better
    notes: list[str]  # what became of the data, for the user


class Overlap(NamedTuple):
    """How many examples of other data were read, and how many of them have an input that was trained on."""

    read: int
    in_training: int

    @property
    def sentence(self) -> str:
        """What a user should know of it."""
        if not self.in_training:
            return f"none of the {self.read:,} examples that are read stands in the training data"
        return (
            f"{self.in_training:,} of the {self.read:,} examples that are read stand in the training data too, with "
            "the same input: the scores are optimistic"
        )


@dataclass(frozen=True, repr=False)
class Evaluation(Report):
    """How good a model is on a part of the data: the report with every score, and what became of the data as notes."""

    answers: list[dict[str, Any]] = field(default_factory=list)  # for each example: source, reference, hypothesis, …
    predictions: list[Any] = field(default_factory=list)  # for each example, as a call of the run gives them
    overlap: Overlap | None = None  # with the training data, where other data was asked and both are known

    @property
    def baseline(self) -> dict[str, float]:
        """The scores of simple rules that understand nothing: `{"majority_accuracy": 50.9, …}`."""
        every = self.scores.items()
        return {name.removeprefix(BASELINE): value for name, value in every if name.startswith(BASELINE)}

    def figure(self) -> "Figure":
        """The picture of the evaluation: a confusion table, forecasts, predicted against true values."""
        if self.picture is None:
            raise UserError("an evaluation of this task has no picture; see its .scores, .groups and .predictions")
        from seqwright.pictures.evaluations import DRAWINGS

        return DRAWINGS[self.picture.name](**self.picture.data)

    def __repr__(self) -> str:
        own = [f"{name} {value:.4g}" for name, value in self.scores.items() if not name.startswith(BASELINE)]
        told = ", ".join(own[:MOST_TOLD]) + (", …" if len(own) > MOST_TOLD else "")
        return f"Evaluation({len(self.predictions):,} predictions: {told})"

    def _repr_html_(self) -> str:
        """The scores as a table, and the picture below it where there is one."""
        rows = [
            f"<tr><td>{escape(name)}</td><td>{value:.4g}</td><td>{escape(self.signatures.get(name, ''))}</td></tr>"
            for name, value in self.scores.items()
        ]
        table = f"<table><tr><th>score</th><th>value</th><th></th></tr>{''.join(rows)}</table>"
        if self.picture is None:
            return table
        from seqwright.pictures import png_of

        drawn = self.figure()
        picture, width = b64encode(png_of(drawn)).decode(), round(100 * drawn.get_size_inches()[0])
        return f'{table}<img alt="{escape(self.picture.name)}" width="{width}" src="data:image/png;base64,{picture}">'


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
