"""Tables and JSONL with a text and some numbers in each row."""

import json
import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from seqwright.data.files import content_hash, extension_of
from seqwright.data.labelled_tables import TEXT_WORDS, Example
from seqwright.data.tables import (
    Column,
    Columns,
    TableFile,
    TableRow,
    Usual,
    all_blank,
    cells,
    column_place,
    find,
    several,
    too_few,
    value_names,
)
from seqwright.data.times import NUMBER
from seqwright.errors import DataError, SettingError


class NumberLayout(NamedTuple):
    """The places, from 0, of the text and of the numbers in a row, and whether the first line is a header."""

    text: int
    numbers: list[int]
    names: list[str]
    header: bool


class NumberTable:
    """A file with a text and some numbers in each row."""

    def __init__(self, path: Path, text: Column, columns: Columns) -> None:
        self.path, self.text, self.asked, self.form = path, text, several(columns), extension_of(path)
        self._keys = {str(column): column for column in self.asked}
        usual = {"text": Usual(TEXT_WORDS), **dict.fromkeys(self._keys, Usual(text=False, setting="columns"))}
        self._table = TableFile(path, usual, {"text": text, **self._keys})
        if not self.asked:
            raise SettingError("data.columns is empty, expected the names of the columns with the numbers")

    def columns(self) -> tuple[str, ...]:
        """What the columns with the numbers are called."""
        if self.form == ".jsonl":
            return tuple(map(str, self.asked))
        layout = self._layout(next(cells(self.path)))
        return tuple(layout.names[place] for place in layout.numbers)

    def examples(self) -> Iterator[Example]:
        """Each text, labelled with its numbers: "0.5,-2"; an empty line is a blank example."""
        return self._records() if self.form == ".jsonl" else self._rows()

    def fingerprint(self) -> str:
        """Changes with the content and with the columns that are read."""
        return json.dumps([self.form, content_hash(self.path), self.text, self.asked])

    def remarks(self) -> list[str]:
        """Nothing: the columns were named."""
        return []

    def _layout(self, top: TableRow) -> NumberLayout:
        """Where text and numbers stand."""
        names, header = value_names(top, (self.text, *self.asked))
        numbers = [column_place(column, names, self.path, "data.columns") for column in self.asked]
        return NumberLayout(self._text_place(names, numbers), numbers, names, header)

    def _text_place(self, names: list[str], numbers: list[int]) -> int:
        others = [place for place in range(len(names)) if place not in numbers]
        if self.text is not None:
            place = column_place(self.text, names, self.path, "data.text")
            if place in numbers:
                raise SettingError(f"data.text and data.columns both mean '{names[place]}' of {self.path}: choose")
            return place
        if not others:
            raise DataError(f"{self.path}:1 has no column for the text beside those of data.columns: add one")
        usual = find(None, TEXT_WORDS, [names[place] for place in others])
        return others[usual or 0]

    def _rows(self) -> Iterator[Example]:
        rows = cells(self.path)
        top = next(rows)
        layout = self._layout(top)
        least = max(layout.text, *layout.numbers) + 1
        for row in rows if layout.header else chain([top], rows):
            where = f"{self.path}:{row.line}"
            if all_blank(row):
                yield Example("", "")
            elif len(row.cells) < least:
                raise DataError(too_few(row, least, where))
            else:
                numbers = (_number(row.cells[place].strip(), layout.names[place], where) for place in layout.numbers)
                yield Example(row.cells[layout.text], ",".join(numbers))

    def _records(self) -> Iterator[Example]:
        for where, values in self._table.records():
            numbers = [_number(json.dumps(values[key]), key, where) for key in self._keys if values]
            yield Example(values["text"] if values else "", ",".join(numbers))


def _number(found: str, name: str, where: str) -> str:
    """A cell that is a number, in the one way to write it: 0.50 and .5 are the same."""
    if NUMBER.fullmatch(found) and math.isfinite(float(found)):
        return f"{float(found):.15g}"
    if NUMBER.fullmatch(found.replace(",", ".", 1)):
        raise DataError(f"{where} has '{found}' in '{name}', expected a decimal point: write {found.replace(',', '.')}")
    raise DataError(f"{where} has '{found[:40]}' in '{name}', expected a number: correct it or leave out the row")
