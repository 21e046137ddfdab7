"""Tables and JSONL with a text and some numbers in each row."""

import json
import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from seqwright.data.files import content_hash, extension_of, lines, require_file
from seqwright.data.labelled_tables import TEXT_WORDS, Example, _key, _record, _text
from seqwright.data.series_tables import Columns, _asked, _place
from seqwright.data.tables import Column, Row, _semicolons, csv_rows, tsv_rows
from seqwright.data.times import NUMBER
from seqwright.errors import DataError, SettingError


class Layout(NamedTuple):
    """The places, from 0, of the text and of the numbers in a row, and whether the first line is a header."""

    text: int
    numbers: list[int]
    names: list[str]
    header: bool


class NumberTable:
    """A file with a text and some numbers in each row."""

    def __init__(self, path: Path, text: Column, columns: Columns) -> None:
        require_file(path)
        self.path, self.text, self.asked = path, text, _asked(columns)
        self.form = extension_of(path)
        if self.form not in {".tsv", ".csv", ".jsonl"}:
            raise DataError(
                f"{path} has the extension '{self.form}', expected .tsv, .csv or .jsonl (or these with .gz): rename it "
                "if it is one of them"
            )
        if not self.asked:
            raise SettingError("data.columns is empty, expected the names of the columns with the numbers")
        if self.form == ".jsonl" and any(isinstance(column, int) for column in (text, *self.asked)):
            raise SettingError(f"data.text and data.columns are to name keys of {path}: it has no numbered columns")

    def columns(self) -> tuple[str, ...]:
        """What the columns with the numbers are called."""
        if self.form == ".jsonl":
            return tuple(map(str, self.asked))
        layout = self._layout(next(self._cells()))
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

    def _cells(self) -> Iterator[Row]:
        return (csv_rows if self.form == ".csv" else tsv_rows)(lines(self.path), self.path)

    def _layout(self, top: Row) -> Layout:
        """Where text and numbers stand. The first line is a header if a setting names a column, or has no number."""
        cells = [cell.strip() for cell in top.cells]
        named = any(isinstance(column, str) for column in (self.text, *self.asked))
        named = named or not any(NUMBER.fullmatch(cell) for cell in cells)
        names = cells if named else [f"column {place + 1}" for place in range(len(cells))]
        numbers = [_place(column, names, self.path, "data.columns") for column in self.asked]
        return Layout(self._text_place(names, numbers), numbers, names, named)

    def _text_place(self, names: list[str], numbers: list[int]) -> int:
        others = [place for place in range(len(names)) if place not in numbers]
        if self.text is not None:
            place = _place(self.text, names, self.path, "data.text")
            if place in numbers:
                raise SettingError(f"data.text and data.columns both mean '{names[place]}' of {self.path}: choose")
            return place
        if not others:
            raise DataError(f"{self.path}:1 has no column for the text beside those of data.columns: add one")
        folded = {names[place].casefold(): place for place in reversed(others)}
        return next((folded[word] for word in TEXT_WORDS if word in folded), others[0])

    def _rows(self) -> Iterator[Example]:
        rows = self._cells()
        top = next(rows)
        layout = self._layout(top)
        needed = max(layout.text, *layout.numbers) + 1
        for row in rows if layout.header else chain([top], rows):
            if not any(cell.strip() for cell in row.cells):
                yield Example("", "")
                continue
            where = f"{self.path}:{row.line}"
            if len(row.cells) < needed:
                raise DataError(
                    f"{where} has {len(row.cells)} column{'s' if len(row.cells) > 1 else ''}, expected at least "
                    f"{needed}{_semicolons(row.cells)}"
                )
            numbers = (_number(row.cells[place].strip(), layout.names[place], where) for place in layout.numbers)
            yield Example(row.cells[layout.text], ",".join(numbers))

    def _records(self) -> Iterator[Example]:
        for number, line in enumerate(lines(self.path), 1):
            if not line.strip():
                yield Example("", "")
                continue
            where = f"{self.path}:{number}"
            record = _record(line, where)
            text = _text(record, _key(record, self.text, TEXT_WORDS, "text", where), where)
            keys = [_key(record, column, (), "columns", where) for column in self.asked]
            yield Example(text, ",".join(_number(json.dumps(record[key]), key, where) for key in keys))


def _number(found: str, name: str, where: str) -> str:
    """A cell that is a number, in the one way to write it: 0.50 and .5 are the same."""
    if NUMBER.fullmatch(found) and math.isfinite(float(found)):
        return f"{float(found):.15g}"
    if NUMBER.fullmatch(found.replace(",", ".", 1)):
        raise DataError(f"{where} has '{found}' in '{name}', expected a decimal point: write {found.replace(',', '.')}")
    raise DataError(f"{where} has '{found[:40]}' in '{name}', expected a number: correct it or leave out the row")
