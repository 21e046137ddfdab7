"""The linear forecast in closed form, against numpy's own least squares and the baseline that stands beside models."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seqwright.batches.series import windows
from seqwright.models.least_squares import LeastSquaresForecaster, LeastSquaresSettings
from seqwright.recipe import recipe_from, recipe_text
from seqwright.runs import open_run, train

T, N, C = 5, 3, 2
SIZES = {"channels": C, "horizon": N, "history": T}


def some(count: int, seed: int = 1, offset: float = 0.0) -> torch.Tensor:
    draw = np.random.default_rng(seed)
    return torch.from_numpy(draw.normal(offset, 1, size=(count, T + N, C)).cumsum(1))


def fitted(whole: torch.Tensor, at_once: int = 7) -> LeastSquaresForecaster:
    model = LeastSquaresForecaster(LeastSquaresSettings(), **SIZES)
    for some_BTC in whole.split(at_once):
        model.observe(windows(some_BTC, horizon=N))
    model.conclude()
    return model


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_the_forecast_is_numpys(offset: float) -> None:
    whole, others = some(61, offset=offset), some(11, seed=2, offset=offset)
    found = fitted(whole)(windows(others, horizon=N), None)[0][:, 0]
    for channel in range(C):
        past, future = whole[:, :T, channel].numpy(), whole[:, T:, channel].numpy()
        weights = np.linalg.lstsq(np.hstack([past, np.ones((len(past), 1))]), future, rcond=None)[0]
        expected = np.hstack([others[:, :T, channel].numpy(), np.ones((len(others), 1))]) @ weights
        np.testing.assert_allclose(found[..., channel].numpy(), expected, rtol=1e-8, atol=1e-6)


def test_the_size_of_batches_changes_nothing() -> None:
    whole, batch = some(61), windows(some(11, seed=2), horizon=N)
    one, other = (fitted(whole, at_once)(batch, None)[0] for at_once in (61, 3))
    torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_of_many_solutions_the_smallest_is_taken() -> None:
    whole = torch.ones(9, T + N, C, dtype=torch.float64) * 7  # a series that never changes
    model = fitted(whole)
    torch.testing.assert_close(model(windows(whole, horizon=N), None)[0], whole[:, None, T:])
    assert float(model.weights_CTN.abs().max()) <= 1


def agrees_with_the_baseline(plain: dict[str, Any], folder: Path) -> None:
    train(recipe_from({"task": "forecasting", "model": {"kind": "least-squares"}, **plain}), folder)
    scores = open_run(folder).evaluate("test").scores
    for name in ("mse", "mae", "mase"):
        assert scores[name] == pytest.approx(scores[f"baseline_least_squares_{name}"], rel=1e-6)


def test_a_run_has_the_scores_of_the_baseline(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    rows = [
        f"{20 + 5 * np.sin(2 * np.pi * step / 24) + one:.6f},{900 + 0.1 * step + other:.6f}\n"
        for step, (one, other) in enumerate(draw.normal(size=(400, 2)))
    ]
    (tmp_path / "mine.csv").write_text("load,level\n" + "".join(rows), encoding="utf-8")
    agrees_with_the_baseline(
        {"data": {"train": str(tmp_path / "mine.csv"), "history": 30, "horizon": 4}}, tmp_path / "run"
    )


def test_the_shipped_recipe_has_the_scores_of_the_baseline(tmp_path: Path) -> None:
    shipped = tomllib.loads(recipe_text("waves-least-squares")[1])
    shipped["data"] |= {"examples": 300, "valid": 20, "test": 50}
    agrees_with_the_baseline(shipped, tmp_path / "run")
