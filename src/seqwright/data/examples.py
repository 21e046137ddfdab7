"""What every reader and every generator of this folder gives: examples, part by part."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeVar

PartName = Literal["train", "valid", "test"]
ExampleT_co = TypeVar("ExampleT_co", covariant=True)


class Data(Protocol[ExampleT_co]):
    """A corpus: it can be read again and again, part by part, without being held in memory."""

    def parts(self) -> list[PartName]:
        """The parts that exist: always "train" and "valid", perhaps "test"."""

    def examples(self, part: PartName) -> Iterator[ExampleT_co]:
        """Every example of a part in its fixed order, blank ones included."""

    def fingerprint(self, part: PartName) -> str:
        """A sha256 that changes whenever `examples(part)` would give something else."""

    def paths(self) -> list[Path]:
        """Every file or folder of the user's that is read, each once."""

    def remarks(self) -> list[str]:
        """What the user should look at twice, a sentence each."""


class Pair(NamedTuple):
    """A sentence and its translation, as the user wrote them."""

    source: str
    target: str
    kind: str = ""  # a group to report scores by ("times", "lists", …); empty where there are none
    shots: tuple["Pair", ...] = ()  # examples with their answers that stand before it, for a language model

    def after(self, shots: int) -> "Pair":
        """The same after the first of its examples only."""
        return self._replace(shots=self.shots[:shots])


PairData = Data[Pair]
