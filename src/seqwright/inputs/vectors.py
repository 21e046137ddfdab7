"""What is given ↔ vectors: the digits of a number, one of several labels, or the numbers of some columns.

`code` reads what a user typed (or a file has) into a few numbers, `vectors` makes of those what a model sees.

N examples · K numbers of a code · S symbols · X numbers of a vector
"""

import math
import re
from bisect import bisect_left
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from seqwright.data.labels import short
from seqwright.data.limits import file_limits
from seqwright.errors import DataError, nearest

EMPTY = 10  # stands, among the digits, at a place that a number does not reach
SHOWN = 8  # labels that a sentence names
_WHOLE = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
Codes = NDArray[np.float64]
Values = NDArray[np.floating[Any]]


class Digits(NamedTuple):
    """A whole number by its decimal digits, from the ones upwards: at each place a one for the digit that is there."""

    largest: int

    @property
    def size(self) -> int:
        """Ten digits and the empty one for each place."""
        return len(str(self.largest)) * (EMPTY + 1)

    @property
    def expected(self) -> str:
        """What can be given."""
        return f"a whole number from 0 to {self.largest:,}"

    def code(self, given: str) -> list[float]:
        """The digits, and EMPTY above them."""
        if not _WHOLE.fullmatch(given.strip()) or len(given) > 1000 or int(given) > self.largest:
            raise DataError(f"'{short(given)}' was given, expected {self.expected}, in digits alone")
        digits = str(int(given))
        return [*map(float, reversed(digits)), *[float(EMPTY)] * (len(str(self.largest)) - len(digits))]

    def vectors(self, code_NK: Codes) -> Values:
        """A one and ten zeros for each place."""
        return _one_hot(code_NK, EMPTY + 1)


class KnownLabels(NamedTuple):
    """One of several labels, whose names are sorted: a one for it, zeros for the others."""

    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """One for each label."""
        return len(self.names)

    @property
    def expected(self) -> str:
        """What can be given."""
        return f"one of {', '.join(self.names[:SHOWN])}{', …' if len(self.names) > SHOWN else ''}"

    @classmethod
    def learnt(cls, found: set[str]) -> Self:
        """The labels of a training part."""
        if not found:
            raise DataError("no row of the training part has both a text and a label; give some")
        if len(found) > file_limits().labels:
            some = ", ".join(f"'{short(name)}'" for name in sorted(found)[:2])
            raise DataError(
                f"the training part has {len(found):,} different labels, such as {some}: that looks like another "
                "column; choose with data.text and data.label, or name columns of numbers in data.columns"
            )
        return cls(tuple(sorted(found)))

    def code(self, given: str) -> list[float]:
        """The number of the label."""
        name = given.strip()
        place = bisect_left(self.names, name)
        if self.names[place : place + 1] != (name,):
            raise DataError(f"there is no label '{short(name)}', expected {self.expected}.{nearest(name, self.names)}")
        return [float(place)]

    def vectors(self, code_NK: Codes) -> Values:
        """A one among zeros."""
        return _one_hot(code_NK, len(self.names))


class ScaledNumbers(NamedTuple):
    """The numbers of some columns, each less its mean, over its standard deviation, both of the training part."""

    columns: tuple[str, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @property
    def size(self) -> int:
        """One for each column."""
        return len(self.columns)

    @property
    def expected(self) -> str:
        """What can be given."""
        if self.size == 1:
            return f"a number: {self.columns[0]}"
        return f"{self.size} numbers with commas between them: {','.join(self.columns)}"

    @classmethod
    def unscaled(cls, columns: tuple[str, ...]) -> Self:
        """The numbers as they are."""
        return cls(columns, (0.0,) * len(columns), (1.0,) * len(columns))

    def scaled(self, code_NK: Codes) -> "ScaledNumbers":
        """The same columns with the scale of these numbers; a column that never changes is only shifted."""
        deviation_K = code_NK.std(0)
        deviation_K = np.where(deviation_K > 0, deviation_K, 1.0)
        return ScaledNumbers(self.columns, tuple(code_NK.mean(0).tolist()), tuple(deviation_K.tolist()))

    def code(self, given: str) -> list[float]:
        """The numbers as they were given."""
        cells = [cell.strip() for cell in given.split(",")]
        if len(cells) != self.size:
            raise DataError(f"'{short(given)}' was given, expected {self.expected}")
        for cell, column in zip(cells, self.columns, strict=True):
            if not _NUMBER.fullmatch(cell) or not math.isfinite(float(cell)):
                raise DataError(f"'{short(cell)}' was given for {column}, expected a number with a decimal point")
        return [float(cell) for cell in cells]

    def vectors(self, code_NK: Codes) -> Values:
        """The numbers scaled."""
        scaled: Values = (code_NK - np.array(self.mean)) / np.array(self.deviation)
        return scaled


Vectors = Digits | KnownLabels | ScaledNumbers
"""The ways to make vectors of what is given; the one that is chosen travels with the model."""


KINDS: dict[str, type[Vectors]] = {"digits": Digits, "label": KnownLabels, "numbers": ScaledNumbers}


def plain_vectors(vectors: Vectors) -> dict[str, Any]:
    """As JSON keeps them."""
    by = next(name for name, kind in KINDS.items() if isinstance(vectors, kind))
    return {"by": by, **{name: list(x) if isinstance(x, tuple) else x for name, x in vectors._asdict().items()}}


def from_plain(plain: dict[str, Any]) -> Vectors:
    """What `plain_vectors` gave."""
    kind = KINDS.get(plain["by"])
    if kind is None:
        raise ValueError(f"there are no vectors by '{plain['by']}'")
    return TypeAdapter(kind).validate_python({name: plain[name] for name in kind._fields})


def _one_hot(code_NK: Codes, symbols: int) -> Values:
    symbol_NK = code_NK.astype(np.int64)
    vector_NKS = np.zeros((*symbol_NK.shape, symbols), dtype=np.float32)
    np.put_along_axis(vector_NKS, symbol_NK[..., None], 1.0, axis=-1)
    return vector_NKS.reshape(len(code_NK), -1)
