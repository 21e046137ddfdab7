"""What the readers of this folder give: pairs of sentences, part by part."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol

PartName = Literal["train", "valid", "test"]


class Pair(NamedTuple):
    """A sentence and its translation, as the user wrote them."""

    source: str
    target: str
    kind: str = ""  # a group to report scores by ("times", "lists", …); empty where there are none
    shots: tuple["Pair", ...] = ()  # examples with their answers that stand before it, for a language model

    def after(self, shots: int) -> "Pair":
        """The same after the first of its examples only."""
        return self._replace(shots=self.shots[:shots])


class PairData(Protocol):
    """A parallel corpus: it can be read again and again, part by part, without being held in memory."""

    def parts(self) -> list[PartName]:
        """The parts that exist: always "train" and "valid", perhaps "test"."""

    def examples(self, part: PartName) -> Iterator[Pair]:
        """Every pair of a part in its fixed order, blank ones included."""

    def fingerprint(self, part: PartName) -> str:
        """A sha256 that changes whenever `examples(part)` would give something else."""

    def remarks(self) -> list[str]:
        """What the user should look at twice, a sentence each."""
