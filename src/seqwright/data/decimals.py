"""How numbers are written: 3.5 or 3,5, and with marks between thousands, 1,049.50 or 1.049,50 or 1 049,50."""

import re
from collections.abc import Iterable

MISSING = {"", "-", "–", "na", "nan", "n/a", "#n/a", "null", "none", "?"}  # as people write it
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")  # 3,5
EITHER_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234 may be more than a thousand, or little more than one
SPACES = " \u00a0\u202f'\u2019"  # that mark thousands too, and nothing else
MARKS = {",": ".", ".": ","}  # each decimal mark, and what then marks thousands
GROUPED = {
    decimal: re.compile(
        rf"[+-]?[1-9]\d{{0,2}}(?P<groups>([{re.escape(mark)}{SPACES}]\d{{3}})+)(?P<rest>\{decimal}\d+)?"
    )
    for decimal, mark in MARKS.items()
}
UNGROUPED = {decimal: re.compile(rf"[+-]?(\d+\{decimal}?\d*|\{decimal}\d+)([eE][+-]?\d+)?") for decimal in MARKS}


def is_number(text: str) -> bool:
    """Whether a text is a number, with a decimal point or comma, or with marks between thousands."""
    return bool(NUMBER.fullmatch(text) or COMMA_NUMBER.fullmatch(text) or is_grouped(text))


def is_missing(cell: str) -> bool:
    """Whether a cell says that its number is not known."""
    return cell.strip().casefold() in MISSING


def is_grouped(text: str) -> bool:
    """Whether a text can be a number with marks between thousands."""
    return any(grouped.fullmatch(text) for grouped in GROUPED.values())


def uncertain_comma(texts: Iterable[str]) -> str | None:
    """The first number with a comma, if in all of them it may be decimal or mark thousands."""
    with_commas = [text for text in texts if COMMA_NUMBER.fullmatch(text)]
    return with_commas[0] if with_commas and all(map(EITHER_COMMA.fullmatch, with_commas)) else None


def grouped_decimal(column: Iterable[str]) -> str | None:
    """The decimal mark of a column of numbers of which one shows that thousands are marked; otherwise None.

    1.049,50 and 1.049.500 show it, 1.049 alone does not.
    """
    cells = list(column)
    return next(
        (decimal for decimal in MARKS if _all_fit(cells, decimal) and any(_shows(c, decimal) for c in cells)), None
    )


def _all_fit(cells: Iterable[str], decimal: str) -> bool:
    return all(UNGROUPED[decimal].fullmatch(cell) or GROUPED[decimal].fullmatch(cell) for cell in cells)


def _shows(cell: str, decimal: str) -> bool:
    found = GROUPED[decimal].fullmatch(cell)
    if found is None:
        return False
    return found["rest"] is not None or len(found["groups"]) > 4 or found["groups"][0] in SPACES


def with_point(cell: str, decimal: str) -> str:
    """A number with a decimal point and without marks for thousands; what is none stays as it is."""
    text = cell.strip()
    if GROUPED[decimal].fullmatch(text):
        text = "".join(letter for letter in text if letter not in SPACES + MARKS[decimal])
    elif not UNGROUPED[decimal].fullmatch(text):
        return cell
    return text.replace(decimal, ".")
