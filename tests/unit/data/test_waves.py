"""The made-up series: those of the book, to the bit, cut into parts."""

import numpy as np
import pytest

from seqwright.data.examples import PartName
from seqwright.data.waves import Waves, WavesSettings
from seqwright.errors import DataError
from seqwright.metrics.forecasts import Errors, naive

PARTS: list[PartName] = ["train", "valid", "test"]


def book(count: int, steps: int, seed: int) -> np.ndarray:
    """The book's own lines (Géron 2019, chapter 15), with the global generator it uses."""
    np.random.seed(seed)
    freq1, freq2, offsets1, offsets2 = np.random.rand(4, count, 1)
    time = np.linspace(0, 1, steps)
    series = 0.5 * np.sin((time - offsets1) * (freq1 * 10 + 10))
    series += 0.2 * np.sin((time - offsets2) * (freq2 * 20 + 20))
    series += 0.1 * (np.random.rand(count, steps) - 0.5)
    values: np.ndarray = series[..., np.newaxis].astype(np.float32)
    return values


@pytest.mark.parametrize(("horizon", "seed"), [(1, 42), (10, 7)])
def test_the_series_are_the_books_to_the_bit(horizon: int, seed: int) -> None:
    data = Waves(WavesSettings(examples=70, valid=20, test=10, horizon=horizon, seed=seed))
    found = np.stack([series for part in PARTS for series in data.series(part)])
    assert np.array_equal(found, book(100, 50 + horizon, seed))


def test_the_naive_error_of_the_validation_part_is_the_published_one() -> None:
    """To the last digit of the single precision in which the book prints it."""
    windows = list(Waves(WavesSettings()).examples("valid"))
    errors = Errors(np.ones(1))
    errors.add(
        naive(np.stack([window.values_TC for window in windows]), 1), np.stack([window.future_NC for window in windows])
    )
    assert len(windows) == 2000
    assert str(np.float32(errors.scores()["mse"])) == "0.020211367"


def test_a_forecast_goes_on_from_a_past_that_was_not_trained_on() -> None:
    data = Waves(WavesSettings(examples=7, valid=3, test=2))
    assert np.array_equal(data.ending().values_TC, data.series("test")[0][:50])


def test_a_part_of_size_nothing_is_not_there() -> None:
    data = Waves(WavesSettings(examples=7, valid=3, test=0))
    assert data.parts() == ["train", "valid"]
    with pytest.raises(DataError, match=r"no test part: data\.test is 0"):
        data.series("test")


def test_the_fingerprint_changes_with_the_part_and_with_every_setting() -> None:
    kinds = [WavesSettings(), WavesSettings(seed=1), WavesSettings(horizon=2), WavesSettings(valid=1999)]
    marks = [Waves(settings).fingerprint(part) for settings in kinds for part in PARTS]
    assert len(set(marks)) == len(marks)
    assert Waves(WavesSettings()).fingerprint("train") == marks[0]
