"""A folder for each label, with a text in each file: on disk, or inside of a .tar or .tar.gz file."""

import gzip
import hashlib
import json
import tarfile
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple

from seqwright.data.files import content_hash, require_small, too_large
from seqwright.data.labelled_tables import Example
from seqwright.data.limits import file_limits
from seqwright.errors import DataError, by_setting

ARCHIVES = (".tar", ".tar.gz", ".tgz")


class _Found(NamedTuple):
    """A file: its path below the folder, and what it holds."""

    path: PurePosixPath
    content: bytes


class LabelFolders:
    """The texts of each label are the files of a folder with its name.

    Hidden files are passed over; files beside the folders are too, and told of.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path, self.encoding = path, encoding or "utf-8-sig"
        self.archive, self.inner = _archive_in(path)
        self.location = self.archive or path

    @staticmethod
    def fits(path: Path) -> bool:
        """Whether a path is a folder, or leads into an archive."""
        return path.is_dir() or _archive_in(path)[0] is not None

    def examples(self) -> Iterator[Example]:
        """Every text, in alphabetical order of the paths, in an archive in its own order."""
        empty = True
        for found in self._files():
            if len(found.path.parts) == 1:
                continue
            empty = False
            if len(found.path.parts) > 2:
                meant = self.path / found.path.parent.parent
                raise DataError(
                    f"{self.path / found.path} lies too deep, expected a folder for each label with files in it: "
                    f"perhaps '{meant}' was meant"
                )
            yield Example(_decoded(found, self.path, self.encoding).strip(), found.path.parts[0])
        if empty:
            raise DataError(f"{self.path} has no folder with files in it, expected one for each label")

    def fingerprint(self) -> str:
        """Changes with the content and the names of the files."""
        if self.archive is not None:
            return json.dumps([content_hash(self.archive), str(self.inner)])
        listed = [[str(path.relative_to(self.path)), content_hash(path)] for path in self._listed()]
        return hashlib.sha256(json.dumps(listed).encode()).hexdigest()

    def remarks(self) -> list[str]:
        """Files that belong to no label."""
        loose = sorted(str(found.path) for found in self._files() if len(found.path.parts) == 1)
        if not loose:
            return []
        shown = ", ".join(loose[:3]) + (", …" if len(loose) > 3 else "")
        return [f"files of {self.path} in no label's folder, passed over: {len(loose):,} ({shown})"]

    def _files(self) -> Iterator[_Found]:
        if self.archive is not None:
            return self._archived(self.archive)
        return (_Found(PurePosixPath(path.relative_to(self.path)), _content(path)) for path in self._listed())

    def _listed(self) -> list[Path]:
        return sorted(path for path in self.path.rglob("*") if path.is_file() and _shown(path.relative_to(self.path)))

    def _archived(self, archive: Path) -> Iterator[_Found]:
        inside = False
        try:
            # Decompressed here, since tarfile takes a compressed file that breaks off for one that ends.
            with _stream(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
                for member in tar:
                    path = PurePosixPath(member.name)
                    if not path.is_relative_to(self.inner):
                        continue
                    inside = True
                    below = path.relative_to(self.inner)
                    content = tar.extractfile(member) if member.isfile() and _shown(below) else None
                    if content is not None and member.size > file_limits().document:
                        raise DataError(too_large(f"{member.name} in {archive}", file_limits().document))
                    if content is not None:
                        yield _Found(below, content.read())
        except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
            raise DataError(f"{archive} is a damaged archive ({error}): get it again") from error
        if not inside:
            raise DataError(f"there is no folder '{self.inner}' in {archive}: see `tar tf {archive}` for what it has")


def _archive_in(path: Path) -> tuple[Path | None, PurePosixPath]:
    """The archive that a path is or leads into, if any, and where inside it leads."""
    for candidate in (path, *path.parents):
        if candidate.name.lower().endswith(ARCHIVES) and candidate.is_file():
            return candidate, PurePosixPath(path.relative_to(candidate))
    return None, PurePosixPath()


def _stream(archive: Path) -> BufferedReader | gzip.GzipFile:
    return archive.open("rb") if archive.suffix.lower() == ".tar" else gzip.open(archive, "rb")


def _shown(path: PurePath) -> bool:
    """Whether neither a file nor a folder it lies in is hidden."""
    return not any(part.startswith(".") for part in path.parts)


def _content(path: Path) -> bytes:
    require_small(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions") from error


def _decoded(found: _Found, folder: Path, encoding: str) -> str:
    try:
        text = found.content.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise DataError(
            f"{folder / found.path} is not {name} (at byte {error.start + 1}): convert it"
            f"{by_setting(', say what all of them are with data.encoding')}, or take it out if it is no text"
        ) from error
    if "\0" in text:
        raise DataError(f"{folder / found.path} holds a NUL byte, expected plain text: convert it, or take it out")
    return text
