"""Batches with what somebody else says of their examples, looked up by the number of each.

B batch · T time · D width · C classes · K likeliest tokens
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from torch import Tensor

from seqwright.batches import Batch, Batches, Place
from seqwright.batches.labelled import Labelled
from seqwright.batches.masked import Masked

UNLABELLED = -1
PlainT = TypeVar("PlainT", bound=Batch)
AnnotatedT = TypeVar("AnnotatedT", bound=Batch)


@dataclass(frozen=True)
class TaughtLabels(Labelled):
    """Texts, and the logits that the teacher gives each class; a text without a label has the target `UNLABELLED`."""

    teacher_BC: Tensor = field(kw_only=True)


@dataclass(frozen=True)
class TaughtTokens(Masked):
    """Texts with masked words. At each of these, the tokens that the teacher finds likeliest; their probabilities and,
    in the last column, that of all others together; and perhaps the teacher's last vectors at every token.
    """

    likeliest_BTK: Tensor
    probability_BTK: Tensor  # a column more than `likeliest_BTK`
    teacher_BTD: Tensor | None = None


class Annotated(Batches[AnnotatedT], Generic[PlainT, AnnotatedT]):
    """Other batches, each with what `annotate` adds to it by the numbers of its examples."""

    def __init__(self, batches: Batches[PlainT], annotate: Callable[[PlainT], AnnotatedT]) -> None:
        self.batches, self.annotate = batches, annotate

    def at(self, place: Place) -> AnnotatedT:
        """The batch at a place."""
        return self.annotate(self.batches.at(place))

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has."""
        return self.batches.in_epoch(epoch)

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        return self.batches.padding(epoch)

    def once(self) -> Iterator[AnnotatedT]:
        """Every example once, in a fixed order."""
        return map(self.annotate, self.batches.once())
