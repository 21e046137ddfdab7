"""Cross-entropy over a vocabulary whose logits never stand in memory as a whole.

B batch · T time · N tokens that count · D width · V vocabulary · R rows of a part of the tokens
"""

from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from seqwright.layers.embeddings import LogitFactors
from seqwright.layers.linear import linear_map

LOGITS = 2**21  # that stand in memory at a time: 8 MB


@runtime_checkable
class HasLogitFactors(Protocol):
    """A model whose logits may be the product of two factors."""

    def logit_factors(self, batch: Any) -> LogitFactors | None:
        """They, in place of `model(batch)`; None where its logits are made otherwise or it carries a state."""


def vocabulary_loss(
    factors: LogitFactors, target_BT: Tensor, counts_BT: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """The smoothed and the plain loss of `SmoothedCrossEntropy` over the tokens where `counts_BT`."""
    h_ND, target_N = factors.h_BTD[counts_BT], target_BT[counts_BT]
    smoothed, plain = VocabularyLoss.apply(h_ND, factors.weight_VD, target_N, smoothing, torch.is_grad_enabled())  # type: ignore[no-untyped-call]
    return smoothed, plain


class VocabularyLoss(Function):
    """Σ [(1-ε)(-log p(target)) + ε/V Σ_v (-log p(v))] with p = softmax(h W^T), and Σ -log p(target) beside it.

        G = softmax - (1-ε) onehot(target) - ε/V        gradient of h: G W        gradient of W: G^T h

    Both gradients are computed with the loss, part by part, as the logits are there then and only then: nothing is
    computed twice. The products are in the precision of autocast, where there is one, and the loss in float32.
    """

    @staticmethod
    def forward(
        ctx: Any, h_ND: Tensor, weight_VD: Tensor, target_N: Tensor, smoothing: float, learn: bool
    ) -> tuple[Tensor, Tensor]:
        """The smoothed and the plain sum."""
        device = h_ND.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else h_ND.dtype
        with torch.autocast(device, enabled=False):
            low_ND, low_VD = h_ND.to(dtype), weight_VD.to(dtype)
            plain, even = h_ND.new_zeros((), dtype=torch.float32), h_ND.new_zeros((), dtype=torch.float32)
            grad_ND, grad_VD = (torch.empty_like(h_ND), torch.zeros_like(weight_VD)) if learn else (None, None)
            rows = max(LOGITS // len(weight_VD), 1)
            for first in range(0, len(h_ND), rows):
                part = slice(first, first + rows)
                h_RD, target_R1 = low_ND[part], target_N[part].unsqueeze(1)
                p_RV = linear_map(h_RD, low_VD).float()  # still logits
                p_RV -= p_RV.amax(1, keepdim=True)
                at_R1 = p_RV.gather(1, target_R1)
                mean_R1 = p_RV.mean(1, keepdim=True) if smoothing else at_R1
                sum_R1 = p_RV.exp_().sum(1, keepdim=True)
                total_R1 = sum_R1.log()
                plain += (total_R1 - at_R1).sum()
                even += (total_R1 - mean_R1).sum()
                if grad_ND is not None and grad_VD is not None:
                    p_RV /= sum_R1
                    p_RV.scatter_add_(1, target_R1, p_RV.new_full((), smoothing - 1).expand_as(target_R1))
                    if smoothing:
                        p_RV -= smoothing / len(weight_VD)
                    low_RV = p_RV.to(dtype)
                    grad_ND[part] = linear_map(low_RV, low_VD.T)
                    grad_VD += linear_map(low_RV.T, h_RD.T)
        ctx.save_for_backward(grad_ND, grad_VD)
        ctx.mark_non_differentiable(plain)
        return (1 - smoothing) * plain + smoothing * even, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        """The gradients of the vectors and of the matrix."""
        grad_ND, grad_VD = ctx.saved_tensors
        return grad_ND * gradient, grad_VD * gradient, None, None, None
