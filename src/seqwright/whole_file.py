"""Files for other programs, text plain or .gz among them, which are there only when they are whole."""

import gzip
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from seqwright.errors import DataError


@contextmanager
def bytes_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write bytes into; it appears when the block ends, in place of what was there, unless it fails."""
    aside = path.with_name(f".{path.name}.writing")
    try:
        with aside.open("wb") as file:
            yield file
        aside.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}; choose another place") from error
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """A file to write text into, as `bytes_whole`; a path that ends in .gz is compressed.

    The same text is the same bytes.
    """
    with bytes_whole(path) as plain:
        packed = gzip.GzipFile("", "wb", 6, plain, mtime=0) if path.suffix == ".gz" else plain
        with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as file:
            yield file


@contextmanager
def folder_whole(folder: Path) -> Iterator[Path]:
    """A folder to write files into; unless it fails, they appear in `folder` when the block ends.

    What is there under other names stays.
    """
    final = folder.resolve()
    aside = final.with_name(f".{final.name}.writing")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        yield aside
        if not final.exists():
            aside.rename(final)
        for path in sorted(aside.iterdir()) if aside.exists() else ():
            path.replace(final / path.name)
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}; choose another place") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def flush(path: Path) -> None:
    """Return when a file, or the list of names that a folder is, lies on the disk and not only in memory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
