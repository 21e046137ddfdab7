"""Values that follow a series: a forecast, in the units of the series.

B batch · T time, the steps of the past · S steps after which a forecast is asked for · N horizon · C channels
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from safetensors import SafetensorError
from safetensors.numpy import load, save
from torch import nn

from seqwright.batches import Batches, Rows
from seqwright.batches.series import Series, pasts, windows
from seqwright.batches.shuffled import Shuffled
from seqwright.data.series import SeriesWindow
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Examples, Input, Picture, Stacked
from seqwright.inputs.saved import checked_size, load_json, save_json
from seqwright.inputs.series import Scale, every_series, plain_values
from seqwright.metrics.forecasts import (
    Errors,
    Intervals,
    LeastSquares,
    naive,
    naive_error,
    percent,
    season,
    seasonal_naive,
)
from seqwright.outputs import Baselines, Output, Report, Targets, each_row
from seqwright.setting_classes import Settings
from seqwright.whole_file import bytes_whole

Values = NDArray[np.floating[Any]]
Once = Callable[[Values], Values]
STEPS_TOLD = 12  # of the horizon, whose scores are told apart
VALUES_KEPT = 500_000  # in the answers of an evaluation
VALUES_AT_ONCE = 1 << 16  # of the past in a batch that nothing is learnt from
DRAWN = 6  # windows in the picture of an evaluation
WINDOWS_LEARNT_FROM = 100, 20_000  # of the validation part, for the width of intervals: at least and at most
VALUES_LEARNT_FROM = 1 << 24  # of those windows, which are held in memory
WEIGHTS = "weights_CTN"
INTERVALS = "intervals.json"


class ValuesOutputSettings(Settings):
    """The season of a series."""

    season: int | None = Field(default=None, ge=1)
    """Steps after which the series repeats itself, for the seasonal naive forecast that the model is compared with; 24
    for the hours of a day. Left out: those after which the training part is most like itself, up to data.history."""


@dataclass(frozen=True)
class ValuesOutput(Output[SeriesWindow, Series, Values]):
    """How far to look back and ahead, the scale, and what is known of the training part to score a forecast by."""

    columns: tuple[str, ...]
    history: int
    horizon: int
    season: int
    scale: Scale
    naive_error_C: Values
    least_squares_CTN: Values
    intervals: Intervals | None = None  # learnt after training

    settings: ClassVar[type[Settings]] = ValuesOutputSettings
    score_names: ClassVar[tuple[str, ...]] = ("loss", "mse", "mae", "mase")
    lower_is_better: ClassVar[frozenset[str]] = frozenset(score_names)
    scored_by_objective: ClassVar[bool] = True
    calibrates: ClassVar[bool] = True

    @classmethod
    def learn(
        cls, train: Examples[SeriesWindow], settings: ValuesOutputSettings, input: Any, *, like: Any = None
    ) -> Self:
        """Season, naive error and least squares of the training part."""
        first, series, period = next(iter(train)), every_series(train), settings.season
        history, horizon = first.history, first.horizon
        if period is not None and period > history:
            raise SettingError(
                f"output.season = {period} reaches further back than data.history = {history}; raise the latter to it"
            )
        return cls(
            columns=first.columns,
            history=history,
            horizon=horizon,
            season=period or season(series, history),
            scale=input.scale,
            naive_error_C=naive_error(series),
            least_squares_CTN=LeastSquares.fitted(series, history=history, horizon=horizon).weights_CTN,
        )

    def encode(self, examples: Examples[SeriesWindow], rows: Any, *, seed: int = 0) -> Targets:
        """The scaled values that follow each window."""
        return Targets(rows.following(self.horizon), np.arange(len(rows.example_N)))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Series:
        """Pasts and what follows each; zeros where that is not known."""
        if targets is None:
            return pasts(stacked["input_B"], horizon=self.horizon)
        whole = torch.cat((stacked["input_B"], torch.from_numpy(np.stack(targets))), dim=1)
        return windows(whole, horizon=self.horizon)

    def batches(
        self, rows: Any, targets: Targets | None, input: Input[Any, Any], *, tokens: int, seed: int = 0
    ) -> Shuffled[Any, Series]:
        """Windows, which are all as long, so many that their values are at most `tokens`; more without targets."""
        values = self.history * len(self.columns)
        if targets is None:

            def unknown(some: Sequence[Values]) -> Series:
                return self.collate(input.stack([self._past(row_TC) for row_TC in some]), None)

            return Shuffled(rows, unknown, size=max(1, max(tokens, VALUES_AT_ONCE) // values))

        def known(whole: Any) -> Series:
            return windows(torch.from_numpy(whole), horizon=self.horizon)

        # A past and what follows it are one stretch of a series: both are cut out of it at once.
        return Shuffled(rows.extended(self.horizon), known, size=max(1, tokens // values), seed=seed)

    def _past(self, values_TC: Values) -> Values:
        """As many of the last steps as the model looks back."""
        if len(values_TC) < self.history:
            raise DataError(
                f"the series has {len(values_TC):,} rows, but the model looks back {self.history:,}: give at least so "
                "many"
            )
        return values_TC[-self.history :]

    def predict(
        self, model: nn.Module, batches: Batches[Series], examples: Examples[Any], decoding: Any = None
    ) -> Iterator[Values]:
        """`value_NC` after each past."""
        found: dict[int, Values] = {}
        for batch, forecast_BSNC in each_row(model, batches):
            value_BNC = self.scale.original(forecast_BSNC[:, -1].detach().float().numpy())
            value_BNC.flags.writeable = False  # a prediction is frozen
            found |= dict(zip(batch.example_B.tolist(), value_BNC, strict=True))
        for number, _ in enumerate(examples):
            yield found.get(number, np.zeros((0, len(self.columns))))

    def combined(self, predictions: Sequence[Values]) -> Values:
        """The mean of the forecasts."""
        mean_NC: Values = np.mean(predictions, axis=0)
        return mean_NC

    def calibrate(
        self, predictions: Sequence[Values], examples: Examples[SeriesWindow], *, step: int, folder: Path
    ) -> None:
        """Learn how wide intervals must be, and write it as `intervals.json`; too few windows say nothing."""
        least, most = WINDOWS_LEARNT_FROM
        bound = max(least, min(most, VALUES_LEARNT_FROM // (self.horizon * len(self.columns))))
        some = set(even(len(predictions), bound))
        both = enumerate(zip(predictions, examples, strict=True))
        errors = [example.future_NC - value_NC for number, (value_NC, example) in both if number in some]
        found = Intervals.fitted(np.stack(errors), step)
        (folder / INTERVALS).unlink(missing_ok=True)
        if found is not None:
            bounds = {"lower": found.lower_LNC.tolist(), "upper": found.upper_LNC.tolist()}
            save_json(folder / INTERVALS, {"step": step, "levels": found.levels, **bounds})

    def calibrated_at(self, step: int | None) -> "ValuesOutput":
        """Without intervals that are those of another checkpoint."""
        known = self.intervals is not None and self.intervals.step == step
        return self if known else replace(self, intervals=None)

    # ------------------------------------------------------------------------------------------------ scores

    def scores(self, predictions: Sequence[Values], examples: Examples[SeriesWindow]) -> dict[str, float]:
        """Mean squared, absolute and scaled error over all steps and channels."""
        return self._errors(predictions, examples).scores()

    def _errors(self, predictions: Sequence[Values], examples: Examples[SeriesWindow]) -> Errors:
        errors = Errors(self.naive_error_C)
        for value_NC, example in zip(predictions, examples, strict=True):
            errors.add(value_NC[None], example.future_NC[None])
        return errors

    def target(self, example: SeriesWindow) -> bytes:
        """What follows, as bytes: it is compared, and not shown."""
        return example.future_NC.tobytes()

    def report(self, predictions: Sequence[Values], examples: Examples[SeriesWindow]) -> Report:
        """The errors at the steps of the horizon, and some windows, evenly spaced, to draw, their columns in turn."""
        drawn, answers = even(len(predictions), DRAWN), []
        for number, (value_NC, example) in enumerate(zip(predictions, examples, strict=True)):
            if number in drawn:
                told = {"past": example.values_TC, **self._told(value_NC, example)}
                for channel, column in enumerate(self.columns):
                    values = {name: plain_values(each[:, channel : channel + 1]) for name, each in told.items()}
                    bounds = {
                        level: [plain_values(each[:, channel : channel + 1]) for each in both]
                        for level, both in self.intervals_around(value_NC).items()
                    }
                    place = {"window": number, "column": column, "times": example.times}
                    answers.append({**place, **values, "intervals": bounds})
        finer = {**self._coverage(predictions, examples), **self._by_step(self._errors(predictions, examples))}
        return Report(scores=finer, picture=Picture("forecasts", {"answers": answers, "season": self.season}))

    def _coverage(self, predictions: Sequence[Values], examples: Examples[SeriesWindow]) -> dict[str, float]:
        """Which share of what came lies within the intervals, in percent."""
        within: dict[str, list[float]] = {}
        for value_NC, example in zip(predictions, examples, strict=True):
            for level, (low_NC, high_NC) in self.intervals_around(value_NC).items():
                held_NC = (low_NC <= example.future_NC) & (example.future_NC <= high_NC)
                within.setdefault(f"coverage_{level}", []).append(100 * float(held_NC.mean()))
        return {name: float(np.mean(shares)) for name, shares in within.items()}

    def intervals_around(self, prediction: Values) -> dict[str, tuple[Values, Values]]:
        """The bounds between which the truth lies in so many percent of cases; nothing where that is not known."""
        return {} if self.intervals is None else self.intervals.around(prediction)

    def _by_step(self, errors: Errors) -> dict[str, float]:
        """MSE and MAE at the steps of a horizon: at each, or at some that are evenly spaced."""
        if self.horizon == 1:
            return {}
        found, told = errors.by_step(), np.linspace(1, self.horizon, min(self.horizon, STEPS_TOLD))
        steps = sorted({round(step) for step in told.tolist()})
        return {f"{name}_step_{step}": float(found[name][step - 1]) for name in ("mse", "mae") for step in steps}

    @property
    def signatures(self) -> dict[str, str]:
        """How the scores are made."""
        return {
            "loss": "of the objective, in the units the model sees",
            "mase": "errors over those of the naive one-step forecast on the training part",
            "baseline_seasonal_naive_mse": f"period {self.season}",
            **{
                f"coverage_{percent(level)}": f"within the intervals of {percent(level)} %"
                for level in (self.intervals.levels if self.intervals else ())
            },
        }

    def simple(self) -> dict[str, Once]:
        """The simple forecasts that a model is compared with, as many steps at once as it makes."""
        return {
            "naive": lambda past_BTC: naive(past_BTC, self.horizon),
            "seasonal_naive": lambda past_BTC: seasonal_naive(past_BTC, self.horizon, self.season),
            "least_squares": LeastSquares(self.least_squares_CTN),
        }

    def baselines(
        self, train: Examples[SeriesWindow], part: Examples[SeriesWindow], input: Input[Any, Any]
    ) -> Baselines:
        """The last value, the last season, and the linear forecast."""
        errors, windows = {name: Errors(self.naive_error_C) for name in self.simple()}, iter(part)
        while some := list(islice(windows, max(1, VALUES_AT_ONCE // (self.history * len(self.columns))))):
            past_BTC, future_BNC = np.stack([w.values_TC for w in some]), np.stack([w.future_NC for w in some])
            for name, forecast in self.simple().items():
                errors[name].add(forecast(past_BTC), future_BNC)
        scores = {f"baseline_{name}_{score}": x for name in errors for score, x in errors[name].scores().items()}
        spoken = {name: name.replace("_", " ") for name in errors}
        spoken["seasonal_naive"] += f" (period {self.season})"
        return Baselines(
            scores, "MSE " + ", ".join(f"{spoken[name]} {scores[f'baseline_{name}_mse']:.4g}" for name in errors), []
        )

    # ------------------------------------------------------------------------------------------------ predictions

    def line(self, prediction: Values, top: int = 1) -> str:
        """The values, a tab between the steps and a comma between the channels."""
        return "\t".join(",".join(f"{value:.6g}" for value in step) for step in prediction.tolist())

    def fields(self, prediction: Values, top: int = 1) -> dict[str, Any]:
        """The values of each step, and the bounds of each interval."""
        bounds = self.intervals_around(prediction).items()
        intervals = {level: [plain_values(each) for each in both] for level, both in bounds}
        return {"forecast": plain_values(prediction), **({"intervals": intervals} if intervals else {})}

    def answer(self, prediction: Values, example: SeriesWindow) -> dict[str, Any]:
        """What came, the forecast, and the simple ones."""
        return {name: plain_values(value_NC) for name, value_NC in self._told(prediction, example).items()}

    def _told(self, prediction: Values, example: SeriesWindow) -> dict[str, Values]:
        simple = {name: forecast(example.values_TC[None])[0] for name, forecast in self.simple().items()}
        return {"truth": example.future_NC, "forecast": prediction, **simple}

    def written(self, examples: int) -> Collection[int]:
        """Windows at even distances, where all would be too many."""
        size = (self.history + (2 + len(self.simple())) * self.horizon) * len(self.columns)
        return frozenset(even(examples, max(1, VALUES_KEPT // size)))

    def part_sentence(self, examples: Examples[SeriesWindow], rows: Rows[Any]) -> str:
        """How long the windows are, and the season."""
        told = f"season {self.season}" if self.season > 1 else "no season"
        return f"of {self.history} steps and {self.horizon} ahead, {told}"

    def continued(self, once: Once, examples: Sequence[Any], steps: int) -> list[Values]:
        """`value_NC` after each series; beyond its horizon a model continues its own forecasts."""
        pasts = (example.values_TC[None] for example in examples)
        return [iterated(once, past_1TC, steps, history=self.history)[0] for past_1TC in pasts]

    # ------------------------------------------------------------------------------------------------ the run folder

    def sizes(self) -> dict[str, int]:
        """How far a model looks back and ahead."""
        return {"horizon": self.horizon, "history": self.history}

    def save(self, folder: str | Path) -> None:
        """Write `values.json`, and the linear forecast as `least_squares.safetensors`."""
        plain = {"columns": self.columns, "history": self.history, "horizon": self.horizon, "season": self.season}
        known = {"naive_error": self.naive_error_C.tolist(), "scale": self.scale.plain()}
        save_json(Path(folder, "values.json"), {**plain, **known})
        weights = {WEIGHTS: np.ascontiguousarray(self.least_squares_CTN)}
        with bytes_whole(Path(folder, "least_squares.safetensors")) as file:
            file.write(save(weights))

    @classmethod
    def load(cls, folder: str | Path, input: Any) -> Self:
        """Read what `save` wrote."""
        path = Path(folder, "least_squares.safetensors")
        try:
            weights_CTN = load(path.read_bytes())[WEIGHTS]
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise RunError(f"{path} is missing or damaged ({error}); restore the file from a copy") from error

        def made(plain: Any) -> Any:
            history, horizon, season = (
                checked_size(name, int(plain[name])) for name in ("history", "horizon", "season")
            )
            if weights_CTN.shape[-1] != horizon:
                raise ValueError(f"horizon is {horizon:,}, but the linear forecast has {weights_CTN.shape[-1]:,} steps")
            naive_error_C, scale = np.array(plain["naive_error"], dtype=np.float64), Scale.from_plain(plain["scale"])
            intervals = _intervals(Path(folder, INTERVALS), horizon, len(plain["columns"]))
            learnt = (scale, naive_error_C, weights_CTN, intervals)
            return cls(tuple(plain["columns"]), history, horizon, season, *learnt)

        found: Self = load_json(Path(folder, "values.json"), made)
        return found


def _intervals(path: Path, horizon: int, channels: int) -> Intervals | None:
    """What `calibrate` wrote, if it did."""
    if not path.is_file():
        return None

    def made(plain: Any) -> Intervals:
        levels = tuple(map(float, plain["levels"]))
        lower_LNC, upper_LNC = (np.array(plain[name], dtype=np.float64) for name in ("lower", "upper"))
        for bound_LNC in (lower_LNC, upper_LNC):
            if bound_LNC.shape != (len(levels), horizon, channels) or not np.isfinite(bound_LNC).all():
                raise ValueError(f"bounds of the shape {bound_LNC.shape}, expected {(len(levels), horizon, channels)}")
        return Intervals(levels, lower_LNC, upper_LNC, int(plain["step"]))

    return load_json(path, made)


def even(count: int, most: int) -> list[int]:
    """Numbers below `count` at even distances, the first and the last among them; all, if they are not too many."""
    return sorted(set(np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()))


def iterated(once: Once, past_BTC: Values, steps: int, *, history: int) -> Values:
    """Forecast on and on: what is forecast at once is taken for the past of what follows."""
    known_BTC, before = past_BTC, past_BTC.shape[1]
    while known_BTC.shape[1] < before + steps:
        known_BTC = np.concatenate([known_BTC, once(known_BTC[:, -history:])], axis=1)
    return known_BTC[:, before : before + steps]
