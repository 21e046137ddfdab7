"""What `look` is given: texts, or the lines of a file; and where its pictures go."""

import re
from collections.abc import Sequence
from pathlib import Path

from seqwright.cli.terminal import say
from seqwright.data.files import lines, require_file
from seqwright.errors import DataError
from seqwright.runs import Run

MOST_LETTERS = 1_000_000  # of a file


def given_texts(texts: Sequence[str], file: Path | None) -> list[str]:
    """What the user gave: texts, the lines of a file, or nothing."""
    if texts and file is not None:
        raise DataError("there are both a text and --file; give one of them")
    found = _first_lines(file) if file is not None else list(texts)
    if found and not any(line.strip() for line in found):
        raise DataError(f"there is nothing to look at: {file or 'the text'} is blank")
    return found


def _first_lines(file: Path) -> list[str]:
    """The lines of a file, as many as could be read in reasonable time."""
    require_file(file)
    found, letters = list[str](), 0
    for line in lines(file):
        if letters > MOST_LETTERS:
            say(f"{file}: the first {len(found):,} lines are looked at, no more")
            break
        found.append(line)
        letters += len(line)
    return found


def picture_folder(run: Run, output: Path | None, about: str) -> Path:
    """Where the pictures of a text go: a folder whose name still says which text it is."""
    name = re.sub(r"\W+", "-", about.lower()).strip("-")[:40] or "text"
    return output or run.folder / "pictures" / name
