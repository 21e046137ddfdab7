"""The values the dates corpus speaks of, how they are drawn, and which part of the corpus each belongs to.

A value is made of *keys*: the amount in "3 kilometres" is the key `number 3`, a date with a time of day has two keys.
A key belongs to one part, chosen by hashing it and by nothing else, and a value is used in a part only if all its keys
belong there. So whatever language, kind or seed: what is held out is held out everywhere.

| value                    | keys                                                                    |
|--------------------------|-------------------------------------------------------------------------|
| a number of any kind     | `number 1234.5`, the same for currencies, units, relative times, words  |
| a date                   | `date 2021-05-03`                                                       |
| a month of a year        | `month 2021-05` (dates within that month are other values)              |
| a day of any year        | `day 05-03` (that day in a given year is another value)                 |
| a time of day            | `clock 15:05`, with or without seconds                                  |
| a date with a time       | `date …` and `clock …`                                                  |
| a list of names          | `list …` of the sorted names: neither their order nor "and"/"or" counts |

Whole numbers up to twenty always belong to the training part: languages have singulars and irregular words there, which
nobody could guess.
"""

import calendar
import datetime
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Generic, NamedTuple, TypeVar

from seqwright.data.examples import PartName

Thing = TypeVar("Thing")
Value = TypeVar("Value")

FIRST_YEAR, LAST_YEAR = 1900, 2100
ALWAYS_TRAINED = frozenset(f"number {number}" for number in range(21))


class PortableRandom:
    """Random choices that are the same on every machine: of all of `Random`, only `random()` is promised to last."""

    def __init__(self, seed: str) -> None:
        self._random = Random(int.from_bytes(hashlib.sha256(seed.encode()).digest()))

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1."""
        return int(self._random.random() * limit)

    def between(self, least: int, most: int) -> int:
        """A whole number from `least` to `most`, both included."""
        return least + self.below(most - least + 1)

    def one_of(self, things: Sequence[Thing]) -> Thing:
        """Any of the things."""
        return things[self.below(len(things))]

    def some_of(self, things: Sequence[Thing], count: int) -> list[Thing]:
        """`count` different ones of the things, in random order."""
        left = list(things)
        return [left.pop(self.below(len(left))) for _ in range(count)]


def part_of(keys: Sequence[str]) -> PartName | None:
    """The part that a value with these keys belongs to, or None where its keys belong to different parts."""
    parts = {_part_of_key(key) for key in keys}
    return parts.pop() if len(parts) == 1 else None


def _part_of_key(key: str) -> PartName:
    return "train" if key in ALWAYS_TRAINED else hashed_part(key, test=10, valid=5, of=100)


def hashed_part(key: str, *, test: int = 1, valid: int = 1, of: int = 10) -> PartName:
    """The part that a key belongs to by its hash alone: so many of so many keys are held out."""
    place = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) % of
    return "test" if place < test else "valid" if place < test + valid else "train"


class Month(NamedTuple):
    """A month of a year: May 2021."""

    year: int
    month: int


class Anniversary(NamedTuple):
    """A day of any year: May 3."""

    month: int
    day: int


class Moment(NamedTuple):
    """A minute of a date: May 3, 2021, 15:05."""

    day: datetime.date
    clock: datetime.time


class NameList(NamedTuple):
    """Several things of one sort, by their codes: `territory DE`, `territory FR`."""

    codes: tuple[str, ...]


@dataclass(frozen=True)
class Space(Generic[Value]):
    """All values of one sort.

    `draw` gives a random one, `keys` what decides the part of one, `holds` tells whether something is one, and
    `landmarks` are those with words of their own: a language that can say these can say them all.
    """

    draw: Callable[[PortableRandom], Value]
    keys: Callable[[Value], tuple[str, ...]]
    holds: Callable[[object], bool]
    landmarks: Sequence[Value]


def numbers(*, digits: int, decimals: int = 0, least: int = 0) -> Space[Decimal]:
    """Numbers with at most so many digits before and after the point; longer ones are likelier, as there are more."""

    def draw(rng: PortableRandom) -> Decimal:
        length = max(rng.between(1, digits), rng.between(1, digits))
        whole = rng.between(10 ** (length - 1) if length > 1 else least, 10**length - 1)
        places = rng.between(0, decimals)
        fraction = f"{rng.below(10**places):0{places}}".rstrip("0") if places else ""
        return Decimal(f"{whole}.{fraction}" if fraction else whole)

    def holds(value: object) -> bool:
        return isinstance(value, Decimal) and least <= value < 10**digits and value == round(value, decimals)

    wholes = [*range(30), *range(30, 101, 10), *range(101, 112), *range(200, 1001, 100), *range(2000, 9001, 1000), 9999]
    landmarks = [*map(Decimal, wholes), Decimal("1.5"), Decimal("21.5")]
    return Space(draw, _number_keys, holds, [number for number in landmarks if holds(number)])


def _number_keys(number: Decimal) -> tuple[str, ...]:
    return (f"number {number:f}",)


def _round_number(rng: PortableRandom) -> Decimal:
    digits = max(rng.between(1, 3), rng.between(1, 3))
    leading = rng.between(10 ** (digits - 1) + 1, 10**digits - 1)
    return Decimal(leading * 10 ** (rng.between(4, 11) - digits))


def _is_round_number(value: object) -> bool:
    digits = f"{value:f}".rstrip("0") if isinstance(value, Decimal) and 10**3 <= value < 10**11 else "1"
    return digits != "1" and len(digits) <= 3


# At most three digits and then zeros, from a thousand to 99.9 billion: 1.25 million is exactly 1,250,000, and whatever
# power of ten another language counts by (Japanese: 125万), it needs no more than two decimals. Powers of ten are not
# among them: Babel gives 1,000,000 a wrong plural in French.
ROUND_NUMBERS = Space(
    draw=_round_number,
    keys=_number_keys,
    holds=_is_round_number,
    landmarks=[Decimal(leading * 10**zeros) for leading in (120, 125, 200, 500) for zeros in range(1, 9)],
)

DAYS = Space(
    draw=lambda rng: datetime.date.fromordinal(
        rng.between(datetime.date(FIRST_YEAR, 1, 1).toordinal(), datetime.date(LAST_YEAR, 12, 31).toordinal())
    ),
    keys=lambda day: (f"date {day.isoformat()}",),
    holds=lambda value: isinstance(value, datetime.date),
    landmarks=[datetime.date(2021, month, month) for month in range(1, 13)],
)

MONTHS = Space(
    draw=lambda rng: Month(rng.between(FIRST_YEAR, LAST_YEAR), rng.between(1, 12)),
    keys=lambda value: (f"month {value.year}-{value.month:02}",),
    holds=lambda value: isinstance(value, Month),
    landmarks=[Month(2021, month) for month in range(1, 13)],
)

_ANNIVERSARIES = [
    Anniversary(month, day) for month in range(1, 13) for day in range(1, calendar.monthrange(2000, month)[1] + 1)
]
ANNIVERSARIES = Space(
    draw=lambda rng: rng.one_of(_ANNIVERSARIES),
    keys=lambda value: (f"day {value.month:02}-{value.day:02}",),
    holds=lambda value: isinstance(value, Anniversary),
    landmarks=_ANNIVERSARIES,
)

MINUTES = Space(
    draw=lambda rng: datetime.time(rng.below(24), rng.below(60)),
    keys=lambda clock: (f"clock {clock:%H:%M}",),
    holds=lambda value: isinstance(value, datetime.time) and value.second == 0,
    landmarks=[datetime.time(hour) for hour in range(24)],
)

SECONDS = Space(
    draw=lambda rng: datetime.time(rng.below(24), rng.below(60), rng.below(60)),
    keys=MINUTES.keys,
    holds=lambda value: isinstance(value, datetime.time),
    landmarks=MINUTES.landmarks,
)

MOMENTS = Space(
    draw=lambda rng: Moment(DAYS.draw(rng), MINUTES.draw(rng)),
    keys=lambda moment: DAYS.keys(moment.day) + MINUTES.keys(moment.clock),
    holds=lambda value: isinstance(value, Moment),
    landmarks=[Moment(day, clock) for day in DAYS.landmarks for clock in MINUTES.landmarks[::6]],
)


def lists(vocabularies: Sequence[Sequence[str]]) -> Space[NameList]:
    """Lists of two to four different names, all from one of the vocabularies."""
    return Space(
        draw=lambda rng: NameList(tuple(rng.some_of(rng.one_of(vocabularies), rng.between(2, 4)))),
        keys=lambda names: ("list " + ", ".join(sorted(names.codes)),),
        holds=lambda value: isinstance(value, NameList),
        landmarks=[NameList(tuple(codes[:count])) for codes in vocabularies for count in (2, 3, 4)],
    )
