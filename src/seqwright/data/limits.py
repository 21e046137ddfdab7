"""How much of a file is held in memory at once, at most: a damaged or hostile file is refused before memory runs out.

The defaults are far beyond what data has. `SEQWRIGHT_LIMITS="line=1073741824 labels=50000"` in the environment sets
others, whatever the verb.
"""

import os
from typing import NamedTuple

from seqwright.errors import SettingError, instead

VARIABLE = "SEQWRIGHT_LIMITS"


class Limits(NamedTuple):
    """Bytes or characters, but for `rows`, `labels` and `pixels`."""

    line: int = 2**26  # of a text file, in bytes
    cell: int = 2**24  # of a table, in characters: a quote that is never closed makes one of all that follows it
    document: int = 2**28  # what is read in one piece: a JSON file, a text of several lines, a file of an archive
    rows: int = 2**20  # of a sheet, as Excel has them
    labels: int = 1000  # different ones of a classifier, or tags
    pixels: int = 2**26  # of an image, by its header: 8,192 × 8,192

    def raised(self, name: str) -> str:
        """What to do where a file rightly has more: the end of a sentence."""
        return f"if that is right, set {VARIABLE}={name}={2 * getattr(self, name)} in the environment"


def file_limits() -> Limits:
    """The limits in force."""
    given: dict[str, int] = {}
    for word in os.environ.get(VARIABLE, "").split():
        name, _, number = word.partition("=")
        if name not in Limits._fields:
            raise SettingError(f"{VARIABLE} has '{word}'{instead(name, Limits._fields)}")
        if not (number.isascii() and number.isdigit() and 0 < len(number) < 19 and int(number)):
            raise SettingError(f"{VARIABLE} has '{word}', expected a number from 1 on, as in {name}=1000000")
        given[name] = int(number)
    return Limits(**given)
