"""Batches that carry beside them what a teacher says of them, looked up by the number of each example.

B batch · T time · D width · C classes · N hidden words, or rows · K likeliest tokens
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import Ids, Place, Rows
from seqwright.batches.labelled import Labelled
from seqwright.batches.masked import Masked

UNLABELLED = -1


class TaughtLabels(NamedTuple):
    """Texts, and the logits that the teacher gives each class; a text without a label has `UNLABELLED` for one."""

    batch: Labelled
    logits_BC: Tensor

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds."""
        return self.batch.tokens

    def to(self, device: torch.device) -> "TaughtLabels":
        """The same batch on another device."""
        return TaughtLabels(self.batch.to(device), self.logits_BC.to(device, non_blocking=True))


class TaughtTokens(NamedTuple):
    """Texts with hidden words. At each of these, row by row, the tokens that the teacher finds likeliest; their
    probabilities and, in the last column, that of all others together; and perhaps the teacher's last vectors.
    """

    batch: Masked
    likeliest_NK: Tensor
    probability_NK: Tensor  # a column more than `likeliest_NK`
    hidden_BTD: Tensor | None

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds."""
        return self.batch.tokens

    def to(self, device: torch.device) -> "TaughtTokens":
        """The same batch on another device."""
        said = self.likeliest_NK.to(device, non_blocking=True), self.probability_NK.to(device, non_blocking=True)
        hidden_BTD = None if self.hidden_BTD is None else self.hidden_BTD.to(device, non_blocking=True)
        return TaughtTokens(self.batch.to(device), *said, hidden_BTD)


class Numbered(Protocol):
    """Batches that know which examples stand in them."""

    def at(self, place: Place) -> Any:
        """The batch at a place."""

    def after(self, place: Place) -> Place:
        """The place that follows."""

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has."""

    def numbers(self, place: Place) -> NDArray[np.int64]:
        """The numbers of the examples at a place, row by row."""


class TaughtBatches:
    """The batches of a student, each with what the teacher says: `taught(batch, numbers)` puts the two together."""

    def __init__(self, batches: Numbered, taught: Callable[[Any, NDArray[np.int64]], Any]) -> None:
        self.batches, self.taught = batches, taught

    def at(self, place: Place) -> Any:
        """The batch at a place."""
        return self.taught(self.batches.at(place), self.batches.numbers(place))

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return self.batches.after(place)

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has."""
        return self.batches.in_epoch(epoch)

    def once(self) -> Iterator[Any]:
        """Every example once, in the order of the first epoch."""
        return (self.at(Place(0, number)) for number in range(self.in_epoch(0)))


class Joined:
    """The rows of one corpus, and after them those of another."""

    def __init__(self, first: Rows, second: Rows) -> None:
        self.first, self.second = first, second
        self.length_N: NDArray[np.int64] = np.concatenate((first.length_N, second.length_N))

    def take(self, rows: NDArray[np.int64], epoch: int) -> list[Ids]:
        """Some rows."""
        border = len(self.first.length_N)
        early_N = rows < border
        taken = iter(self.first.take(rows[early_N], epoch)), iter(self.second.take(rows[~early_N] - border, epoch))
        return [next(taken[0 if early else 1]) for early in early_N.tolist()]
