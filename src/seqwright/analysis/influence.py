"""How much each word of a source moves each word that is written: an alignment of models without attention.

B batch · T target · S source · E embedding
"""

from typing import Any

import torch
from torch import Tensor, nn

from seqwright.batches.pairs import Pairs


@torch.enable_grad()
def influence(model: Any, batch: Pairs) -> Tensor:
    """`share_BTS`: ‖∂ log p(y_t) / ∂ e_s‖ as a share of the row's sum, e_s the vector of a source token.

    Kalchbrenner et al. (2016) draw such magnitudes of gradients to show what ByteNet looks at. The tokens y are the
    batch's own. Zero at padding.
    """
    vectors: list[Tensor] = []

    def keep(_: nn.Module, __: Any, e_BSE: Tensor) -> Tensor | None:
        if vectors:  # the target's tokens, which come later, may have the same matrix
            return None
        vectors.append(e_BSE.detach().requires_grad_())
        return vectors[0]

    hook = source_embedding(model).register_forward_hook(keep)
    try:
        logits_BTV, _ = model(batch)
    finally:
        hook.remove()
    logp_BT = logits_BTV.float().log_softmax(-1).gather(-1, batch.target_BT.unsqueeze(-1)).squeeze(-1)
    slope_TBSE = [torch.autograd.grad(logp_B.sum(), vectors, retain_graph=True)[0] for logp_B in logp_BT.unbind(1)]
    size_BTS = torch.stack(slope_TBSE, dim=1).norm(dim=-1).masked_fill(~batch.source_real_BS.unsqueeze(1), 0.0)
    share_BTS: Tensor = size_BTS / size_BTS.sum(-1, keepdim=True).clamp_min(torch.finfo(size_BTS.dtype).tiny)
    return share_BTS


def source_embedding(model: Any) -> nn.Module:
    """The module that looks up the vectors of source tokens."""
    matrix_VE = model.token_vectors()["source"].embedding_VD
    modules: Any = model.modules()
    found: nn.Module = next(module for module in modules if getattr(module, "weight", None) is matrix_VE)
    return found
