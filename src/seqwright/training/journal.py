"""The journal of a run: one JSON line per logged step. It holds nothing that depends on the clock.

How long things took stands in `pace.jsonl` beside it, so that a resumed run's journal equals an uninterrupted one's.
"""

import json
import os
from pathlib import Path
from typing import Any

from seqwright.errors import RunError
from seqwright.whole_file import write_whole

Line = dict[str, Any]
LONGEST = 2**20  # characters of a line; what has more is none


class Journal:
    """Lines appended to a file, on disk when `write` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, line: Line) -> None:
        """Append a line."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(
                f"{self.path} could not be written: {error.strerror or error}; the checkpoints are untouched: "
                "make room and run the same command again"
            ) from error

    def lines(self) -> list[Line]:
        """Every line up to the first that is none: one that a crash cut short, or that is no object with a step."""
        if not self.path.exists():
            return []
        if not self.path.is_file():
            raise RunError(f"{self.path} is no file, expected the journal of a run: remove it, or train with --fresh")
        whole = []
        with self.path.open(encoding="utf-8", errors="replace") as file:
            while text := file.readline(LONGEST):
                try:
                    line = json.loads(text)
                except (ValueError, RecursionError):
                    break
                if not isinstance(line, dict) or not isinstance(line.get("step"), int):
                    break
                whole.append(line)
        return whole

    def cut_back(self, step: int) -> None:
        """Forget everything after a step: it will be done again."""
        kept = "".join(json.dumps(line) + "\n" for line in self.lines() if line["step"] <= step)
        before = self.path.stat().st_size if self.path.exists() else None
        if before != len(kept) or self.path.read_bytes() != kept.encode():  # which is ASCII
            write_whole(self.path, kept)
