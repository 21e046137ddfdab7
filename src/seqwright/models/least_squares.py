"""The linear forecast with the least squared error, in closed form: nothing is descended.

B batch · T time, the steps of the past and a one · N horizon · C channels
"""

from typing import Literal

import torch
from torch import Tensor, nn

from seqwright.batches.series import Series
from seqwright.setting_classes import Settings


class LeastSquaresSettings(Settings):
    """A linear forecast of each channel from its own past; there is nothing to set."""

    kind: Literal["least-squares"] = "least-squares"


class LeastSquaresForecaster(nn.Module):
    """Autoregression (Yule 1927), fitted by least squares to every training window.

        y = [x, 1] W        W = argmin |[x, 1] W - y|² = (Xᵀ X)⁺ Xᵀ Y

    Each channel is forecast from its own past, and each step of the horizon by weights of its own. The normal equations
    are added up batch by batch, in 64 bits, over values less the mean of the first batch and over its deviation, which
    keeps them well conditioned. Where they are singular, the smallest of all solutions is taken.
    """

    centre_C: Tensor
    spread_C: Tensor
    weights_CTN: Tensor

    def __init__(self, settings: LeastSquaresSettings, *, channels: int, horizon: int, history: int) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("centre_C", torch.zeros(channels, dtype=torch.float64))
        self.register_buffer("spread_C", torch.ones(channels, dtype=torch.float64))
        self.register_buffer("weights_CTN", torch.zeros(channels, history + 1, horizon, dtype=torch.float64))
        self._gram_CTT: Tensor | None = None  # while windows are observed
        self._moment_CTN = torch.zeros_like(self.weights_CTN)

    def observe(self, batch: Series) -> None:
        """Add the windows of a batch to the normal equations."""
        if self._gram_CTT is None:
            value_LC = batch.input_BTC.double().flatten(0, 1)
            deviation_C = value_LC.std(0, correction=0)
            self.centre_C, self.spread_C = value_LC.mean(0), deviation_C.where(deviation_C > 0, 1.0)
            self._moment_CTN = torch.zeros_like(self.weights_CTN)
            self._gram_CTT = self._moment_CTN.new_zeros(*self.weights_CTN.shape[:2], self.weights_CTN.shape[1])
        input_CBT, target_CBN = self._read(batch.input_BTC), self._scaled(batch.target_BSNC[:, -1])
        self._gram_CTT += input_CBT.transpose(1, 2) @ input_CBT
        self._moment_CTN += input_CBT.transpose(1, 2) @ target_CBN

    def conclude(self) -> None:
        """Solve the normal equations."""
        assert self._gram_CTT is not None, "no window was observed"
        # gelsd takes the singular values, so that what is not determined stays small.
        gram_CTT, moment_CTN = self._gram_CTT.cpu(), self._moment_CTN.cpu()
        solved = torch.linalg.lstsq(gram_CTT, moment_CTN, driver="gelsd").solution
        self.weights_CTN, self._gram_CTT = solved.to(self.weights_CTN.device).contiguous(), None

    def forward(self, batch: Series, carry: None = None) -> tuple[Tensor, None]:
        """The forecast after the last step."""
        forecast_BNC = (self._read(batch.input_BTC) @ self.weights_CTN).permute(1, 2, 0)
        return (forecast_BNC * self.spread_C + self.centre_C).unsqueeze(1), carry

    def _read(self, past_BTC: Tensor) -> Tensor:
        """`input_CBT`: the scaled past of each channel, and a one."""
        scaled_CBT = self._scaled(past_BTC)
        return torch.cat((scaled_CBT, torch.ones_like(scaled_CBT[..., :1])), dim=2)

    def _scaled(self, values_BTC: Tensor) -> Tensor:
        return ((values_BTC.double() - self.centre_C) / self.spread_C).permute(2, 0, 1)
