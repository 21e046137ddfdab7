"""A part of the data as examples."""

import math
from collections.abc import Iterator
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from seqwright.data.examples import PartName
from seqwright.inputs import Examples

REMEMBERED = 1 << 26  # characters of a part that stay in memory
PER_TUPLE = 64  # characters that take as much memory as a tuple without its texts


class Part(Examples[Any]):
    """A part of the data as examples; they stay in memory while their data does, if they are small texts."""

    remembered: ClassVar[WeakKeyDictionary[Any, dict[PartName, list[Any]]]] = WeakKeyDictionary()

    def __init__(self, data: Any, part: PartName) -> None:
        self.part = part
        super().__init__(lambda: self._read(data), data.fingerprint(part), f"the {part} part")

    def _read(self, data: Any) -> Iterator[Any]:
        known = self.remembered.setdefault(data, {})
        if self.part in known:
            yield from known[self.part]
            return
        some, room = list[Any](), float(REMEMBERED)
        for example in data.examples(self.part):
            room -= characters(example)
            if room >= 0:
                some.append(example)
            else:
                some.clear()
            yield example
        if room >= 0:
            known[self.part] = some


def characters(value: Any) -> float:
    """How many characters the texts of an example have, something for each field added; no end of anything else."""
    match value:
        case str():
            return len(value)
        case int() | float() | None:
            return 0
        case tuple():
            return sum(map(characters, value), start=PER_TUPLE)
    return math.inf
