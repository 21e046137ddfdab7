"""Every file and folder that is written: aside, synced to the disk, then renamed. It appears whole or not at all.

What is written aside is locked. Of two processes that write the same thing one waits for the other, and what a killed
one left is nobody's: the next takes it over.
"""

import fcntl
import gzip
import hashlib
import io
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from seqwright.errors import DataError
from seqwright.exchange import exchange
from seqwright.progress import remark

LONGEST_NAME = 240  # bytes, of 255 that a file system takes
FOLDER = os.O_RDONLY | os.O_DIRECTORY
INCOMING = ".incoming"  # the folder aside, inside of one that is replaced in place
_asides: set[Path] = set()  # the folders that this process writes aside: they are synced as a whole when they appear


# ---------------------------------------------------------------------------------------------------- files


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write bytes into; it appears when the block ends, in place of what was there, unless it fails.

    Its mode stays that of the file in whose place it is. A device or a pipe gets the bytes as they come.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as file:
            yield file
        return
    final = path.resolve()  # a link stays one
    aside, descriptor = _claimed(aside_of(final), os.O_RDWR | os.O_CREAT)
    try:
        os.ftruncate(descriptor, 0)
        if final.exists():
            os.fchmod(descriptor, stat.S_IMODE(final.stat().st_mode))
        with open(descriptor, "wb", closefd=False) as file:
            yield file
        if _asides.isdisjoint(final.parents):
            os.fsync(descriptor)
        aside.replace(final)
        _sync_names(final.parent)
    except BaseException:
        if _is_still(aside, descriptor):
            aside.unlink()
        raise
    finally:
        _release(descriptor)


@contextmanager
def bytes_whole(path: Path) -> Iterator[BinaryIO]:
    """The same; what goes wrong is a sentence."""
    with _told(path), replacing(path) as file:
        yield file


@contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """A file to write text into, as `bytes_whole`; a path that ends in .gz is compressed.

    The same text is the same bytes.
    """
    with bytes_whole(path) as plain:
        packed = gzip.GzipFile("", "wb", 6, plain, mtime=0) if path.suffix == ".gz" else plain
        with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as file:
            yield file


def write_whole(path: Path, text: str) -> None:
    """A file that has this text, as `written_whole`."""
    with written_whole(path) as file:
        file.write(text)


# ---------------------------------------------------------------------------------------------------- folders


@contextmanager
def emptied(aside: Path) -> Iterator[Path]:
    """An empty folder to write into, for this process alone; gone in the end unless it was renamed."""
    aside.parent.mkdir(parents=True, exist_ok=True)
    aside, descriptor = _claimed(aside, FOLDER)
    try:
        for path in aside.iterdir():
            _remove(path)
        _asides.add(aside.resolve())
        yield aside
    finally:
        _asides.discard(aside.resolve())
        if _is_still(aside, descriptor):
            shutil.rmtree(aside, ignore_errors=True)
        _release(descriptor)


def appear(aside: Path, final: Path) -> None:
    """Sync a folder and everything in it, and let it take its name, in place of one that was there."""
    sync_folder(aside)
    _take_name(aside, final)


def _take_name(aside: Path, final: Path) -> None:
    """In one step, where the system can do that; else the old folder is put aside first, and `restored` finds it."""
    restored(final)
    if not final.exists():
        aside.rename(final)
        _sync_names(final.parent)
        return
    with _locked(final):  # whoever is to write under the name that it gets waits until it is gone
        old = aside
        if not exchange(aside, final):
            old = _old_of(final)
            shutil.rmtree(old, ignore_errors=True)
            final.rename(old)
            aside.rename(final)
        _sync_names(final.parent)
        shutil.rmtree(old, ignore_errors=True)


def restored(folder: Path) -> Path:
    """The folder, under its name again if a process was killed between putting it aside and renaming its successor."""
    final = folder.resolve()
    old = _old_of(final)
    if not final.exists() and old.exists():
        with _locked(old):  # while its successor is being renamed there is nothing to restore
            if not final.exists():
                old.rename(final)
    return folder


@contextmanager
def folder_whole(folder: Path, outdated: Callable[[str], bool] = lambda name: False) -> Iterator[Path]:
    """A folder to write files into; unless it fails, they appear in `folder` when the block ends.

    What is there under other names stays, unless it is `outdated`. The old folder stands whole until the new one does;
    only where its name cannot be given to another folder (a mount, the folder that one is in, a parent that may not be
    written to) are its files replaced one by one: then what is old is taken away before anything new appears.
    """
    with _told(folder):
        final = restored(folder.resolve())
        in_place = final.exists() and not _is_replaceable(final)
        with emptied(final / INCOMING if in_place else aside_of(final)) as aside:
            yield aside
            sync_folder(aside)
            if in_place:
                _move_into(aside, final, outdated)
            elif final.exists():
                _carry_over(final, aside, outdated)
                _take_name(aside, final)
            else:
                _take_name(aside, final)


def _is_replaceable(final: Path) -> bool:
    """Whether another folder can have the name, and nobody's shell is left in one that is gone."""
    here = Path.cwd()
    return os.access(final.parent, os.W_OK | os.X_OK) and not final.is_mount() and final not in {here, *here.parents}


def _carry_over(final: Path, aside: Path, outdated: Callable[[str], bool]) -> None:
    """Let what stays be in the new folder too, by links where the file system has them."""
    new = {path.name for path in aside.iterdir()}
    for path in final.iterdir():
        if path.name in new or path.name == INCOMING or outdated(path.name):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, aside / path.name, symlinks=True, copy_function=_link)
        else:
            _link(path, aside / path.name)
    shutil.copystat(final, aside)
    flush(aside)


def _link(path: Path | str, other: Path | str) -> None:
    try:
        os.link(path, other, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, other, follow_symlinks=False)


def _move_into(aside: Path, final: Path, outdated: Callable[[str], bool]) -> None:
    """Nobody reads a part of the old beside a part of the new."""
    names = sorted(path.name for path in aside.iterdir())
    for path in sorted(final.iterdir()):
        if path.name in names or outdated(path.name):
            _remove(path)
    for name in names:
        (aside / name).rename(final / name)
    _sync_names(final)


def sync_folder(folder: Path) -> None:
    """Return when every file of a folder lies on the disk, and every name in it."""
    for path in sorted(folder.rglob("*")):
        flush(path)
    flush(folder)


def flush(path: Path) -> None:
    """Return when a file, or the list of names that a folder is, lies on the disk and not only in memory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ---------------------------------------------------------------------------------------------------- aside


class Claim(NamedTuple):
    """What is written aside, and the descriptor that holds its lock."""

    aside: Path
    descriptor: int


def aside_of(final: Path) -> Path:
    """Where something is written before it appears."""
    name = final.name
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return final.with_name(f".{name}.writing")


def _old_of(final: Path) -> Path:
    """Where a folder is put aside, while its successor takes its name in two steps."""
    return aside_of(final.with_name(f"{final.name}.old"))


def _claimed(aside: Path, flags: int) -> Claim:
    """The file or the folder, made where it is not there, with its lock; waits while another process has that."""
    while True:
        descriptor = _opened(aside, flags)
        if not _lock(descriptor, aside):
            os.close(descriptor)
            own = aside.with_name(f".{os.getpid()}{aside.name}")
            return Claim(own, _opened(own, flags))
        if _is_still(aside, descriptor):
            return Claim(aside, descriptor)
        os.close(descriptor)  # the other has renamed or removed it


def _opened(aside: Path, flags: int) -> int:
    while flags == FOLDER:
        aside.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # the other was quicker to remove it
            return os.open(aside, flags)
    return os.open(aside, flags, 0o666)


def _lock(descriptor: int, aside: Path) -> bool:
    """Wait for the lock; whether the file system knows locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        remark(f"waiting for another process that writes {aside}")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, FOLDER)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        _release(descriptor)


def _is_still(aside: Path, descriptor: int) -> bool:
    """Whether the name is that of what is locked: it may have been renamed, and another begun under its name."""
    try:
        return os.path.samestat(aside.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _release(descriptor: int) -> None:
    with suppress(OSError):  # without locks
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child that was forked meanwhile would hold it on
    os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync_names(folder: Path) -> None:
    if not _asides.isdisjoint((folder, *folder.parents)):
        return
    with suppress(PermissionError):  # one may write into a folder that one may not read
        flush(folder)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What goes wrong with a file, as a sentence about it."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}; choose another place") from error
