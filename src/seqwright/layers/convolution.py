"""Convolutions over time: over a whole sentence, or from left to right with a window that is carried along.

B batch · T time · S source · C channels of the input · D channels of the output · P inputs that a window holds
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.layers.linear import Linear


class Convolution(nn.Module):
    """Each position reads those around it, `dilation` apart; beyond the sentence there are zeros.

        y_t = b + Σ_j W_j x_{t + (j - (kernel-1)/2) · dilation},  j = 0 … kernel-1

    Of an even kernel the position before is read rather than the one after.
    """

    def __init__(self, *, inputs: int, outputs: int, kernel: int, dilation: int = 1) -> None:
        super().__init__()
        self.kernel, self.dilation = kernel, dilation
        self.filters = Linear(kernel * inputs, outputs)

    def forward(self, x_BSC: Tensor, real_BS: Tensor) -> Tensor:
        """The output at each position; padding is read as zeros."""
        after = (self.kernel - 1) // 2 * self.dilation
        before = (self.kernel - 1) * self.dilation - after
        x_BSC = F.pad(x_BSC.masked_fill(~real_BS.unsqueeze(-1), 0.0), (0, 0, before, after))
        y_BSD: Tensor = self.filters(gathered(x_BSC, self.kernel, self.dilation))
        return y_BSD


class CausalConvolution(nn.Module):
    """Each position reads itself and those before it, `dilation` apart (van den Oord et al. 2016, section 2.1).

        y_t = b + Σ_j W_j x_{t - (kernel-1-j) · dilation},  j = 0 … kernel-1

    What later positions will need of the past is a window of the last (kernel-1) · dilation inputs: zeros at the
    beginning, and moved on by as many positions as are read. So a step costs the same wherever it is taken, nothing is
    computed twice, and since the window is moved by copying it, a state that others hold stays as it was.
    """

    def __init__(self, *, inputs: int, outputs: int, kernel: int, dilation: int = 1) -> None:
        super().__init__()
        self.inputs, self.kernel, self.dilation = inputs, kernel, dilation
        self.filters = Linear(kernel * inputs, outputs)

    @property
    def past(self) -> int:
        """How many positions before its own one reads from."""
        return (self.kernel - 1) * self.dilation

    def start(self, batch: int) -> Tensor:
        """`window_BPC` before the first position."""
        return self.filters.bias.new_zeros(batch, self.past, self.inputs)

    def forward(self, x_BTC: Tensor, window_BPC: Tensor, length_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The output at each position, and the window after each row's `length_B` first ones (None: all)."""
        whole_BTC = torch.cat((window_BPC.to(x_BTC.dtype), x_BTC), dim=1)
        y_BTD: Tensor = self.filters(gathered(whole_BTC, self.kernel, self.dilation))
        if length_B is None:
            after_BPC = whole_BTC[:, x_BTC.shape[1] :]
        else:
            place_BP = length_B.unsqueeze(1) + torch.arange(self.past, device=length_B.device)
            after_BPC = whole_BTC.gather(1, place_BP.unsqueeze(-1).expand(-1, -1, self.inputs))
        return y_BTD, after_BPC.to(window_BPC.dtype)  # a state stays in full precision


def gathered(x_BTC: Tensor, kernel: int, dilation: int) -> Tensor:
    """What each position reads, side by side; there are (kernel-1) · dilation fewer of these than inputs."""
    count = x_BTC.shape[1] - (kernel - 1) * dilation
    return torch.cat([x_BTC[:, j * dilation : j * dilation + count] for j in range(kernel)], dim=-1)
