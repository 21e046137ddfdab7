"""What the columns of a user's table probably are, from their names and from the first rows."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

from seqwright.data.files import extension_of
from seqwright.data.labelled_tables import LABEL_WORDS, PAIR_WORDS, TEXT_WORDS
from seqwright.data.rows import cells, objects
from seqwright.data.series_tables import MISSING
from seqwright.data.tables import Column, find
from seqwright.data.times import NUMBER
from seqwright.errors import DataError

LOOKED_AT = 2000  # rows
FEW = 10  # with fewer rows, nothing can be told from them
LONGEST_NAME = 40  # characters, that a column has
TIME_WORDS = ("time", "date", "datetime", "timestamp", "day", "month", "year", "hour", "period", "when", "ds")


def text_and_label(path: Path) -> dict[str, Column]:
    """`{"text": "comment", "label": "stars"}`; nothing where it cannot be told, or where it need not be said.

    The text is what is longest, the label what takes the fewest values, unless their names tell. The first line is a
    header if it is short and no other row has the same label; without a header, columns have numbers. Two texts whose
    names belong together are a pair, `{"text": "premise", "label": "verdict", "text_pair": "hypothesis"}`.
    """
    top, columns = _columns(path)
    pair = next((words for words in PAIR_WORDS if None not in (_place(top, words[:1]), _place(top, words[1:]))), None)
    if pair is not None:
        return _labelled_pair(top, columns, pair)
    if len(columns) < 2 or len(columns[0]) < FEW:
        return {}
    text = _place(top, TEXT_WORDS)
    label = _place(top, LABEL_WORDS)
    if text is None:
        others = [place for place in range(len(columns)) if place != label]
        text = max(others, key=lambda place: sum(map(len, columns[place])))
    if label is None:
        kinds = {place: len(set(column) - {""}) for place, column in enumerate(columns) if place != text}
        repeated = {place: count for place, count in kinds.items() if 1 < count <= len(columns[0]) / 2}
        if not repeated:
            return {}
        label = min(repeated, key=lambda place: repeated[place])
    once = top[label].strip() not in {cell.strip() for cell in columns[label]}
    if once and max(len(top[text]), len(top[label])) <= LONGEST_NAME:
        return {"text": top[text].strip(), "label": top[label].strip()}
    return {} if (text, label) == (0, 1) else {"text": text + 1, "label": label + 1}


def _labelled_pair(top: list[str], columns: list[list[str]], pair: tuple[str, str]) -> dict[str, Column]:
    """The columns of two texts and of their label: the one of a usual name, or else that with the fewest values."""
    names = [cell.strip() for cell in top]
    folded = [name.casefold() for name in names]
    first, second = (folded.index(word) for word in pair)
    label = _place(top, LABEL_WORDS)
    if label is None:
        kinds = {place: len(set(column)) for place, column in enumerate(columns) if place not in {first, second}}
        several = {place: count for place, count in kinds.items() if count > 1}
        if not several:
            return {}
        label = min(several, key=lambda place: several[place])
    return {"text": names[first], "label": names[label], "text_pair": names[second]}


def time_and_values(path: Path) -> dict[str, Any]:
    """`{"time": "date", "columns": ["load", "wind"]}`; columns only if not every other one holds numbers."""
    top, columns = _columns(path)
    header = not any(NUMBER.fullmatch(cell.strip()) for cell in top)
    below = [column if header else [top[place], *column] for place, column in enumerate(columns)]
    called: list[Column] = [cell.strip() if header else place + 1 for place, cell in enumerate(top)]
    time = next((place for place, column in enumerate(below) if _is_time(top[place], column)), None)
    values = [place for place, column in enumerate(below) if place != time and column and all(map(_is_value, column))]
    found: dict[str, Any] = {} if time is None else {"time": called[time]}
    named = [called[place] for place in values if called[place]]
    others = [name for place, name in enumerate(called) if place != time and name]
    return found if named == others or not named else {**found, "columns": named}


def _columns(path: Path) -> tuple[list[str], list[list[str]]]:
    """The cells of the first line, or the keys of the first object, and below each its values in the rows that follow.

    What is wrong with the file is left for its reader to say.
    """
    if extension_of(path) not in {"", ".txt", ".tsv", ".csv", ".jsonl"}:
        return [], []
    rows = _records(path) if extension_of(path) == ".jsonl" else (row.cells for row in cells(path))
    top = next(rows, [])
    some = [row for row in islice(rows, LOOKED_AT) if len(row) == len(top)]
    return top, [[row[place] for row in some] for place in range(len(top))]


def _records(path: Path) -> Iterator[list[str]]:
    with suppress(DataError):
        records = (record for _, record in objects(path, {}) if record)
        first = next(records, {})
        yield list(first)
        yield from ([str(record.get(key, "")) for key in first] for record in chain([first], records))


def _place(top: list[str], words: tuple[str, ...]) -> int | None:
    return find(None, words, [cell.strip() for cell in top])


def _is_time(name: str, column: list[str]) -> bool:
    """Whether a column is called like a time, or begins with something like a date."""
    if name.strip().casefold() in TIME_WORDS:
        return True
    first = column[0].strip() if column else ""
    return first[:1].isdigit() and not NUMBER.fullmatch(first) and any(mark in first for mark in "-/:.")


def _is_value(cell: str) -> bool:
    return cell.strip().casefold() in MISSING or NUMBER.fullmatch(cell.strip()) is not None
