"""When the rows of a series were measured: that the steps between them are even, and how time continues after the last.

A time is an ISO date or date and time (2016-07-01, 2016-07-01 13:00, 2016-07-01T13:00:00+02:00), a month (2016-07), or
a number (a year, a count of seconds).
"""

import calendar
import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from seqwright.errors import DataError

MONTH = re.compile(r"\d{4}-\d{2}")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
NOISE = 1e-6  # of a step, by which rounded numbers may be apart
Later = Callable[[int], str]


class Rhythm(NamedTuple):
    """How time continues: `later(k)` is when the k-th row after the last would be, `step` how far rows are apart."""

    step: str
    later: Later


def rhythm(texts: Sequence[str], lines: Sequence[int], path: Path) -> Rhythm:
    """The rhythm of a column of times, which must be even; `lines` says where each stands in the file."""
    if len(texts) < 2:
        raise DataError(f"{path} has {len(texts)} row; the steps of time show only between two: give more rows")
    if all(NUMBER.fullmatch(text) for text in texts):
        return _of_numbers(texts, lines, path)
    moments = [_moment(text, f"{path}:{line}") for text, line in zip(texts, lines, strict=True)]
    if len({moment.tzinfo is None for moment in moments}) > 1:
        zoned = moments[0].tzinfo is not None
        line = next(line for moment, line in zip(moments, lines, strict=True) if (moment.tzinfo is not None) != zoned)
        raise DataError(
            f"{path}:{line} has a time {'without' if zoned else 'with'} a time zone, unlike the rows before"
        )
    written = _written_as(texts[-1])
    months = _even_months(moments)
    if months is not None:
        count = f"{months} months" if months > 1 else "a month"
        at_end = all(map(_ends_month, moments))
        return Rhythm(count, lambda k: written(_months_later(moments[-1], k * months, at_end=at_end)))
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    usual = Counter(gaps).most_common(1)[0][0]
    for gap, line in zip(gaps, lines[1:], strict=True):
        if gap != usual or gap <= timedelta(0):
            raise DataError(_uneven(f"{path}:{line}", _told(gap), _told(usual), forwards=gap > timedelta(0)))
    return Rhythm(_told(usual), lambda k: written(moments[-1] + k * usual))


def _of_numbers(texts: Sequence[str], lines: Sequence[int], path: Path) -> Rhythm:
    numbers = [float(text) for text in texts]
    gaps = [after - before for before, after in itertools.pairwise(numbers)]
    usual = sorted(gaps)[len(gaps) // 2]
    for gap, line in zip(gaps, lines[1:], strict=True):
        if gap <= 0 or abs(gap - usual) > NOISE * abs(usual):
            raise DataError(_uneven(f"{path}:{line}", f"{gap:g}", f"{usual:g}", forwards=gap > 0))
    if all(number.is_integer() for number in numbers):
        return Rhythm(f"{usual:g}", lambda k: str(int(numbers[-1]) + k * round(usual)))
    return Rhythm(f"{usual:g}", lambda k: f"{numbers[-1] + k * usual:.10g}")


def _moment(text: str, where: str) -> datetime:
    try:
        return datetime.fromisoformat(f"{text}-01" if MONTH.fullmatch(text) else text)
    except ValueError as error:
        raise DataError(
            f"{where} has the time '{text[:40]}', expected a date such as 2016-07-01 or 2016-07-01 13:00, a month such "
            "as 2016-07, or a number"
        ) from error


def _uneven(where: str, gap: str, usual: str, *, forwards: bool) -> str:
    if not forwards:
        return f"{where} is not later than the row before it, expected rows in the order of time, each once: sort them"
    return (
        f"{where} is {gap} after the row before it, expected {usual} as most rows are: fill the gap, or leave out "
        "data.time to take the rows as evenly spaced"
    )


def _told(gap: timedelta) -> str:
    return str(gap).removesuffix(", 0:00:00")


def _even_months(moments: Sequence[datetime]) -> int | None:
    """How many months rows are apart, where they are on the same day of each, or on the last."""
    gaps = {
        12 * (after.year - before.year) + after.month - before.month for before, after in itertools.pairwise(moments)
    }
    same_time = len({moment.timetz() for moment in moments}) == 1
    same_day = len({moment.day for moment in moments}) == 1 or all(map(_ends_month, moments))
    return gaps.pop() if len(gaps) == 1 and min(gaps) > 0 and same_time and same_day else None


def _ends_month(moment: datetime) -> bool:
    return moment.day == calendar.monthrange(moment.year, moment.month)[1]


def _months_later(moment: datetime, months: int, *, at_end: bool) -> datetime:
    year, month = divmod(12 * moment.year + moment.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=last if at_end else moment.day)


def _written_as(text: str) -> Callable[[datetime], str]:
    """How to write a time in the form of another."""
    if MONTH.fullmatch(text):
        return lambda moment: f"{moment:%Y-%m}"
    if len(text) <= 10:
        return lambda moment: moment.date().isoformat()
    precision = "minutes" if text.count(":") == 1 + ("+" in text) else "auto"
    zone = "Z" if text.endswith("Z") else "+00:00"
    return lambda moment: moment.isoformat(text[10], precision).replace("+00:00", zone)
