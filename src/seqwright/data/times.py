"""When the rows of a series were measured: that the steps between them are even, and how time continues after the last.

A time is an ISO date or date and time (2016-07-01, 2016-07-01 13:00, 2016-07-01T13:00:00+02:00), a month (2016-07), or
a number (a year, a count of seconds). Dates with the year first (2016/7/1 0:00) and with points (1.7.2016) are read as
well, and 7/13/2016 or 13/7/2016 where a row of the column tells which is the day; times to come are written alike.
"""

import calendar
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.data.decimals import NUMBER
from seqwright.data.faults import RowError, every_row
from seqwright.errors import DataError, by_setting

MONTH = re.compile(r"\d{4}-\d{2}")
CLOCK = r"(?:[ T](?P<hour>\d{1,2})(?P<rest>:\d{2}.*))?"
YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})(?P<mark>[/.])(?P<first>\d{{1,2}})(?P=mark)(?P<second>\d{{1,2}}){CLOCK}")
YEAR_LAST = re.compile(rf"(?P<first>\d{{1,2}})(?P<mark>[/.-])(?P<second>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}){CLOCK}")
LATEST = 2.0**63  # as a number: nanoseconds since 1970 come to it in 2262
MONTHS = 12
NOISE = 1e-6  # of a step, by which rounded numbers may be apart
Later = Callable[[int], str]


class Rhythm(NamedTuple):
    """How time continues: `later(k)` is when the k-th row after the last would be, `step` how far rows are apart.

    `absent` says how many rows are missing before each row but the first, `written` a time as the column has it.
    """

    step: str
    later: Later
    absent: list[int]
    written: Callable[[str], str] = str


def rhythm(texts: Sequence[str], lines: Sequence[int], path: Path, *, gaps: bool = False) -> Rhythm:
    """The rhythm of a column of times, which must be even; `lines` says where each stands in the file.

    With `gaps`, whole steps may be missing.
    """
    if len(texts) < 2:
        raise DataError(f"{path} has {len(texts)} row; the steps of time show only between two: give more rows")
    texts, written = _as_iso(texts, lines, path)
    return _rhythm(texts, lines, path, partial(_absent, lines=lines, path=path, gaps=gaps))._replace(written=written)


def _rhythm(texts: Sequence[str], lines: Sequence[int], path: Path, absent: Callable[..., list[int]]) -> Rhythm:
    if all(NUMBER.fullmatch(text) for text in texts):
        return _of_numbers(texts, [f"{path}:{line}" for line in lines], absent)
    moments = list(every_row(zip(texts, lines, strict=True), lambda row: _moment(*row, path)))
    if len({moment.tzinfo is None for moment in moments}) > 1:
        zoned = moments[0].tzinfo is not None
        line = next(line for moment, line in zip(moments, lines, strict=True) if (moment.tzinfo is not None) != zoned)
        raise DataError(
            f"{path}:{line} has a time {'without' if zoned else 'with'} a time zone, unlike the rows before"
        )
    written, months = _written_as(texts[-1]), _months(moments)
    if months:
        usual = Counter(months).most_common(1)[0][0]
        at_end = all(map(_ends_month, moments))
        return Rhythm(
            _told_months(usual),
            _until_9999(lambda k: written(_months_later(moments[-1], k * usual, at_end=at_end)), path),
            absent(months, usual, told=_told_months),
        )
    steps = [after - before for before, after in itertools.pairwise(moments)]
    step = Counter(steps).most_common(1)[0][0]
    later = _until_9999(lambda k: written(moments[-1] + k * step), path)
    return Rhythm(_told(step), later, absent(steps, step, told=_told))


def _until_9999(later: Later, path: Path) -> Later:
    """The same, but where the calendar ends there is a sentence."""

    def told(k: int) -> str:
        try:
            return later(k)
        except (ValueError, OverflowError) as error:
            raise DataError(
                f"row {k:,} after the last of {path} would be after the year 9999: forecast fewer steps"
            ) from error

    return told


def _finite(text: str, where: str) -> float:
    """A time that is a number; beyond this, one step more cannot be told from none."""
    if abs(found := float(text)) > LATEST:
        raise DataError(f"{where} has the time {text[:40]}, expected a number below {LATEST:g}")
    return found


def _of_numbers(texts: Sequence[str], wheres: Sequence[str], absent: Callable[..., list[int]]) -> Rhythm:
    numbers = [_finite(text, where) for text, where in zip(texts, wheres, strict=True)]
    steps = [after - before for before, after in itertools.pairwise(numbers)]
    usual = sorted(steps)[len(steps) // 2]
    missing = absent(steps, usual, told="{:g}".format)
    if all(number.is_integer() for number in numbers):
        return Rhythm(f"{usual:g}", lambda k: str(int(numbers[-1]) + k * round(usual)), missing)
    return Rhythm(f"{usual:g}", lambda k: f"{numbers[-1] + k * usual:.10g}", missing)


def _absent(
    steps: Sequence[Any], usual: Any, *, lines: Sequence[int], path: Path, gaps: bool, told: Callable[[Any], str]
) -> list[int]:
    """How many rows are missing in each step."""

    def later(row: tuple[Any, int]) -> None:
        step, line = row
        if step <= 0 * step:
            raise RowError(
                f"{path}:{line} is not later than the row before it, expected rows in the order of time, each once: "
                "sort them",
                line,
                "a time that is not later than the row before",
            )

    def missing(row: tuple[Any, int]) -> int:
        step, line = row
        ratio = step / usual
        whole = math.isfinite(ratio) and round(ratio) >= 1 and abs(ratio - round(ratio)) <= NOISE * max(1, ratio)
        if not whole or (round(ratio) > 1 and not gaps):
            filled = by_setting(", as data.gaps=last and data.gaps=linear do")
            fill = f"fill the gap{filled}" if whole else "correct it"
            even = by_setting(", or unset the column of times, data.time=, to take the rows as evenly spaced")
            raise RowError(
                f"{path}:{line} is {told(step)} after the row before it, expected {told(usual)} as most rows are: "
                f"{fill}{even}",
                line,
                "a gap before them" if whole else "an uneven step before them",
            )
        return round(float(ratio)) - 1

    list(every_row(zip(steps, lines[1:], strict=True), later))  # first: by a step of 0 nothing can be divided
    found = list(every_row(zip(steps, lines[1:], strict=True), missing))
    if sum(found) > len(lines):
        raise DataError(
            f"{path} lacks {sum(found):,} rows between its {len(lines):,} times, more than it has: see whether "
            + by_setting("data.time means the right column", "the times are right")
        )
    return found


def _as_iso(texts: Sequence[str], lines: Sequence[int], path: Path) -> tuple[Sequence[str], Callable[[str], str]]:
    """Times of another form as ISO has them, 1990/1/1 0:00 is 1990-01-01 00:00, and what writes them as they were."""
    every = [YEAR_FIRST.fullmatch(text) or YEAR_LAST.fullmatch(text) for text in texts]
    found = [each for each in every if each is not None]
    if not found:
        return texts, str
    day_first = {each["mark"]: True for each in found if each.re is YEAR_LAST}
    for mark in day_first.keys() - {"."}:
        numbers = [(int(each["first"]), int(each["second"])) for each in found if each["mark"] == mark]
        if max(map(max, numbers)) <= MONTHS:
            line = next(line for each, line in zip(every, lines, strict=True) if each is not None)
            raise DataError(
                f"{path}:{line} has the time '{found[0][0]}', and no row tells whether its day or its month comes "
                "first: write the year first, as in 2016-07-01"
            )
        day_first[mark] = max(first for first, _ in numbers) > MONTHS

    def iso(text: str, match: re.Match[str] | None) -> str:
        if match is None:
            return text
        day, month = match["second"], match["first"]
        if match.re is YEAR_LAST and day_first[match["mark"]]:
            day, month = month, day
        date = f"{match['year']}-{month:0>2}-{day:0>2}"
        return date if match["hour"] is None else f"{date} {match['hour']:0>2}{match['rest']}"

    texts = [iso(*each) for each in zip(texts, every, strict=True)]
    if len(found) < len(texts) or len({(each.re, each["mark"]) for each in found}) > 1:
        return texts, str
    order = ("year", "month", "day") if found[0].re is YEAR_FIRST else ("month", "day", "year")
    order = ("day", "month", "year") if day_first.get(found[0]["mark"]) and found[0].re is YEAR_LAST else order
    zeros = all(len(each["first"]) == len(each["second"]) == 2 for each in found)
    hour_zeros = all(len(each["hour"] or "00") == 2 for each in found)
    return texts, partial(_written_like, order=order, mark=found[0]["mark"], zeros=zeros, hour_zeros=hour_zeros)


def _written_like(iso: str, *, order: Sequence[str], mark: str, zeros: bool, hour_zeros: bool) -> str:
    """A time of ISO with its parts in another order, with or without zeros before single digits."""
    parts = dict(zip(("year", "month", "day"), iso[:10].split("-"), strict=True))
    date = mark.join(parts[name] if zeros else str(int(parts[name])) for name in order)
    hour, rest = iso[10:13], iso[13:]
    return f"{date}{hour if hour_zeros or not hour else f' {int(hour)}'}{rest}"


def _moment(text: str, line: int, path: Path) -> datetime:
    try:
        return datetime.fromisoformat(f"{text}-01" if MONTH.fullmatch(text) else text)
    except ValueError as error:
        raise RowError(
            f"{path}:{line} has the time '{text[:40]}', expected a date such as 2016-07-01 or 2016-07-01 13:00, also "
            "1.7.2016 or 7/13/2016 with all four digits of the year, a month such as 2016-07, or a number: write all "
            "times in one of these forms, or remove the row if it is none of the series",
            line,
            "no such time",
        ) from error


def _told(gap: timedelta) -> str:
    return str(gap).removesuffix(", 0:00:00")


def _told_months(count: int) -> str:
    return f"{count} months" if count > 1 else "a month"


def _months(moments: Sequence[datetime]) -> list[int]:
    """How many months rows are apart, where they are on the same day of each, or on the last; otherwise nothing."""
    same_time = len({moment.timetz() for moment in moments}) == 1
    same_day = len({moment.day for moment in moments}) == 1 or all(map(_ends_month, moments))
    steps = [
        12 * (after.year - before.year) + after.month - before.month for before, after in itertools.pairwise(moments)
    ]
    return steps if same_time and same_day and min(steps) > 0 else []


def _ends_month(moment: datetime) -> bool:
    return moment.day == calendar.monthrange(moment.year, moment.month)[1]


def _months_later(moment: datetime, months: int, *, at_end: bool) -> datetime:
    year, month = divmod(12 * moment.year + moment.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=last if at_end else min(moment.day, last))


def _written_as(text: str) -> Callable[[datetime], str]:
    """How to write a time in the form of another."""
    if MONTH.fullmatch(text):
        return lambda moment: f"{moment:%Y-%m}"
    if len(text) <= 10:
        return lambda moment: moment.date().isoformat()
    precision = "minutes" if text.count(":") == 1 + ("+" in text) else "auto"
    zone = "Z" if text.endswith("Z") else "+00:00"
    return lambda moment: moment.isoformat(text[10], precision).replace("+00:00", zone)
