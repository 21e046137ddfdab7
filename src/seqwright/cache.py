"""The token cache: a corpus tokenised once, in files that are mapped into memory and never read whole.

It lies outside every run, in `$SEQWRIGHT_CACHE`, under a key made from the content and the tokenizers.
"""

import hashlib
import json
import os
import random
import shutil
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from seqwright.batches import KEPT_EPOCHS, Ids, Numbers, Rows
from seqwright.data.cards import cache_folder
from seqwright.errors import DataError

FORMAT = 3
BLOCK = 8192  # pairs tokenised at a time, rows drawn between two words of progress
Encode = Callable[[list[str]], Sequence[Any]]  # token ids of some integer type, a row each
Overlong = Literal["drop", "truncate", "refuse"]


class Ragged(Rows[Ids]):
    """Rows of different length: the values one after another, in a mapped file, and where each row ends."""

    length_N: Numbers

    def __init__(self, values: Ids, end_N: NDArray[np.int64], example_N: Numbers | None = None) -> None:
        self.values, self.end_N = values, end_N
        self.length_N = np.diff(end_N, prepend=0)
        self.example_N = np.arange(len(end_N)) if example_N is None else example_N

    @classmethod
    def mapped(cls, stem: Path, example_N: Numbers | None = None) -> "Ragged":
        """The rows that a `RaggedWriter` wrote, each an example, if nothing else is said."""
        end_N: NDArray[np.int64] = np.load(stem.with_suffix(".ends.npy"), mmap_mode="r")
        kind = json.loads(stem.with_suffix(".kind.json").read_text(encoding="utf-8"))
        path = stem.with_suffix(".values")
        empty = path.stat().st_size == 0
        return cls(np.zeros(0, dtype=kind) if empty else np.memmap(path, dtype=kind, mode="r"), end_N, example_N)

    def __len__(self) -> int:
        return len(self.end_N)

    def row(self, index: int) -> Ids:
        """One row."""
        end = int(self.end_N[index])
        row: Ids = self.values[end - int(self.length_N[index]) : end]
        return row

    def take(self, numbers: Numbers, epoch: int | None) -> list[Ids]:
        """Some rows, the same in every epoch."""
        return [self.row(index) for index in numbers.tolist()]


class Redrawn(Rows[Ids]):
    """Rows resegmented each epoch, drawn from (seed, epoch, side, row): for BPE-dropout. In no epoch they are plain.

    Batches are planned with the lengths as drawn, so an epoch is drawn whole when it is first asked for, and kept in
    a mapped file without a name: it needs disk, not memory, and is gone when nobody reads it any more, whatever ends
    the process. A row that is drawn longer than `longest` stays as it is without dropout.
    """

    def __init__(
        self,
        text: Ragged,
        plain: Ragged,
        draw: Callable[[str, random.Random], Any],
        *,
        seed: int,
        side: str,
        longest: float,
        progress: Callable[[int], None] = lambda count: None,
    ) -> None:
        self.text, self.plain, self.draw, self.progress = text, plain, draw, progress
        self.seed, self.side, self.longest, self.example_N = seed, side, longest, plain.example_N
        self._remembered = lru_cache(KEPT_EPOCHS)(self._drawn)

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_N1` as drawn in an epoch."""
        return self.rows(epoch).lengths(epoch)

    def take(self, numbers: Numbers, epoch: int | None) -> list[Ids]:
        """Some rows as drawn in an epoch."""
        return self.rows(epoch).take(numbers, epoch)

    def rows(self, epoch: int | None) -> Ragged:
        """Every row as it is in an epoch."""
        return self.plain if epoch is None else self._remembered(epoch)

    def _drawn(self, epoch: int) -> Ragged:
        kind, ends = self.plain.values.dtype, array("q", [0])
        folder = cache_folder() / "tokens"
        with writing_to(folder), TemporaryFile(dir=folder) as file:
            for index in range(len(self.plain)):
                row = self._row(index, epoch).astype(kind, copy=False)
                file.write(row.tobytes())
                ends.append(ends[-1] + len(row))
                if not (index + 1) % BLOCK:
                    self.progress(index + 1)
            file.flush()
            values = np.memmap(file, dtype=kind, mode="r") if ends[-1] else np.zeros(0, dtype=kind)
        return Ragged(values, np.asarray(ends, dtype=np.int64)[1:])

    def _row(self, index: int, epoch: int) -> Ids:
        text = self.text.row(index).tobytes().decode()
        drawn: Ids = self.draw(text, random.Random(f"{self.seed}/{epoch}/{self.side}/{index}"))
        return drawn if len(drawn) <= self.longest else self.plain.row(index)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Make a folder of the cache and say what is to be done where it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise DataError(
            f"the cache {folder} could not be written: {error.strerror or error}; "
            "make room there or point SEQWRIGHT_CACHE elsewhere"
        ) from error


def kept_folder(key: str, write: Callable[[Path], None], within: str = "tokens") -> Path:
    """The folder of the cache for a key: what `write` put into an empty one, `kept.json` last, now or earlier."""
    settled = hashlib.sha256(key.encode()).hexdigest()[:32]
    folder = cache_folder() / within / settled
    if not (folder / "kept.json").exists():
        aside = folder.with_name(f".{settled}.{os.getpid()}")
        shutil.rmtree(aside, ignore_errors=True)
        try:
            with writing_to(folder.parent):
                aside.mkdir()
                write(aside)
                _settle(aside, folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return folder


def _settle(aside: Path, folder: Path) -> None:
    """Let the folder appear, unless another process was quicker with the same."""
    try:
        aside.rename(folder)
    except OSError:
        if not (folder / "kept.json").exists():
            raise


class RaggedWriter:
    """Appends rows to the files that `Ragged` maps."""

    def __init__(self, stem: Path) -> None:
        self.stem = stem
        self.ends = array("q")
        self.kind: str | None = None

    def __enter__(self) -> "RaggedWriter":
        self.file = self.stem.with_suffix(".values").open("wb")
        return self

    def add(self, row: NDArray[Any]) -> None:
        """Append a row."""
        self.kind = self.kind or row.dtype.str
        self.file.write(row.tobytes())
        self.ends.append((self.ends[-1] if self.ends else 0) + len(row))

    def __exit__(self, *_: object) -> None:
        self.file.close()
        np.save(self.stem.with_suffix(".ends.npy"), np.asarray(self.ends, dtype=np.int64))
        self.stem.with_suffix(".kind.json").write_text(json.dumps(self.kind or "<u2"), encoding="utf-8")
