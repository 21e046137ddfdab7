"""Pronouncing dictionaries: each line a word and its sounds, as CMUdict has them; a word may have several lines.

    HELLO  HH AH0 L OW1
    HELLO(1)  HH EH0 L OW1

A number in brackets counts the pronunciations of a word and is no part of it. What begins with ;;; or follows a # is a
remark.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from seqwright.data.examples import Pair
from seqwright.data.files import UTF_8, lines
from seqwright.errors import DataError

_COUNTED = re.compile(r"(.+)\(\d+\)")


def pronunciation_pairs(path: Path, encoding: str = UTF_8) -> Iterator[Pair]:
    """Each word with its sounds, a space between them."""
    for number, line in enumerate(lines(path, encoding), 1):
        said = re.split(r"\s#", line)[0].split()
        if not said or said[0].startswith(";;;"):
            continue
        word, *sounds = said
        if not sounds:
            raise DataError(
                f"{path}:{number} has the word '{word}' without sounds, expected them after it, as in HELLO  HH AH L "
                "OW: add them, or remove the line"
            )
        counted = _COUNTED.fullmatch(word)
        yield Pair(counted[1] if counted else word, " ".join(sounds))
