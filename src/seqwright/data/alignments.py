"""Alignments on disk, one sentence per line, in the format of Pharaoh: `0-0 1-2 3?4`.

The first number is that of a source word, the second that of a target word, both from 0; words are what stands between
spaces. `-` is a sure link, `?` a possible one.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from seqwright.data.files import lines, require_file
from seqwright.errors import DataError

Link = tuple[int, int]
LINK = re.compile(r"(\d{1,9})([-?])(\d{1,9})")  # no sentence has more words


def read_alignments(path: Path) -> list[tuple[frozenset[Link], frozenset[Link]]]:
    """The sure and the possible links of each sentence; a sure one is possible too."""
    require_file(path)
    found = []
    for number, line in enumerate(lines(path), start=1):
        sure, possible = set[Link](), set[Link]()
        for word in line.split():
            match = LINK.fullmatch(word)
            if match is None:
                raise DataError(
                    f"{path}:{number}: '{word[:40]}' is no link; expected numbers from 0, as in 3-4 (source word 3, "
                    "target word 4, sure) or 3?4 (possible)"
                )
            link = int(match[1]), int(match[3])
            possible.add(link)
            if match[2] == "-":
                sure.add(link)
        found.append((frozenset(sure), frozenset(possible)))
    return found


def alignment_line(links: Iterable[Link]) -> str:
    """The links of a sentence, in the order of its source words."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))
