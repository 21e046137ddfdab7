"""What the letters of a file are written in: UTF-8, unless a setting, a mark or the bytes themselves say otherwise."""

import codecs
import functools
import re
import zipfile
import zlib
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from seqwright.data.files import UTF_8, require_file, unpacked
from seqwright.data.limits import file_limits
from seqwright.errors import by_setting

WINDOWS = "windows-1252"
MARKS = {  # the longer before what they begin with
    codecs.BOM_UTF8: UTF_8,
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
PIECE = 2**14  # bytes that are looked at together
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\x81\x8d\x8f\x90\x9d\xff]")  # some that Windows-1252 lacks


def encoding_of(path: Path) -> str:
    """What the letters of a file are written in: UTF-8 if it can be, or what a byte order mark or the bytes tell.

    What cannot be told is `utf-8` too, whose reader says where it is not.
    """
    require_file(path)
    state = path.stat()
    return _encoding_of(path.resolve(), state.st_size, state.st_mtime_ns)


@functools.cache
def _encoding_of(path: Path, size: int, changed: int) -> str:
    decoder = codecs.getincrementaldecoder(UTF_8)()
    try:
        with unpacked(path) as file:
            first = file.read(PIECE)
            marked = next((name for mark, name in MARKS.items() if first.startswith(mark)), None)
            if marked is not None:
                return marked
            if b"\0" in first:
                return _utf_16(first) or UTF_8
            most, length = file_limits().line, 0
            for piece in chain([first], iter(partial(file.read, PIECE), b"")):
                decoder.decode(piece)
                last = piece.rfind(b"\n")
                length = len(piece) - last - 1 if last >= 0 else length + len(piece)
                if length > most:  # its reader refuses it
                    return UTF_8
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return WINDOWS if _is_windows(path) else UTF_8
    except (EOFError, zlib.error, zipfile.BadZipFile, OSError):  # its reader says it better
        return UTF_8
    return UTF_8


def has_mark(path: Path) -> bool:
    """Whether a file begins with a byte order mark."""
    with unpacked(path) as file:
        first = file.read(4)
    return any(first.startswith(mark) for mark in MARKS)


def _utf_16(beginning: bytes) -> str | None:
    """UTF-16 without a mark: of plain letters, every second byte is 0."""
    shares = {"utf-16-be": beginning[::2], "utf-16-le": beginning[1::2]}
    return next((name for name, half in shares.items() if half.count(0) > len(half) / 2), None)


def _is_windows(path: Path) -> bool:
    """Whether a file that is not UTF-8 looks like Windows-1252, of which Latin-1's letters are a part.

    A damaged file in UTF-8 has more letters in several bytes than bytes that belong to none, and one that is no text
    has control characters.
    """
    decoder = codecs.getincrementaldecoder(UTF_8)("surrogateescape")
    letters, alone = 0, 0
    try:
        with unpacked(path) as file:
            for piece in iter(partial(file.read, PIECE), b""):
                text = decoder.decode(piece)
                foreign = sum("\udc80" <= letter <= "\udcff" for letter in text)
                letters, alone = letters + sum(letter > "\x7f" for letter in text) - foreign, alone + foreign
                if CONTROL.search(piece):
                    return False
    except (EOFError, zlib.error, zipfile.BadZipFile, OSError):  # its reader says it better
        return False
    return alone > letters


def encoding_beside(path: Path, usual: str | None) -> str | None:
    """What to read a file in that is given beside others, which are written as `usual`; None: as it tells itself.

    Single bytes can be letters of many encodings, and only there the others count.
    """
    told = encoding_of(path)
    if usual is None or told not in {UTF_8, WINDOWS} or (told == UTF_8 and _can_be(path, UTF_8)):
        return None
    return usual if _can_be(path, usual) else None


def _can_be(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with unpacked(path) as file:
            for piece in iter(partial(file.read, PIECE), b""):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    except (EOFError, zlib.error, zipfile.BadZipFile, OSError):  # its reader says it better
        return True
    return True


def encoding_remarks(path: Path, asked: str | None) -> list[str]:
    """What a file is written in, where that is not UTF-8 and was not said."""
    if asked is not None or not path.is_file() or encoding_of(path) == UTF_8:
        return []
    found = encoding_of(path)
    return [f"{path} is not UTF-8 but looks like {found} and is read so; {if_wrong('encoding')}"]


def if_wrong(setting: str) -> str:
    """What to do where a file is not written as it seems to be."""
    plainly = "save it as UTF-8 with commas and decimal points if that is wrong"
    return by_setting(f"data.{setting} says it if that is wrong", plainly)


def known_encoding(name: str | None) -> str | None:
    """Refuse an encoding that Python does not know."""
    try:
        "".encode(name or UTF_8)
    except LookupError as error:
        raise ValueError(
            f"'{name}' is no encoding of text; utf-8, utf-16, windows-1252 and latin-1 are some"
        ) from error
    return UTF_8 if name is not None and codecs.lookup(name).name == UTF_8 else name


Encoding = Annotated[
    str | None,
    AfterValidator(known_encoding),
    Field(
        description="What the files are written in, as `windows-1252`, `latin-1` or `utf-16`. Left out: UTF-8 where "
        "they can be; otherwise it is told by the bytes, and a remark says so."
    ),
]
