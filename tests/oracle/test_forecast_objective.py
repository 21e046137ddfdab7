"""The loss of forecasts: the right numbers over the right values, and no gradient to what does not count."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.series import Series, windows
from seqwright.errors import SettingError
from seqwright.objectives.forecast import Forecast, ForecastSettings

B, T, N, C = 3, 5, 2, 7


class Says(nn.Module):
    """A model that says what it was given."""

    def __init__(self, forecast_BSNC: Tensor) -> None:
        super().__init__()
        self.forecast = nn.Parameter(forecast_BSNC)

    def forward(self, batch: Series, carry: Any) -> tuple[Tensor, Any]:
        return self.forecast, carry


def example(every: bool = True) -> tuple[Says, Series]:
    draw = torch.Generator().manual_seed(1)
    batch = windows(torch.randn(B, T + N, C, generator=draw), horizon=N, every=every)
    return Says(2 * torch.randn(batch.target_BSNC.shape, generator=draw)), batch


def objective(**settings: Any) -> Forecast:
    return Forecast(ForecastSettings.model_validate(settings))


def by_hand(loss: str, error: float) -> float:
    if loss == "mse":
        return error**2
    if loss == "mae":
        return abs(error)
    return error**2 / 2 if abs(error) < 0.7 else 0.7 * (abs(error) - 0.35)


@pytest.mark.parametrize("after", ["last", "every"])
@pytest.mark.parametrize("loss", ["mse", "mae", "huber"])
def test_the_loss_is_the_sum_over_the_values_that_count(loss: str, after: str) -> None:
    model, batch = example()
    chosen = objective(loss=loss, after=after, delta=0.7)
    found, _ = chosen(model, batch, None)
    error = (model.forecast - batch.target_BSNC).detach()
    counting = error if after == "every" else error[:, -1]
    assert float(found.parts["loss"].sum.detach()) == pytest.approx(
        sum(by_hand(loss, value) for value in counting.flatten().tolist()), rel=1e-5
    )
    assert found.parts["loss"].over == counting.numel() == chosen.counts(batch)["loss"]


@pytest.mark.parametrize("loss", ["mse", "mae", "huber"])
def test_no_gradient_reaches_what_does_not_count(loss: str) -> None:
    model, batch = example()
    chosen = objective(loss=loss)
    chosen(model, batch, None)[0].total(chosen.counts(batch)).backward()
    assert model.forecast.grad is not None
    assert not bool(model.forecast.grad[:, :-1].any())
    assert bool((model.forecast.grad[:, -1] != 0).all())


def test_with_every_step_a_gradient_reaches_all() -> None:
    model, batch = example()
    chosen = objective(after="every")
    chosen(model, batch, None)[0].total(chosen.counts(batch)).backward()
    wanted = 2 * (model.forecast - batch.target_BSNC).detach() / batch.target_BSNC.numel()
    assert model.forecast.grad is not None
    torch.testing.assert_close(model.forecast.grad, wanted)


def test_the_targets_after_every_step_are_made_of_the_window() -> None:
    model, batch = example()
    last = batch.replace(target_BSNC=batch.target_BSNC[:, -1:])
    chosen = objective(after="every")
    found, same = (chosen(model, each, None)[0].parts["loss"] for each in (last, batch))
    assert torch.equal(found.sum, same.sum)
    assert found.over == same.over == chosen.counts(last)["loss"] == B * T * N * C


def test_a_model_that_forecasts_only_once_cannot_learn_from_every_step() -> None:
    _, batch = example()
    with pytest.raises(SettingError, match=r"objective\.after is 'every', but this model forecasts only after the las"):
        objective(after="every")(Says(torch.zeros(B, 1, N, C)), batch, None)
