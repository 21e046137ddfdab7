"""The scale of a series: learnt on the training part, undone for the user, kept in the run folder."""

import json
from pathlib import Path

import numpy as np
import pytest

from seqwright.data.labelled_series import SeriesExample
from seqwright.data.series import SeriesWindow
from seqwright.errors import DataError, RunError
from seqwright.inputs import Given, Room
from seqwright.inputs.series import Scale, SeriesInput, SeriesSettings, every_series

COLUMNS = ("größe", "b")


def series() -> list[np.ndarray]:
    draw = np.random.default_rng(1)
    return [draw.normal([5, -300], [0.1, 40], size=(length, 2)) for length in (31, 17)]


def windows(wholes: list[np.ndarray], columns: tuple[str, ...] = COLUMNS) -> Given[SeriesWindow]:
    """Every window of 7 steps and 3 ahead."""
    return Given(SeriesWindow(whole, columns, first, 7, 3) for whole in wholes for first in range(len(whole) - 9))


def learnt(*, bounded: bool = False, **settings: str) -> SeriesInput:
    return SeriesInput.learn(windows(series()), SeriesSettings.model_validate(settings), room=Room(bounded=bounded))


def test_the_training_part_has_mean_0_and_deviation_1() -> None:
    scaled = Scale.learnt(series(), "standard").scaled(np.concatenate(series()))
    assert scaled.dtype == np.float32
    assert np.allclose(scaled.mean(0), 0, atol=1e-5)
    assert np.allclose(scaled.std(0), 1, atol=1e-5)


@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_undoing_the_scale_gives_the_values_back(scaling: str) -> None:
    values = np.random.default_rng(3).normal(size=(4, 7, 2))
    found = Scale.learnt(series(), scaling)
    assert np.allclose(found.original(found.scaled(values)), values, rtol=1e-4, atol=1e-4)
    assert np.allclose(found.scaled(values), values) == (scaling == "none")


def test_a_channel_that_never_changes_is_only_shifted() -> None:
    scale = Scale.learnt([np.full((9, 1), 4.0)], "standard")
    assert (scale.mean_C.tolist(), scale.deviation_C.tolist()) == ([4], [1])


def test_windows_count_for_the_scale_as_the_series_they_are_cut_from() -> None:
    assert [len(each) for each in every_series(windows(series()))] == [31, 17]
    of_series = SeriesInput.learn(Given(map(SeriesExample, series())), SeriesSettings(), room=Room())
    assert np.array_equal(learnt().scale.mean_C, of_series.scale.mean_C)
    assert np.array_equal(learnt().scale.deviation_C, of_series.scale.deviation_C)
    assert (learnt().columns, of_series.columns) == (COLUMNS, ())


@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_a_row_is_the_scaled_past_of_its_window(scaling: str) -> None:
    input, examples = learnt(scaling=scaling), windows(series())
    rows = input.encode(examples)
    assert rows.lengths(None).tolist() == [[7]] * (22 + 8)
    (row_TC,) = rows.take(np.array([23]), None)
    values_TC = series()[1][1:8]
    expected = (values_TC - input.scale.mean_C) / input.scale.deviation_C if scaling == "standard" else values_TC
    assert np.allclose(row_TC, expected, rtol=1e-5)
    stacked = input.stack([row_TC, row_TC[:4]])
    assert stacked["input_B"].shape == (2, 7, 2)
    assert stacked["real_BT"].sum(1).tolist() == [7, 4]


def test_other_columns_are_refused_or_told() -> None:
    with pytest.raises(DataError, match=r"has 1 channels \(b\), but the run reads 2 \(größe, b\): give as many"):
        learnt().encode(windows([whole[:, 1:] for whole in series()], ("b",)))
    assert learnt().remarks(windows(series())) == []
    swapped = windows(series(), ("b", "größe"))
    assert learnt().remarks(swapped) == ["the columns b, größe are taken for größe, b"]
    assert learnt().part_sentence(swapped, learnt().encode(swapped)) == (
        "30 windows of 2 series (größe, b)",
        "; the columns b, größe are taken for größe, b",
    )


def test_what_is_odd_of_a_part_is_said_in_words() -> None:
    still = [whole * [1, 0] + [9, 0] for whole in series()]
    remarks = learnt().part_remarks(windows(still))
    assert len(remarks) == 3
    assert remarks[0].startswith("'größe' lies elsewhere in the input (mean 14")
    assert remarks[1].startswith("'b' never changes")
    assert remarks[2].startswith("'b' lies elsewhere")
    assert learnt(scaling="none").part_remarks(windows(series())) == []


def test_a_model_of_bounded_outputs_is_warned_of_what_it_cannot_say() -> None:
    (warning,) = learnt(bounded=True).warnings()
    assert "model.output_layer is 'recurrent'" in warning
    assert learnt().warnings() == []
    small = windows([whole / 1000 for whole in series()])
    within = SeriesInput.learn(small, SeriesSettings(scaling="none"), room=Room(bounded=True))
    assert within.warnings() == []


@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_what_is_saved_is_loaded_to_the_bit(scaling: str, tmp_path: Path) -> None:
    saved = learnt(scaling=scaling)
    saved.save(tmp_path / "input")
    loaded = SeriesInput.load(tmp_path / "input")
    assert loaded.sizes() == {"channels": 2}
    assert loaded.columns == COLUMNS
    assert loaded.scale.applied == (scaling == "standard")
    assert loaded.fingerprint() == saved.fingerprint()
    assert np.array_equal(loaded.scale.mean_C, saved.scale.mean_C)
    assert np.array_equal(loaded.scale.deviation_C, saved.scale.deviation_C)


def test_a_damaged_scale_is_refused(tmp_path: Path) -> None:
    learnt().save(tmp_path)
    (tmp_path / "scaling.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match=r"scaling\.json cannot be read as scaling"):
        SeriesInput.load(tmp_path)
    (tmp_path / "scaling.json").unlink()
    with pytest.raises(RunError, match=r"scaling\.json is missing"):
        SeriesInput.load(tmp_path)


@pytest.mark.parametrize("mean", [-1, 0.5, [], [1.0, 2.0], [[1.0]]], ids=str)
def test_a_scale_that_is_not_one_of_each_channel_is_refused(mean: object, tmp_path: Path) -> None:
    plain = {"columns": [], "mean": mean, "deviation": [3.5], "applied": True}
    (tmp_path / "scaling.json").write_text(json.dumps(plain))
    with pytest.raises(RunError, match=r"scaling\.json cannot be read as scaling \(expected a mean and a deviation of"):
        SeriesInput.load(tmp_path)
