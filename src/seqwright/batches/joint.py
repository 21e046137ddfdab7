"""The same rows as several models read them, each for itself: what an ensemble begins from.

B batch
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from seqwright.batches import Batch
from seqwright.batches.bucketed import Bucketed


class Joint(tuple[Batch, ...]):
    """A batch for each member, of the same examples in the same order."""

    @property
    def first(self) -> Any:
        """As the first member reads it."""
        return self[0]

    def to(self, device: torch.device) -> "Joint":
        """The same batches on another device."""
        return Joint(batch.to(device) for batch in self)


class JointBatches:
    """The batches of several members, in the order of the first one's."""

    def __init__(self, members: Sequence[Bucketed[Any, Any]]) -> None:
        example_N = members[0].example_N
        assert all((other.example_N == example_N).all() for other in members), "members read other examples"
        self.members = members

    def once(self) -> Iterator[Joint]:
        """Every row once, longest first."""
        for numbers in self.members[0].plan(None):
            yield Joint(member.batch(numbers, None) for member in self.members)
