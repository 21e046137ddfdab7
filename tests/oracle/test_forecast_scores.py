"""Scores of forecasts and the simple forecasts, against plain loops and numpy's own solver."""

import numpy as np
import pytest

from seqwright.data.waves import Waves, WavesSettings
from seqwright.errors import DataError
from seqwright.metrics.forecasts import (
    AT_ONCE,
    Errors,
    Intervals,
    LeastSquares,
    autocorrelation,
    naive,
    naive_error,
    season,
    seasonal_naive,
)

B, T, N, C = 5, 7, 3, 2


def drawn(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def test_the_scores_are_those_of_their_definitions() -> None:
    forecast, truth, unit = drawn(B, N, C), drawn(B, N, C, seed=2), np.array([0.5, 3.0])
    errors = Errors(unit)
    errors.add(forecast[:2], truth[:2])
    errors.add(forecast[2:], truth[2:])
    pairs = [(b, n, c) for b in range(B) for n in range(N) for c in range(C)]
    found = errors.scores()
    assert found["mse"] == pytest.approx(sum((forecast[p] - truth[p]) ** 2 for p in pairs) / len(pairs))
    assert found["mae"] == pytest.approx(sum(abs(forecast[p] - truth[p]) for p in pairs) / len(pairs))
    assert found["mase"] == pytest.approx(sum(abs(forecast[p] - truth[p]) / unit[p[2]] for p in pairs) / len(pairs))
    for step in range(N):
        assert errors.by_step()["mse"][step] == pytest.approx(np.mean((forecast - truth)[:, step] ** 2))


def test_the_naive_forecast_of_the_training_part_has_a_mase_of_one() -> None:
    values_TC = drawn(41, C)
    errors = Errors(naive_error([values_TC]))
    errors.add(values_TC[:-1, None], values_TC[1:, None])
    assert errors.scores()["mase"] == pytest.approx(1)


def test_the_naive_error_is_within_the_series_only_and_never_nothing() -> None:
    ups, downs = np.array([[0.0, 4], [1, 4]]), np.array([[100.0, 4], [97, 4]])
    assert naive_error([ups, downs]).tolist() == [2, 1]


def test_nothing_cannot_be_scored_and_shapes_must_fit() -> None:
    with pytest.raises(DataError, match="no forecasts to score"):
        Errors(np.ones(C)).scores()
    with pytest.raises(ValueError, match="shape"):
        Errors(np.ones(C)).add(drawn(B, N, C), drawn(B, 1, C))


def test_the_naive_forecast_repeats_the_last_value() -> None:
    past = drawn(B, T, C)
    for step in range(N):
        assert np.array_equal(naive(past, N)[:, step], past[:, T - 1])


@pytest.mark.parametrize("period", [1, 2, 3, 7])
def test_the_seasonal_forecast_looks_whole_periods_back(period: int) -> None:
    past = drawn(B, T, C)
    found = seasonal_naive(past, 10, period)
    known = np.concatenate([past, found], axis=1)
    for step in range(T, T + 10):
        assert np.array_equal(known[:, step], known[:, step - period])


def test_least_squares_is_that_of_numpy() -> None:
    """Far from zero and of unlike size, where the equations would be badly conditioned if nothing were done."""
    lengths = (40, 9, 33)
    series = [np.cumsum(drawn(length, C, seed=length), axis=0) * [1, 1000] + [5, -3e5] for length in lengths]
    found = LeastSquares.fitted(series, history=T, horizon=N)
    windows = [values[i : i + T + N] for values in series for i in range(len(values) - T - N + 1)]
    for channel in range(C):
        given = np.array([[*window[:T, channel], 1] for window in windows])
        wanted = np.array([window[T:, channel] for window in windows])
        best, *_ = np.linalg.lstsq(given - [*[5 if not channel else -3e5] * T, 0], wanted, rcond=None)
        forecast = (given - [*[5 if not channel else -3e5] * T, 0]) @ best
        assert np.allclose(found(np.array(windows)[:, :T])[:, :, channel], forecast, rtol=1e-6)


def test_least_squares_sees_every_window_of_a_long_series() -> None:
    values_TC = drawn(AT_ONCE + 500, 1)
    windows = np.lib.stride_tricks.sliding_window_view(values_TC[:, 0], 3)
    best, *_ = np.linalg.lstsq(np.c_[windows[:, :2], np.ones(len(windows))], windows[:, 2:], rcond=None)
    assert np.allclose(LeastSquares.fitted([values_TC], history=2, horizon=1).weights_CTN[0], best)


def test_least_squares_of_a_series_without_noise_is_exact_and_of_a_constant_one_too() -> None:
    wave = np.stack([np.sin(np.arange(60.0)), np.full(60, 3.0)], axis=1)
    past = wave[None, 20:30]
    found = LeastSquares.fitted([wave], history=10, horizon=4)(past)
    assert np.allclose(found[0], wave[30:34], atol=1e-6)


def test_least_squares_on_the_books_waves_reaches_what_is_published() -> None:
    data = Waves(WavesSettings())
    valid = np.stack(data.series("valid"))
    errors = Errors(np.ones(1))
    errors.add(LeastSquares.fitted(data.series("train"), history=50, horizon=1)(valid[:, :50]), valid[:, 50:])
    assert errors.scores()["mse"] == pytest.approx(0.0029, abs=5e-5)


def test_the_autocorrelation_is_that_of_its_definition() -> None:
    values = drawn(37, 1)[:, 0] + 0.3 * np.arange(37)
    x = values - np.polyval(np.polyfit(np.arange(37), values, 1), np.arange(37))
    wanted = [sum(x[t] * x[t - k] for t in range(k, 37)) / sum(x**2) for k in range(12)]
    assert np.allclose(autocorrelation([values[:, None]], 11), wanted)


@pytest.mark.parametrize("period", [4, 7, 24])
def test_the_season_is_found_under_noise_and_trend(period: int) -> None:
    time = np.arange(30 * period)
    values = np.sin(2 * np.pi * time / period) + 0.05 * time + 0.5 * drawn(len(time))
    assert season([values[:, None], values[::-1, None]], 50) == period


@pytest.mark.parametrize("period", [41, 51])
def test_the_season_is_found_beneath_what_changes_slowly(period: int) -> None:
    """A year beneath the days makes near steps more alike than far ones, which would move the peak to a shorter lag."""
    time = np.arange(2003)
    values = np.sin(2 * np.pi * time / period) + 3 * np.sin(2 * np.pi * time / 500) + 0.1 * drawn(len(time))
    assert season([values[:, None]], 100) == period


def test_random_walks_have_no_season() -> None:
    found = [season([np.cumsum(drawn(397, 1, seed=seed), 0)], 50) for seed in range(50)]
    assert found.count(1) >= 48


def test_of_a_period_and_its_multiples_the_first_is_the_season() -> None:
    """Beside a channel of noise, which may well lift the second peak above the first."""
    wave = np.sin(np.pi * np.arange(400) / 2)
    found = {season([np.stack([wave, drawn(400, seed=seed)], axis=1)], 9) for seed in range(20)}
    assert found == {4}


def test_noise_and_straight_lines_have_no_season() -> None:
    assert season([drawn(997, 1)], 30) == 1
    assert season([np.arange(99.0)[:, None], np.full((99, 1), 2.0)], 30) == 1
    assert season([drawn(5, 1)], 30) == 1


def test_intervals_hold_what_they_say_of_errors_in_any_order() -> None:
    draw = np.random.default_rng(1)
    held: dict[str, list[float]] = {"80": [], "95": []}
    for _ in range(300):
        errors, others = draw.gamma(2, 1, (79, 2, 1)), draw.gamma(2, 1, (50, 2, 1))  # not symmetric
        found = Intervals.fitted(errors, step=1)
        assert found is not None
        for level, (low, high) in found.around(np.zeros((2, 1))).items():
            held[level].append(float(((low <= others) & (others <= high)).mean()))
    for level, shares in held.items():
        assert np.mean(shares) == pytest.approx(float(level) / 100, abs=0.01)  # 79 and one: their ranks give it exactly


def test_bounds_are_the_errors_of_their_rank_at_each_step() -> None:
    errors = np.stack([np.arange(1.0, 40), -10 * np.arange(1.0, 40)], axis=1)[..., None]  # 39 windows, two steps
    found = Intervals.fitted(errors, step=5)
    assert found is not None
    assert found.levels == (0.8, 0.95)
    (low, high), (lowest, highest) = found.around(np.array([[100.0], [0.0]])).values()
    assert (low.ravel().tolist(), high.ravel().tolist()) == ([104.0, -360.0], [136.0, -40.0])  # the 4th of 39
    assert (lowest.ravel().tolist(), highest.ravel().tolist()) == ([101.0, -390.0], [139.0, -10.0])


def test_too_few_windows_give_no_interval() -> None:
    assert Intervals.fitted(np.zeros((8, 1, 1)), step=1) is None
    found = Intervals.fitted(np.zeros((9, 1, 1)), step=1)
    assert found is not None
    assert found.levels == (0.8,)
