"""Labels as they stand in a file: which of them can be classes, and which are numbers."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from seqwright.data.decimals import is_number
from seqwright.data.faults import RowError, every_row
from seqwright.data.limits import file_limits
from seqwright.errors import DataError, by_setting

FEW_LABELS = 20  # so many may stand before almost as many examples: a table that somebody tries things out with
FoldLabels = Annotated[
    bool,
    Field(
        description="Whether labels that differ only in case or white space are one: all are then written in small "
        "letters, with one space where there are several."
    ),
]
_CLASS = re.compile(r"-?\d+(\.\d+)?")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,2})?")


def class_counts(labels: Iterable[str]) -> dict[str, int]:
    """Every label of the training part with the number of its examples: numbers by size, words by the alphabet.

    What cannot be classes is refused: no label, one, or nearly as many as there are examples.
    """
    found = Counter(labels)
    examples = found.total()
    if not examples:
        raise DataError(
            "no example of the training part can be read and has a label: see whether data.label means the right column"
        )
    if len(found) == 1:
        raise DataError(
            f"every example of the training part has the label '{short(next(iter(found)))}', expected two labels or "
            "more: see whether data.label means the right column"
        )
    if len(found) > file_limits().labels or FEW_LABELS < len(found) > examples / 2:
        common = ", ".join(f"'{short(label)}'" for label, _ in found.most_common(2))
        raise DataError(
            f"the {examples:,} examples of the training part have {len(found):,} different labels, such as {common}: "
            "that looks like another column; choose the right one with data.label"
            + (f"; {file_limits().raised('labels')}" if len(found) > file_limits().labels else "")
        )
    return {label: found[label] for label in sorted(found, key=_order)}


def numbers_of(labels: Iterable[tuple[str, str]]) -> list[float]:
    """Labels as numbers, each given with where it stands; those that are none are refused together."""
    return list(every_row(labels, _number_of))


def _number_of(labelled: tuple[str, str]) -> float:
    where, label = labelled
    if not _NUMBER.fullmatch(label):
        other = "see whether data.label means the right column; classes are learnt with objective.kind=labels"
        advice = by_setting(other, "correct it")
        if is_number(label):
            advice = by_setting("say its decimal mark with data.decimal, ',' or '.'", "write it with a decimal point")
        told = f"{where} has the label '{short(label)}' where there must be a number such as 3.5: {advice}"
        raise RowError(told, kind="no number for a label")
    return float(label)


def folded(label: str) -> str:
    """A label in small letters, with one space where there are several."""
    return " ".join(label.split()).casefold()


def spelling_remarks(labels: Iterable[str]) -> list[str]:
    """Labels that are classes of their own only by case or white space."""
    alike: dict[str, dict[str, int]] = {}
    for label, count in Counter(filter(None, labels)).most_common():
        alike.setdefault(folded(label), {})[label] = count
    several = [spellings for spellings in alike.values() if len(spellings) > 1]
    if not several:
        return []
    shown = "; ".join(" and ".join(f"'{short(label)}' ({n:,})" for label, n in each.items()) for each in several[:3])
    more = "; …" if len(several) > 3 else ""
    return [
        f"labels that differ only in case or white space are classes of their own: {shown}{more}; "
        "data.fold_labels=true makes them one"
    ]


def short(label: str) -> str:
    """A label as a sentence shows it."""
    return label if len(label) <= 30 else f"{label[:29]}…"


def _order(label: str) -> tuple[float, str]:
    """Numbers before words."""
    return (float(label) if _CLASS.fullmatch(label) else float("inf"), label)
