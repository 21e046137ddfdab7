"""`forecast`: how a series continues; and what `eval` shows of a forecaster."""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from seqwright.cli.opening import opened_for
from seqwright.cli.options import TableAnswers
from seqwright.cli.table_writing import table_writer
from seqwright.cli.tables import WRITTEN, GivenRow, GivenTable, refuse_output
from seqwright.cli.terminal import add_row, draw_picture, json_text, picture_formats, print_table, say, shown
from seqwright.data.labelled_series import SeriesExample
from seqwright.data.series import Ending, ending_of
from seqwright.errors import SettingError
from seqwright.inputs import Given
from seqwright.outputs.values import ValuesOutput, iterated
from seqwright.pictures.forecasts import ForecastPanel, forecast_picture, steps_drawn
from seqwright.runs import Run, data_of
from seqwright.tasks import Evaluation
from seqwright.tasks.wired import Wires

Bounds = dict[str, tuple[Any, Any]]
MOST_PANELS = 6
SCORES = ("mse", "mae", "mase")
NAMES = {
    "": "this run",
    "baseline_least_squares_": "least squares",
    "baseline_seasonal_naive_": "seasonal naive",
    "baseline_naive_": "naive",
}


def forecast_series(
    folder: Path, file: Path | None, steps: int | None, picture: Path | None, answers: TableAnswers
) -> None:
    """Forecast what follows the end of a file, or of the run's own data, and print a row for each step."""
    run = opened_for("forecast", folder, answers.which)
    wires: Wires = run.inputs
    horizon, history = wires.output.sizes()["horizon"], wires.output.sizes()["history"]
    steps = horizon if steps is None else steps
    if steps < 1:
        raise SettingError(f"--steps is {steps}; forecast at least 1")
    if picture is not None:
        picture_formats(picture)  # refused before anything is computed
    if answers.output is not None:
        refuse_output(answers.output, WRITTEN, as_json=answers.json, yes=answers.yes)
    ending = _ending(run, file)
    for remark in wires.input.remarks(Given([SeriesExample(ending.values_TC, columns=ending.columns)])):
        say(remark)
    values_NC = iterated(lambda past_BTC: _forecast(run, past_BTC), ending.values_TC[None], steps, history=history)[0]
    if steps > horizon:
        say(f"the model forecasts {horizon} at once: beyond that it continues its own forecasts")
    _say_of_intervals(wires.output, steps)
    if picture is not None:
        draw_picture(forecast_picture(_panels(run, ending, values_NC, steps)), picture)
    bounds = wires.output.intervals_around(values_NC)
    if answers.output is not None:
        _write(ending, values_NC, bounds, answers.output)
    else:  # last: whoever reads it may stop listening
        _print(ending, values_NC, bounds, as_json=answers.json)


def _forecast(run: Run, past_BTC: Any) -> Any:
    """The next values after each past, as many as the model forecasts at once."""
    wires: Wires = run.inputs
    return np.stack(wires.predict(run.model, list(past_BTC)))


def _ending(run: Run, file: Path | None) -> Ending:
    """What the forecast continues."""
    if file is not None:
        return ending_of(file.expanduser(), run.inputs.input.columns, run.recipe.data)
    ending: Ending = data_of(run.recipe).ending()
    return ending


def _when(ending: Ending, step: int) -> str | int:
    return step if ending.rhythm is None else ending.rhythm.later(step)


def _say_of_intervals(output: ValuesOutput, steps: int) -> None:
    """Why there are none, or not for all steps."""
    if output.intervals is None:
        say("no intervals: they are learnt when training ends, of its best checkpoint; train again to have them")
    elif steps > output.horizon:
        say(f"intervals are known of the first {output.horizon}")


def _write(ending: Ending, values_NC: Any, bounds: Bounds, output: Path) -> None:
    """A table of the rows to come, with their times, and the intervals as columns such as `load_low_95`."""
    names = [ending.time, *ending.columns]
    ends = {
        f"{column}_{side}_{level}": end_NC[:, channel]
        for channel, column in enumerate(ending.columns)
        for level, both in bounds.items()
        for side, end_NC in zip(("low", "high"), both, strict=True)
    }
    table = GivenTable(names, iter(()), form=ending.form, path=ending.path)
    with table_writer(output, table, list(ends)) as writer:
        for step, row in enumerate(values_NC.tolist(), start=1):
            values = [float(f"{value:.6g}") for value in row]
            known = [float(end_N[step - 1]) if step <= len(end_N) else None for end_N in ends.values()]
            writer.write(GivenRow(f"step {step}", names, [_when(ending, step), *values], None), known)
    say(f"wrote {len(values_NC):,} rows to {shown(output)}")


def _print(ending: Ending, values_NC: Any, bounds: Bounds, *, as_json: bool) -> None:
    """CSV in the form of the user's file, or JSON lines, which have the intervals too."""
    rows = [[float(f"{value:.6g}") for value in row] for row in values_NC.tolist()]
    if as_json:
        for step, row in enumerate(rows, start=1):
            values = dict(zip(ending.columns, row, strict=True))
            print(json_text({ending.time: _when(ending, step), **values, **_intervals(ending, bounds, step)}))
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([ending.time, *ending.columns])
    writer.writerows([_when(ending, step), *row] for step, row in enumerate(rows, start=1))


def _intervals(ending: Ending, bounds: Bounds, step: int) -> dict[str, Any]:
    """`{"intervals": {"80": {"load": [2.1, 3.4]}}}` of a step ahead, counted from 1."""
    found = {
        level: {
            column: [float(f"{each[step - 1, channel]:.6g}") for each in both]
            for channel, column in enumerate(ending.columns)
        }
        for level, both in bounds.items()
        if step <= len(both[0])
    }
    return {"intervals": found} if found else {}


# ---------------------------------------------------------------------------------------------------- pictures


def _panels(run: Run, ending: Ending, values_NC: Any, steps: int) -> list[ForecastPanel]:
    """A panel for each column: its past, the forecast, and the simple ones beside it."""
    past_BTC, output = ending.values_TC[None], run.inputs.output
    simple = {name: iterated(once, past_BTC, steps, history=output.history) for name, once in output.simple().items()}
    if len(ending.columns) > MOST_PANELS:
        say(f"the first {MOST_PANELS} of {len(ending.columns)} columns are drawn")
    drawn = min(len(ending.values_TC), steps_drawn(steps, output.season))
    times = [] if ending.rhythm is None else [str(_when(ending, step)) for step in range(1 - drawn, 1 + steps)]
    bounds = output.intervals_around(values_NC).items()
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
            {level: (low_NC[:, channel], high_NC[:, channel]) for level, (low_NC, high_NC) in bounds},
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
