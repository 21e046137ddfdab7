"""Published figures that nothing has to be learnt for, to their last digit. `benchmarks.reproduction` has more."""

from pathlib import Path

import pytest

from benchmarks.reproduction import PUBLISHED, ett_last, exchange_last, waves_naive


def test_the_naive_forecast_of_gerons_series_has_his_error() -> None:
    assert waves_naive() == PUBLISHED["waves, naive"]


@pytest.fixture
def published(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(shared_data))


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("ahead", [96, 336])
def test_the_last_value_has_the_errors_of_the_paper(ahead: int) -> None:
    for name, found in (
        (f"ETTh1, last value, {ahead} hours", ett_last(ahead)),
        (f"exchange, last value, {ahead} days", exchange_last(ahead)),
    ):
        assert {score: round(found[score], 3) for score in ("mse", "mae")} == PUBLISHED[name]


@pytest.mark.usefixtures("published")
def test_windows_that_fill_no_batch_would_change_the_figure() -> None:
    found = ett_last(336)
    assert (round(found["mse"], 3), round(found["mse of all windows"], 3)) == (1.323, 1.330)
