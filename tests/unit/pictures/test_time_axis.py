"""Ticks along time: where a reader would look for them."""

from datetime import date, datetime, timedelta

from seqwright.pictures.time_axis import ticks

STEPS = range(-47, 25)


def known(times: list[str]) -> dict[int, str]:
    return dict(zip(STEPS, times, strict=False))


def test_days_of_hours_begin_at_midnight() -> None:
    begin = datetime(2016, 7, 1, 13)
    found = ticks(STEPS, 24, known([(begin + timedelta(hours=n)).isoformat(" ", "minutes") for n in range(72)]))
    assert [tick.label for tick in found] == ["2 Jul\n2016", "3 Jul", "4 Jul"]
    assert [tick.step for tick in found] == [-36, -12, 12]


def test_weeks_of_days_begin_on_monday() -> None:
    begin = date(2024, 1, 3)  # a Wednesday
    found = ticks(STEPS, 7, known([(begin + timedelta(n)).isoformat() for n in range(72)]), most=20)
    assert all(date.fromisoformat(f"{begin + timedelta(tick.step + 47)}").weekday() == 0 for tick in found)
    assert found[0].label == "8 Jan\n2024"
    assert len(found) == 10


def test_years_of_months_begin_in_january() -> None:
    found = ticks(STEPS, 12, known([f"{2011 + n // 12}-{n % 12 + 1:02}" for n in range(3, 75)]), most=9)
    assert [tick.label for tick in found] == [f"Jan\n{year}" for year in range(2012, 2018)]


def test_hours_without_a_day_of_seasons_say_their_hour() -> None:
    begin = datetime(2016, 7, 1, 13)
    found = ticks(STEPS, 1, known([(begin + timedelta(minutes=n)).isoformat(" ") for n in range(72)]))
    assert found[0].label == "1 Jul\n13:07"
    assert [tick.step for tick in found] == [-40, -20, 0, 20]


def test_numbers_are_told_as_they_are() -> None:
    found = ticks(STEPS, 1, known([str(1950 + n) for n in range(72)]))
    assert [tick.label for tick in found] == ["1957", "1977", "1997", "2017"]


def test_a_season_that_is_no_day_leaves_midnights_where_they_are() -> None:
    begin = datetime(2016, 7, 1, 13)
    found = ticks(STEPS, 22, known([(begin + timedelta(hours=n)).isoformat(" ") for n in range(72)]))
    assert [tick.label for tick in found] == ["2 Jul\n2016", "3 Jul", "4 Jul"]


def test_many_seasons_are_thinned() -> None:
    found = ticks(range(-1000, 1), 24, most=6)
    assert len(found) <= 6
    assert all(tick.step % 24 == 0 for tick in found)


def test_a_season_longer_than_the_axis_is_no_measure() -> None:
    assert [tick.step for tick in ticks(range(-5, 6), 52)] == [-4, -2, 0, 2, 4]
