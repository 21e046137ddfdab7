"""When rows were measured: even steps are recognised and go on; uneven ones are refused where they stand."""

from pathlib import Path

import pytest

from seqwright.data.times import rhythm
from seqwright.errors import DataError

FILE = Path("mine.csv")


def later(*texts: str) -> list[str]:
    found = rhythm(texts, range(2, 2 + len(texts)), FILE)
    return [found.later(1), found.later(2)]


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["2016-07-01 22:00:00", "2016-07-01 23:00:00"], ["2016-07-02 00:00:00", "2016-07-02 01:00:00"]),
        (["2016-07-01T22:15", "2016-07-01T22:30"], ["2016-07-01T22:45", "2016-07-01T23:00"]),
        (["2024-02-27", "2024-02-28"], ["2024-02-29", "2024-03-01"]),
        (["2023-12-31T23:00Z", "2024-01-01T00:00Z"], ["2024-01-01T01:00Z", "2024-01-01T02:00Z"]),
        (["2024-05-01T01:00+02:00", "2024-05-01T02:00+02:00"], ["2024-05-01T03:00+02:00", "2024-05-01T04:00+02:00"]),
        (["1949-10", "1949-11", "1949-12"], ["1950-01", "1950-02"]),
        (["2023-11-30", "2023-12-31", "2024-01-31"], ["2024-02-29", "2024-03-31"]),
        (["2022-11-30", "2022-12-30", "2023-01-30"], ["2023-02-28", "2023-03-30"]),
        (["2023-07-15", "2023-10-15", "2024-01-15"], ["2024-04-15", "2024-07-15"]),
        (["2022-01-01", "2023-01-01", "2024-01-01"], ["2025-01-01", "2026-01-01"]),
        (["1998", "2000", "2002"], ["2004", "2006"]),
        (["0.1", "0.2", "0.3"], ["0.4", "0.5"]),
        (["1990/1/30 0:00", "1990/1/31 0:00"], ["1990-02-01 00:00", "1990-02-02 00:00"]),
        (["2016/07/30", "2016/07/31"], ["2016-08-01", "2016-08-02"]),
        (["1.2.2024", "2.2.2024", "3.2.2024"], ["2024-02-04", "2024-02-05"]),
        (["01.02.2024 23:30", "02.02.2024 00:00"], ["2024-02-02 00:30", "2024-02-02 01:00"]),
    ],
)
def test_time_goes_on_in_its_own_rhythm_and_form(texts: list[str], wanted: list[str]) -> None:
    assert later(*texts) == wanted


@pytest.mark.parametrize(
    "texts",
    [
        ["30.01.2024", "31.01.2024", "01.02.2024", "02.02.2024"],
        ["30.1.2024 9:00", "31.1.2024 9:00", "1.2.2024 9:00", "2.2.2024 9:00"],
        ["28.02.2024 09:00", "28.02.2024 10:00", "28.02.2024 11:00"],
        ["12/30/2023", "12/31/2023", "01/01/2024", "01/02/2024"],
        ["30/1/2024 8:30", "31/1/2024 8:30", "1/2/2024 8:30"],
        ["30-12-2023", "31-12-2023", "01-01-2024"],
        ["1990/1/30 0:00", "1990/1/31 0:00", "1990/2/1 0:00"],
        ["2016.07.30", "2016.07.31", "2016.08.01"],
        ["2016-07-30T05:00", "2016-07-31T05:00", "2016-08-01T05:00"],
    ],
)
def test_times_to_come_are_written_as_those_of_the_column(texts: list[str]) -> None:
    known = texts[:-1]
    found = rhythm(known, range(2, 2 + len(known)), FILE)
    assert found.written(found.later(1)) == texts[-1]
    assert [found.written(found.later(n)) for n in range(1 - len(known), 1)] == known


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["2016-07-01", "2016-07-02", "2016-07-03", "2016-07-05"], r"mine\.csv:5 is 2 days after .* expected 1 day"),
        (["2016-07-01 00:00", "2016-07-01 02:00", "2016-07-01 03:00", "2016-07-01 04:00"], r"mine\.csv:3 is 2:00:00"),
        (["1", "2", "4", "5"], r"mine\.csv:4 is 2 after the row before it, expected 1"),
        (["2016-07-02", "2016-07-01"], r"mine\.csv:3 is not later than the row before"),
        (["2016-07-01", "2016-07-01", "2016-07-02", "2016-07-03"], r"mine\.csv:3 is not later than the row before"),
        (["3", "2", "1"], r"mine\.csv:3 is not later"),
        (["2016-07-01", "01/07/2016"], r"mine\.csv:3 has the time '01/07/2016', and no row tells whether its day"),
        (["2016-07-01T00:00", "2016-07-01T01:00Z"], r"mine\.csv:3 has a time with a time zone"),
        (["2016-07-01"], r"mine\.csv has 1 row"),
        (["01/02/2024", "01/03/2024"], r"mine\.csv:2 has the time '01/02/2024', and no row tells whether its day"),
        (["01.01.24", "02.01.24"], r"expected a date .* also 1\.7\.2016 or 7/13/2016 with all four digits of the year"),
    ],
)
def test_uneven_times_are_refused_where_they_stand(texts: list[str], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        later(*texts)
