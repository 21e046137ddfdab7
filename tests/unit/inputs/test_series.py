"""The scale of a series: learnt on the training part, undone for the user, kept in the run folder."""

from pathlib import Path

import numpy as np
import pytest

from seqwright.errors import RunError
from seqwright.inputs.scaled_series import Scale, ScaledSeries


def series() -> list[np.ndarray]:
    draw = np.random.default_rng(1)
    return [draw.normal([5, -300], [0.1, 40], size=(length, 2)) for length in (31, 17)]


def inputs(kind: str = "standard") -> ScaledSeries:
    weights = np.random.default_rng(2).normal(size=(2, 8, 3))
    return ScaledSeries(("größe", "b"), 7, 3, Scale.learnt(series(), kind), 5, np.array([0.5, 2.0]), weights)


def test_the_training_part_has_mean_0_and_deviation_1() -> None:
    scaled = inputs().scaled(np.concatenate(series()))
    assert scaled.dtype == np.float32
    assert np.allclose(scaled.mean(0), 0, atol=1e-5)
    assert np.allclose(scaled.std(0), 1, atol=1e-5)


@pytest.mark.parametrize("kind", ["standard", "none"])
def test_undoing_the_scale_gives_the_values_back(kind: str) -> None:
    values = np.random.default_rng(3).normal(size=(4, 7, 2))
    found = inputs(kind)
    assert np.allclose(found.original(found.scaled(values)), values, rtol=1e-4, atol=1e-4)
    assert np.allclose(found.scaled(values), values) == (kind == "none")


def test_a_channel_that_never_changes_is_only_shifted() -> None:
    scale = Scale.learnt([np.full((9, 1), 4.0)], "standard")
    assert (scale.mean_C.tolist(), scale.deviation_C.tolist()) == ([4], [1])


def test_what_is_saved_is_loaded_to_the_bit(tmp_path: Path) -> None:
    saved = inputs()
    saved.save(tmp_path / "inputs")
    loaded = ScaledSeries.load(tmp_path / "inputs")
    assert loaded.sizes() == {"channels": 2, "horizon": 3, "history": 7}
    assert (loaded.columns, loaded.season) == (("größe", "b"), 5)
    for one, other in zip(saved.scale, loaded.scale, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(loaded.least_squares_CTN, saved.least_squares_CTN)
    assert np.array_equal(loaded.naive_error_C, saved.naive_error_C)


@pytest.mark.parametrize("name", ["series.json", "least_squares.safetensors"])
def test_a_damaged_scale_is_refused(tmp_path: Path, name: str) -> None:
    inputs().save(tmp_path)
    (tmp_path / name).write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match=r"the scale of the series in .* is missing or damaged"):
        ScaledSeries.load(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(RunError, match=r"missing or damaged"):
        ScaledSeries.load(tmp_path)
