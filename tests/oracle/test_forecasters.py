"""The forecasters, against torch's own recurrent networks and plain sums."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.series import Series, windows
from seqwright.errors import SettingError
from seqwright.models.forecasters import (
    DenseForecaster,
    DenseSettings,
    MLPForecaster,
    MLPSettings,
    RecurrentForecaster,
    RecurrentForecasterSettings,
)

B, T, N, C, D = 3, 7, 2, 5, 11
SIZES = {"channels": C, "horizon": N, "history": T}
TORCH: dict[str, Any] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def example(*, every: bool = False) -> Series:
    draw = torch.Generator().manual_seed(1)
    return windows(torch.randn(B, T + N, C, generator=draw), horizon=N, every=every)


def recurrent(**settings: Any) -> RecurrentForecaster:
    torch.manual_seed(2)
    return RecurrentForecaster(RecurrentForecasterSettings.model_validate({"width": D, **settings}), **SIZES).eval()


def as_torch(model: nn.Module, kind: str, inputs: int, width: int, layers: int) -> nn.Module:
    """Torch's network with the weights of ours, whose second bias it does without."""
    other: nn.Module = TORCH[kind](inputs, width, num_layers=layers, batch_first=True)
    ours = list(model.parameters())
    with torch.no_grad():
        for layer in range(layers):
            for name, weight in zip(("weight_ih", "weight_hh", "bias_ih"), ours[3 * layer :][:3], strict=True):
                other.get_parameter(f"{name}_l{layer}").copy_(weight)
            other.get_parameter(f"bias_hh_l{layer}").zero_()
    return other


def close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


def test_the_linear_forecast_is_a_weighted_sum_of_the_past() -> None:
    model, batch = DenseForecaster(DenseSettings(), **SIZES), example()
    weights = model.output.weight.view(N, C, T, C)
    wanted = torch.einsum("btc,nktc->bnk", batch.input_BTC, weights) + model.output.bias.view(N, C)
    close(model(batch, None)[0][:, 0], wanted)


def test_the_hidden_layers_are_rectified() -> None:
    model, batch = MLPForecaster(MLPSettings(width=D, layers=2), **SIZES).eval(), example()
    h = batch.input_BTC.reshape(B, T * C)
    for layer in model.hidden:
        assert isinstance(layer, nn.Linear)
        h = torch.clamp(h @ layer.weight.T + layer.bias, min=0)
    close(model(batch, None)[0].flatten(1), h @ model.output.weight.T + model.output.bias)


@pytest.mark.parametrize("kind", TORCH)
def test_a_dense_output_reads_the_highest_state(kind: str) -> None:
    model, batch = recurrent(kind=kind, layers=2), example(every=True)
    assert model.dense is not None
    hidden_BTD = as_torch(model.recurrent, kind, C, D, 2)(batch.input_BTC)[0]
    close(model(batch, None)[0].flatten(2), hidden_BTD @ model.dense.weight.T + model.dense.bias)


@pytest.mark.parametrize("kind", TORCH)
def test_a_recurrent_output_is_one_more_layer(kind: str) -> None:
    model, batch = recurrent(kind=kind, layers=2, output_layer="recurrent"), example(every=True)
    assert model.output is not None
    hidden_BTD = as_torch(model.recurrent, kind, C, D, 2)(batch.input_BTC)[0]
    close(model(batch, None)[0].flatten(2), as_torch(model.output, kind, D, N * C, 1)(hidden_BTD)[0])


def test_the_simple_rnn_is_a_single_cell() -> None:
    torch.manual_seed(3)
    settings = RecurrentForecasterSettings(kind="rnn", layers=0, output_layer="recurrent")
    model = RecurrentForecaster(settings, channels=1, horizon=1)
    w, u, b = (float(p.detach()) for p in model.parameters())
    past_BTC = torch.randn(B, T, 1)
    y_B = torch.zeros(B)
    for x_B in past_BTC.squeeze(-1).T:
        y_B = torch.tanh(w * x_B + u * y_B + b)
    close(model(windows(torch.cat([past_BTC, past_BTC[:, :1]], 1), horizon=1), None)[0].flatten(), y_B)


@pytest.mark.parametrize("kind", [*TORCH, "ugrnn"])
@pytest.mark.parametrize("output", ["dense", "recurrent"])
def test_the_forecast_after_the_last_step_is_the_same_however_many_are_asked_for(kind: str, output: str) -> None:
    model = recurrent(kind=kind, output_layer=output)
    every, last = model(example(every=True), None)[0], model(example(), None)[0]
    assert every.shape == (B, T, N, C)
    assert last.shape == (B, 1, N, C)
    close(every[:, -1:], last)


@pytest.mark.parametrize("kind", [*TORCH, "ugrnn"])
def test_the_future_is_hidden_from_a_recurrent_forecaster(kind: str) -> None:
    model, batch = recurrent(kind=kind), example(every=True)
    other_BTC = batch.input_BTC.clone()
    other_BTC[:, 4] += 1
    before, after = (model(batch.replace(input_BTC=past_BTC), None)[0] for past_BTC in (batch.input_BTC, other_BTC))
    assert torch.equal(before[:, :4], after[:, :4])
    assert bool((before[:, 4:] != after[:, 4:]).any(-1).any(-1).all())


def test_without_a_recurrent_layer_the_output_must_be_one() -> None:
    with pytest.raises(SettingError, match="needs output_layer = 'recurrent'"):
        RecurrentForecasterSettings(kind="rnn", layers=0)
