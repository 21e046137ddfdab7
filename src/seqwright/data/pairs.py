"""Parallel text in the user's own files: one TSV, CSV or JSONL file, or two line-aligned files; plain or .gz.

Everything streams: a file is read line by line as often as it is asked for and never held in memory, so a corpus may
be larger than the machine. A share such as `valid = "5%"` is cut from the training file by a hash of the source
sentence, so the parts do not depend on the order of the lines and never have a source sentence in common.
"""

import functools
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import model_validator

from seqwright.data.encodings import Encoding
from seqwright.data.examples import Pair, PartName
from seqwright.data.files import UTF_8, content_hash, existing, extension_of, lines
from seqwright.data.pieces import FilesSettings, PartedFiles, Share, paths_of, refuse_impossible_shares
from seqwright.data.pronunciations import pronunciation_pairs
from seqwright.data.rows import OBJECTS, PLAIN, BadRows, Dialect, Separator, cells
from seqwright.data.tables import Column, TableFile, Usual
from seqwright.errors import DataError, SettingError, by_setting
from seqwright.setting_classes import Settings

Files = str | tuple[str, str]

# Languages in which somebody may write "German" above a column.
HEADER_LANGUAGES = [
    *("ar", "cs", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "ja"),
    *("ko", "nb", "nl", "pl", "pt", "ro", "ru", "sv", "tr", "uk", "zh"),
]
# Words for the two sides.
SIDE_WORDS = {
    *("source", "target", "src", "tgt", "trg", "sentence", "translation", "original", "input", "output", "text"),
    *("document", "article", "dialogue", "summary", "word", "pronunciation", "prompt", "answer", "response"),
}


class PairFilesSettings(Settings):
    """A parallel corpus in files of the user's own: sentences and translations, or texts and summaries."""

    train: Files
    """One .tsv, .csv, .jsonl, .xlsx or .parquet file with both sides, or two files of which line n of one translates
    line n of the other; each may be compressed (.gz)."""

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

    encoding: Encoding = None
    separator: Separator = None
    bad_rows: BadRows = "refuse"

    @model_validator(mode="after")
    def _fit_together(self) -> "PairFilesSettings":
        refuse_impossible_shares(self.train, self.valid, self.test)
        tables = [files for files in (self.train, self.valid, self.test) if _is_one_file(files)]
        if not tables and (self.source is not None or self.target is not None):
            raise SettingError(
                "data.source and data.target choose columns, but line-aligned files have none: "
                "leave them out and give the files in the order source, target"
            )
        return self


class PairFiles(PartedFiles[tuple[Path, ...], Pair]):
    """A parallel corpus read from the user's files."""

    example = "no pair"
    remedy = "give more data, another share, or files for this part"

    def __init__(self, settings: PairFilesSettings) -> None:
        super().__init__(settings, paths_of)
        self._tables = {
            files[0]: PairTable(files[0], settings.source, settings.target, self.dialect)
            for files, *_ in self._pieces.values()
            if len(files) == 1
        }

    def read(self, part: PartName, piece: Share[tuple[Path, ...]]) -> Iterator[Pair]:
        """Every pair of a part."""
        files = piece.source
        pairs = aligned_pairs(files[0], files[1], self.dialect) if len(files) == 2 else self._tables[files[0]].pairs()
        return (pair for pair in pairs if piece.holds(pair.source))

    def causes(self, part: PartName, piece: Share[tuple[Path, ...]]) -> list[Any]:
        """The contents, the columns and the stretch."""
        columns = [self.settings.source, self.settings.target] if len(piece.source) == 1 else []
        forms = [[extension_of(path) if columns else "", content_hash(path)] for path in piece.source]
        return [forms, columns, piece.low, piece.high]

    def source_remarks(self, source: tuple[Path, ...]) -> list[str]:
        """First lines like headers, columns that are not read."""
        return super().source_remarks(source) if len(source) == 2 else self._tables[source[0]].remarks()


class DictionaryFilesSettings(FilesSettings):
    """Words and their sounds in pronouncing dictionaries of the user's own."""

    train: str
    """A pronouncing dictionary, plain or .gz: each line a word and its sounds."""

    valid: str = "5%"
    """The same, or a share of the training data such as "5%"."""


class DictionaryFiles(PartedFiles[Path, Pair]):
    """Words and their sounds, read from the user's pronouncing dictionaries.

    Where parts are to be disjoint, words of the validation part are left out of the training part: a word with several
    pronunciations would mostly be learnt with another one, which would then count as an error.
    """

    example = "no word"

    def __init__(self, settings: DictionaryFilesSettings, *, disjoint: bool = False) -> None:
        super().__init__(settings, existing)
        self._disjoint = disjoint

    def read(self, part: PartName, piece: Share[Path]) -> Iterator[Pair]:
        """Every word of a part."""
        apart = self._disjoint and part == "train"
        held_out = {pair.source for pair in self.examples("valid")} if apart else set[str]()
        words = pronunciation_pairs(piece.source, self.dialect.encoding_of(piece.source))
        return (pair for pair in words if piece.holds(pair.source) and pair.source not in held_out)

    def causes(self, part: PartName, piece: Share[Path]) -> list[Any]:
        """The content and the stretch; of words that another part has, that part's too."""
        said = [content_hash(piece.source), piece.low, piece.high]
        return [*said, self.fingerprint("valid")] if self._disjoint and part == "train" else said


def _is_one_file(files: Files | None) -> bool:
    return isinstance(files, str) and not files.endswith("%")


# From lines to pairs


def aligned_pairs(source: Path, target: Path, dialect: Dialect = PLAIN) -> Iterator[Pair]:
    """The pairs of two line-aligned files: line n of one translates line n of the other."""
    sources, targets = (lines(path, dialect.encoding_of(path)) for path in (source, target))
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
    return PairTable(path, dialect=Dialect(encoding=UTF_8)).pairs()


class PairTable:
    """One file that holds both sides."""

    def __init__(self, path: Path, source: Column = None, target: Column = None, dialect: Dialect = PLAIN) -> None:
        self._table = TableFile(
            path,
            {"source": Usual(("source",), (0,)), "target": Usual(("target",), (1,))},
            {"source": source, "target": target},
            otherwise=", or two line-aligned files",
            advice=_advice,
            dialect=dialect,
        )

    def pairs(self) -> Iterator[Pair]:
        """Every pair in the order of the file; an empty line is a pair with two blank sides."""
        for _, values, *_ in self._table.records():
            yield Pair(values["source"], values["target"]) if values else Pair("", "")

    def remarks(self) -> list[str]:
        """What the first line leaves open: whether it is a header, and what the other columns are."""
        path, names, remarks = self._table.path, self._table.names(), self._table.remarks()
        if self._table.form in OBJECTS or self._table.layout(next(cells(path, self._table.dialect))).header:
            return remarks
        if sum(name.casefold() in header_words() for name in names) >= 2:
            reads = " → ".join(names)
            remarks.append(
                f"the first line of {path} reads '{reads}': if that is a header, delete it, or {_advice(names)}"
            )
        others = len(names) - 2
        if others > 0 and not any(self._table.asked.values()):
            remarks.append(
                f"{path} has {len(names)} columns: the first two were taken, "
                f"{f'the {others} others are' if others > 1 else 'the other one is'} ignored; "
                "numbers choose others, as in data.source=2 data.target=3"
            )
        return remarks


def _advice(names: Sequence[str]) -> str:
    """How the two sides are chosen by name."""
    short = [name for name in names if name and len(name) <= 20 and name.casefold() != "id" and " " not in name]
    example = f", as in data.source={short[0]} data.target={short[1]}" if len(short) > 1 else ""
    named = f"set data.source and data.target to the names of the two sides{example}"
    return by_setting(named, "name the two sides as in training, or source and target")


@functools.cache
def header_words() -> frozenset[str]:
    """What headers are made of: the languages by code and by name, in some of them, and words for the two sides."""
    from babel import Locale
    from babel.core import get_global

    names = {name.casefold() for language in HEADER_LANGUAGES for name in Locale(language).languages.values()}
    codes = {code.casefold() for code in (*Locale("en").languages, *get_global("language_aliases"))}
    return frozenset(names | codes | SIDE_WORDS)
