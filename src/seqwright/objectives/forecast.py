"""Forecasting what follows: the objective of models over time series.

B batch · S steps after which a forecast is asked for · N horizon · C channels
"""

from typing import Any, Literal

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqwright.batches.series import Series, every_step
from seqwright.errors import SettingError
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.setting_classes import Settings


class ForecastSettings(Settings):
    """How far a forecast is from the truth."""

    kind: Literal["forecast"] = "forecast"
    loss: Literal["mse", "mae", "huber"] = "mse"
    """Squared error, absolute error, or Huber's: squared where it is small and absolute where it is large."""
    delta: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Where Huber's error passes from squared to absolute, in scaled units."""
    after: Literal["last", "every"] = "last"
    """Whether only the forecast after the last step of a window counts, or the one after every step of it (sequence to
    sequence): more to learn from, for models that read step by step."""


class Forecast(Objective):
    """The mean error over all values that are forecast, in the units the model sees.

        huber(e) = e²/2 where |e| < δ, and δ (|e| - δ/2) beyond     (Huber 1964)

    LossPart: `loss`.
    """

    def __init__(self, settings: ForecastSettings | None = None) -> None:
        super().__init__()
        self.settings = settings or ForecastSettings()

    def counts(self, batch: Any) -> dict[str, int]:
        """The values that count."""
        return {"loss": self._counting(self._asked(batch).target_BSNC).numel()}

    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss on a batch."""
        batch = self._asked(batch)
        forecast_BSNC, carry = model(batch, carry)
        return self.loss(forecast_BSNC, batch.target_BSNC), carry

    def loss(self, forecast_BSNC: Tensor, future_BSNC: Tensor) -> Loss:
        """How far forecasts are from what came."""
        if forecast_BSNC.shape != future_BSNC.shape:
            raise SettingError(
                "objective.after is 'every', but this model forecasts only after the last step of a window; set it to "
                "last, or choose a model that reads step by step"
            )
        forecast, truth = self._counting(forecast_BSNC).float(), self._counting(future_BSNC)
        match self.settings.loss:
            case "mse":
                total = F.mse_loss(forecast, truth, reduction="sum")
            case "mae":
                total = F.l1_loss(forecast, truth, reduction="sum")
            case "huber":
                total = F.huber_loss(forecast, truth, reduction="sum", delta=self.settings.delta)
        return Loss({"loss": LossPart(total, truth.numel())})

    def _asked(self, batch: Series) -> Series:
        """The batch with a target after each step for which the model is asked."""
        return every_step(batch) if self.settings.after == "every" else batch

    def _counting(self, values_BSNC: Tensor) -> Tensor:
        """Those of the values that count: after every step, or after the last."""
        return values_BSNC if self.settings.after == "every" else values_BSNC[:, -1:]
