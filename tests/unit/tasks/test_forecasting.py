"""Forecasting from a recipe to a run folder and back: scores in the user's units, and forecasts that go on and on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.series import Series
from seqwright.data.series import Values
from seqwright.errors import DataError, RunError, SettingError
from seqwright.kinds import task_of
from seqwright.outputs import values
from seqwright.outputs.values import ValuesOutput, even, iterated
from seqwright.recipe import Recipe, recipe_from
from seqwright.runs import data_of, open_run, train

TASK = task_of("forecasting")


class Constant(nn.Module):
    """Says the same of everything, in scaled units; and after each step, if so asked."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.tensor(value))

    def forward(self, batch: Series, carry: Any) -> tuple[Tensor, Any]:
        return self.value.expand(batch.target_BSNC.shape), carry


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A season of 4 with a level of 1000, and a channel of another size."""
    draw, time = np.random.default_rng(1), np.arange(400)
    values = 1000 + 50 * np.sin(np.pi * time / 2) + draw.normal(size=400)
    rows = [f"{t},{value:.4f},{draw.normal() / 100:.6f}" for t, value in zip(time, values, strict=True)]
    path = tmp_path / "mine.csv"
    path.write_text("t,big,small\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def recipe(path: Path, **sections: dict[str, Any]) -> Recipe:
    plain: dict[str, Any] = {
        "task": "forecasting",
        "data": {"train": str(path), "time": "t", "history": 9, "horizon": 2},
        "model": {"kind": "dense"},
        "training": {"steps": 300, "tokens": 200, "rate": 0.01, "schedule": "constant", "warmup": 0, "device": "cpu"},
    }
    return recipe_from({**plain, **{name: {**plain.get(name, {}), **given} for name, given in sections.items()}})


def parts_of(chosen: Recipe) -> tuple[Any, Any]:
    data = data_of(chosen)
    return data, TASK.learnt_inputs(chosen, data)


def test_scores_are_in_the_units_of_the_series(file: Path) -> None:
    chosen = recipe(file, data={"columns": "big"})
    data, inputs = parts_of(chosen)
    scores = TASK.prepared(chosen, data, inputs).evaluate(Constant(0.5))
    train_mean, train_deviation = data.series("train")[0].mean(), data.series("train")[0].std()
    valid = data.series("valid")[0][:, 0]
    truth = np.array([valid[i + 9 : i + 11] for i in range(len(valid) - 10)])
    error = train_mean + 0.5 * train_deviation - truth
    assert scores["mse"] == pytest.approx(np.mean(error**2), rel=1e-4)
    assert scores["mae"] == pytest.approx(np.mean(np.abs(error)), rel=1e-4)
    unit = np.mean(np.abs(np.diff(data.series("train")[0][:, 0])))
    assert scores["mase"] == pytest.approx(np.mean(np.abs(error)) / unit, rel=1e-4)
    assert scores["loss"] == pytest.approx(np.mean((error / train_deviation) ** 2), rel=1e-4)


def test_only_the_training_part_decides_scale_and_season(file: Path, tmp_path: Path) -> None:
    _, inputs = parts_of(recipe(file))
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    other = tmp_path / "other.csv"
    other.write_text("".join(lines[:321]) + "".join(f"{t},7,7\n" for t in range(320, 400)), encoding="utf-8")
    _, same = parts_of(recipe(other))
    assert (inputs.output.season, same.output.season) == (4, 4)
    assert np.array_equal(inputs.input.scale.mean_C, same.input.scale.mean_C)
    assert np.array_equal(inputs.output.scale.mean_C, inputs.input.scale.mean_C)
    assert np.array_equal(inputs.output.least_squares_CTN, same.output.least_squares_CTN)
    assert np.array_equal(inputs.output.naive_error_C, same.output.naive_error_C)


def test_a_season_is_given_or_found_and_must_lie_within_the_past(file: Path) -> None:
    assert parts_of(recipe(file, output={"season": 3}))[1].output.season == 3
    with pytest.raises(SettingError, match=r"output.season = 10 reaches further back than data\.history = 9"):
        parts_of(recipe(file, output={"season": 10}))


def test_a_run_learns_is_kept_and_is_judged_beside_simple_forecasts(file: Path, tmp_path: Path) -> None:
    chosen = recipe(file)
    train(chosen, tmp_path / "run")
    run = open_run(tmp_path / "run")
    data = data_of(chosen)
    found = TASK.evaluated(chosen, data, run.inputs, run.model, "test", None)
    assert found.scores["mse"] < found.scores["baseline_naive_mse"] / 10
    assert found.scores["mse"] < 2 * found.scores["baseline_least_squares_mse"]
    assert {"baseline_seasonal_naive_mase", "mse_step_1", "mae_step_2"} <= found.scores.keys()
    assert np.mean([found.scores["mse_step_1"], found.scores["mse_step_2"]]) == pytest.approx(found.scores["mse"])
    assert found.signatures["baseline_seasonal_naive_mse"] == "period 4"
    answer, test = found.answers[-1], data.series("test")[0]
    assert len(found.answers) == len(test) - 10
    assert np.allclose(answer["series"], test[-11:-2], rtol=1e-5)
    assert np.allclose(answer["truth"], test[-2:], rtol=1e-5)
    assert np.allclose(answer["naive"], [test[-3]] * 2, rtol=1e-5)
    (forecast_NC,) = run.inputs.predict(run.model, [test[:-2]])
    assert np.allclose(answer["forecast"], forecast_NC, rtol=1e-4)
    assert found.picture is not None
    drawn = found.picture.data["answers"][-1]
    assert (drawn["column"], drawn["window"]) == ("small", len(test) - 11)
    assert drawn["past"] == [step[1] for step in answer["series"]]
    assert drawn["forecast"] == [step[1] for step in answer["forecast"]]


def test_what_is_saved_is_loaded_to_the_bit(file: Path, tmp_path: Path) -> None:
    saved = parts_of(recipe(file))[1].output
    saved.save(tmp_path)
    loaded = ValuesOutput.load(tmp_path, None)
    assert loaded.sizes() == {"horizon": 2, "history": 9}
    assert (loaded.columns, loaded.season) == (("big", "small"), 4)
    assert loaded.scale.plain() == saved.scale.plain()
    assert np.array_equal(loaded.least_squares_CTN, saved.least_squares_CTN)
    assert np.array_equal(loaded.naive_error_C, saved.naive_error_C)


@pytest.mark.parametrize("name", ["values.json", "least_squares.safetensors"])
def test_what_is_damaged_is_refused(file: Path, tmp_path: Path, name: str) -> None:
    parts_of(recipe(file))[1].output.save(tmp_path)
    (tmp_path / name).write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match=rf"{name} (cannot be read|is missing or damaged)"):
        ValuesOutput.load(tmp_path, None)
    (tmp_path / name).unlink()
    with pytest.raises(RunError, match=rf"{name} is missing"):
        ValuesOutput.load(tmp_path, None)


def test_of_many_windows_some_at_even_distances_are_written_down(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = recipe(file)
    data, inputs = parts_of(chosen)
    monkeypatch.setattr(values, "VALUES_KEPT", 5 * (9 + 5 * 2) * 2)
    found = TASK.evaluated(chosen, data, inputs, Constant(0.0), "test", None)
    every = list(data.examples("test"))
    assert len(found.answers) == 5
    assert "5 of them are written down" in found.notes[0]
    assert np.allclose(found.answers[0]["series"], every[0].values_TC, rtol=1e-5)
    assert np.allclose(found.answers[-1]["series"], every[-1].values_TC, rtol=1e-5)
    assert even(11, 3) == [0, 5, 10]
    assert even(3, 11) == [0, 1, 2]


def test_other_data_needs_as_many_columns(file: Path) -> None:
    chosen = recipe(file)
    data, inputs = parts_of(chosen)
    narrow = data_of(recipe(file, data={"columns": "big"}))
    with pytest.raises(DataError, match=r"has 1 channels \(big\), but the run reads 2 \(big, small\)"):
        TASK.evaluated(chosen, narrow, inputs, Constant(0.0), "test", None)
    swapped = data_of(recipe(file, data={"columns": ["small", "big"]}))
    notes = TASK.evaluated(chosen, swapped, inputs, Constant(0.0), "test", None).notes
    assert "the columns small, big are taken for big, small" in " ".join(notes)
    no_test = data_of(recipe(file, data={"test": 0}))
    with pytest.raises(DataError, match="the data has no test part"):
        TASK.evaluated(chosen, no_test, inputs, Constant(0.0), "test", None)
    assert data.parts() == ["train", "valid", "test"]


def test_checking_tells_what_to_beat_and_what_is_odd(file: Path, tmp_path: Path) -> None:
    rows = [f"{t},{1000 * (t >= 320) + t % 3},5\n" for t in range(400)]
    odd = tmp_path / "odd.csv"
    odd.write_text("t,jumps,still\n" + "".join(rows), encoding="utf-8")
    chosen = recipe(odd, model={"kind": "rnn", "output_layer": "recurrent"})
    data, inputs = parts_of(chosen)
    checked, batches = TASK.checked(chosen, data, inputs)
    assert [row[0] for row in checked.rows] == ["train", "valid", "test"]
    assert checked.rows[0][1] == "310"
    assert checked.facts["train part"].startswith("310 windows of 1 series (jumps, still) of 9 steps and 2 ahead")
    assert "seasonal naive (period 3)" in checked.facts["baseline"]
    said = " ".join(checked.remarks)
    assert "'still' never changes in the train part" in said
    assert "'jumps' lies elsewhere in the valid part" in said
    assert "the valid part has only 39 examples" in said
    assert "model.output_layer is 'recurrent'" in said
    assert len(batches.example_N) == 310


def test_learning_from_every_step_is_judged_after_the_last(file: Path) -> None:
    every = recipe(file, objective={"after": "every"}, model={"kind": "gru"})
    last = recipe(file, model={"kind": "gru"})
    data, inputs = parts_of(every)
    one, other = (TASK.prepared(chosen, data, inputs).evaluate(Constant(0.3)) for chosen in (every, last))
    assert {name: one[name] for name in ("mse", "mae", "mase")} == {
        name: other[name] for name in ("mse", "mae", "mase")
    }
    assert one["loss"] != other["loss"]


def test_what_is_forecast_becomes_the_past_of_what_follows() -> None:
    def sums(past_BTC: Values) -> Values:
        """The next two values: the sum of what is known, and that of the past one step later."""
        first = past_BTC.sum(1, keepdims=True)
        return np.concatenate([first, first + 100], axis=1)

    past_BTC = np.array([[[9.0], [1], [2], [3]]])
    assert iterated(sums, past_BTC, 5, history=3).flatten().tolist() == [6, 106, 115, 215, 436]
