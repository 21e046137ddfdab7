"""What all readers of files share: lines, content hashes, and parts cut off by a share such as "5%"."""

import codecs
import functools
import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from seqwright.errors import DataError, SettingError, nearest

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


def lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, plain or .gz, one at a time, without their endings and without a byte order mark.

    Only a line feed ends a line, with the carriage return before it: U+2028, U+0085 and the vertical tab occur inside
    sentences, and a line ended there would shift one side of a line-aligned corpus against the other.
    """
    number = 0
    try:
        with gzip.open(path, "rb") if _compressed(path) else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if number == 1 and not raw.endswith(b"\n") and b"\r" in raw.removesuffix(b"\r"):
                    raise DataError(
                        f"{path} ends its lines with CR alone, as files of an old Mac do, expected LF or CR LF: "
                        "convert the line endings"
                    )
                yield _decoded(raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw, path, number)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is a damaged gzip file after line {number} ({error}): get it again") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions and its disk") from error
    if number == 0:
        raise DataError(f"{path} is empty, expected at least one line")


def _decoded(raw: bytes, path: Path, number: int) -> str:
    if b"\0" in raw:
        raise DataError(f"{path}:{number} holds a NUL byte, expected plain text: save the file as UTF-8 text")
    try:
        return raw.removesuffix(b"\n").removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        found = f"0x{raw[error.start]:02x} at byte {error.start + 1} of the line"
        raise DataError(f"{path}:{number} is not UTF-8 ({found}): convert the file to UTF-8") from error


def _compressed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def extension_of(path: Path) -> str:
    """`.tsv` for a.tsv and for a.tsv.gz."""
    return (path.with_suffix("") if _compressed(path) else path).suffix.lower()


def existing(name: str) -> Path:
    """The path of a file that is there; `~` is the user's folder."""
    path = Path(name).expanduser()
    require_file(path)
    return path


def require_file(path: Path) -> None:
    """Refuse what is not there, or is a folder."""
    if path.is_dir():
        raise DataError(f"{path} is a folder, expected a file")
    if not path.exists():
        beside = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else []
        folder = path.absolute().parent
        looked = f"{folder}" if folder.is_dir() else f"{folder}, which is not there either"
        raise DataError(f"there is no file {path}: it was looked for in {looked}.{nearest(path.name, beside)}")
