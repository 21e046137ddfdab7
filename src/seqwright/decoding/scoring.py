"""What a sequence is worth to a model: its probability token by token, and its score among others.

B batch · T time · V vocabulary
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from seqwright.decoding.stepper import StateT, Stepper


class Hypothesis(NamedTuple):
    """One continuation. END is not among the tokens; its log-probability, where it was chosen, comes last."""

    tokens: list[int]
    log_probabilities: list[float]  # one for each chosen token, as the model gave them
    score: float  # what it was ranked by
    finished: bool  # END was chosen, or a stop string written

    @classmethod
    def of(
        cls, chosen: list[int], log_probabilities: list[float], score: float, *, end: int, finished: bool
    ) -> "Hypothesis":
        """What was chosen, END perhaps last."""
        return cls(chosen[:-1] if chosen[-1] == end else chosen, log_probabilities, score, finished)

    @property
    def log_probability(self) -> float:
        """The log-probability of the whole continuation."""
        return math.fsum(self.log_probabilities)


def penalty(length_B: Tensor | int, alpha: float) -> Tensor:
    """What a log-probability is divided by, so that long and short compare (Wu et al. 2016, section 7, eq. 14).

        lp(length) = ((5 + length) / 6)^alpha

    The length counts every chosen token, END too, and no forced one.
    """
    return torch.as_tensor((5 + length_B) / 6).pow(alpha)


@torch.inference_mode()
def target_log_probability(
    model: Stepper[StateT], state: StateT, input_BT: Tensor, target_BT: Tensor, real_BT: Tensor
) -> Tensor:
    """`logp_BT` of each target token after the inputs up to it, by one `read`; 0 where it is padding.

    `input_BT` is the target one place to the right: BEGIN, then all but the last of `target_BT`.
    """
    logits_BTV, _ = model.read(input_BT, real_BT, state)
    logp_BTV = logits_BTV.float().log_softmax(-1)
    return logp_BTV.gather(-1, target_BT.unsqueeze(-1)).squeeze(-1).masked_fill(~real_BT, 0.0)
