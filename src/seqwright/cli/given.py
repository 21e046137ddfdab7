"""What a verb is asked about: texts of the command line, the lines of a file, or standard input."""

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from seqwright.cli.terminal import say
from seqwright.data.decoded_images import ENDINGS
from seqwright.data.files import lines, require_file
from seqwright.errors import DataError

T = TypeVar("T")
LINES_AT_ONCE = 512
MOST_LETTERS = 1_000_000  # of a file that is looked at


def given_blocks(verb: str, texts: list[str] | None, file: Path | None) -> Iterator[list[str]]:
    """The texts as they are, however many lines each has; otherwise the lines of a file or of standard input, or `-`.

    As many at once as there are: a file in blocks, standard input as it comes. What is wrong is said at once.
    """
    texts = texts or []
    if texts and file is not None:
        raise DataError("there are both texts and --file; give one of them")
    if texts and texts != ["-"]:
        if len(texts) == 1 and _is_file(texts[0]) and not texts[0].lower().endswith(ENDINGS):
            say(f"{texts[0]} is a file; to {verb} its lines use --file {shlex.quote(texts[0])}")
        return iter([texts])
    if file is None or file == Path("-"):
        return _standard_input()
    require_file(file)
    return in_blocks(lines(file))


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


def split_lines(texts: list[str] | None) -> list[str]:
    """Each line of texts as a text of its own."""
    return [line for text in texts or () for line in text.split("\n")]


def without_blank(verb: str, blocks: Iterable[list[str]]) -> Iterator[list[str]]:
    """The texts that are not blank; how many are is said at the end, and that there is nothing else is refused."""
    read = blank = 0
    for block in blocks:
        some = [text for text in block if text.strip()]
        read, blank = read + len(some), blank + len(block) - len(some)
        if some:
            yield some
    if not read:
        raise DataError(f"there is no text to {verb}, only blank lines; give some")
    if blank:
        say(f"blank lines left out: {blank:,}")


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a name
        return False


def in_blocks(every: Iterable[T], size: int = LINES_AT_ONCE) -> Iterator[list[T]]:
    """Some at a time, in their order."""
    rest = iter(every)
    while block := list(islice(rest, size)):
        yield block


def _standard_input() -> Iterator[list[str]]:
    """Whole lines as soon as they are there: a person gets an answer to each, a pipe is served in blocks."""
    if sys.stdin.isatty():
        say("type a text and Enter; Ctrl-D ends")
    rest, number = b"", 0
    while True:
        data = os.read(sys.stdin.fileno(), 1 << 16)
        *whole, rest = (rest + data).split(b"\n")
        if not data and rest:
            whole, rest = [rest], b""
        yield from in_blocks(_decoded(line, number + i) for i, line in enumerate(whole, start=1))
        number += len(whole)
        if not data:
            return


def _decoded(line: bytes, number: int) -> str:
    where = f"standard input, line {number}"
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise DataError(f"{where}, byte {error.start + 1}: this is not UTF-8; convert it first") from error
    if "\0" in text:
        raise DataError(f"{where} has a NUL byte; it is not text: remove it")
    return text
