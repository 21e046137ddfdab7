"""What the columns of a user's table probably are, from their names and from the first rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.data.decimals import COMMA_NUMBER, NUMBER, grouped_decimal, is_grouped, is_missing, uncertain_comma
from seqwright.data.files import extension_of
from seqwright.data.labelled_tables import LABEL_WORDS, PAIR_WORDS, TEXT_WORDS
from seqwright.data.labels import short
from seqwright.data.rows import OBJECTS, Dialect, TableRow, cells, objects, separator_of
from seqwright.data.series_tables import uncertain_told
from seqwright.data.spreadsheets import SHEETS
from seqwright.data.tables import FORMS, Column, find
from seqwright.errors import DataError

LOOKED_AT = 2000  # rows
FEW = 10  # with fewer rows, nothing can be told from them
LONGEST_NAME = 40  # characters, that a column has
MOST_LABELS = 50  # different values of a column that may be the label, unless its name says so
TIME_WORDS = ("time", "date", "datetime", "timestamp", "day", "month", "year", "hour", "period", "when", "ds")
SOURCE_WORDS = ("source", "prompt", "instruction", "question", "input", "document", "article", "dialogue", "text")
TARGET_WORDS = ("target", "answer", "response", "completion", "output", "summary", "highlights")
VALUE_WORDS = ("score", "rating", "value", "target", "label", "stars", "points", "grade", "similarity", "price")


class Guess(NamedTuple):
    """Settings of the data that a table tells, and what to say of it."""

    settings: dict[str, Any]
    remarks: list[str]


NOTHING = Guess({}, [])


class Sample(NamedTuple):
    """The cells of a table's first line, or the keys of its first object, and the rows below."""

    top: list[str]
    rows: list[TableRow]
    commas: bool = False  # whether a comma can be decimal, since it does not separate the cells

    @property
    def names(self) -> list[str]:
        """The cells of the first line, without spaces around them."""
        return [cell.strip() for cell in self.top]

    def column(self, place: int) -> list[str]:
        """What stands below a cell of the first line."""
        return [row.cells[place].strip() for row in self.rows]

    def known(self, place: int) -> list[str]:
        """What stands below a cell of the first line, without what says that a number is not known."""
        return [cell for cell in self.column(place) if not is_missing(cell)]

    def is_number(self, cell: str) -> bool:
        """Whether a cell is a number."""
        return bool(NUMBER.fullmatch(cell) or is_grouped(cell) or (self.commas and COMMA_NUMBER.fullmatch(cell)))


# Texts with labels or values


def text_and_label(path: Path, asked: Mapping[str, Any] | None = None, *, numbers: bool = False) -> Guess:
    """`{"text": "comment", "label": "stars"}`; nothing where it cannot be told, or where it need not be said.

    The text is what is longest, unless a name tells. The label is a column of few values, or of numbers alone: the one
    with a usual name, or the only one; of several the user has to choose. The first line is a header if it is short
    and no other row has the same label; without a header, columns have numbers. Two texts whose names belong together
    are a pair, `{"text": "premise", "label": "verdict", "text_pair": "hypothesis"}`.
    """
    asked = asked or {}
    sample = _sample(path, asked)
    pair = None if "text" in asked else _pair_places(sample)
    if len(sample.top) < 2 or (len(sample.rows) < FEW and pair is None):
        return NOTHING
    words = VALUE_WORDS if numbers else LABEL_WORDS
    label, text = (_asked_place(sample, asked.get(name)) for name in ("label", "text"))
    if text is None:
        hint = find(None, words, sample.names) if label is None else label
        text = pair[0] if pair else _text_place(sample, hint)
    others = [place for place in range(len(sample.top)) if place not in (pair or (text,))]
    fitting = {place: _values(sample, place) for place in others if _fits(sample, place, numbers=numbers)}
    if "label" not in asked:
        label = _label_place(path, sample, fitting, words, numbers=numbers)
    if label is None or label not in others:
        return NOTHING
    settings = _named(sample, text, label, pair)
    told = [f"{_called(sample, place)} ({shown})" for place, shown in fitting.items() if place != label]
    chosen = "label" in asked or not told
    remarks = [] if chosen else [f"other columns that data.label could choose: {'; '.join(told)}"]
    found = Guess(settings, remarks)
    return _with_decimal(found, path, sample, label) if numbers and "decimal" not in asked else found


def _with_decimal(guess: Guess, path: Path, sample: Sample, place: int) -> Guess:
    """What is known of the decimal mark too; said where thousands are marked."""
    decimal, grouped = _decimal(path, sample, place), max(filter(is_grouped, sample.column(place)), key=len, default="")
    told = f"{_called(sample, place)} has marks between thousands, as in {grouped}, and is read so"
    return Guess({**guess.settings, **decimal}, [*guess.remarks, *([told] if decimal and grouped else [])])


def _decimal(path: Path, sample: Sample, place: int) -> dict[str, str]:
    """The decimal mark, if it is certain which one is decimal."""
    cells = sample.known(place)
    grouped = grouped_decimal(cells)
    if grouped is not None:
        return {"decimal": grouped}
    uncertain = uncertain_comma(cells)
    if uncertain is not None:
        raise DataError(f"{path} has '{uncertain}' in {_called(sample, place)}, {uncertain_told()}")
    return {"decimal": ","} if any(map(COMMA_NUMBER.fullmatch, cells)) else {}


def _asked_place(sample: Sample, column: Any) -> int | None:
    """Where a column stands that the user named; None where there is none, which its reader says."""
    if isinstance(column, int):
        return column - 1 if column <= len(sample.top) else None
    return None if column is None else find(str(column), (), sample.names)


def _pair_places(sample: Sample) -> tuple[int, int] | None:
    """Where two texts stand whose names belong together."""
    for one, other in PAIR_WORDS:
        first, second = find(None, (one,), sample.names), find(None, (other,), sample.names)
        if first is not None and second is not None:
            return first, second
    return None


def _text_place(sample: Sample, label: int | None) -> int:
    """Where the text stands: under a usual name, or what is longest."""
    named = find(None, TEXT_WORDS, sample.names)
    others = [place for place in range(len(sample.top)) if place != label]
    return named if named is not None else max(others, key=lambda place: sum(map(len, sample.column(place))))


def _fits(sample: Sample, place: int, *, numbers: bool) -> bool:
    """Whether a column may be what is learnt: few values that come again, or numbers that do not count the rows."""
    column = sample.known(place) if numbers else list(filter(None, sample.column(place)))
    values = set(column)
    if not numbers:
        return 1 < len(values) <= min(MOST_LABELS, len(column) / 2)
    return len(values) > 1 and all(map(sample.is_number, values)) and not _counts_rows(column)


def _counts_rows(column: list[str]) -> bool:
    """Whether a column numbers the rows."""
    whole = [int(cell) for cell in column if cell.isdecimal()]
    return len(whole) == len(column) and all(after - before == 1 for before, after in pairwise(whole))


def _values(sample: Sample, place: int) -> str:
    """Some values of a column, the commonest first."""
    found = Counter(cell for cell in sample.column(place) if cell)
    return ", ".join(short(value) for value, _ in found.most_common(3)) + (", …" if len(found) > 3 else "")


def _label_place(
    path: Path, sample: Sample, fitting: Mapping[int, str], words: tuple[str, ...], *, numbers: bool
) -> int | None:
    """Which column is the label: a usual name decides, otherwise only one may fit."""
    usual = find(None, words, sample.names)
    best = find(None, words, [name if place in fitting else "" for place, name in enumerate(sample.names)])
    if best is not None or not fitting or (usual is not None and not numbers):
        return usual if best is None else best
    if len(fitting) > 1:
        listed = "; ".join(f"{_called(sample, place)} ({shown})" for place, shown in fitting.items())
        raise DataError(
            f"{path} has several columns that could be the label: {listed}; choose one, as in "
            f"data.label={_called(sample, next(iter(fitting)))}"
        )
    return next(iter(fitting))


def _called(sample: Sample, place: int) -> Column:
    """A column by its name, or by its number where the first line seems to be no header."""
    header = sample.names[place] not in sample.column(place) and max(map(len, sample.names)) <= LONGEST_NAME
    return sample.names[place] if header else place + 1


def _named(sample: Sample, text: int, label: int, pair: tuple[int, int] | None) -> dict[str, Column]:
    names = sample.names
    if pair is not None:
        return {"text": names[text], "label": names[label], "text_pair": names[pair[1]]}
    if sample.names[label] not in sample.column(label) and max(len(names[text]), len(names[label])) <= LONGEST_NAME:
        return {"text": names[text], "label": names[label]}
    return {} if (text, label) == (0, 1) else {"text": text + 1, "label": label + 1}


def text_and_given(path: Path, asked: Mapping[str, Any] | None = None) -> Guess:
    """A text and what it is to be written from: the numbers beside it where nothing else is, otherwise a label."""
    asked = asked or {}
    sample = _sample(path, asked)
    if "columns" in asked or len(sample.top) < 2 or not sample.rows:
        return NOTHING
    text = _text_place(sample, None)
    others = [place for place in range(len(sample.top)) if place != text]
    if "label" in asked or not all(map(sample.is_number, (cell for place in others for cell in sample.column(place)))):
        settings, remarks = text_and_label(path, asked)
        return Guess({name: value for name, value in settings.items() if name != "text_pair"}, remarks)
    header = not any(map(sample.is_number, sample.names))
    called: list[Column] = [name if header else place + 1 for place, name in enumerate(sample.names)]
    return Guess({"text": called[text], "columns": [called[place] for place in others]}, [])


def two_sides(path: Path, asked: Mapping[str, Any] | None = None) -> Guess:
    """`{"source": "question", "target": "answer"}`, by usual names for a text and what is to be written for it."""
    asked = asked or {}
    names = _sample(path, asked).names if path.is_file() else []
    source, target = find(None, SOURCE_WORDS, names), find(None, TARGET_WORDS, names)
    if source is None or target is None or "source" in asked or "target" in asked:
        return NOTHING
    return Guess({"source": names[source], "target": names[target]}, [])


# Series


def time_and_values(path: Path, asked: Mapping[str, Any] | None = None) -> Guess:
    """`{"time": "date", "columns": ["load", "wind"]}`; columns only if not every other one holds numbers."""
    asked = asked or {}
    sample = _sample(path, asked)
    top, header = sample.top, not any(map(sample.is_number, sample.names))
    sample = sample if header else sample._replace(rows=[TableRow(1, top), *sample.rows])
    called: list[Column] = [cell.strip() if header else place + 1 for place, cell in enumerate(top)]
    time = next((place for place in range(len(top)) if _is_time(sample, place)), None)
    others = [place for place, name in enumerate(called) if place != time and name]
    wrong = {place: _first_text(sample, place) for place in others}
    named = [called[place] for place in others if wrong[place] is None]
    unset = "time" in asked and asked["time"] is None
    found: dict[str, Any] = {} if time is None or unset else {"time": called[time]}
    if not named or (len(named) == len(others) and not (unset and time is not None)) or "columns" in asked:
        return Guess(found, [])
    told = [
        f"'{called[place]}' is left out: line {row.line} has '{short(row.cells[place].strip())}', which is no number"
        for place, row in wrong.items()
        if row is not None and called[place] != asked.get("time")
    ]
    return Guess({**found, "columns": named}, told)


def _first_text(sample: Sample, place: int) -> TableRow | None:
    """The first row with neither a number nor a missing value in a column."""
    found = zip(sample.rows, sample.column(place), strict=True)
    return next((row for row, cell in found if not is_missing(cell) and not sample.is_number(cell)), None)


def _is_time(sample: Sample, place: int) -> bool:
    """Whether a column is called like a time, or begins with something like a date."""
    if sample.top[place].strip().casefold() in TIME_WORDS:
        return True
    first = next(iter(sample.column(place)), "")
    return first[:1].isdigit() and not sample.is_number(first) and any(mark in first for mark in "-/:.")


# The first rows


def _sample(path: Path, asked: Mapping[str, Any]) -> Sample:
    """The first rows of a table; what is wrong with the file is left for its reader to say."""
    dialect = Dialect(**{name: asked[name] for name in Dialect._fields if asked.get(name) is not None})
    if extension_of(path) not in {"", ".txt", *FORMS}:
        return Sample([], [])
    rows = _records(path, dialect) if extension_of(path) in OBJECTS else cells(path, dialect)
    top = next(rows, TableRow(1, []))
    plain = extension_of(path) not in {*OBJECTS, *SHEETS}
    commas = dialect.decimal == "," or (plain and separator_of(path, dialect) != ",")
    fitting = [row for row in islice(rows, LOOKED_AT) if len(row.cells) == len(top.cells)]
    return Sample(top.cells, fitting, commas or _has_grouped_commas(fitting))


def _has_grouped_commas(rows: list[TableRow]) -> bool:
    """Whether a column shows decimal commas by marking thousands with something else."""
    columns = zip(*(row.cells for row in rows), strict=True)
    return any(grouped_decimal(filter(None, map(str.strip, column))) == "," for column in columns)


def _records(path: Path, dialect: Dialect) -> Iterator[TableRow]:
    with suppress(DataError):
        records = ((row.line, record) for row in objects(path, {}, dialect) if (record := row.parsed()))
        first = next(records, (1, {}))
        yield TableRow(1, list(first[1]))
        for line, record in chain([first], records):
            found = (record.get(key) for key in first[1])
            yield TableRow(line, ["" if value is None else str(value) for value in found])
