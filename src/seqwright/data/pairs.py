"""Parallel text in the user's own files: one TSV, CSV or JSONL file, or two line-aligned files; plain or .gz.

Everything streams: a file is read line by line as often as it is asked for and never held in memory, so a corpus may
be larger than the machine. A share such as `valid = "5%"` is cut from the training file by a hash of the source
sentence, so the parts do not depend on the order of the lines and never have a source sentence in common.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import model_validator

from seqwright.data.examples import Pair, PartName
from seqwright.data.files import content_hash, extension_of, lines, require_file
from seqwright.data.pieces import paths_of, piece_of, pieces_of, refuse_impossible_shares, some
from seqwright.data.pronunciations import pronunciation_pairs
from seqwright.data.tables import Column, Reader, csv_pairs, csv_rows, json_pairs, table_remarks, tsv_pairs, tsv_rows
from seqwright.errors import DataError, SettingError
from seqwright.settings import Settings

Files = str | tuple[str, str]


class PairFilesSettings(Settings):
    """A parallel corpus in files of the user's own: sentences and translations, texts and summaries, or words and
    their sounds in pronouncing dictionaries.
    """

    kind: Literal["files", "summaries", "pronunciations"] = "files"

    train: Files
    """One .tsv, .csv or .jsonl file with both sides, or two files of which line n of one translates line n of the
    other; each may be compressed (.gz). Of pronunciations one file, each line a word and its sounds."""

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
        refuse_impossible_shares(self.train, self.valid, self.test)
        if self.kind == "pronunciations":
            self._require_dictionaries()
        tables = [files for files in (self.train, self.valid, self.test) if _is_one_file(files)]
        if not tables and (self.source is not None or self.target is not None):
            raise SettingError(
                "data.source and data.target choose columns, but line-aligned files have none: "
                "leave them out and give the files in the order source, target"
            )
        return self

    def _require_dictionaries(self) -> None:
        if any(isinstance(files, tuple) for files in (self.train, self.valid, self.test)):
            raise SettingError("a pronouncing dictionary is one file, each line a word and its sounds; give one a part")
        if self.source is not None or self.target is not None:
            raise SettingError("data.source and data.target choose columns, but a pronouncing dictionary has none")


class PairFiles:
    """A parallel corpus read from the user's files (a `PairData`)."""

    def __init__(self, settings: PairFilesSettings) -> None:
        self.settings = settings
        self._pieces = pieces_of(settings.train, settings.valid, settings.test, opened=paths_of)
        for files, *_ in self._pieces.values():
            for path in files:
                require_file(path)
            if len(files) == 1:
                self._reader(files[0])

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return list(self._pieces)

    def paths(self) -> list[Path]:
        """Every file the corpus is read from, each once."""
        return list(dict.fromkeys(path for piece in self._pieces.values() for path in piece.source))

    def pairs(self, part: PartName) -> Iterator[Pair]:
        """Every pair of a part in the order of the file, blank ones included."""
        piece = piece_of(self._pieces, part)
        return some(
            (pair for pair in self._read(piece.source) if piece.holds(pair.source)),
            f"the {part} part is empty: no pair of {piece.source[0]} falls into it; "
            "give more data, another share, or files for this part",
        )

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents and of the settings that decide what `pairs(part)` gives; paths do not count."""
        piece = piece_of(self._pieces, part)
        columns = [self.settings.source, self.settings.target] if len(piece.source) == 1 else []
        forms = [[self._form(path) if columns else "", content_hash(path)] for path in piece.source]
        said = json.dumps([forms, columns, piece.low, piece.high])
        return hashlib.sha256(said.encode()).hexdigest()

    def remarks(self) -> list[str]:
        """What the user should look at twice, a sentence each: first lines like headers, columns that are not read."""
        remarks = []
        rows_of = {".tsv": tsv_rows, ".csv": csv_rows}
        for path in dict.fromkeys(files[0] for files, *_ in self._pieces.values() if len(files) == 1):
            if self._form(path) in rows_of:
                rows = rows_of[self._form(path)](lines(path), path)
                remarks += table_remarks(rows, path, self.settings.source, self.settings.target)
        return remarks

    def _form(self, path: Path) -> str:
        """What a file that holds both sides is: a dictionary, or what its extension says."""
        return "dictionary" if self.settings.kind == "pronunciations" else extension_of(path)

    def _reader(self, path: Path) -> Reader:
        return pronunciation_pairs if self.settings.kind == "pronunciations" else _reader(path)

    def _read(self, files: tuple[Path, ...]) -> Iterator[Pair]:
        if len(files) == 2:
            return aligned_pairs(*files)
        path = files[0]
        return self._reader(path)(lines(path), path, self.settings.source, self.settings.target)


def _is_one_file(files: Files | None) -> bool:
    return isinstance(files, str) and not files.endswith("%")


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
                "line-aligned files need the same number, so look for a missing or a broken line"
            )
        yield Pair(one, other)


def file_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of one file that holds both sides, in the columns `source` and `target` or in the first two."""
    require_file(path)
    return _reader(path)(lines(path), path, None, None)


def _reader(path: Path) -> Reader:
    """How a file that holds both sides is read, told by its extension."""
    readers: dict[str, Reader] = {".tsv": tsv_pairs, ".csv": csv_pairs, ".jsonl": json_pairs}
    if extension_of(path) not in readers:
        raise DataError(
            f"{path} has the extension '{extension_of(path)}', expected .tsv, .csv or .jsonl (or these with .gz): "
            "rename it if it is one of them, or give two line-aligned files"
        )
    return readers[extension_of(path)]
