"""Where the ticks of a time axis stand, and what they say: at the turn of seasons, by date where dates are known."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple


class Tick(NamedTuple):
    """A step, counted from the last known one, and what stands below it."""

    step: int
    label: str


def ticks(
    steps: Sequence[int], season: int = 1, times: Mapping[int, str] | None = None, *, most: int = 6
) -> list[Tick]:
    """At most so many ticks along some steps that follow each other.

    With dates they stand at midnight, of days on Mondays, of months at the turn of a year. Otherwise they stand at
    multiples of the season from the last known step, or without a season at those of 1, 2, 5, 10, …
    """
    known = times or {}
    moments = _moments(known)
    places = _turns(moments)
    if len(places) < 2:
        places = _multiples(steps, season, most)
    places = places[:: math.ceil(len(places) / most)]
    return [Tick(step, _label(step, places, moments, known)) for step in places]


def _moments(times: Mapping[int, str]) -> dict[int, datetime]:
    """The times that are dates: all of them, or none."""
    try:
        dates = {step: f"{text}-01" if len(text) == 7 else text for step, text in sorted(times.items())}
        return {step: datetime.fromisoformat(text) for step, text in dates.items() if not text.isdecimal()}
    except ValueError:
        return {}


def _turns(moments: Mapping[int, datetime]) -> list[int]:
    """The steps at which a day begins; where each does, a week; or else a year."""
    begins: tuple[Callable[[datetime], bool], ...] = (
        lambda moment: (moment.hour, moment.minute, moment.second) == (0, 0, 0),
        lambda moment: (moment.weekday(), moment.hour, moment.minute) == (0, 0, 0),
        lambda moment: moment.month == 1,
    )
    for begin in begins:
        found = [step for step, moment in moments.items() if begin(moment)]
        gaps = {after - before for before, after in pairwise(found)}
        if len(gaps) == 1 and min(gaps) > 1:
            return found
    return []


def _multiples(steps: Sequence[int], season: int, most: int) -> list[int]:
    """Multiples of the season; without one, of a round number, so far apart that they are not too many."""
    apart = season
    if season == 1 or len(steps) < season:
        apart = next(n * 10**power for power in range(12) for n in (1, 2, 5) if len(steps) <= most * n * 10**power)
    return [step for step in steps if step % apart == 0]


def _label(step: int, places: Sequence[int], moments: Mapping[int, datetime], times: Mapping[int, str]) -> str:
    """`25 Jun`, with the year below the first tick of each; of months no day, of other hours than midnight the hour."""
    moment = moments.get(step)
    if moment is None:
        return times.get(step, str(step).replace("-", "−"))
    every = [moments[place] for place in places]
    if not all((each.hour, each.minute, each.second) == (0, 0, 0) for each in every):
        return f"{moment.day} {moment:%b}\n{moment:%H:%M}"
    before = [each for each in every if each < moment]
    year = "" if before and before[-1].year == moment.year else f"\n{moment:%Y}"
    return (f"{moment:%b}" if len(times[step]) == len("2016-07") else f"{moment.day} {moment:%b}") + year
