"""What all readers of files share: lines, content hashes, and parts cut off by a share such as "5%"."""

import codecs
import functools
import gzip
import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, AnyStr, cast

from seqwright.data.limits import file_limits
from seqwright.errors import DataError, MissingFileError, SettingError, brief, by_setting, nearest

UTF_8 = "utf-8"
ZIP = ".zip"
HIDDEN = re.compile(r"(^|/)(\.|__MACOSX/|Thumbs\.db$)")
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def share_of(part: str, files: object) -> float | None:
    """0.05 for "5%", None for files."""
    if not isinstance(files, str) or not files.endswith("%"):
        return None
    match = _SHARE.fullmatch(files)
    if match is None or not 0 < float(match[1]) < 100:
        raise SettingError(f"data.{part} is '{files}', expected a share above 0% and below 100%, such as '5%'")
    return float(match[1]) / 100


def place_of(source: str) -> float:
    """A number in [0, 1) that depends on the sentence alone, whatever surrounds it in the file or on the line."""
    digest = hashlib.blake2b(source.strip().encode(), digest_size=6).digest()
    return float(int.from_bytes(digest, "big") / 2**48)


def content_hash(path: Path) -> str:
    """The sha256 of a file's bytes; computed once as long as its size and time stamp stay."""
    require_file(path)
    state = path.stat()
    return _content_hash(path.resolve(), state.st_size, state.st_mtime_ns)


@functools.cache
def _content_hash(path: Path, size: int, changed: int) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions") from error


def lines(path: Path, encoding: str = UTF_8) -> Iterator[str]:
    """The lines of a file, plain, .gz or alone in a .zip, one at a time, without their endings and byte order marks.

    Only a line feed ends a line, with the carriage return before it: U+2028, U+0085 and the vertical tab occur inside
    sentences, and a line ended there would shift one side of a line-aligned corpus against the other.
    """
    number = 0
    try:
        with unpacked(path) as file:
            found = _utf_8(file, path) if encoding == UTF_8 else _encoded(file, path, encoding)
            for number, line in enumerate(found, 1):
                if number == 1 and not line.endswith("\n") and "\r" in line.removesuffix("\r"):
                    raise DataError(
                        f"{path} ends its lines with CR alone, as files of an old Mac do, expected LF or CR LF: "
                        "convert the line endings"
                    )
                if "\0" in line:
                    raise DataError(
                        f"{path}:{number} holds a NUL byte, expected plain text: save the file as UTF-8 text"
                    )
                yield line.removesuffix("\n").removesuffix("\r")
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        form = "gzip" if _compressed(path) else "zip"
        raise DataError(f"{path} is a damaged {form} file after line {number} ({error}): get it again") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions and its disk") from error
    if number == 0:
        raise DataError(f"{path} is empty, expected at least one line")


def _utf_8(file: IO[bytes], path: Path) -> Iterator[str]:
    for number, raw in enumerate(bounded_lines(file, path), 1):
        try:
            yield (raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw).decode()
        except UnicodeDecodeError as error:
            found = f"0x{raw[error.start]:02x} at byte {error.start + 1} of the line"
            raise DataError(
                f"{path}:{number} is not UTF-8 ({found}): convert the file to UTF-8"
                + by_setting(", or say what it is where a recipe reads it, as in data.encoding=windows-1252")
            ) from error


def _encoded(file: IO[bytes], path: Path, encoding: str) -> Iterator[str]:
    number = 0
    try:
        with io.TextIOWrapper(file, encoding, newline="\n") as text:
            for number, line in enumerate(bounded_lines(text, path), 1):
                yield line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeError as error:
        raise DataError(
            f"{path} is not {encoding} after line {number} ({error}): convert the file to UTF-8"
            + by_setting(", or set data.encoding")
        ) from error


def bounded_lines(file: IO[AnyStr], path: Path) -> Iterator[AnyStr]:
    """The lines of an open file with their endings; one that memory might not hold is refused before it is read."""
    most, number = file_limits().line, 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            raise DataError(
                f"{path}:{number} is a line of more than {most:,} bytes, expected lines of text: see whether the file "
                f"is what its name says; {file_limits().raised('line')}"
            )
        yield line


def joined(texts: Iterable[str], between: str, where: object) -> str:
    """Texts as one, refused where that is more than memory should hold."""
    most, held, length = file_limits().document, list[str](), 0
    for text in texts:
        length += len(text) + len(between)
        if length > most:
            raise DataError(too_large(where, most))
        held.append(text)
    return between.join(held)


def too_large(where: object, most: int) -> str:
    """That something is more than is read in one piece."""
    return (
        f"{where} has more than {most:,} characters or bytes, which would be held in memory at once: cut it into "
        f"smaller ones; {file_limits().raised('document')}"
    )


def require_small(path: Path) -> None:
    """Refuse a file that is read in one piece, where that is more than memory should hold."""
    if path.is_file() and path.stat().st_size > file_limits().document:
        raise DataError(too_large(path, file_limits().document))


def whole_text(path: Path, encoding: str = UTF_8) -> str:
    """The text of a file that is read in one piece."""
    refuse_pipe(path)
    require_small(path)
    return path.read_text(encoding=encoding)


def unpacked(path: Path) -> IO[bytes]:
    """The bytes of a file, or those of what is compressed in it."""
    if _compressed(path):
        return cast(IO[bytes], gzip.open(path, "rb"))
    if path.suffix.lower() != ZIP:
        return path.open("rb")
    try:
        with zipfile.ZipFile(path) as archive:
            return io.BufferedReader(cast(Any, archive.open(_only_member(path))), 2**16)  # which finds lines faster
    except (RuntimeError, NotImplementedError) as error:  # a password, or a method that Python lacks
        raise DataError(f"{path} cannot be unpacked ({error}): unpack it and give the file in it") from error


def _only_member(path: Path) -> str:
    """The name of the one file in an archive; what macOS and Windows add beside it does not count."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/") and not HIDDEN.search(name)]
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:  # the last of a version yet unknown
        raise DataError(f"{path} is a damaged archive ({error}): get it again") from error
    if len(names) != 1:
        some = f" ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})" if names else ""
        raise DataError(
            f"{path} holds {len(names)} files{some}, expected one: unpack it and give the one that is meant"
        )
    return names[0]


def _compressed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def extension_of(path: Path) -> str:
    """`.tsv` for a.tsv and a.tsv.gz, and for a.zip if that is what is in it."""
    if path.suffix.lower() == ZIP and path.is_file():
        return Path(_only_member(path)).suffix.lower()
    return (path.with_suffix("") if _compressed(path) else path).suffix.lower()


def existing(name: str) -> Path:
    """The path of a file that is there; `~` is the user's folder."""
    path = expanded(name)
    require_file(path)
    return path


def expanded(name: str | Path) -> Path:
    """A path with the user's folder in place of `~`, or that of another user whom the system knows."""
    try:
        path = Path(name).expanduser()
        path.exists()  # which no file of an endless name can be asked
        return path
    except OSError as error:
        raise DataError(f"{brief(str(name))} cannot be read: {error.strerror}") from error
    except RuntimeError as error:
        raise DataError(f"{name} begins with ~, but the folder of that user is not known: write it out") from error


def require_file(path: Path) -> None:
    """Refuse what is not there, or is no file: a folder, or a pipe."""
    if path.is_dir():
        raise DataError(f"{path} is a folder, expected a file")
    if not path.exists():
        beside = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else []
        folder = path.absolute().parent
        looked = f"{folder}" if folder.is_dir() else f"{folder}, which is not there either"
        raise MissingFileError(f"there is no file {path}: it was looked for in {looked}.{nearest(path.name, beside)}")
    refuse_pipe(path)


def refuse_pipe(path: Path) -> None:
    """Refuse what is there and no file: its reader might wait for ever, or read for ever."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DataError(
            f"{path} is no file but a pipe or a device, which cannot be read twice: write what it gives into a file"
        )
