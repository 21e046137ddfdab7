"""A model and its scale as one: values in, values out, any number of steps ahead.

B batch · T time, the steps of the past · N steps ahead · C channels
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from seqwright.batches.series import pasts
from seqwright.data.series import Values
from seqwright.devices import device_of
from seqwright.errors import DataError
from seqwright.inputs.scaled_series import ScaledSeries
from seqwright.metrics.forecasts import LeastSquares, naive, seasonal_naive

ROWS_AT_ONCE = 1024
Once = Callable[[Values], Values]


class Forecaster:
    """Forecasts in the units of the series."""

    def __init__(self, model: nn.Module, inputs: ScaledSeries) -> None:
        self.model, self.inputs = model.eval(), inputs

    def __call__(self, past_BTC: Values, steps: int) -> Values:
        """The next `steps` values after each past."""
        return iterated(self.once, past_BTC, steps, history=self.inputs.history)

    @torch.inference_mode()
    def once(self, past_BTC: Values) -> Values:
        """The next values, as many as the model forecasts at once."""
        device, horizon = device_of(self.model), self.inputs.horizon
        scaled_BTC = torch.from_numpy(self.inputs.scaled(past_BTC))
        found = [
            self.model(pasts(some_BTC.to(device), horizon=horizon), None)[0][:, -1].float().cpu()
            for some_BTC in torch.split(scaled_BTC, ROWS_AT_ONCE)
        ]
        return self.inputs.original(torch.cat(found).numpy())


def baselines(inputs: ScaledSeries) -> dict[str, Once]:
    """The simple forecasts that a model has to beat, as many steps at once as it makes."""
    horizon, season = inputs.horizon, inputs.season
    return {
        "naive": lambda past_BTC: naive(past_BTC, horizon),
        "seasonal_naive": lambda past_BTC: seasonal_naive(past_BTC, horizon, season),
        "least_squares": LeastSquares(inputs.least_squares_CTN),
    }


def iterated(once: Once, past_BTC: Values, steps: int, *, history: int) -> Values:
    """Forecast on and on: what is forecast at once is taken for the past of what follows."""
    if past_BTC.shape[1] < history:
        raise DataError(
            f"the series has {past_BTC.shape[1]:,} rows, but the model looks back {history:,}: give at least so many"
        )
    known_BTC = past_BTC[:, -history:]
    found: list[Values] = []
    while sum(some_BNC.shape[1] for some_BNC in found) < steps:
        found.append(once(known_BTC))
        known_BTC = np.concatenate([known_BTC, found[-1]], axis=1)[:, -history:]
    return np.concatenate(found, axis=1)[:, :steps]
