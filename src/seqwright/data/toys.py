"""Toy pairs: a sequence of symbols, and the same sequence copied, reversed or sorted.

    3 1 2  →  3 1 2 (copy)   2 1 3 (reverse)   1 2 3 (sort)

The sequence alone decides, by its hash, to which part a pair belongs, so no sequence of the validation or the test part
occurs in the training part, whatever the seed. Validation and test sequences are all different; a training sequence may
come again.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from seqwright.data.dates_values import PortableRandom, hashed_part
from seqwright.data.examples import Pair, PartName
from seqwright.data.generated import Generated, GeneratedSettings, TestCount, TrainCount, ValidCount
from seqwright.errors import SettingError

TRIES = 10_000  # so many draws without a new sequence mean that there are none left


class ToySettings(GeneratedSettings):
    """Sequences to copy, reverse or sort."""

    card: Literal["copy", "reverse", "sort"] = "copy"
    symbols: int = Field(default=20, ge=1)
    """How many symbols there are: the numbers from 0 up to one less."""
    shortest: int = Field(default=1, ge=1)
    """The fewest symbols in a sequence."""
    longest: int = Field(default=10, ge=1)
    """The most symbols in a sequence."""
    held_out_longest: int | None = Field(default=None, ge=1)
    """The most symbols in a validation or a test sequence, where it is another number than `longest`: longer than any
    in training shows whether the rule was learnt."""
    examples: TrainCount = 10_000
    valid: ValidCount = 200
    test: TestCount = 200


class Toy(Generated):
    """Pairs for a toy task, drawn while they are read; every length is equally likely."""

    settings: ToySettings

    def __init__(self, settings: ToySettings) -> None:
        for name, most in (("longest", settings.longest), ("held_out_longest", settings.held_out_longest)):
            if most is not None and settings.shortest > most:
                raise SettingError(
                    f"data.shortest = {settings.shortest} is more than data.{name} = {most}; swap them or raise the "
                    "latter"
                )
        super().__init__(settings)

    def examples(self, part: PartName) -> Iterator[Pair]:
        """Every pair of a part; fewer pairs of the same seed are the beginning of more."""
        kind = self.settings.card
        for sequence in self._sequences(part):
            yield Pair(_written(sequence), _written(_answer(kind, sequence)), kind)

    def _sequences(self, part: PartName) -> Iterator[tuple[int, ...]]:
        rng = PortableRandom(f"toy {self.settings.seed} {part}")
        seen: set[tuple[int, ...]] = set()
        for _ in range(self.size(part)):
            sequence = self._new(part, rng, seen)
            if part != "train":
                seen.add(sequence)
            yield sequence

    def _new(self, part: PartName, rng: PortableRandom, seen: set[tuple[int, ...]]) -> tuple[int, ...]:
        settings = self.settings
        for _ in range(TRIES):
            length = rng.between(settings.shortest, self._longest(part))
            sequence = tuple(rng.below(settings.symbols) for _ in range(length))
            if hashed_part(_written(sequence)) == part and sequence not in seen:
                return sequence
        setting = "examples" if part == "train" else part
        raise SettingError(
            f"data.{setting} = {self.size(part)} asks for more different sequences than there are of "
            f"{settings.shortest} to {self._longest(part)} out of {settings.symbols} symbols; make it "
            "smaller, or raise data.symbols or data.longest"
        )

    def _longest(self, part: PartName) -> int:
        held_out = self.settings.held_out_longest
        return self.settings.longest if part == "train" or held_out is None else held_out


def _answer(kind: str, sequence: tuple[int, ...]) -> tuple[int, ...]:
    return {"copy": sequence, "reverse": sequence[::-1], "sort": tuple(sorted(sequence))}[kind]


def _written(sequence: tuple[int, ...]) -> str:
    return " ".join(map(str, sequence))
