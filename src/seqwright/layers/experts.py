"""Mixtures of experts: of many feed-forward networks each position uses a few (Shazeer et al. 2017).

B batch · T time · D width · E experts · K experts that a position uses · N positions · R their uses, N · K
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.layers.blocks import FeedForward
from seqwright.layers.side_losses import SideLosses
from seqwright.layers.taps import Tap, View

QUIETEST = 0.01  # the least deviation of the noise


class Routing(NamedTuple):
    """The experts that each position uses, how much of each, and how probably it would use each if drawn again."""

    expert_NK: Tensor
    weight_NK: Tensor
    probability_NE: Tensor

    def gate(self) -> Tensor:
        """`gate_NE`: the weight of every expert, 0 where it is not used."""
        return torch.zeros_like(self.probability_NE).scatter(1, self.expert_NK, self.weight_NK)


class NoisyTopK(nn.Module):
    """Which experts a position uses (Shazeer et al. 2017, section 2.1 and appendix A).

        H = x W_g + ε ⊗ softplus(x W_noise),  ε ~ N(0, 1)        G = softmax(the K largest of H)

    The noise is there in training alone. How probably an expert is among the K largest when only its own noise is drawn
    again is smooth in the weights, where the choice itself is not:

        P(x, i) = Φ((x W_g - k-th largest of H without i) / softplus(x W_noise))

    Both matrices begin as zeros, so that at first the noise alone decides and all experts are used alike.

    Differs from the paper: 0.01 is added to the deviation of the noise, so that nothing is divided by zero.
    """

    def __init__(self, *, width: int, experts: int, chosen: int) -> None:
        super().__init__()
        if not 1 <= chosen <= experts:
            raise ValueError(f"{chosen} of {experts} experts cannot be chosen")
        self.chosen = chosen
        self.mean_DE = nn.Parameter(torch.zeros(width, experts))
        self.noise_DE = nn.Parameter(torch.zeros(width, experts))

    def forward(self, x_ND: Tensor) -> Routing:
        """The choice of each position, in full precision: half of it would let neighbours change places."""
        with torch.autocast(x_ND.device.type, enabled=False):
            mean_NE = x_ND.float() @ self.mean_DE.float()
            if not self.training:
                largest_NK, expert_NK = mean_NE.topk(self.chosen, dim=-1)
                used_NE = torch.zeros_like(mean_NE).scatter(1, expert_NK, 1.0)
                return Routing(expert_NK, largest_NK.softmax(-1), used_NE)
            deviation_NE = F.softplus(x_ND.float() @ self.noise_DE.float()) + QUIETEST
            score_NE = mean_NE + deviation_NE * torch.randn_like(mean_NE)
            largest_NK, expert_NK = score_NE.topk(self.chosen, dim=-1)
            return Routing(expert_NK, largest_NK.softmax(-1), self._probability(mean_NE, deviation_NE, score_NE))

    def _probability(self, mean_NE: Tensor, deviation_NE: Tensor, score_NE: Tensor) -> Tensor:
        """P(x, i): what i has to exceed is the k-th largest of the others, and so the next one where i is chosen."""
        if self.chosen == mean_NE.shape[1]:
            return torch.ones_like(mean_NE)
        largest_NK = score_NE.topk(self.chosen + 1, dim=-1).values
        kth_N1, next_N1 = largest_NK[:, -2:-1], largest_NK[:, -1:]
        rival_NE = next_N1.where(score_NE >= kth_N1, kth_N1)
        probability_NE: Tensor = torch.special.ndtr((mean_NE - rival_NE) / deviation_NE)
        return probability_NE


class Experts(nn.Module):
    """y = Σ_i G(x)_i E_i(x), the sum over the experts that x uses; only those are computed (section 2).

    Two side losses keep all experts in use (section 4 and appendix A), where CV is the deviation over the mean:

        importance = CV(Σ_x G(x))²        load = CV(Σ_x P(x))²

    The experts' use can be drawn: the tap hears the weight of each expert at each position.
    """

    def __init__(self, *, width: int, inner: int, experts: int, chosen: int, view: View | None = None) -> None:
        super().__init__()
        self.gate = NoisyTopK(width=width, experts=experts, chosen=chosen)
        self.experts = nn.ModuleList(FeedForward(width=width, inner=inner) for _ in range(experts))
        self.use = Tap(view)
        self.balance = SideLosses("importance", "load")

    def forward(self, x_BTD: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """The mixture at each position; zeros at the padding, which no expert sees."""
        real_BT = torch.ones_like(x_BTD[..., 0], dtype=torch.bool) if real_BT is None else real_BT
        x_ND = x_BTD[real_BT]
        choice: Routing = self.gate(x_ND)
        if self.balance.asked:
            importance, load = variation(choice.gate().sum(0)), variation(choice.probability_NE.sum(0))
            self.balance.note(importance=importance, load=load)
        if self.use.listening:
            gate_NE = choice.gate()
            use_BTE = gate_NE.new_zeros(*real_BT.shape, gate_NE.shape[1])
            use_BTE[real_BT] = gate_NE
            self.use(use_BTE)
        y_ND = self._mixed(x_ND, choice)
        y_BTD = y_ND.new_zeros(x_BTD.shape)
        y_BTD[real_BT] = y_ND
        return y_BTD

    def _mixed(self, x_ND: Tensor, choice: Routing) -> Tensor:
        """Each expert is given its positions all at once: uses sorted by expert, computed, added up by position."""
        expert_R, order_R = choice.expert_NK.flatten().sort(stable=True)
        position_R = order_R // choice.expert_NK.shape[1]
        share = expert_R.bincount(minlength=len(self.experts)).tolist()
        given = torch.split(x_ND[position_R], share)
        # An expert without a position computes nothing, yet has a gradient: zeros, as the optimizer wants it.
        output_RD = torch.cat([expert(part_RD) for expert, part_RD in zip(self.experts, given, strict=True)])
        weighted_RD = output_RD * choice.weight_NK.flatten()[order_R].unsqueeze(-1).to(x_ND.dtype)
        return weighted_RD.new_zeros(len(x_ND), output_RD.shape[1]).index_add(0, position_R, weighted_RD)


def variation(value_E: Tensor) -> Tensor:
    """The square of the coefficient of variation: variance over squared mean; 0 where there is nothing."""
    mean = value_E.mean()
    return (value_E - mean).square().mean() / mean.square().clamp_min(torch.finfo(value_E.dtype).tiny)
