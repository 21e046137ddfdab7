"""`forecast`: how a series continues; and what `eval` shows of a forecaster."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from seqwright.calls import forecasts
from seqwright.cli.asking import AskedInput, Asking, Result
from seqwright.cli.opening import opened_for
from seqwright.cli.options import TableAnswers, Things
from seqwright.cli.tables import GivenRow, GivenTable
from seqwright.cli.terminal import add_row, draw_picture, picture_formats, print_table, say
from seqwright.data.labelled_series import SeriesExample
from seqwright.data.series import Ending, ending_of
from seqwright.errors import SettingError
from seqwright.inputs import Examples, Given
from seqwright.outputs.values import iterated
from seqwright.pictures.forecasts import ForecastPanel, forecast_picture, steps_drawn
from seqwright.runs import Run, data_of
from seqwright.tasks import Evaluation

MOST_PANELS = 6
NO_INTERVALS = "no intervals: they are learnt when training ends, of its best checkpoint; train again to have them"
SCORES = ("mse", "mae", "mase")
NAMES = {
    "": "this run",
    "baseline_least_squares_": "least squares",
    "baseline_seasonal_naive_": "seasonal naive",
    "baseline_naive_": "naive",
}


def forecast_series(things: Things, steps: int | None, picture: Path | None, answers: TableAnswers) -> None:
    """Forecast what follows the end of a file, or of the run's own data: a row for each step."""
    asking = Asking("forecast", things, answers)
    if steps is not None and steps < 1:
        raise SettingError(f"--steps is {steps}; forecast at least 1")
    if picture is not None:
        picture_formats(picture)  # refused before anything is computed
    run = opened_for("forecast", things.run, answers.which)
    ending = _ending(run, things.file)
    ahead = StepsAhead(run, ending, forecasts(run, [ending.values_TC], steps or run.output.horizon)[0])
    asking.table, asking.added = ahead.table(), {name: name for name in ahead.bound_names()}

    def predict(examples: Given[int], first: int) -> Iterator[list[Result]]:
        if picture is not None and not first:  # before anything is printed: whoever reads that may stop listening
            draw_picture(forecast_picture(_panels(ahead)), picture)
        for step in examples:
            yield [Result(ahead.line(step), ahead.fields(step, flat=asking.output is not None))]

    asking.give(run, predict, AskedInput(int, ahead.named, ahead.remarks), {})


def _ending(run: Run, file: Path | None) -> Ending:
    """What the forecast continues."""
    if file is None:
        ending: Ending = data_of(run.recipe).ending()
        return ending
    found = ending_of(file, run.input.columns, run.recipe.data)
    for remark in found.remarks:
        say(remark)
    return found


class StepsAhead:
    """The steps after the end of a series, counted from 1: their times, forecast values and intervals."""

    def __init__(self, run: Run, ending: Ending, values_NC: Any) -> None:
        self.run, self.ending, self.values_NC = run, ending, values_NC
        self.names = [ending.time, *ending.columns]
        self.bounds = run.output.intervals_around(values_NC)

    def table(self) -> GivenTable:
        """A row for each step, in the form of the file."""
        steps = range(1, len(self.values_NC) + 1)
        rows = (GivenRow(f"step {n}", self.names, self._cells(n), n) for n in steps)
        return GivenTable(self.names, rows, form=self.ending.form, path=self.ending.path)

    def when(self, step: int) -> str | int:
        """The time of a step as the file has it, or its number."""
        rhythm = self.ending.rhythm
        return step if rhythm is None else rhythm.written(rhythm.later(step))

    def _cells(self, step: int) -> list[Any]:
        return [self.when(step), *(float(f"{value:.6g}") for value in self.values_NC[step - 1])]

    def named(self, step: int) -> dict[str, Any]:
        """Its time and its values."""
        return dict(zip(self.names, self._cells(step), strict=True))

    def remarks(self, examples: Examples[int], first: int = 0) -> list[str]:
        """Columns of other names, steps beyond the horizon, and why intervals are not known of all."""
        if first:
            return []
        horizon, beyond = self.run.output.horizon, len(self.values_NC) > self.run.output.horizon
        told = self.run.input.remarks(Given([SeriesExample(self.ending.values_TC, columns=self.ending.columns)]))
        if beyond:
            told.append(f"the model forecasts {horizon} at once: beyond that it continues its own forecasts")
        if self.run.output.intervals is None:
            return [*told, NO_INTERVALS]
        return [*told, f"intervals are known of the first {horizon}"] if beyond else told

    def line(self, step: int) -> str:
        """CSV in the form of the user's file, the header above the first step."""
        return "\n".join(map(_csv_line, [self.names, self._cells(step)][step > 1 :]))

    def fields(self, step: int, *, flat: bool) -> dict[str, Any]:
        """`{"intervals": {"80": {"load": [2.1, 3.4]}}}`, or `flat` as columns such as `load_low_80`."""
        found = {
            level: {
                column: [float(f"{each[step - 1, channel]:.6g}") for each in both]
                for channel, column in enumerate(self.ending.columns)
            }
            for level, both in self.bounds.items()
            if step <= len(both[0])
        }
        if not flat:
            return {"intervals": found} if found else {}
        ends = (end for column in self.ending.columns for level in found for end in found[level][column])
        return dict(zip(self.bound_names(), ends, strict=False))

    def bound_names(self) -> list[str]:
        """The columns of a table that has intervals."""
        sides = [f"{side}_{level}" for level in self.bounds for side in ("low", "high")]
        return [f"{column}_{side}" for column in self.ending.columns for side in sides]


def _csv_line(cells: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


# ---------------------------------------------------------------------------------------------------- pictures


def _panels(ahead: StepsAhead) -> list[ForecastPanel]:
    """A panel for each column: its past, the forecast, and the simple ones beside it."""
    ending, values_NC, output = ahead.ending, ahead.values_NC, ahead.run.output
    past_BTC, steps = ending.values_TC[None], len(values_NC)
    simple = {name: iterated(once, past_BTC, steps, history=output.history) for name, once in output.simple().items()}
    if len(ending.columns) > MOST_PANELS:
        say(f"the first {MOST_PANELS} of {len(ending.columns)} columns are drawn")
    drawn = min(len(ending.values_TC), steps_drawn(steps, output.season))
    times = [] if ending.rhythm is None else [ending.rhythm.later(step) for step in range(1 - drawn, 1 + steps)]
    return [
        ForecastPanel(
            column,
            ending.values_TC[:, channel].tolist(),
            (),
            {
                "forecast": values_NC[:, channel],
                **{name: said[0, :, channel].tolist() for name, said in simple.items()},
            },
            times,
            output.season,
            {level: (low_NC[:, channel], high_NC[:, channel]) for level, (low_NC, high_NC) in ahead.bounds.items()},
        )
        for channel, column in enumerate(ending.columns[:MOST_PANELS])
    ]


# ---------------------------------------------------------------------------------------------------- scores


def print_evaluation(result: Evaluation) -> None:
    """The run beside the simple forecasts; and, where the horizon has several steps, the errors at each."""
    console, scores = Console(), result.scores
    table = Table("", *map(str.upper, SCORES), box=None, pad_edge=False)
    period = result.signatures["baseline_seasonal_naive_mse"]
    for prefix, name in NAMES.items():
        told = f"{name} ({period})" if prefix == "baseline_seasonal_naive_" else name
        add_row(table, told, *(f"{scores[prefix + score]:.4g}" for score in SCORES), style=None if prefix else "bold")
    console.print(table)
    covered = {name.removeprefix("coverage_"): x for name, x in scores.items() if name.startswith("coverage_")}
    if covered:
        told = ", ".join(f"{share:.1f} % in those of {level} %" for level, share in covered.items())
        console.print(f"\ntrue values within intervals: {told}", highlight=False)
    steps = [name.removeprefix("mse_step_") for name in scores if name.startswith("mse_step_")]
    if steps:
        console.print()
        ahead = ([step, *(f"{scores[f'{score}_step_{step}']:.4g}" for score in ("mse", "mae"))] for step in steps)
        print_table(("step ahead", "MSE", "MAE"), ahead)
