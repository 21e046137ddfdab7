"""Somebody has a table of measurements, trains on it and asks how it goes on."""

import csv
import io
import json
import shutil
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.cli.evaluating import evaluate_run
from seqwright.cli.forecasting import forecast_series
from seqwright.cli.options import EvaluationOptions, TableAnswers, Things
from seqwright.errors import DataError, RunError, SettingError, without_settings
from seqwright.inputs.series import plain_values
from seqwright.recipe import recipe_from
from seqwright.runs import joined_run, open_run, train

DAYS = 200


def value(day: int) -> float:
    """What a week repeats."""
    return float(20 + 5 * np.sin(2 * np.pi * day / 7))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file and a run trained on it."""
    folder = tmp_path_factory.mktemp("home")
    days = [(date(2024, 1, 1) + timedelta(day)).isoformat() for day in range(DAYS)]
    rows = [f"{day},{value(number)}" for number, day in enumerate(days)]
    (folder / "mine.csv").write_text("day,degrees\n" + "\n".join(rows) + "\n", encoding="utf-8")
    plain: dict[str, Any] = {
        "task": "forecasting",
        "data": {"train": str(folder / "mine.csv"), "time": "day", "history": 14, "horizon": 3},
        "model": {"kind": "dense"},
        "training": {"steps": 400, "tokens": 448, "rate": 0.02, "schedule": "cosine", "warmup": 0, "device": "cpu"},
    }
    train(recipe_from(plain), folder / "run")
    return folder


def forecast(folder: Path, **options: Any) -> None:
    given: dict[str, Any] = {"file": None, "steps": None, "as_json": False, "picture": None, "which": "best"}
    given |= options
    things = Things(folder, file=given["file"])
    with without_settings():  # as every verb that uses a run
        forecast_series(things, given["steps"], given["picture"], TableAnswers(given["as_json"], given["which"]))


def test_the_table_goes_on_in_its_own_form(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forecast(home / "run", steps=8)
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["day", "degrees"]
    assert [row[0] for row in rows[1:]] == [(date(2024, 1, 1) + timedelta(DAYS + day)).isoformat() for day in range(8)]
    for ahead, row in enumerate(rows[1:]):
        assert float(row[1]) == pytest.approx(value(DAYS + ahead), abs=0.3)


def test_without_steps_it_is_the_horizon_and_json_has_an_object_a_line(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forecast(home / "run", as_json=True)
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [list(row) for row in found] == [["day", "degrees", "intervals"]] * 3
    assert found[0]["day"] == "2024-07-19"
    for row in found:
        low, high = row["intervals"]["80"]["degrees"]
        assert low <= row["degrees"] + 1 <= high + 2  # around it, not around 0
        assert list(row["intervals"]) == ["80"]  # 18 windows of the validation part are too few for 95 %


def test_intervals_are_those_of_the_best_checkpoint_and_of_no_other(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = open_run(home / "run")
    past = np.array([value(day) for day in range(14)])
    (low_NC, high_NC), forecast_NC = run.output.intervals_around(run(past))["80"], run(past)
    assert ((low_NC <= high_NC) & (abs(forecast_NC - low_NC) < 2)).all()
    assert run.output.fields(forecast_NC)["intervals"]["80"] == [plain_values(low_NC), plain_values(high_NC)]
    assert run.output.calibrated_at(run.step) is run.output
    assert run.output.calibrated_at(run.step + 1).intervals is None
    assert joined_run([run, run]).output.intervals is None
    other = home / "other"
    shutil.copytree(home / "run", other)
    written = json.loads((other / "output" / "intervals.json").read_text(encoding="utf-8"))
    (other / "output" / "intervals.json").write_text(json.dumps({**written, "step": 7}), encoding="utf-8")
    capsys.readouterr()
    forecast(other, steps=1, as_json=True)
    said = capsys.readouterr()
    assert "no intervals: they are learnt when training ends" in said.err
    assert "intervals" not in said.out


@pytest.mark.parametrize(
    "damage",
    [
        lambda plain: {**plain, "lower": plain["lower"][0]},
        lambda plain: {**plain, "upper": [[[float("nan")]] * 3]},
        lambda plain: {"step": plain["step"]},
        lambda plain: [],
    ],
)
def test_damaged_intervals_are_refused_in_a_sentence(home: Path, tmp_path: Path, damage: Any) -> None:
    shutil.copytree(home / "run", tmp_path / "run")
    path = tmp_path / "run" / "output" / "intervals.json"
    path.write_text(json.dumps(damage(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
    with pytest.raises(RunError, match=r"intervals\.json cannot be read as intervals .*; restore the file from a copy"):
        open_run(tmp_path / "run")


def test_beyond_the_horizon_no_interval_is_known(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forecast(home / "run", steps=5, as_json=True)
    said = capsys.readouterr()
    assert ["intervals" in json.loads(line) for line in said.out.splitlines()] == [True] * 3 + [False] * 2
    assert "intervals are known of the first 3" in said.err


def test_another_file_is_gone_on_from_its_own_end(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (home / "mine.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (home / "earlier.csv").write_text("".join(lines[:101]), encoding="utf-8")
    forecast(home / "run", file=home / "earlier.csv", steps=1)
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[1][0] == "2024-04-10"
    assert float(rows[1][1]) == pytest.approx(value(100), abs=0.3)


def test_a_picture_is_drawn_in_the_form_of_its_name(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forecast(home / "run", steps=9, picture=home / "one.pdf")
    forecast(home / "run", steps=9, picture=home / "pictures" / "both")
    assert (home / "one.pdf").read_bytes().startswith(b"%PDF")
    assert sorted(path.name for path in (home / "pictures").iterdir()) == ["both.png", "both.svg"]
    assert "one.pdf" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"steps": 0}, SettingError, r"--steps is 0; forecast at least 1"),
        (
            {"picture": Path("mine.gif")},
            SettingError,
            r"--picture is 'mine\.gif'; end it in \.png or \.svg",
        ),
        ({"file": Path("nowhere.csv")}, DataError, r"no file nowhere\.csv"),
    ],
)
def test_what_cannot_be_done_is_said(
    home: Path, options: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        forecast(home / "run", **options)


def test_a_series_that_is_shorter_than_the_past_is_refused(home: Path) -> None:
    (home / "short.csv").write_text("day,degrees\n2024-01-01,1\n2024-01-02,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"the series has 2 rows, but the model looks back 14"):
        forecast(home / "run", file=home / "short.csv")


def test_columns_of_another_name_are_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (home / "mine.csv").read_text(encoding="utf-8").replace("degrees", "kelvins")
    (home / "other.csv").write_text(lines, encoding="utf-8")
    forecast(home / "run", file=home / "other.csv")
    assert "the columns kelvins are taken for degrees" in capsys.readouterr().err


def test_how_another_file_is_read_is_told_where_the_file_told_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{date(2024, 1, 1) + timedelta(day)};{value(day):.5f};Köln\n" for day in range(50))
    (home / "plain.csv").write_text(f"day;degrees;place\n{rows}".replace(";", ","), encoding="utf-8")
    forecast(home / "run", file=home / "plain.csv")
    plain = capsys.readouterr()
    assert plain.err == ""
    (home / "german.csv").write_text(f"day;degrees;place\n{rows}".replace(".", ","), encoding="cp1252")
    forecast(home / "run", file=home / "german.csv")
    said = capsys.readouterr()
    assert said.out == plain.out
    for told in ("looks like windows-1252", "a semicolon between its cells, not a comma", "decimal commas, as in 20,0"):
        (line,) = (line for line in said.err.splitlines() if told in line)
        assert line.endswith("read so; save it as UTF-8 with commas and decimal points if that is wrong")


def test_a_long_forecast_is_one_table_and_says_everything_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forecast(home / "run", steps=600, picture=home / "long.svg")
    said = capsys.readouterr()
    days = [row[0] for row in csv.reader(io.StringIO(said.out))]
    assert days == ["day", *((date(2024, 1, 1) + timedelta(DAYS + ahead)).isoformat() for ahead in range(600))]
    assert [line.split(":")[0] for line in said.err.splitlines()] == [
        "the model forecasts 3 at once",
        "intervals are known of the first 3",
        "drawn",
    ]


def test_only_forecasters_forecast(tmp_path: Path) -> None:
    plain: dict[str, Any] = {
        "task": "translation",
        "data": {"card": "copy", "examples": 50, "valid": 5, "test": 0},
        "input": {"tokenizer": "words"},
        "model": {"size": "tiny", "width": 8, "heads": 2, "feed_forward": 8},
        "training": {"steps": 1, "device": "cpu"},
    }
    train(recipe_from(plain), tmp_path / "run")
    with pytest.raises(RunError, match=r"learnt translation; forecast is for a model of time series"):
        forecast(tmp_path / "run")


def test_the_judgement_stands_beside_that_of_simple_forecasts(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate_run(home / "run", EvaluationOptions(part="test"))
    said = capsys.readouterr().out
    assert "true values within intervals: " in said
    for words in ("this run", "least squares", "seasonal naive (period 7)", "naive", "MASE", "step ahead"):
        assert words in said
    for form in ("png", "svg"):
        (drawn,) = (home / "run" / "eval").glob(f"test-*.{form}")
        assert drawn.stat().st_size > 1000
