"""What is wrong with a table: of rows that cannot be read the first is told as it stands, the others are counted."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from seqwright.errors import DataError, by_setting, nearest

RowT = TypeVar("RowT")
ReadT = TypeVar("ReadT")
SHOWN = 3  # lines of each kind of fault


class RowError(DataError):
    """One row cannot be read; `kind` is what such rows have, as in "too many cells"; a line of 0 is not known."""

    def __init__(self, sentence: str, line: int = 0, kind: str = "") -> None:
        super().__init__(sentence)
        self.line, self.kind = line, kind


def every_row(rows: Iterable[RowT], read: Callable[[RowT], ReadT]) -> Iterator[ReadT]:
    """What is read of each row; from the first that cannot be read on, the others are only looked at for faults.

    What ends the file before its last line, such as a quote that is never closed, is told only if no row was wrong
    before.
    """
    faults: list[RowError] = []
    try:
        for row in rows:
            try:
                found = read(row)
            except RowError as error:
                faults.append(error)
                continue
            if not faults:
                yield found
    except DataError:
        if not faults:
            raise
    refuse_faults(faults)


def refuse_faults(faults: Sequence[RowError]) -> None:
    """Refuse the rows that cannot be read, if there are any."""
    if faults:
        raise DataError(_told(faults)) from faults[0]


def _told(faults: Sequence[RowError]) -> str:
    if len(faults) == 1:
        return str(faults[0])
    lines: dict[str, list[int]] = {}
    for fault in faults:
        lines.setdefault(fault.kind, []).append(fault.line)
    first, *others = lines.items()
    kinds = [_counted(*first, rows=True), *(_counted(*each) for each in others)]
    return f"{faults[0]}; in all, {', '.join(kinds)}"


def _counted(kind: str, lines: Sequence[int], *, rows: bool = False) -> str:
    """`12 rows have too many cells (lines 7, 19, 40, …)`."""
    some, several = ", ".join(map(str, lines[:SHOWN])), len(lines) > 1
    named = f" row{'s' if several else ''}" if rows else ""
    where = f" (line{'s' if several else ''} {some}{', …' if len(lines) > SHOWN else ''})" if all(lines) else ""
    return f"{len(lines):,}{named} {'have' if several else 'has'} {kind}{where}"


# Rows of other lengths


def too_few(row: Any, least: int, where: str, purpose: str = "") -> str:
    """That a row has too few cells."""
    count = f"{len(row.cells)} column{'s' if len(row.cells) > 1 else ''}"
    return f"{where} has {count}, expected at least {least}{purpose}{semicolons(row.cells)}"


def more_cells(row: Any, top: Any) -> bool:
    """Whether a row has more than the first line: then it is not certain what stands in which column."""
    return any(cell.strip() for cell in row.cells[len(top.cells) :])


def too_many(row: Any, top: Any, where: str) -> str:
    """That a row has too many cells."""
    return (
        f"{where} has {len(row.cells)} cells, but line {top.line} has {len(top.cells)}: where what separates the cells "
        "is part of a text, put that cell in quotes"
    )


def semicolons(found: Sequence[str]) -> str:
    """What to do where semicolons seem to stand between the columns."""
    if len(found) != 1 or ";" not in found[0]:
        return ""
    return ": it has ';', so " + by_setting("set data.separator=';'", "separate the cells of all rows alike")


# Columns that are missing


def not_there(
    asked: str, names: Sequence[str], where: str, setting: str, *, what: str = "column", advice: str = ""
) -> str:
    """That a column or key is missing, which ones there are, and what to do."""
    number = ", or to its number if the file has no header line" if what == "column" else ""
    set_it = f"set {setting} to the name of one of them{number}"
    advice = advice or by_setting(set_it, "name one of them as in training")
    mended = semicolons(names) if what == "column" else ""
    return f"{where} has no {what} '{asked}' but {quoted(names)}{mended or f': {advice}'}.{nearest(asked, names)}"


def quoted(names: Sequence[str]) -> str:
    """Names in quotes, cut short: what was taken for a header line may be a whole text."""
    shown = [f"'{name[:30]}…'" if len(name) > 30 else f"'{name}'" for name in names[:6]]
    return (", ".join(shown) or "none at all") + (", …" if len(names) > 6 else "")
