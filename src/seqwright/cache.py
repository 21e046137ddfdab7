"""The token cache: a corpus tokenised once, in files that are mapped into memory.

It lies outside every run, in `$SEQWRIGHT_CACHE`, under a key made from the content and the tokenizers. Whenever an
entry is opened it is read from end to end for its checksums, but never held in memory whole.
"""

import atexit
import errno
import hashlib
import json
import random
import shutil
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from seqwright.batches import KEPT_EPOCHS, Ids, Numbers, Rows
from seqwright.data.cards import cache_folder
from seqwright.errors import DataError
from seqwright.progress import remark
from seqwright.whole_file import appear, aside_of, emptied

SUMS = "sums.json"  # the size and the sha256 of every other file of a kept folder
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
        folder = _folder_of_drawn()
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


def _folder_of_drawn() -> Path:
    """Where files without a name are: in the cache, if it can be written to."""
    folder = cache_folder() / "tokens"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        return temporary_cache(error.strerror or str(error))


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
    """The folder of the cache for a key: what `write` put into an empty one, now or earlier.

    One that is not as it was written is made again. Where the cache cannot be written to, the folder is a temporary one
    that is gone when the process ends. A cache may fill up in mid-write, so `write` may be called twice: it must read
    what it writes from the first on each time.
    """
    name = f"{within}/{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    try:
        return _kept(cache_folder() / name, write)
    except OSError as error:
        folder = temporary_cache(error.strerror or str(error)) / name
        with writing_to(folder.parent):
            return _kept(folder, write)


@lru_cache(1)
def _temporary_folder() -> Path:
    folder = Path(mkdtemp(prefix="seqwright-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def temporary_cache(reason: str) -> Path:
    """A folder in place of the cache, gone when the process ends; the first time it is told why."""
    if not _temporary_folder.cache_info().currsize:
        remark(
            f"the cache {cache_folder()} cannot be written ({reason}), so nothing is kept in it and the next command "
            "tokenises again: make room there or point SEQWRIGHT_CACHE elsewhere"
        )
    return _temporary_folder()


def _kept(folder: Path, write: Callable[[Path], None]) -> Path:
    """The folder, made where it is not there or not whole."""
    if folder.exists() and damage_of(folder) is None:
        return folder
    with emptied(aside_of(folder)) as aside:
        if folder.exists():
            damage = damage_of(folder)
            if damage is None:  # made by another process while this one waited for it
                return folder
            remark(f"in the cache {folder} {damage}: it is made again")
        write(aside)
        _write_sums(aside)
        appear(aside, folder)
    return folder


def _write_sums(folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = {path.relative_to(folder).as_posix(): [path.stat().st_size, _sha256(path)] for path in files}
    (folder / SUMS).write_text(json.dumps(sums), encoding="utf-8")


def damage_of(folder: Path) -> str | None:
    """What of a kept folder is not as it was written, if anything; lengths are compared before contents are read."""
    try:
        sums = json.loads((folder / SUMS).read_text(encoding="utf-8"))
        for name, (size, _) in sums.items():
            if (found := (folder / name).stat().st_size) != size:
                return f"{name} has {found:,} bytes in place of {size:,}"
        changed = (name for name, (_, sha256) in sums.items() if _sha256(folder / name) != sha256)
        return next((f"{name} has changed" for name in changed), None)
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (ValueError, TypeError, AttributeError, RecursionError):
        return f"{SUMS} cannot be read"
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return f"{SUMS} names what no file can be called"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
