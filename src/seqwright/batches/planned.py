"""Batches of which every epoch has a plan."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

from seqwright.batches import KEPT_EPOCHS, Batch, Batches, Numbers, Place

SomeT = TypeVar("SomeT")
BatchT = TypeVar("BatchT", bound=Batch)


class Planned(Batches[BatchT], Generic[SomeT, BatchT]):
    """Batches made by a plan: what stands in each of an epoch. The plans of the last epochs are remembered."""

    def __init__(self) -> None:
        self._remembered = lru_cache(KEPT_EPOCHS)(self.planned)

    @abstractmethod
    def planned(self, epoch: int | None) -> Sequence[SomeT]:
        """What stands in each batch of an epoch, drawn from (seed, epoch); in none, everything in a fixed order."""

    @abstractmethod
    def batch(self, some: SomeT, epoch: int | None) -> BatchT:
        """What the plan has for a batch, as it is in an epoch."""

    def plan(self, epoch: int | None) -> Sequence[SomeT]:
        """As `planned`, and remembered."""
        return self.planned(None) if epoch is None else self._remembered(epoch)

    def at(self, place: Place) -> BatchT:
        """The batch at a place."""
        return self.batch(self.plan(place.epoch)[place.batch], place.epoch)

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; nearly the same in each."""
        return len(self.plan(epoch))

    def once(self) -> Iterator[BatchT]:
        """Everything once as it is in no epoch."""
        return (self.batch(some, None) for some in self.plan(None))


def in_parts(numbers: Numbers, size: int) -> list[Numbers]:
    """The same cut into as many as stand in a batch, the last one perhaps shorter."""
    return [numbers[low : low + size] for low in range(0, len(numbers), size)]
