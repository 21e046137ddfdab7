"""Scores of forecasts, their intervals, and the baselines: the last value, the season, least squares.

B batch · T time, the steps of the past · N horizon · C channels · M windows · L levels
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.errors import DataError

Values = NDArray[np.floating[Any]]
AT_ONCE = 4096  # windows
LEVELS = (0.8, 0.95)  # of intervals


class Errors:
    """The errors of forecasts, added up batch by batch.

    MASE (Hyndman & Koehler 2006, section 3) measures errors by `unit_C`, the mean error of the naive one-step forecast
    on the training part: below 1 is better than that. Differs from the paper: the errors of several training series
    are pooled.
    """

    def __init__(self, unit_C: Values) -> None:
        self.unit_C = np.asarray(unit_C, dtype=np.float64)
        self.squares_NC: Values | float = 0.0
        self.absolutes_NC: Values | float = 0.0
        self.count = 0

    def add(self, forecast_BNC: Values, truth_BNC: Values) -> None:
        """The errors of some forecasts."""
        if forecast_BNC.shape != truth_BNC.shape:
            raise ValueError(f"forecasts of the shape {forecast_BNC.shape} for truths of {truth_BNC.shape}")
        error_BNC = forecast_BNC.astype(np.float64) - truth_BNC
        self.squares_NC = self.squares_NC + (error_BNC**2).sum(0)
        self.absolutes_NC = self.absolutes_NC + np.abs(error_BNC).sum(0)
        self.count += len(truth_BNC)

    def scores(self) -> dict[str, float]:
        """Mean squared, absolute and scaled error over all steps and channels."""
        return {name: float(values_N.mean()) for name, values_N in self.by_step().items()}

    def by_step(self) -> dict[str, Values]:
        """Each score for each step of the horizon."""
        if not self.count:
            raise DataError("there are no forecasts to score; give at least one window")
        squares_NC, absolutes_NC = np.asarray(self.squares_NC), np.asarray(self.absolutes_NC)
        return {
            "mse": squares_NC.mean(1) / self.count,
            "mae": absolutes_NC.mean(1) / self.count,
            "mase": (absolutes_NC / self.unit_C).mean(1) / self.count,
        }


def naive_error(series: Sequence[Values]) -> Values:
    """`unit_C`: how far a step is from the one before it, in the mean of all training series; 1 where it never is."""
    total_C = sum(np.abs(np.diff(values_TC, axis=0)).sum(0, dtype=np.float64) for values_TC in series)
    mean_C = np.asarray(total_C) / max(1, sum(len(values_TC) - 1 for values_TC in series))
    unit_C: Values = np.where(mean_C > 0, mean_C, 1.0)
    return unit_C


class Intervals(NamedTuple):
    """How far the truth lies from forecasts, at each step ahead: what to add for the lower and the upper bounds.

        k = ⌊(M + 1) (1 - level) / 2⌋

    The bounds are the k-th smallest and the k-th largest of M errors that were not learnt from: split conformal
    prediction (Vovk et al. 2005), both tails apart. Were errors exchangeable, the truth would lie within as often as
    the level says, or a little oftener.

    Differs from the paper: windows of a series overlap and series drift, so that nothing is promised; evaluate it.
    """

    levels: tuple[float, ...]
    lower_LNC: Values
    upper_LNC: Values
    step: int  # of the checkpoint whose errors these are

    @classmethod
    def fitted(cls, error_MNC: Values, step: int) -> "Intervals | None":
        """By errors (truth less forecast) of M windows; None where they are too few to say anything."""
        count = len(error_MNC)
        tails = {level: math.floor((count + 1) * (1 - level) / 2 + 1e-9) for level in LEVELS}
        levels = tuple(level for level, tail in tails.items() if tail >= 1)
        if not levels:
            return None
        sorted_MNC = np.sort(error_MNC, axis=0)
        lower_LNC = np.stack([sorted_MNC[tails[level] - 1] for level in levels])
        upper_LNC = np.stack([sorted_MNC[count - tails[level]] for level in levels])
        return cls(levels, lower_LNC, upper_LNC, step)

    def around(self, value_NC: Values) -> dict[str, tuple[Values, Values]]:
        """The lower and the upper bounds of a forecast by level, as "80"; only so many steps as errors are known of."""
        steps = min(len(value_NC), self.lower_LNC.shape[1])
        every = zip(self.levels, self.lower_LNC, self.upper_LNC, strict=True)
        return {
            percent(level): (value_NC[:steps] + lower_NC[:steps], value_NC[:steps] + upper_NC[:steps])
            for level, lower_NC, upper_NC in every
        }


def percent(level: float) -> str:
    """`80` of 0.8."""
    return f"{100 * level:g}"


# ---------------------------------------------------------------------------------------------------- baselines


def naive(past_BTC: Values, horizon: int) -> Values:
    """The last value, over and over."""
    return np.repeat(past_BTC[:, -1:], horizon, axis=1)


def seasonal_naive(past_BTC: Values, horizon: int, period: int) -> Values:
    """The last season, over and over: y_{t+k} is forecast as the latest known value whole periods before it."""
    season_BTC = past_BTC[:, -period:]
    forecast_BNC: Values = season_BTC[:, np.arange(horizon) % period]
    return forecast_BNC


class LeastSquares:
    """The linear forecast with the least squared error on the training windows, found in closed form.

        forecast = [past, 1] w        w = argmin |[past, 1] w - future|²

    Each channel is forecast from its own past. `weights_CTN` has one more row than the past has steps: the last is
    what is added.
    """

    def __init__(self, weights_CTN: Values) -> None:
        self.weights_CTN = weights_CTN

    @classmethod
    def fitted(cls, series: Sequence[Values], *, history: int, horizon: int) -> "LeastSquares":
        """Fitted to every window of some series.

        By the normal equations, whose size does not depend on the number of windows, over centred and scaled values,
        so that they are well conditioned; where they are singular, the smallest of all solutions.
        """
        every_LC = np.concatenate(series).astype(np.float64)
        centre_C, spread_C = every_LC.mean(0), every_LC.std(0)
        spread_C[spread_C == 0] = 1.0
        gram_CTT: Values | float = 0.0
        moment_CTN: Values | float = 0.0
        for window_MTC in _windows(series, history + horizon):
            scaled_CMT = ((window_MTC - centre_C) / spread_C).transpose(2, 0, 1)
            input_CMT = _with_ones(scaled_CMT[..., :history])
            gram_CTT = gram_CTT + input_CMT.transpose(0, 2, 1) @ input_CMT
            moment_CTN = moment_CTN + input_CMT.transpose(0, 2, 1) @ scaled_CMT[..., history:]
        weights_CTN = np.stack(
            [
                np.linalg.lstsq(gram_TT, moment_TN, rcond=None)[0]
                for gram_TT, moment_TN in zip(np.asarray(gram_CTT), np.asarray(moment_CTN), strict=True)
            ]
        )
        carried_CN = centre_C[:, None] * (1 - weights_CTN[:, :-1].sum(1))
        weights_CTN[:, -1] = weights_CTN[:, -1] * spread_C[:, None] + carried_CN
        return cls(weights_CTN)

    def __call__(self, past_BTC: Values) -> Values:
        """The forecast after each past."""
        input_CBT = _with_ones(past_BTC.transpose(2, 0, 1).astype(np.float64))
        forecast_BNC: Values = (input_CBT @ self.weights_CTN).transpose(1, 2, 0)
        return forecast_BNC


def _with_ones(input_CMT: Values) -> Values:
    return np.concatenate([input_CMT, np.ones((*input_CMT.shape[:2], 1))], axis=2)


def _windows(series: Sequence[Values], size: int) -> Iterator[Values]:
    """Every window of some series, many at once: `window_MTC`."""
    waiting: list[Values] = []
    for values_TC in series:
        if len(values_TC) < size:
            continue
        window_MTC = np.lib.stride_tricks.sliding_window_view(values_TC, size, axis=0).transpose(0, 2, 1)
        for low in range(0, len(window_MTC), AT_ONCE):
            waiting.append(window_MTC[low : low + AT_ONCE])
            if sum(map(len, waiting)) >= AT_ONCE:
                yield np.concatenate(waiting)
                waiting = []
    if waiting:
        yield np.concatenate(waiting)


# ---------------------------------------------------------------------------------------------------- the season


def autocorrelation(series: Sequence[Values], longest: int) -> Values:
    """How alike the series are to themselves so many steps before, 0 … `longest`, trends taken out; the mean of all.

    Σ_t x_t x_{t-k} / Σ_t x_t² (Box & Jenkins 1970, section 2.1.5): far lags, of which little is known, count less.
    """
    total_K, count = np.zeros(longest + 1), 0
    for values_TC in series:
        x_TC = _without_trend(values_TC.astype(np.float64))
        power_C = (x_TC**2).sum(0)
        known = power_C > 1e-12 * max(1.0, float((values_TC.astype(np.float64) ** 2).sum()))
        spectrum = np.fft.rfft(x_TC[:, known], 2 * len(x_TC), axis=0)
        found_KC = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[: min(longest + 1, len(x_TC))] / power_C[known]
        total_K[: len(found_KC)] += found_KC.sum(1)
        count += int(known.sum())
    return total_K / max(1, count)


def season(series: Sequence[Values], longest: int) -> int:
    """The period, at most `longest`, after which the series are most like themselves; 1 where none is above the noise.

        r_k − (r_{k/2} + r_{3k/2}) / 2

    of the autocorrelation r: how much more alike than half a period before and after. What changes slowly, such as the
    year beneath the days, gives r a slope, which moves its own peaks to shorter lags; here it falls out.

    A series of a period is alike to itself after three of them as well: of peaks that noise alone could tell apart, the
    first is the period.
    """
    lag_K = np.arange(longest + 2)
    known_J = autocorrelation(series, math.ceil(1.5 * lag_K[-1]))
    between_K = (_at_lags(known_J, lag_K / 2) + _at_lags(known_J, 1.5 * lag_K)) / 2
    found_K, more_K = known_J[lag_K], known_J[lag_K] - between_K
    noise = 3 / math.sqrt(sum(values_TC.size for values_TC in series))
    more_noise = math.sqrt(1.5) * noise  # 1 + ¼ + ¼ of the variance
    peaks = [
        period
        for period in range(2, longest + 1)
        if found_K[period] > noise
        and more_K[period] > max(more_K[period - 1], more_noise)
        and more_K[period] >= more_K[period + 1]
    ]
    highest = max((more_K[period] for period in peaks), default=0.0)
    return next((period for period in peaks if more_K[period] > highest - more_noise), 1)


def _at_lags(found_K: Values, lag_J: Values) -> Values:
    """An autocorrelation at lags that need not be whole."""
    at_J: Values = np.interp(lag_J, np.arange(len(found_K)), found_K)
    return at_J


def _without_trend(values_TC: Values) -> Values:
    """Less the straight line that fits best."""
    time_T1 = np.arange(len(values_TC))[:, None] - (len(values_TC) - 1) / 2
    centred_TC = values_TC - values_TC.mean(0)
    slope_C = (time_T1 * centred_TC).sum(0) / max(1.0, float((time_T1**2).sum()))
    rest_TC: Values = centred_TC - slope_C * time_T1
    return rest_TC
