"""Where files of images lie: a folder, or a .zip, .tar or .tar.gz file, which is read without unpacking it."""

import functools
import gzip
import hashlib
import json
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from seqwright.data.decoded_images import UnreadableImageError
from seqwright.data.files import HIDDEN, content_hash, require_file, require_small, too_large
from seqwright.data.limits import file_limits
from seqwright.errors import DataError

ZIPPED, TARRED = (".zip",), (".tar", ".tar.gz", ".tgz")
BROKEN = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, OSError, ValueError, RuntimeError)


class ImageFile(NamedTuple):
    """A file: its path below the folder, its bytes when they are asked for, and what tells other bytes apart."""

    path: PurePosixPath
    content: Callable[[], bytes]
    mark: Callable[[], str]  # the checksum and the size


class Store(ABC):
    """Files below a folder, which may lie in an archive; hidden ones are passed over."""

    def __init__(self, path: Path, location: Path, inner: PurePosixPath) -> None:
        self.path, self.location, self.inner = path, location, inner

    @abstractmethod
    def members(self) -> Iterator[ImageFile]:
        """Every file: in alphabetical order of the paths, in an archive in its own."""

    @abstractmethod
    def fingerprint(self, names: Iterable[str] | None = None) -> str:
        """Changes with the content and the names of the files: of all, or at least of those that are named."""

    def folders(self) -> set[str]:
        """The names of the folders right below, those without files included."""
        return set()

    @cached_property
    def by_name(self) -> dict[str, ImageFile]:
        """Every file by its path, and by its path without the ending where no other has that."""
        found = {member.path.as_posix(): member for member in self.members()}
        return {member.path.with_suffix("").as_posix(): member for member in found.values()} | found

    def find(self, name: str) -> ImageFile | None:
        """The file with a path, with or without its ending."""
        return self.by_name.get(PurePosixPath(name.replace("\\", "/")).as_posix())


def is_store(path: Path) -> bool:
    """Whether a path is a folder, or is or leads into an archive."""
    return path.is_dir() or archive_in(path)[0] is not None


def store_of(path: Path) -> Store:
    """The files below a path."""
    archive, inner = archive_in(path)
    if archive is None:
        return Folder(path)
    return Zip(path, archive, inner) if archive.name.lower().endswith(ZIPPED) else Tar(path, archive, inner)


def archive_in(path: Path) -> tuple[Path | None, PurePosixPath]:
    """The archive that a path is or leads into, if any, and where inside it leads."""
    for candidate in (path, *path.parents):
        if candidate.name.lower().endswith((*ZIPPED, *TARRED)) and candidate.is_file():
            return candidate, PurePosixPath(path.relative_to(candidate).as_posix())
    return None, PurePosixPath()


class Folder(Store):
    """A folder on disk."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, path, PurePosixPath())

    def members(self) -> Iterator[ImageFile]:
        """Every file that is not hidden."""
        for path in sorted(path for path in self.path.rglob("*") if path.is_file()):
            below = PurePosixPath(path.relative_to(self.path).as_posix())
            if not_hidden(below):
                yield ImageFile(below, partial(content_of, path), partial(mark_of, path))

    def find(self, name: str) -> ImageFile | None:
        """Looked for where it should lie, before all are listed."""
        path = self.path / name.replace("\\", "/")
        try:
            there = path.is_file()
        except (OSError, ValueError):  # no name that a file can have
            return None
        if there:
            return ImageFile(PurePosixPath(name), partial(content_of, path), partial(mark_of, path))
        return super().find(name) if self.path.is_dir() else None

    def fingerprint(self, names: Iterable[str] | None = None) -> str:
        """Of every file, or of those that are named."""
        files = self.members() if names is None else filter(None, map(self.find, names))
        listed = [[str(file.path), content_hash(self.path / file.path)] for file in files]
        return hashlib.sha256(json.dumps(listed).encode()).hexdigest()

    def folders(self) -> set[str]:
        """Those that are not hidden."""
        return {path.name for path in self.path.iterdir() if path.is_dir() and not_hidden(PurePosixPath(path.name))}


class Archive(Store):
    """A folder inside of an archive."""

    def below(self, name: str) -> PurePosixPath | None:
        """The path below the folder of something in the archive; None where it is elsewhere, or hidden."""
        path = PurePosixPath(name)
        if not path.is_relative_to(self.inner):
            return None
        below = path.relative_to(self.inner)
        return below if below.parts and not_hidden(below) else None

    def fingerprint(self, names: Iterable[str] | None = None) -> str:
        """Of the archive."""
        return json.dumps([content_hash(self.location), str(self.inner)])

    def damaged(self, error: Exception) -> DataError:
        """That nothing can be read of it."""
        told = " ".join(str(error).split())[:100] or type(error).__name__
        return DataError(f"{self.location} is a damaged archive ({told}): get it again")

    def missing(self) -> DataError:
        """That it does not have the folder."""
        return DataError(f"there is no file below '{self.inner}' in {self.location}: see what the archive has")


def is_folder(info: zipfile.ZipInfo) -> bool:
    """Whether something in an archive is a folder; a damaged one may have things without a name."""
    return info.filename.endswith("/")


class Zip(Archive):
    """A folder inside of a .zip file, whose files are read in any order."""

    def members(self) -> Iterator[ImageFile]:
        """Every file in alphabetical order."""
        archive, empty = self._archive, True
        for info in sorted(archive.infolist(), key=lambda info: info.filename):
            below = None if is_folder(info) else self.below(info.filename)
            if below is not None:
                empty = False
                yield ImageFile(below, partial(self._content, info), partial("{}:{}".format, info.CRC, info.file_size))
        if empty:
            raise self.missing()

    def folders(self) -> set[str]:
        """Those that the archive lists."""
        every = filter(None, (self.below(info.filename) for info in self._archive.infolist() if is_folder(info)))
        return {path.parts[0] for path in every}

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        """Open as long as somebody may ask for a file."""
        require_file(self.location)
        try:
            return zipfile.ZipFile(self.location)
        except (*BROKEN, NotImplementedError) as error:
            raise self.damaged(error) from error

    def _content(self, info: zipfile.ZipInfo) -> bytes:
        most, where = file_limits().document, f"{info.filename} in {self.location}"
        if info.file_size > most:
            raise DataError(too_large(where, most))
        try:
            return self._archive.read(info)
        except (*BROKEN, NotImplementedError) as error:
            told = " ".join(str(error).split())[:100]
            raise UnreadableImageError(f"{where} is damaged ({told}): get it again", "damaged") from error


class Tar(Archive):
    """A folder inside of a .tar or .tar.gz file, which is read from its beginning to its end."""

    def members(self) -> Iterator[ImageFile]:
        """Every file in the order of the archive."""
        empty = True
        try:
            # Decompressed here, since tarfile takes a compressed file that breaks off for one that ends.
            with _stream(self.location) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
                for member in tar:
                    below = self.below(member.name) if member.isfile() else None
                    opened = None if below is None else tar.extractfile(member)
                    if below is None or opened is None:
                        continue
                    if member.size > file_limits().document:
                        raise DataError(too_large(f"{member.name} in {self.location}", file_limits().document))
                    content, empty = opened.read(), False
                    yield ImageFile(below, partial(bytes, content), partial(mark_of_bytes, content))
        except BROKEN as error:
            raise self.damaged(error) from error
        if empty:
            raise self.missing()


def not_hidden(path: PurePosixPath) -> bool:
    """Whether neither a file nor a folder it lies in is hidden, or what a system has added."""
    return not HIDDEN.search(path.as_posix())


def content_of(path: Path) -> bytes:
    """The bytes of a file."""
    require_small(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions") from error


def mark_of(path: Path) -> str:
    """The checksum and the size of a file, computed once as long as its size and time stamp stay."""
    state = path.stat()
    return _mark(path.resolve(), state.st_size, state.st_mtime_ns)


def mark_of_bytes(content: bytes) -> str:
    """The same of bytes."""
    return f"{zlib.crc32(content)}:{len(content)}"


@functools.cache
def _mark(path: Path, size: int, changed: int) -> str:
    return mark_of_bytes(content_of(path))


def _stream(archive: Path) -> BufferedReader | gzip.GzipFile:
    return archive.open("rb") if archive.suffix.lower() == ".tar" else gzip.open(archive, "rb")
