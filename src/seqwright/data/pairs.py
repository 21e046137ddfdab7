"""Parallel text in the user's own files: one TSV, CSV or JSONL file, or two line-aligned files; plain or .gz.

Everything streams: a file is read line by line as often as it is asked for and never held in memory, so a corpus may
be larger than the machine. A share such as `valid = "5%"` is cut from the training file by a hash of the source
sentence, so the parts do not depend on the order of the lines and never have a source sentence in common.
"""

import codecs
import functools
import gzip
import hashlib
import itertools
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import model_validator

from seqwright.data.examples import Pair, PartName
from seqwright.data.tables import Column, Reader, csv_pairs, csv_rows, json_pairs, table_remarks, tsv_pairs, tsv_rows
from seqwright.errors import DataError, SettingError, nearest
from seqwright.settings import Settings

Files = str | tuple[str, str]
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


class PairFilesSettings(Settings):
    """A parallel corpus in files of the user's own."""

    kind: Literal["files"] = "files"

    train: Files
    """One .tsv, .csv or .jsonl file with both sides, or two files of which line n of one translates line n of the
    other; each may be compressed (.gz)."""

    valid: Files = "5%"
    """Files in the same forms, or a share of the training file such as "5%"."""

    test: Files | None = None
    """Files in the same forms, or a share of the training file; without it there is no test part."""

    source: Column = None
    """Where the source sentence stands in a .tsv, .csv or .jsonl file: a name (a key, or a column of the header line),
    with or without capitals, or the number of a column counted from 1 in a file without a header line. Left out: what
    is named "source", or else column 1."""

    target: Column = None
    """Where the target sentence stands, told in the same way. Left out: what is named "target", or else column 2."""

    @model_validator(mode="after")
    def _fit_together(self) -> "PairFilesSettings":
        if isinstance(self.train, str) and self.train.endswith("%"):
            raise SettingError(f"data.train is '{self.train}', expected files: training takes what the shares leave.")
        shares = [_share("valid", self.valid) or 0.0, _share("test", self.test) or 0.0]
        if sum(shares) >= 1:
            raise SettingError(
                f"data.valid '{self.valid}' and data.test '{self.test}' leave nothing to train on: lower them."
            )
        tables = [files for files in (self.train, self.valid, self.test) if _is_one_file(files)]
        if not tables and (self.source is not None or self.target is not None):
            raise SettingError(
                "data.source and data.target choose columns, but line-aligned files have none: "
                "leave them out and give the files in the order source, target."
            )
        return self


class PairFiles:
    """A parallel corpus read from the user's files (a `PairData`)."""

    def __init__(self, settings: PairFilesSettings) -> None:
        self.settings = settings
        self._slices = _slices(settings)
        for piece in self._slices.values():
            for path in piece.files:
                require_file(path)
            if len(piece.files) == 1:
                _reader(piece.files[0])

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return list(self._slices)

    def paths(self) -> list[Path]:
        """Every file the corpus is read from, each once."""
        return list(dict.fromkeys(path for piece in self._slices.values() for path in piece.files))

    def pairs(self, part: PartName) -> Iterator[Pair]:
        """Every pair of a part in the order of the file, blank ones included."""
        return self._read(part, self._slice(part))

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents and of the settings that decide what `pairs(part)` gives; paths do not count."""
        piece = self._slice(part)
        columns = [self.settings.source, self.settings.target] if len(piece.files) == 1 else []
        forms = [[_extension(path) if columns else "", content_hash(path)] for path in piece.files]
        said = json.dumps([forms, columns, piece.low, piece.high])
        return hashlib.sha256(said.encode()).hexdigest()

    def remarks(self) -> list[str]:
        """What the user should look at twice, a sentence each: first lines like headers, columns that are not read."""
        remarks = []
        rows_of = {".tsv": tsv_rows, ".csv": csv_rows}
        for path in dict.fromkeys(piece.files[0] for piece in self._slices.values() if len(piece.files) == 1):
            if _extension(path) in rows_of:
                rows = rows_of[_extension(path)](lines(path), path)
                remarks += table_remarks(rows, path, self.settings.source, self.settings.target)
        return remarks

    def _slice(self, part: PartName) -> "_Slice":
        if part not in self._slices:
            raise DataError(f"There is no {part} part: set data.{part} to files, or to a share such as '5%'.")
        return self._slices[part]

    def _read(self, part: PartName, piece: "_Slice") -> Iterator[Pair]:
        if len(piece.files) == 2:
            pairs = aligned_pairs(*piece.files)
        else:
            path = piece.files[0]
            pairs = _reader(path)(lines(path), path, self.settings.source, self.settings.target)
        if piece.low > 0 or piece.high < 1:
            pairs = (pair for pair in pairs if piece.low <= _place(pair.source) < piece.high)
        empty = True
        for pair in pairs:
            empty = False
            yield pair
        if empty:
            raise DataError(
                f"The {part} part is empty: no pair of {piece.files[0]} falls into it; "
                "give more data, another share, or files for this part."
            )


class _Slice(NamedTuple):
    """Those pairs of a file whose place, drawn from the source sentence, lies in [low, high)."""

    files: tuple[Path, ...]
    low: float = 0.0
    high: float = 1.0


def _slices(settings: PairFilesSettings) -> dict[PartName, _Slice]:
    """Which stretch of which files makes each part."""
    train = _paths(settings.train)
    held_out: dict[PartName, _Slice] = {}
    edge = 0.0
    given: list[tuple[PartName, Files | None]] = [("valid", settings.valid), ("test", settings.test)]
    for part, files in given:
        share = _share(part, files)
        if share is not None:
            held_out[part] = _Slice(train, edge, edge + share)
            edge += share
        elif files is not None:
            held_out[part] = _Slice(_paths(files))
    return {"train": _Slice(train, low=edge), **held_out}


def _is_one_file(files: Files | None) -> bool:
    return isinstance(files, str) and not files.endswith("%")


def _share(part: str, files: Files | None) -> float | None:
    """0.05 for "5%", None for files."""
    if not isinstance(files, str) or not files.endswith("%"):
        return None
    match = _SHARE.fullmatch(files)
    if match is None or not 0 < float(match[1]) < 100:
        raise SettingError(f"data.{part} is '{files}', expected a share above 0% and below 100%, such as '5%'.")
    return float(match[1]) / 100


def _place(source: str) -> float:
    """A number in [0, 1) that depends on the sentence alone, whatever surrounds it in the file or on the line."""
    digest = hashlib.blake2b(source.strip().encode(), digest_size=6).digest()
    return float(int.from_bytes(digest, "big") / 2**48)


# Files and lines


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
        raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions.") from error


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
                        "convert the line endings."
                    )
                yield _decoded(raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw, path, number)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is a damaged gzip file after line {number} ({error}): get it again.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions and its disk.") from error
    if number == 0:
        raise DataError(f"{path} is empty, expected at least one line.")


def _decoded(raw: bytes, path: Path, number: int) -> str:
    if b"\0" in raw:
        raise DataError(f"{path}:{number} holds a NUL byte, expected plain text: save the file as UTF-8 text.")
    try:
        return raw.removesuffix(b"\n").removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        found = f"0x{raw[error.start]:02x} at byte {error.start + 1} of the line"
        raise DataError(f"{path}:{number} is not UTF-8 ({found}): convert the file to UTF-8.") from error


def _paths(files: Files) -> tuple[Path, ...]:
    return tuple(Path(name).expanduser() for name in ([files] if isinstance(files, str) else files))


def _compressed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _extension(path: Path) -> str:
    """`.tsv` for a.tsv and for a.tsv.gz."""
    return (path.with_suffix("") if _compressed(path) else path).suffix.lower()


def require_file(path: Path) -> None:
    """Refuse what is not there, or is a folder."""
    if path.is_dir():
        raise DataError(f"{path} is a folder, expected a file.")
    if not path.exists():
        beside = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else []
        folder = path.absolute().parent
        looked = f"{folder}" if folder.is_dir() else f"{folder}, which is not there either"
        raise DataError(f"There is no file {path}: it was looked for in {looked}.{nearest(path.name, beside)}")


# From lines to pairs


def aligned_pairs(source: Path, target: Path) -> Iterator[Pair]:
    """The pairs of two line-aligned files: line n of one translates line n of the other."""
    sources, targets = lines(source), lines(target)
    for number, (one, other) in enumerate(itertools.zip_longest(sources, targets), 1):
        if one is None or other is None:
            longer = number + sum(1 for _ in itertools.chain(sources, targets))
            ends = (number - 1, longer) if one is None else (longer, number - 1)
            raise DataError(
                f"{source} has {ends[0]} lines but {target} has {ends[1]}: "
                "line-aligned files need the same number, so look for a missing or a broken line."
            )
        yield Pair(one, other)


def _reader(path: Path) -> Reader:
    """How a file that holds both sides is read, told by its extension."""
    readers: dict[str, Reader] = {".tsv": tsv_pairs, ".csv": csv_pairs, ".jsonl": json_pairs}
    if _extension(path) not in readers:
        raise DataError(
            f"{path} has the extension '{_extension(path)}', expected .tsv, .csv or .jsonl (or these with .gz): "
            "rename it if it is one of them, or give two line-aligned files."
        )
    return readers[_extension(path)]
