"""What verbs print: no text from data, names or files commands the terminal.

Where output goes into a file or to another program it stays as it is, but for what is said to people.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from seqwright.escapes import visible

# What rich writes itself: colours, the cursor shown or hidden, lines cleared and gone back to under a bar.
RICH = re.compile(r"(\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AKG]|\r)")


class SafeStream:
    """A stream to which text is written with its control characters spelled out; all else is the stream's own."""

    def __init__(self, stream: TextIO, *, rich: bool = False) -> None:
        self._stream, self._rich = stream, rich

    def write(self, text: str) -> int:
        """Write a text."""
        pieces = RICH.split(text) if self._rich else [text]
        self._stream.write("".join(piece if number % 2 else visible(piece) for number, piece in enumerate(pieces)))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write some."""
        for line in lines:
            self.write(line)

    @property
    def rich_proxied_file(self) -> "SafeStream":
        """What rich writes to in place of this one: its own colours pass."""
        return SafeStream(self._stream, rich=True) if not self._rich else self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def safe_output() -> Iterator[None]:
    """Inside, complaints are written harmlessly, and results where a terminal shows them."""
    before: Any = sys.stdout, sys.stderr
    try:
        sys.stderr = SafeStream(before[1])
        if before[0].isatty():
            sys.stdout = SafeStream(before[0])
        yield
    finally:
        sys.stdout, sys.stderr = before
