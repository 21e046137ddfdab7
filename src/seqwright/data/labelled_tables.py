"""Tables and JSONL with a text, or a pair of texts, and a label in each row."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.data.files import content_hash, lines, require_file
from seqwright.data.tables import Column, Row, _semicolons, csv_rows, tsv_rows
from seqwright.errors import DataError, SettingError, nearest

# What people write above the columns, the plainest first.
TEXT_WORDS = ("text", "sentence", "review", "message", "tweet", "comment", "content", "document", "body", "utterance")
LABEL_WORDS = (
    *("label", "labels", "class", "category", "sentiment", "polarity", "intent", "topic", "target"),
    *("score", "rating"),
)
PAIR_WORDS = (("sentence1", "sentence2"), ("text1", "text2"), ("question1", "question2"), ("premise", "hypothesis"))


class Example(NamedTuple):
    """A text, and the label somebody gave it; either may be blank. A label may also be of two texts together."""

    text: str
    label: str
    second: str | None = None  # None where texts stand alone


class Asked(NamedTuple):
    """The columns that the settings ask for."""

    text: Column = None
    label: Column = None
    second: Column = None


class Layout(NamedTuple):
    """The places, from 0, of text and label in a row, whether the first line is a header, and the second text's."""

    text: int
    label: int
    header: bool
    second: int | None = None


class LabelledTable:
    """A file with a text and a label in each row; without an extension, or with .txt, tabs are between its columns."""

    def __init__(self, path: Path, text: Column, label: Column, second: Column = None) -> None:
        require_file(path)
        self.path, self.location, self.asked = path, path, Asked(text, label, second)
        self.form = _extension(path)
        if self.form not in {"", ".txt", ".tsv", ".csv", ".jsonl"}:
            raise DataError(
                f"{path} has the extension '{self.form}', expected .tsv, .csv or .jsonl (or these with .gz), a folder, "
                "or a folder inside of a .tar.gz file: rename it if it is one of them"
            )
        if self.form == ".jsonl" and any(isinstance(column, int) for column in self.asked):
            asked = tuple(self.asked) if second is not None else (text, label)
            names = "data.text, data.label and data.second" if second is not None else "data.text and data.label"
            raise SettingError(f"{names} are {asked}, but the values of {path} have names: give those")

    def examples(self) -> Iterator[Example]:
        """Every row in the order of the file; an empty line is a blank example."""
        return self._records() if self.form == ".jsonl" else self._rows()

    def fingerprint(self) -> str:
        """Changes with the content and with the columns that are read."""
        said = [self.form, content_hash(self.path), self.asked.text, self.asked.label]
        return json.dumps([*said, "pairs", self.asked.second] if self._of_pairs() else said)

    def remarks(self) -> list[str]:
        """What the first line leaves open."""
        if self.form == ".jsonl":
            return []
        top = next(self._cells())
        layout = layout_of(top, self.path, self.asked)
        others = len(top.cells) - 2
        if layout.header or self.asked != Asked() or others < 1:
            return []
        return [
            f"{self.path} has {others + 2} columns: the first was taken for the text, the second for the label; "
            "numbers choose others, as in data.text=3 data.label=1"
        ]

    def _of_pairs(self) -> bool:
        return next((example.second is not None for example in self.examples() if example.text), False)

    def _cells(self) -> Iterator[Row]:
        return (csv_rows if self.form == ".csv" else tsv_rows)(lines(self.path), self.path)

    def _rows(self) -> Iterator[Example]:
        rows = self._cells()
        top = next(rows)
        layout = layout_of(top, self.path, self.asked)
        second = layout.second
        needed = max(layout.text, layout.label, second or 0) + 1
        for row in rows if layout.header else itertools.chain([top], rows):
            if len(row.cells) >= needed:
                pair = None if second is None else row.cells[second]
                yield Example(row.cells[layout.text], row.cells[layout.label].strip(), pair)
            elif any(cell.strip() for cell in row.cells):
                separator = "comma" if self.form == ".csv" else "tab"
                texts = "a text" if second is None else "two texts"
                raise DataError(
                    f"{self.path}:{row.line} has {len(row.cells)} column{'s' if len(row.cells) > 1 else ''}, expected "
                    f"at least {needed}, {texts} and a label separated by a {separator}{_semicolons(row.cells)}"
                )
            else:
                yield Example("", "")

    def _records(self) -> Iterator[Example]:
        for number, line in enumerate(lines(self.path), 1):
            if not line.strip():
                yield Example("", "")
                continue
            where = f"{self.path}:{number}"
            record = _record(line, where)
            first, second = _pair(list(record), self.asked)
            text = _text(record, _key(record, first, TEXT_WORDS, "text", where), where)
            label = _label(record, _key(record, self.asked.label, LABEL_WORDS, "label", where), where)
            pair = None if second is None else _text(record, _key(record, second, (), "second", where), where)
            yield Example(text, label, pair)


# Tables


def layout_of(top: Row, path: Path, asked: Asked) -> Layout:
    """Where text and label stand; the first line is a header if a setting names a column, or if it is one's words."""
    header = [cell.strip() for cell in top.cells]
    folded = {cell.casefold() for cell in header}
    named = any(isinstance(column, str) for column in asked)
    if asked == Asked():
        texts = not folded.isdisjoint(TEXT_WORDS) or _pair(header, asked).second is not None
        named = texts and not folded.isdisjoint(LABEL_WORDS)
    text, second = _pair(header, asked) if named else (asked.text, asked.second)
    places = [
        _place(path, header if named else [], column, words, name)
        for column, words, name in ((text, TEXT_WORDS, "text"), (asked.label, LABEL_WORDS, "label"))
    ]
    other = None if second is None else _place(path, header if named else [], second, (), "second")
    left, right = _filled(*places)
    columns = {"data.text": left, "data.label": right} | ({} if other is None else {"data.second": other})
    for (one, place), (another, same) in itertools.combinations(columns.items(), 2):
        if place == same:
            count = "two" if other is None else "three"
            raise SettingError(f"{one} and {another} both mean column {place + 1} of {path}: choose {count} columns")
    return Layout(left, right, named, other)


class _Pair(NamedTuple):
    text: Column
    second: Column


def _pair(names: list[str], asked: Asked) -> _Pair:
    """The two texts' columns as the settings ask for them, or else two names that belong together."""
    folded = [name.casefold() for name in names]
    if asked.text is None:
        wanted = (asked.second.casefold(),) if isinstance(asked.second, str) else folded
        for one, other in PAIR_WORDS if not isinstance(asked.second, int) else ():
            if one in folded and other in folded and other in wanted:
                return _Pair(names[folded.index(one)], names[folded.index(other)])
    return _Pair(asked.text, asked.second)


def _filled(text: int | None, label: int | None) -> tuple[int, int]:
    """Column 1 for the text and 2 for the label where nothing says otherwise, or the other way round if one does."""
    if text is None:
        text = 1 if label == 0 else 0
    if label is None:
        label = 0 if text == 1 else 1
    return text, label


def _place(path: Path, header: list[str], asked: Column, words: tuple[str, ...], name: str) -> int | None:
    """The place, from 0, of the column that a setting asks for, or that the header has a usual word for."""
    if isinstance(asked, int):
        return asked - 1
    folded = [cell.casefold() for cell in header]
    for word in words if asked is None else (asked.casefold(),):
        if word in folded:
            return folded.index(word)
    if asked is None:
        return None
    raise DataError(
        f"{path}:1 has no column '{asked}' but {_listed(header)}: set data.{name} to the name of one of them, or to "
        f"its number if the file has no header line.{nearest(asked, header)}"
    )


def _listed(names: list[str]) -> str:
    """Names in quotes, cut short: what was taken for a header line may be a whole text."""
    shown = [f"'{name[:30]}…'" if len(name) > 30 else f"'{name}'" for name in names[:6]]
    return (", ".join(shown) or "none at all") + (", …" if len(names) > 6 else "")


# JSONL


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not valid JSON ({error}), expected one object a line") from error
    if not isinstance(record, dict):
        raise DataError(f'{where} is no object, expected one such as {{"text": …, "label": …}}')
    return record


def _key(record: dict[str, Any], asked: Column, words: tuple[str, ...], name: str, where: str) -> str:
    folded = {key.casefold(): key for key in reversed(record)}
    for word in words if asked is None else (str(asked).casefold(),):
        if word in folded:
            return folded[word]
    keys = list(record)
    raise DataError(
        f"{where} has no key '{name if asked is None else asked}' but {_listed(keys)}: set data.{name} to the name of "
        f"one of them.{nearest(str(asked or name), keys)}"
    )


def _text(record: dict[str, Any], key: str, where: str) -> str:
    value = record[key]
    if not isinstance(value, str):
        raise DataError(f"{where} has {json.dumps(value)[:30]} under '{key}', expected text in quotes")
    try:
        nul = b"\0" in value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{where} holds half a surrogate pair under '{key}', expected whole characters") from error
    if nul:  # JSON can spell out, as \u0000, what no line of a file may hold
        raise DataError(f"{where} holds a NUL character under '{key}', expected plain text: remove it")
    return value


def _label(record: dict[str, Any], key: str, where: str) -> str:
    """The label as text: 1 and true are labels too; null is a blank one."""
    value = record[key]
    if value is None:
        return ""
    if isinstance(value, str):
        return _text(record, key, where).strip()
    if isinstance(value, dict | list):
        raise DataError(
            f"{where} has {json.dumps(value)[:30]} under '{key}', expected one label, as text or a number: "
            "several labels a text are not supported"
        )
    return json.dumps(value)


def _extension(path: Path) -> str:
    """`.tsv` for a.tsv and for a.tsv.gz."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()
