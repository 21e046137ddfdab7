"""What a continuation must obey: tokens never chosen, a shortest and a longest length, nothing repeated, stops.

B batch · T time · V vocabulary · W beam
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from seqwright.decoding.stepper import Prefix
from seqwright.errors import SettingError

NEVER = -torch.inf
NOTHING = -1  # stands in a text where there is no token
MOST_STEPS = 2**31
FEW = 64  # tokens
Stopped = Callable[[int, list[int]], bool]
"""Whether a row, by its number, shall end after the tokens that it has chosen."""


class DecodingRules(NamedTuple):
    """The rules of one search; they decide what is chosen and leave the probabilities as the model gave them."""

    end: int
    forbidden: Sequence[int] = ()  # tokens never chosen: padding, begin, unknown
    shortest: int = 0  # tokens before END may be chosen
    no_repeat: int = 0  # no n-gram of this size comes twice in a text; 0 allows all
    repetition_penalty: float = 1.0  # what the logits of tokens that a text holds are lowered by
    stopped: Stopped | None = None

    def log_probability(self, logits_BV: Tensor, text_BT: Tensor, chosen: int) -> Tensor:
        """Log-probabilities of the next token, minus infinity where it may not follow the text.

        `chosen` counts the tokens chosen so far. Where nothing else is left, END is allowed before `shortest`.
        """
        logp_BV = logits_BV.float().log_softmax(-1)  # a new tensor: what follows writes into it
        if self.forbidden:
            logp_BV.index_fill_(1, _numbers(tuple(self.forbidden), logp_BV.device), NEVER)
        if self.no_repeat:
            _forbid_repeats(logp_BV, text_BT, self.no_repeat)
        if chosen < self.shortest:
            end_B = logp_BV[:, self.end].clone()
            logp_BV[:, self.end] = NEVER
            if bool((logp_BV[:, :FEW].amax(1) == NEVER).any()):  # usually one of a few is left, and the rest not read
                logp_BV[:, self.end] = end_B.where(logp_BV.amax(1) == NEVER, NEVER)
        return logp_BV

    def preferred(self, logits_BV: Tensor, logp_BV: Tensor, text_BT: Tensor) -> Tensor:
        """What to choose by: `log_probability`, after the penalty for repetition where there is one."""
        if self.repetition_penalty == 1:
            return logp_BV
        penalised_BV = with_repetition_penalty(logits_BV.float(), text_BT, self.repetition_penalty)
        return penalised_BV.log_softmax(-1).masked_fill(logp_BV == NEVER, NEVER)

    def over(self, chosen_BWT: Tensor, row_BW: Tensor) -> Tensor:
        """True where END was chosen last, or what a row has chosen is to be stopped; with or without a beam."""
        over_BW = chosen_BWT[..., -1] == self.end
        if self.stopped is None:
            return over_BW
        numbered = zip(row_BW.flatten().tolist(), chosen_BWT.flatten(0, -2).tolist(), strict=True)
        stopped = [self.stopped(row, tokens) for row, tokens in numbered]
        return over_BW | torch.tensor(stopped, device=over_BW.device).view_as(over_BW)

    def given_text(self, prefix: Prefix | None, first_B: Tensor) -> Tensor:
        """The text before the first choice, as far as the rules look at it: what a prefix says, moved to the right."""
        if prefix is None or (not self.no_repeat and self.repetition_penalty == 1):
            return first_B.new_empty(len(first_B), 0)
        written_BT = prefix.real_BT if prefix.written_BT is None else prefix.written_BT
        text_BT = prefix.tokens_BT.masked_fill(~written_BT, NOTHING)
        return text_BT.gather(1, written_BT.long().argsort(dim=1, stable=True))


@lru_cache(maxsize=8)
def _numbers(tokens: tuple[int, ...], device: torch.device) -> Tensor:
    """Tokens as a tensor, which is the same for all steps of a search."""
    return torch.tensor(tokens, device=device)


def _forbid_repeats(logp_BV: Tensor, text_BT: Tensor, size: int) -> None:
    """Write minus infinity for each token that would complete an n-gram its text already holds."""
    if text_BT.shape[1] < size:
        return
    gram_BTN = text_BT.unfold(1, size, 1)
    last_B1N = text_BT[:, text_BT.shape[1] - size + 1 :].unsqueeze(1)
    again_BT = (gram_BTN[..., :-1] == last_B1N).all(-1) & (gram_BTN[..., -1] != NOTHING)
    row, place = again_BT.nonzero(as_tuple=True)
    logp_BV[row, gram_BTN[row, place, -1]] = NEVER


def with_repetition_penalty(logits_BV: Tensor, text_BT: Tensor, penalty: float) -> Tensor:
    """Logits lowered for every token that the text holds already (Keskar et al. 2019, section 4.1).

        x_i / penalty   for i in the text

    Differs from the paper: a negative logit is multiplied, or the penalty would raise it.
    """
    held_BV = torch.zeros(len(logits_BV), logits_BV.shape[1] + 1, dtype=torch.bool, device=logits_BV.device)
    held_BV = held_BV.scatter(1, text_BT - NOTHING, True)[:, 1:]  # the first column is for what is no token
    lowered_BV = torch.where(logits_BV < 0, logits_BV * penalty, logits_BV / penalty)
    return torch.where(held_BV, lowered_BV, logits_BV)


def limits(steps: int | Tensor, first_B: Tensor) -> Tensor:
    """How many tokens each row may choose at most, END among them, from one number or one a row."""
    if isinstance(steps, int) and steps > MOST_STEPS:
        raise SettingError(f"steps is a number of {len(str(steps))} digits; decoding takes at most {MOST_STEPS:,}")
    limit_B = torch.as_tensor(steps, device=first_B.device).expand(len(first_B))
    if bool((limit_B < 1).any()):
        raise SettingError(f"steps is {int(limit_B.min())}; decoding needs at least 1 step to choose a token")
    return limit_B
