"""Whole numbers and their names in words, "1234" and "one thousand, two hundred and thirty-four": no download.

The words come from num2words, which knows some fifty languages. Numbers of every length take turns, since there are
few short ones: in training they come again when all of their length have come, elsewhere none comes twice. What is
tested was never trained on: each number belongs to one part, whatever the language or the seed, and to the same as in
the dates corpus (`seqwright.data.dates_values`); those up to twenty always to the training part.
"""

from collections.abc import Iterator
from importlib.metadata import version
from itertools import islice
from typing import Literal

from num2words import CONVERTER_CLASSES, num2words
from pydantic import Field

from seqwright.data.dates_values import PortableRandom, part_of
from seqwright.data.described import GivenText
from seqwright.data.examples import PartName
from seqwright.data.generated import Generated, GeneratedSettings, TrainCount
from seqwright.errors import SettingError, nearest


class NumbersSettings(GeneratedSettings):
    """Numbers spelled out."""

    card: Literal["numbers"] = "numbers"
    language: str = "en"
    """The language they are spelled in: a code of num2words such as en, de, fr, ja or pt_BR."""
    largest: int = Field(default=999_999, ge=99, le=999_999_999)
    """The largest number; the smallest is 0."""
    examples: TrainCount = 30_000


class Numbers(Generated):
    """Numbers spelled out; they are drawn once and kept, since the library takes its time."""

    def __init__(self, settings: NumbersSettings) -> None:
        self.settings = settings
        self.largest = settings.largest
        self._kept: dict[PartName, list[GivenText]] = {}
        if settings.language not in CONVERTER_CLASSES:
            known = sorted(CONVERTER_CLASSES)
            raise SettingError(
                f"data.language is '{settings.language}', which num2words does not know; it knows {', '.join(known)}."
                f"{nearest(settings.language, known)}"
            )
        self.spelled(settings.largest)  # so that it is refused at once

    def examples(self, part: PartName) -> Iterator[GivenText]:
        """Every number of a part and its words; fewer numbers of the same seed are the beginning of more."""
        if part not in self._kept:
            size = self.size(part)
            numbers = list(islice(self._drawn(part), size))
            if len(numbers) < size:
                raise SettingError(
                    f"data.{'examples' if part == 'train' else part} = {size:,} asks for more than the "
                    f"{len(numbers):,} numbers up to data.largest = {self.largest:,} that belong to the {part} part; "
                    "give a smaller number or raise data.largest"
                )
            words = {number: self.spelled(number) for number in numbers}
            self._kept[part] = [
                GivenText(str(number), words[number], _length_in_words(number), largest=self.largest)
                for number in numbers
            ]
        return iter(self._kept[part])

    def spelled(self, number: int) -> str:
        """A number in words."""
        try:
            words = str(num2words(number, lang=self.settings.language))
        except Exception as error:  # the languages of the library answer what they cannot say in many ways
            raise SettingError(
                f"num2words cannot say {number:,} in '{self.settings.language}'; lower data.largest, or choose another "
                "data.language"
            ) from error
        return " ".join(words.split())

    def causes(self) -> list[str]:
        """The version of what the words come from."""
        return [version("num2words")]

    def _drawn(self, part: PartName) -> Iterator[int]:
        """The numbers of a part, one of each length in turn as long as there are any."""
        rng = PortableRandom(f"numbers {self.settings.seed} {part}")

        def of_part(numbers: range) -> Iterator[int]:
            return (number for number in shuffled(numbers, rng) if part_of([f"number {number}"]) == part)

        ends = [0, *(10**digits for digits in range(1, len(str(self.largest)))), self.largest + 1]
        turns = {numbers: of_part(numbers) for numbers in map(range, ends, ends[1:])}
        while turns:
            for numbers in list(turns):
                number = next(turns[numbers], None)
                if number is None and part == "train":
                    turns[numbers] = of_part(numbers)
                    number = next(turns[numbers], None)
                if number is None:
                    del turns[numbers]
                else:
                    yield number


def _length_in_words(number: int) -> str:
    digits = len(str(number))
    return f"{digits} digit{'s' if digits > 1 else ''}"


def shuffled(numbers: range, rng: PortableRandom) -> Iterator[int]:
    """Each of the numbers once, in a random order, drawn as far as it is asked for (Fisher & Yates 1938)."""
    moved: dict[int, int] = {}
    for place in range(len(numbers)):
        other = rng.between(place, len(numbers) - 1)
        yield numbers[moved.get(other, other)]
        moved[other] = moved.pop(place, place)
