"""Models that forecast a time series: linear, with a hidden layer, and recurrent.

B batch · T time, the steps of the past · N horizon · C channels · S steps after which a forecast is asked for · D width
"""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.batches.series import Series
from seqwright.layers.initialisation import Initialisation, initialise
from seqwright.layers.linear import Linear
from seqwright.layers.recurrence import GRUCell, LSTMCell, RecurrentCell, RNNCell, UGRNNCell
from seqwright.layers.scanning import Recurrent
from seqwright.setting_classes import ModelSettings

CELLS: dict[str, Callable[..., RecurrentCell[Any]]] = {
    "rnn": RNNCell,
    "ugrnn": UGRNNCell,
    "gru": GRUCell,
    "lstm": LSTMCell,
}


class DenseSettings(ModelSettings):
    """A linear forecast; there is nothing to set."""

    kind: Literal["dense"] = "dense"


class DenseForecaster(nn.Module):
    """A linear function of the whole past: autoregression (Yule 1927), learnt by descending.

    y = W x + b
    """

    def __init__(self, settings: DenseSettings, *, channels: int, horizon: int, history: int) -> None:
        super().__init__()
        self.settings, self.horizon = settings, horizon
        self.output = _linear(history * channels, horizon * channels)

    def forward(self, batch: Series, carry: None = None) -> tuple[Tensor, None]:
        """The forecast after the last step."""
        return _placed(self.output(batch.input_BTC.flatten(1)).unsqueeze(1), self.horizon), carry


class MLPSettings(ModelSettings):
    """A forecast through hidden layers."""

    kind: Literal["mlp"] = "mlp"
    width: PositiveInt = 64
    """Width of the hidden layers."""
    layers: PositiveInt = 1
    """Hidden layers."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of each hidden layer that is dropped in training."""


class MLPForecaster(nn.Module):
    """A network with hidden layers over the whole past (Lapedes & Farber 1987).

        y = W relu(… relu(V x + a) …) + b

    Differs from the paper: it has tanh.
    """

    def __init__(self, settings: MLPSettings, *, channels: int, horizon: int, history: int) -> None:
        super().__init__()
        self.settings, self.horizon = settings, horizon
        widths = [history * channels] + settings.layers * [settings.width]
        self.hidden = nn.ModuleList(_linear(reads, settings.width) for reads in widths[:-1])
        self.dropout = nn.Dropout(settings.dropout)
        self.output = _linear(settings.width, horizon * channels)

    def forward(self, batch: Series, carry: None = None) -> tuple[Tensor, None]:
        """The forecast after the last step."""
        h_BD = batch.input_BTC.flatten(1)
        for layer in self.hidden:
            h_BD = self.dropout(layer(h_BD).relu())
        return _placed(self.output(h_BD).unsqueeze(1), self.horizon), carry


class RecurrentForecasterSettings(ModelSettings):
    """A forecast by a network that reads the past step by step."""

    kind: Literal["rnn", "ugrnn", "gru", "lstm"] = "lstm"
    width: PositiveInt = 20
    """Width of the state of each layer."""
    layers: NonNegativeInt = 2
    """Recurrent layers, one above the other, below the output."""
    output_layer: Literal["dense", "recurrent"] = "dense"
    """What makes the forecast of the highest state: a linear layer, or one more recurrent layer whose state has a unit
    for each value that is forecast. Such a state lies between -1 and 1, and so must the series: leave it unscaled."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share that is dropped, in training, of what each layer says."""
    initialisation: Initialisation = "orthogonal"
    """How the cells' weights begin."""
    forget_bias: float = 1.0
    """Added at the beginning to the bias of the gate that keeps the old state, so that it stands open."""

    @property
    def bounded(self) -> bool:
        """Whether the forecast is a recurrent state."""
        return self.output_layer == "recurrent"

    @model_validator(mode="after")
    def _something_is_recurrent(self) -> "RecurrentForecasterSettings":
        if not self.layers and self.output_layer == "dense":
            raise ValueError("layers = 0 needs output_layer = 'recurrent': otherwise nothing would be recurrent")
        return self


class RecurrentForecaster(nn.Module):
    """Recurrent layers, and a forecast of the next values after any step (Géron 2019, chapter 15).

        h_t = cell(x_t, h_{t-1})        y_t = W h_t + b, or y_t = cell'(h_t, y_{t-1})

    With `output = "recurrent"` and no other layer it is the book's simple RNN of one unit.
    """

    def __init__(
        self, settings: RecurrentForecasterSettings, *, channels: int, horizon: int, history: int | None = None
    ) -> None:
        super().__init__()
        self.settings, self.horizon = settings, horizon
        cell, width, values = CELLS[settings.kind], settings.width, horizon * channels
        self.dropout = nn.Dropout(settings.dropout)
        self.recurrent = Recurrent(cell, inputs=channels, width=width, layers=settings.layers, between=self.dropout)
        reads = width if settings.layers else channels
        dense = settings.output_layer == "dense"
        self.dense = _linear(reads, values) if dense else None
        self.output = None if dense else Recurrent(cell, inputs=reads, width=values)
        initialise(self, settings.initialisation, forget_bias=settings.forget_bias)

    def forward(self, batch: Series, carry: None = None) -> tuple[Tensor, None]:
        """The forecasts after each of the last S steps, as many as the batch asks for."""
        asked = batch.target_BSNC.shape[1]
        x_BTD, _ = self.recurrent(batch.input_BTC)
        if self.settings.layers:
            x_BTD = self.dropout(x_BTD)
        if self.dense is not None:
            return _placed(self.dense(x_BTD[:, -asked:]), self.horizon), carry
        assert self.output is not None
        return _placed(self.output(x_BTD)[0][:, -asked:], self.horizon), carry


def _linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer that begins as Glorot & Bengio 2010 have it."""
    linear = Linear(inputs, outputs)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


def _placed(values: Tensor, horizon: int) -> Tensor:
    """`forecast_BSNC` from N·C values side by side."""
    return values.view(*values.shape[:-1], horizon, -1)
