"""Forecasting: series cut into windows, a scale for each channel, errors beside those of simple forecasts.

B batch · T time, the steps of the past · S steps after which a forecast is asked for · N horizon · C channels
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches.series import SeriesWindows
from seqwright.data.examples import PartName
from seqwright.data.series import SeriesData, Values
from seqwright.devices import device_of
from seqwright.errors import DataError, SettingError
from seqwright.inputs.scaled_series import Scale, ScaledSeries
from seqwright.metrics.forecasts import Errors, LeastSquares, naive_error, season
from seqwright.objectives.forecast import Forecast
from seqwright.recipe import Recipe
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part
from seqwright.tasks.forecaster import baselines

SCORES = ("loss", "mse", "mae", "mase")
FEW_WINDOWS = 100  # fewer to judge on, and the scores say little
STEPS_TOLD = 12  # of the horizon, whose scores are told apart
VALUES_KEPT = 500_000  # in the answers of an evaluation
AT_ONCE = 1 << 16  # values of the past in a batch that is only judged
COLUMNS = ("part", "series", "steps", "windows")


class ForecastingTask:
    """See `seqwright.tasks.Task`."""

    def learnt_inputs(self, recipe: Recipe, data: SeriesData, tokenizer: None = None) -> ScaledSeries:
        """The scale of the training part, and what else is known of it."""
        series, history, horizon = data.series("train"), data.history, data.horizon
        period = recipe.inputs.season
        if period is not None and period > history:
            raise SettingError(
                f"inputs.season = {period} reaches further back than data.history = {history}; raise the latter to it"
            )
        return ScaledSeries(
            columns=data.columns,
            history=history,
            horizon=horizon,
            scale=Scale.learnt(series, recipe.inputs.kind),
            season=period or season(series, history),
            naive_error_C=naive_error(series),
            least_squares_CTN=LeastSquares.fitted(series, history=history, horizon=horizon).weights_CTN,
        )

    def loaded_inputs(self, folder: Path) -> ScaledSeries:
        """The scale of a run."""
        return ScaledSeries.load(folder)

    def prepared(self, recipe: Recipe, data: SeriesData, inputs: ScaledSeries) -> Prepared:
        """Windows of both parts."""
        train, valid = (windows_of(recipe, data, inputs, part) for part in ("train", "valid"))
        notes = [f"train: {_sentence(train)}", f"valid: {_sentence(valid, inputs)}"]
        notes += [*data.remarks(), *_out_of_reach(recipe, data, inputs)]
        objective = Forecast(recipe.objective)

        def evaluate(model: nn.Module) -> dict[str, float]:
            judgement = judged(model, valid, inputs, objective)
            return {"loss": judgement.loss, **judgement.errors.scores()}

        return Prepared(train, evaluate, SCORES, frozenset(SCORES), notes)

    def checked(self, recipe: Recipe, data: SeriesData, inputs: ScaledSeries) -> tuple[Checked, SeriesWindows]:
        """Windows, season, and what simple forecasts reach."""
        rows: list[tuple[str, ...]] = []
        remarks = [*data.remarks(), *_out_of_reach(recipe, data, inputs)]
        usual = Scale.learnt(data.series("train"), "standard")
        for part in data.parts():
            series, batches = data.series(part), windows_of(recipe, data, inputs, part)
            steps = sum(map(len, series))
            rows.append((part, f"{len(series):,}", f"{steps:,}", f"{len(batches.first_M):,}"))
            remarks += _remarks(part, series, usual, inputs)
        simple = simple_errors(windows_of(recipe, data, inputs, "valid"), inputs)
        reached = ", ".join(f"{_spoken(name, inputs)} {found.scores()['mse']:.4g}" for name, found in simple.items())
        facts = {
            "columns": ", ".join(inputs.columns),
            "windows": f"{inputs.history} steps of the past, {inputs.horizon} ahead",
            "MSE to beat": f"{reached} (validation part)",
        }
        return Checked(COLUMNS, rows, facts, remarks), windows_of(recipe, data, inputs, "train")

    def evaluated(
        self, recipe: Recipe, data: SeriesData, inputs: ScaledSeries, model: nn.Module, part: PartName, decoding: Any
    ) -> Evaluation:
        """The errors of the model and of the simple forecasts, and some windows with what each said of them."""
        refuse_missing_part(data, part)
        renamed = _taken_for(data, inputs)
        batches = windows_of(recipe, data, inputs, part)
        judgement = judged(model, batches, inputs, Forecast(recipe.objective))
        scores = {"loss": judgement.loss, **judgement.errors.scores()}
        for name, errors in simple_errors(batches, inputs).items():
            scores |= {f"{name}_{score}": value for score, value in errors.scores().items()}
        answers = list(_answers(model, batches, inputs))
        told = len({answer["window"] for answer in answers})
        return Evaluation(
            scores={**scores, **_by_step(judgement.errors)},
            signatures={
                "loss": "of the objective, in the units the model sees",
                "mase": "errors over those of the naive one-step forecast on the training part",
                "seasonal_naive_mse": f"period {inputs.season}",
            },
            groups={},
            answers=answers,
            notes=[f"{part}: {_sentence(batches, inputs)}; {told:,} of them are written down", *renamed],
        )


def _taken_for(data: SeriesData, inputs: ScaledSeries) -> list[str]:
    """That other data calls its columns otherwise, if it does."""
    if data.columns == inputs.columns:
        return []
    if len(data.columns) != len(inputs.columns):
        raise DataError(
            f"the data has {len(data.columns)} columns ({', '.join(data.columns)}), but the run forecasts "
            f"{len(inputs.columns)} ({', '.join(inputs.columns)}): leave only those"
        )
    return [f"the columns {', '.join(data.columns)} are taken for {', '.join(inputs.columns)}"]


def windows_of(recipe: Recipe, data: SeriesData, inputs: ScaledSeries, part: PartName) -> SeriesWindows:
    """The windows of a part, scaled; large batches where there is nothing to learn."""
    return SeriesWindows(
        [inputs.scaled(values_TC) for values_TC in data.series(part)],
        history=inputs.history,
        horizon=inputs.horizon,
        tokens=recipe.training.tokens if part == "train" else max(recipe.training.tokens, AT_ONCE),
        seed=recipe.training.seed,
        every=recipe.objective.after == "every",
    )


class Judgement(NamedTuple):
    """The mean loss of a model, and its errors after the last step, in the units of the series."""

    loss: float
    errors: Errors


@torch.inference_mode()
def judged(model: nn.Module, batches: SeriesWindows, inputs: ScaledSeries, objective: Forecast) -> Judgement:
    """Every window forecast by the model."""
    errors, device = Errors(inputs.naive_error_C), device_of(model)
    total, count = 0.0, 0
    for batch in batches.once():
        there = batch.to(device)
        forecast_BSNC, _ = model(there, None)
        loss = objective.loss(forecast_BSNC, there.target_BSNC).parts["loss"]
        total, count = total + float(loss.sum), count + loss.over
        errors.add(*(inputs.original(last_BNC(values)) for values in (forecast_BSNC, batch.target_BSNC)))
    return Judgement(total / count, errors)


def simple_errors(batches: SeriesWindows, inputs: ScaledSeries) -> dict[str, Errors]:
    """Every window forecast by each of the simple forecasts."""
    errors = {name: Errors(inputs.naive_error_C) for name in baselines(inputs)}
    for batch in batches.once():
        past_BTC = inputs.original(batch.input_BTC.numpy())
        truth_BNC = inputs.original(last_BNC(batch.target_BSNC))
        for name, forecast in baselines(inputs).items():
            errors[name].add(forecast(past_BTC), truth_BNC)
    return errors


def last_BNC(values_BSNC: Tensor) -> Values:
    """What stands after the last step."""
    values_BNC: Values = values_BSNC[:, -1].float().cpu().numpy()
    return values_BNC


def _by_step(errors: Errors) -> dict[str, float]:
    """MSE and MAE at the steps of a horizon: at each, or at some that are evenly spaced."""
    found = errors.by_step()
    steps = len(found["mse"])
    if steps == 1:
        return {}
    told = sorted({round(step) for step in np.linspace(1, steps, min(steps, STEPS_TOLD)).tolist()})
    return {f"{name}_step_{step}": float(found[name][step - 1]) for name in ("mse", "mae") for step in told}


@torch.inference_mode()
def _answers(model: nn.Module, batches: SeriesWindows, inputs: ScaledSeries) -> Iterator[dict[str, Any]]:
    """Windows with their truth and all forecasts, a row for each channel."""
    simple = baselines(inputs)
    size = (inputs.history + (2 + len(simple)) * inputs.horizon) * len(inputs.columns)
    count = max(1, min(len(batches.first_M), VALUES_KEPT // size))
    chosen = np.unique(np.linspace(0, len(batches.first_M) - 1, count).round().astype(np.int64))
    for some in np.array_split(chosen, max(1, len(chosen) // batches.rows)):
        batch = batches.batch(some)
        past_BTC = inputs.original(batch.input_BTC.numpy())
        forecast_BSNC, _ = model(batch.to(device_of(model)), None)
        told = {
            "past": past_BTC,
            "truth": inputs.original(last_BNC(batch.target_BSNC)),
            "forecast": inputs.original(last_BNC(forecast_BSNC)),
            **{name: forecast(past_BTC) for name, forecast in simple.items()},
        }
        for row, window in enumerate(some.tolist()):
            for channel, column in enumerate(inputs.columns):
                values = {name: _digits(values_BTC[row, :, channel]) for name, values_BTC in told.items()}
                yield {"window": window, "column": column, **values}


def _digits(values: Values) -> list[float]:
    """Six significant digits of each."""
    return [float(f"{value:.6g}") for value in values.tolist()]


# ---------------------------------------------------------------------------------------------------- remarks


def _sentence(batches: SeriesWindows, inputs: ScaledSeries | None = None) -> str:
    """How many windows there are; and by which season they are judged."""
    said = f"{len(batches.first_M):,} windows of {batches.history} + {batches.horizon} steps"
    if inputs is None:
        return said
    return f"{said}, season {inputs.season}" if inputs.season > 1 else f"{said}, no season"


def _spoken(name: str, inputs: ScaledSeries) -> str:
    spoken = name.replace("_", " ")
    return f"{spoken} (period {inputs.season})" if name == "seasonal_naive" else spoken


def _remarks(part: PartName, series: list[Values], usual: Scale, inputs: ScaledSeries) -> list[str]:
    """Few windows, channels that never change, and those that have wandered off since the training part."""
    windows = sum(max(0, len(values_TC) - inputs.history - inputs.horizon + 1) for values_TC in series)
    every_LC, remarks = np.concatenate(series), []
    if part != "train" and windows < FEW_WINDOWS:
        remarks.append(f"the {part} part has only {windows:,} windows: its scores are uncertain")
    for column, values_L, before, deviation in zip(inputs.columns, every_LC.T, *usual, strict=True):
        mean = values_L.mean()
        if part == "train" and np.ptp(values_L) == 0:
            remarks.append(f"'{column}' never changes in the training part: there is nothing to learn of it")
        if part != "train" and abs(mean - before) > 2 * deviation:
            remarks.append(
                f"'{column}' lies elsewhere in the {part} part (mean {mean:.4g}) than in training (mean {before:.4g}): "
                "expect worse forecasts"
            )
    return remarks


def _out_of_reach(recipe: Recipe, data: SeriesData, inputs: ScaledSeries) -> list[str]:
    """That a recurrent output cannot say what it should: its states lie between -1 and 1."""
    if recipe.model.model_dump().get("output") != "recurrent":
        return []
    farthest = max(float(np.abs(inputs.scaled(values_TC)).max()) for values_TC in data.series("train"))
    if farthest < 1:
        return []
    return [
        f"model.output is 'recurrent', which says nothing beyond -1 and 1, but the training part reaches "
        f"{farthest:.3g} as the model sees it: set model.output=dense, or inputs.kind=none where the values are within"
    ]
