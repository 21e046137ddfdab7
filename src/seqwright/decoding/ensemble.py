"""Several models as one: each reads what is written, and the mean of what they expect decides.

B batch · T time · S source · V vocabulary
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from seqwright.decoding.coverage import Aligns
from seqwright.decoding.stepper import State, Stepper
from seqwright.errors import SettingError

Average = Literal["probabilities", "log-probabilities"]
States = tuple[State, ...]


class Ensemble:
    """A Stepper of several that write the same vocabulary; its state is the tuple of theirs.

        probabilities        p(y) = 1/n Σ_m p_m(y)               what one member is sure of is not forbidden by another
        log-probabilities    p(y) ∝ exp(1/n Σ_m log p_m(y))      all must think it likely

    Sutskever et al. 2014 (table 1) report ensembles without saying which mean they take; both are usual.
    """

    def __init__(self, members: Sequence[Stepper[Any]], average: Average = "probabilities") -> None:
        if not members:
            raise SettingError("an ensemble was given no members; give at least one model")
        if average not in get_args(Average):
            raise SettingError(f"average is '{average}'; choose {' or '.join(get_args(Average))}")
        self.members, self.average = tuple(members), average

    def start(self, batches: Sequence[Any]) -> States:
        """The states before the first token; `batches` has one for each member, which may cut its source otherwise."""
        return tuple(member.start(batch) for member, batch in zip(self.members, batches, strict=True))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: States) -> tuple[Tensor, States]:
        """See `Stepper.read`."""
        return self._each(state, lambda member, own: member.read(tokens_BT, real_BT, own))

    def step(self, tokens_B: Tensor, state: States) -> tuple[Tensor, States]:
        """See `Stepper.step`."""
        return self._each(state, lambda member, own: member.step(tokens_B, own))

    def attention_of(self, state: States) -> Tensor | None:
        """Where the first member looked: the others may cut the source otherwise."""
        first = self.members[0]
        return first.attention_of(state[0]) if isinstance(first, Aligns) else None

    def _each(self, state: States, ask: Callable[[Stepper[Any], Any], tuple[Tensor, Any]]) -> tuple[Tensor, States]:
        """The mean of what the members say, as logits, and their new states."""
        answers = [ask(member, own) for member, own in zip(self.members, state, strict=True)]
        logp = torch.stack([logits.float().log_softmax(-1) for logits, _ in answers])
        mean = logp.mean(0) if self.average == "log-probabilities" else logp.logsumexp(0) - math.log(len(answers))
        return mean, tuple(own for _, own in answers)
