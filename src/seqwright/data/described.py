"""Texts in the user's own files, each beside what it is to be written from: a label, or some numbers.

Everything streams: it is read as often as it is asked for and never held in memory. A share such as `valid = "10%"` is
cut from the training data by a hash, of the text where there are labels and otherwise of the numbers: the parts do not
depend on the order of the rows, and never have a text, or the same numbers, in common.
"""

import json
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import model_validator

from seqwright.data.decimals import COMMA_NUMBER, NUMBER
from seqwright.data.examples import PartName
from seqwright.data.faults import RowError
from seqwright.data.files import content_hash, expanded
from seqwright.data.labelled_tables import TEXT_WORDS, Example, LabelledColumns, LabelledTable
from seqwright.data.pieces import FilesSettings, PartedFiles, Share
from seqwright.data.rows import OBJECTS, PLAIN, BadRows, DecimalMark, Dialect, Separator, dialect_of
from seqwright.data.tables import Column, Columns, Record, TableFile, Usual, several
from seqwright.errors import SettingError, by_setting

A_NUMBER = Usual(text=False, setting="columns", number=True)


class GivenText(NamedTuple):
    """What is given, as a user would type it ("1234", "French", "0.5,-2"), and the text that is to be written.

    Without `columns` and `largest` it is a label.
    """

    source: str
    target: str
    kind: str = ""  # a group to report scores by; empty where there are none
    columns: tuple[str, ...] = ()  # what its numbers are called
    largest: int | None = None  # that can be given, where it is a whole number that is read by its digits


class DescribedFilesSettings(FilesSettings):
    """Texts with a label, or with some numbers, in files of the user's own."""

    train: str
    """A .tsv, .csv or .jsonl file, plain or .gz, with a text in each row and what it is to be written from."""

    text: Column = None
    """Where the text stands: the name of a key or of a column in the header line, with or without capitals, or the
    number of a column counted from 1. Left out: what is named "text" or a word like it ("sentence", "review",
    "message"), or else the first column that is not the label's or a number's."""

    label: Column = None
    """Where the label stands that the text is written from, told in the same way: its vector has a one for the label
    and zeros for all others. Left out, without `columns`: what is named "label" or a word like it ("class",
    "category"), or else the second column, or the first where the text is the second."""

    columns: Columns = None
    """In place of a label: the columns with the numbers that the text is written from, as in ["height", "age"]. Each is
    scaled by its mean and standard deviation in the training part."""

    separator: Separator = None
    decimal: DecimalMark = None
    bad_rows: BadRows = "refuse"

    @model_validator(mode="after")
    def _fit_together(self) -> "DescribedFilesSettings":
        if self.label is not None and self.columns is not None:
            raise SettingError("data.label and data.columns are both given, expected one: a label or numbers")
        return self


class NumberTable:
    """A file with a text and some numbers in each row."""

    def __init__(self, path: Path, text: Column, columns: Columns, dialect: Dialect = PLAIN) -> None:
        self.path, self.text, self.asked, self.dialect = path, text, several(columns), dialect
        if not self.asked:
            raise SettingError("data.columns is empty, expected the names of the columns with the numbers")
        numbers = {f"column {column}": column for column in self.asked}
        # The first column that no number stands in is among so many.
        usual = {"text": Usual(TEXT_WORDS, tuple(range(len(numbers) + 1))), **dict.fromkeys(numbers, A_NUMBER)}
        self._table, self._numbers = TableFile(path, usual, {"text": text, **numbers}, dialect=dialect), numbers

    def columns(self) -> tuple[str, ...]:
        """What the columns with the numbers are called."""
        return tuple(self._table.column_names(self._numbers))

    def examples(self) -> Iterator[Example]:
        """Each text, labelled with its numbers: "0.5,-2"; an empty line is a blank example."""
        names = dict(zip(self._numbers, self.columns(), strict=True))
        spelled = json.dumps if self._table.form in OBJECTS else str.strip

        def example(record: Record) -> Example:
            found = {key: self.dialect.point(spelled(record.values[key])) for key in names} if record.values else {}
            numbers = (_number(cell, names[key], record) for key, cell in found.items())
            return Example(record.values.get("text", ""), ",".join(numbers))

        return self._table.read(example)

    def fingerprint(self) -> str:
        """Changes with the content and with the columns that are read."""
        return json.dumps([self._table.form, content_hash(self.path), self.text, self.asked])

    def remarks(self) -> list[str]:
        """How the file is written; its columns were named."""
        return self._table.remarks()


def _number(found: str, name: str, record: Record) -> str:
    """A cell that is a number, in the one way to write it: 0.50 and .5 are the same."""
    if NUMBER.fullmatch(found) and math.isfinite(float(found)):
        return f"{float(found):.15g}"
    advice = "a number: correct it or leave out the row"
    if COMMA_NUMBER.fullmatch(found):
        advice = "a decimal point" + by_setting(": set data.decimal=','")
    raise RowError(
        f"{record.where} has '{found[:40]}' in '{name}', expected {advice}", record.line, f"no number in '{name}'"
    )


class DescribedFiles(PartedFiles[LabelledTable | NumberTable, GivenText]):
    """Texts and what they are written from, read from the user's files."""

    def __init__(self, settings: DescribedFilesSettings) -> None:
        super().__init__(settings, partial(_table, settings=settings))
        self.described_by: Literal["label", "numbers"] = "label" if settings.columns is None else "numbers"

    @property
    def columns(self) -> tuple[str, ...]:
        """What the columns of numbers are called; none where there are labels."""
        table = self._pieces["train"].source
        return table.columns() if isinstance(table, NumberTable) else ()

    def read(self, part: PartName, piece: Share[LabelledTable | NumberTable]) -> Iterator[GivenText]:
        """Every example of a part."""
        by_text = self.described_by == "label"
        return (
            GivenText(given, text, columns=self.columns)
            for text, given, _ in piece.source.examples()
            if piece.holds(text if by_text else given)
        )

    def causes(self, part: PartName, piece: Share[LabelledTable | NumberTable]) -> list[Any]:
        """The content, the columns and the stretch."""
        return [self.described_by, piece.source.fingerprint(), piece.low, piece.high]

    def source_remarks(self, source: LabelledTable | NumberTable) -> list[str]:
        """What the table leaves open."""
        return source.remarks()


def _table(name: str, settings: DescribedFilesSettings) -> LabelledTable | NumberTable:
    path = expanded(name)
    if settings.columns is None:
        return LabelledTable(path, LabelledColumns(settings.text, settings.label), dialect_of(settings))
    return NumberTable(path, settings.text, settings.columns, dialect_of(settings))
