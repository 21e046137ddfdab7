"""Batches: what a model reads at once, and an order of it that can be resumed anywhere.

B batch · T time · N rows · S sides that have a length
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

KEPT_EPOCHS = 2  # whose plans and drawn rows stay: the batches of one step may reach over the end of an epoch
Ids = NDArray[np.integer]
Numbers = NDArray[np.int64]
BatchT_co = TypeVar("BatchT_co", covariant=True)
RowT_co = TypeVar("RowT_co", covariant=True)
RowT = TypeVar("RowT")


@dataclass(frozen=True)
class Batch:
    """What a model reads at once. The fields are tensors (or None) whose first axis is the row.

    What is read is called `input_…` (or `source_…`), what should be predicted `target_…`; `real_…` is False at padding.
    """

    fresh_B: Tensor = field(default=None, kw_only=True)  # type: ignore[assignment]
    """True where a row does not continue the same row of the batch before; everywhere, if not given."""
    example_B: Tensor = field(default=None, kw_only=True)  # type: ignore[assignment]
    """The number of the example that each row is, or is a part of; counted from 0, if not given."""
    counted: ClassVar[str] = "real_BT"
    """Which tensor is the `loss_mask`: what is real, if not said otherwise."""

    def __post_init__(self) -> None:
        first = self.input
        defaults = {"fresh_B": torch.ones(len(first), dtype=torch.bool), "example_B": torch.arange(len(first))}
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default.to(first.device))

    def __len__(self) -> int:
        return len(self.fresh_B)

    @property
    def input(self) -> Tensor:
        """What the body of a model reads: the first tensor of the batch."""
        first: Tensor = getattr(self, fields(self)[len(fields(Batch))].name)
        return first

    @property
    def real(self) -> Tensor | None:
        """False at the padding of what the body reads; None where nothing is padded."""
        return next((tensor for name, tensor in self.tensors().items() if "real_" in name), None)

    @property
    def loss_mask(self) -> Tensor:
        """True at those of the model's outputs that count in the loss."""
        mask: Tensor = getattr(self, self.counted)
        return mask

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds, on all sides."""
        return sum(int(tensor.sum()) for name, tensor in self.tensors().items() if "real_" in name)

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name; what the batch goes without is left out."""
        every = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: tensor for name, tensor in every.items() if tensor is not None}

    def to(self, device: torch.device) -> Self:
        """The same batch on another device."""
        if self.fresh_B.device == device:
            return self
        return self.replace(**{n: tensor.to(device, non_blocking=True) for n, tensor in self.tensors().items()})

    def rows(self, rows: Any) -> Self:
        """Some rows: a slice, numbers, or a mask."""
        return self.replace(**{name: tensor[rows] for name, tensor in self.tensors().items()})

    def replace(self, **changes: Any) -> Self:
        """The same batch with other tensors in place of some."""
        return replace(self, **changes)


class Padded(NamedTuple):
    """Rows of different length as one tensor; `real_BT` is False at the padding."""

    tokens_BT: Tensor
    real_BT: Tensor


def padded(rows: Sequence[Ids]) -> Padded:
    """Rows of token ids, filled up with zeros at the right."""
    length_B = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    real_BT = np.arange(length_B.max(initial=0)) < length_B[:, None]
    tokens_BT = np.zeros(real_BT.shape, dtype=np.int64)
    if real_BT.any():
        tokens_BT[real_BT] = np.concatenate(rows)
    return Padded(torch.from_numpy(tokens_BT), torch.from_numpy(real_BT))


def segments(tokens_BT: Tensor, end: int) -> Tensor:
    """Which text each token belongs to where each is closed by `end`: 0 the first, 1 whatever comes after."""
    ends_BT = (tokens_BT == end).long()
    return (ends_BT.cumsum(1) - ends_BT).clamp_max_(1)


def begun(batch: Padded, begin: int | None) -> Padded:
    """Rows with a token before each, if there is one."""
    if begin is None:
        return batch
    first_B1 = torch.full((len(batch.tokens_BT), 1), begin)
    real_BT = torch.cat((torch.ones_like(first_B1, dtype=torch.bool), batch.real_BT), dim=1)
    return Padded(torch.cat((first_B1, batch.tokens_BT), dim=1), real_BT)


# ---------------------------------------------------------------------------------------------------- the order


class Place(NamedTuple):
    """A place in the endless order of batches: this batch of this epoch comes next."""

    epoch: int = 0
    batch: int = 0


def following(place: Place, in_epoch: int) -> Place:
    """The place after another, where an epoch has so many batches."""
    last = place.batch + 1 == in_epoch
    return Place(place.epoch + 1, 0) if last else Place(place.epoch, place.batch + 1)


@runtime_checkable
class Batches(Protocol[BatchT_co]):
    """An endless order of batches, a pure function of the place: nothing is replayed to resume in the middle."""

    def at(self, place: Place) -> BatchT_co:
        """The batch at a place."""

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return following(place, self.in_epoch(place.epoch))

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has."""

    def once(self) -> Iterator[BatchT_co]:
        """Every example once, in a fixed order: for validation."""

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""


# ---------------------------------------------------------------------------------------------------- rows


class Rows(ABC, Generic[RowT_co]):
    """The rows of a corpus, read when they are asked for. An example may be several rows: windows, stretches."""

    example_N: Numbers  # the number of the example that each row is a part of
    length_N: Numbers | None = None  # of each row, where it is the same in every epoch; None where rows have none
    typed: bool = False  # whether a user gave them, so that each stands by itself and no text is read on from another

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_NS`: the length of each row in an epoch, a column for each side that has one."""
        return np.zeros((len(self.example_N), 0), dtype=np.int64) if self.length_N is None else self.length_N[:, None]

    @abstractmethod
    def take(self, numbers: Numbers, epoch: int | None) -> Sequence[RowT_co]:
        """Some rows as they are in an epoch.

        What is drawn (BPE-dropout, crops, masks) is drawn from (seed, epoch, number) and nothing else. None is no
        epoch: nothing is drawn, or always the same.
        """


class InMemory(Rows[NDArray[Any]]):
    """Rows of tokens or values in a list, each an example, of those that are numbered if not all have one."""

    def __init__(self, rows: Sequence[NDArray[Any]], example_N: Numbers | None = None) -> None:
        self.rows = rows
        self.length_N = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        self.example_N = np.arange(len(rows)) if example_N is None else example_N

    def take(self, numbers: Numbers, epoch: int | None) -> list[NDArray[Any]]:
        """Some rows, the same in every epoch."""
        return [self.rows[index] for index in numbers.tolist()]


class Column(Rows[Any]):
    """A value for each row that has no length, and the example of each: a label, a number, a vector, an image."""

    def __init__(self, value_N: NDArray[Any], example_N: Numbers | None = None) -> None:
        self.value_N = value_N
        self.example_N = np.arange(len(value_N)) if example_N is None else example_N

    def take(self, numbers: Numbers, epoch: int | None) -> list[Any]:
        """Some values."""
        return list(self.value_N[numbers])


class Zipped(Rows[tuple[Any, ...]]):
    """Several rows of the same examples side by side: a source and its target, a text and its label."""

    def __init__(self, *sides: Rows[Any]) -> None:
        counts = [len(side.example_N) for side in sides]
        assert len(set(counts)) == 1, f"sides of {counts} rows do not belong together"
        self.sides, self.example_N = sides, sides[0].example_N

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_NS` of all sides that have one."""
        return np.concatenate([side.lengths(epoch) for side in self.sides], axis=1)

    def take(self, numbers: Numbers, epoch: int | None) -> list[tuple[Any, ...]]:
        """Some rows."""
        return list(zip(*(side.take(numbers, epoch) for side in self.sides), strict=True))


class Chained(Rows[RowT]):
    """The rows of one corpus, and after them those of another."""

    def __init__(self, first: Rows[RowT], second: Rows[RowT]) -> None:
        self.first, self.second = first, second
        before = first.example_N.max(initial=-1) + 1
        self.example_N = np.concatenate((first.example_N, second.example_N + before))

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_NS` of both."""
        return np.concatenate((self.first.lengths(epoch), self.second.lengths(epoch)))

    def take(self, numbers: Numbers, epoch: int | None) -> list[RowT]:
        """Some rows."""
        border = len(self.first.example_N)
        early_N = numbers < border
        taken = (
            iter(self.first.take(numbers[early_N], epoch)),
            iter(self.second.take(numbers[~early_N] - border, epoch)),
        )
        return [next(taken[0 if early else 1]) for early in early_N.tolist()]


class Numbered(Rows[RowT]):
    """Rows by other numbers: of those examples that are not blank, of the documents that are kept."""

    def __init__(self, rows: Rows[RowT], example_N: Numbers) -> None:
        self.rows, self.example_N = rows, example_N

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_NS`, as in an epoch."""
        return self.rows.lengths(epoch)

    def take(self, numbers: Numbers, epoch: int | None) -> Sequence[RowT]:
        """Some rows, as in an epoch."""
        return self.rows.take(numbers, epoch)


class Fixed(Rows[RowT]):
    """Rows as they are in no epoch, in every one: what somebody else says of them can be looked up."""

    def __init__(self, rows: Rows[RowT]) -> None:
        self.rows, self.example_N = rows, rows.example_N

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_NS`, the same in every epoch."""
        return self.rows.lengths(None)

    def take(self, numbers: Numbers, epoch: int | None) -> Sequence[RowT]:
        """Some rows, the same in every epoch."""
        return self.rows.take(numbers, None)


class Derived(Rows[RowT]):
    """What follows from each row as it is in an epoch, and from the number of its example: its tags, its masks."""

    def __init__(self, rows: Rows[Any], derive: Callable[[Any, int], RowT]) -> None:
        self.rows, self.derive, self.example_N = rows, derive, rows.example_N

    def take(self, numbers: Numbers, epoch: int | None) -> list[RowT]:
        """What follows from some rows."""
        return list(map(self.derive, self.rows.take(numbers, epoch), self.example_N[numbers].tolist()))


class Cut(Rows[NDArray[Any]]):
    """Rows of which only the first `longest` tokens or values are read."""

    def __init__(self, rows: Rows[NDArray[Any]], longest: int) -> None:
        self.rows, self.longest, self.example_N = rows, longest, rows.example_N

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_NS`, at most `longest`."""
        return self.rows.lengths(epoch).clip(max=self.longest)

    def take(self, numbers: Numbers, epoch: int | None) -> list[NDArray[Any]]:
        """Some rows."""
        return [row[: self.longest] for row in self.rows.take(numbers, epoch)]
