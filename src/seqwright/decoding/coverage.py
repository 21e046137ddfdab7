"""Coverage: whether all of the source was looked at while a hypothesis was written.

B batch · T time · S source · V vocabulary · R hypotheses in a line
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from seqwright.decoding.stepper import Prefix, StateT, Stepper
from seqwright.errors import SettingError

LEAST = 1e-6  # the least that a place counts as looked at


@runtime_checkable
class Aligns(Protocol):
    """A Stepper that knows where it looked."""

    def attention_of(self, state: Any, /) -> Tensor | None:
        """`weight_BS`: how much each place of the source was looked at after the last token that was read.

        It is the mean over heads and layers, sums to one and is 0 at padding. None where the model has no attention.
        """


class Coverage(NamedTuple):
    """How much a place of the source that was looked at too little counts, and which places are no padding."""

    weight: float
    real_BS: Tensor

    def penalty(self, looked_RS: Tensor) -> Tensor:
        """What is added to the score of each hypothesis (Wu et al. 2016, section 7, eq. 14), never above 0.

            cp(X; Y) = β Σ_i log(min(Σ_j p_ij, 1))

        p_ij is how much place i of the source was looked at when token j was chosen; a place that was looked at for
        a whole token has its due. Differs from the paper: a place that was never looked at counts as looked at for a
        millionth of a token, or no hypothesis of a model that looks at a few places only could be compared.
        """
        return self.weight * looked_RS.clamp(LEAST, 1.0).log().sum(-1)

    def opened(
        self, model: Stepper[StateT], state: StateT, first_B: Tensor, prefix: Prefix | None
    ) -> tuple[Tensor, StateT, Tensor]:
        """As `stepper.opened`, token by token, and `looked_BS`: where was looked until the first choice.

        Padding has its due from the start.
        """
        logits_BV, state = model.step(first_B, state)
        looked_BS = attention_of(model, state).masked_fill(~self.real_BS, 1.0)
        columns = () if prefix is None else zip(prefix.tokens_BT.T, prefix.real_BT.T, strict=True)
        for token_B, real_B in columns:
            real_B1 = real_B.unsqueeze(1)
            later_B1V, state = model.read(token_B.unsqueeze(1), real_B1, state)
            logits_BV = torch.where(real_B1, later_B1V.squeeze(1), logits_BV)
            looked_BS = looked_BS + attention_of(model, state) * real_B1
        return logits_BV, state, looked_BS


def attention_of(model: Any, state: Any) -> Tensor:
    """Where the model looked last; a model that cannot say it is refused."""
    weight_BS = model.attention_of(state) if isinstance(model, Aligns) else None
    if weight_BS is None:
        raise SettingError(
            "decoding.coverage_penalty is above 0, but this model has no attention to its source that could cover it; "
            "set it to 0"
        )
    return weight_BS.float()
