"""One token after the other: the most probable each time, or a sampled one.

B batch · T time · V vocabulary
"""

import hashlib
import math
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seqwright.decoding.rules import NEVER, DecodingRules, limits
from seqwright.decoding.scoring import Hypothesis
from seqwright.decoding.searching import ChosenTokens, whole
from seqwright.decoding.stepper import Prefix, StateT, Stepper, opened, reordered
from seqwright.errors import SettingError

COLDEST, HOTTEST = 1e-6, 1e6  # temperatures: beyond them quotients of logits are no numbers
Tell = Callable[[int, int], None]
"""Is told of each token as it is chosen: the number of its row, and the token."""
Writing = Generator[ChosenTokens, None, list[Hypothesis]]
"""Yields the tokens of each step, and returns the continuation of each row."""


class Sampling(NamedTuple):
    """What is drawn from: the model's probabilities after temperature, then top-k, then top-p, then min-p."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def left(self, logits_BV: Tensor) -> Tensor:
        """Logits of what may be drawn, minus infinity elsewhere."""
        logits_BV = only_top_k(with_temperature(logits_BV, self.temperature), self.top_k)
        return only_min_p(only_top_p(logits_BV, self.top_p), self.min_p)


PLAIN_SAMPLING = Sampling()  # the model's own probabilities


def told_to(tell: Tell | None) -> Callable[[ChosenTokens], None] | None:
    """What watches a search and tells of each token."""
    if tell is None:
        return None

    def watch(choice: ChosenTokens) -> None:
        for row, token in zip(choice.row_B.tolist(), choice.token_B.tolist(), strict=True):
            tell(row, token)

    return watch


def greedy_steps(
    model: Stepper[StateT],
    state: StateT,
    rules: DecodingRules,
    *,
    first_B: Tensor,
    steps: int | Tensor,
    prefix: Prefix | None = None,
) -> Writing:
    """The continuation of each row that takes the most probable token each time."""

    def most_probable(logp_BV: Tensor, row_B: Tensor, chosen: int) -> Tensor:
        return first_largest(logp_BV)

    limit_B = limits(steps, first_B)
    return _written(model, state, most_probable, rules, first_B=first_B, limit_B=limit_B, prefix=prefix)


def sample_steps(
    model: Stepper[StateT],
    state: StateT,
    rules: DecodingRules,
    sampling: Sampling = PLAIN_SAMPLING,
    *,
    first_B: Tensor,
    steps: int | Tensor,
    generators: Sequence[torch.Generator],
    prefix: Prefix | None = None,
) -> Writing:
    """A continuation of each row drawn token by token.

    Each row draws from a generator of its own, one number per token, so a row is continued in the same way alone
    and in any batch. The log-probabilities given back are the model's, before anything is left out.
    """
    if len(generators) != len(first_B):
        raise SettingError(f"sample was given {len(generators)} generators for {len(first_B)} rows; give one per row")
    limit_B = limits(steps, first_B)
    numbers = [
        torch.rand(limit, generator=generator, dtype=torch.float64)
        for generator, limit in zip(generators, limit_B.tolist(), strict=True)
    ]
    number_BT = pad_sequence(numbers, batch_first=True)

    def sampled(logp_BV: Tensor, row_B: Tensor, chosen: int) -> Tensor:
        return drawn(sampling.left(logp_BV), number_BT[row_B.cpu(), chosen])

    return _written(model, state, sampled, rules, first_B=first_B, limit_B=limit_B, prefix=prefix)


greedy, sample = whole(greedy_steps), whole(sample_steps)


def row_generators(seed: int, rows: Sequence[int], draws: int = 1) -> list[torch.Generator]:
    """A generator for each draw of each row, seeded from (seed, row, draw): row after row, draw after draw.

    `rows` are the numbers of the examples in the whole data, not in the batch.
    """
    names = [f"{seed} {row} {draw}" for row in rows for draw in range(draws)]
    digests = [hashlib.sha256(name.encode()).digest() for name in names]
    return [torch.Generator().manual_seed(int.from_bytes(digest[:7], "big")) for digest in digests]


def with_temperature(logits_BV: Tensor, temperature: float) -> Tensor:
    """Logits divided by the temperature: above 1 it flattens the model's distribution, below 1 it sharpens it."""
    if temperature <= 0:
        raise SettingError(f"temperature is {temperature}; drawing needs one above 0 (greedy takes the most probable)")
    if not COLDEST <= temperature <= HOTTEST:
        raise SettingError(f"temperature is {temperature}; give one from {COLDEST:g} to {HOTTEST:g}")
    return logits_BV / temperature


def only_top_k(logits_BV: Tensor, k: int) -> Tensor:
    """Only the k most probable tokens (Fan et al. 2018, section 5.4); 0 keeps all."""
    if not 0 < k < logits_BV.shape[-1]:
        return logits_BV
    best = logits_BV.topk(k)
    return torch.full_like(logits_BV, NEVER).scatter(-1, best.indices, best.values)


def only_top_p(logits_BV: Tensor, p: float) -> Tensor:
    """Only the fewest most probable tokens that together reach probability p (Holtzman et al. 2020, section 3.1)."""
    if p >= 1:
        return logits_BV
    best = logits_BV.sort(descending=True)
    probability_BV = best.values.softmax(-1)
    enough_BV = probability_BV.cumsum(-1) - probability_BV >= p
    enough_BV[:, 0] = False  # the most probable token stays, whatever p
    return torch.full_like(logits_BV, NEVER).scatter(-1, best.indices, best.values.masked_fill(enough_BV, NEVER))


def only_min_p(logits_BV: Tensor, p: float) -> Tensor:
    """Only tokens at least p times as probable as the most probable (Nguyen et al. 2024, section 3); 0 keeps all."""
    if p <= 0:
        return logits_BV
    return logits_BV.masked_fill(logits_BV < logits_BV.amax(-1, keepdim=True) + math.log(p), NEVER)


def first_largest(value_BN: Tensor, block: int = 64) -> Tensor:
    """The place of the largest value of each row, of equal ones the first: `argmax`, several times faster.

    It lies in the first block with the largest maximum, or behind the last whole block.
    """
    (rows, N), row_B = value_BN.shape, torch.arange(len(value_BN), device=value_BN.device)
    blocks = N // block
    if blocks < 2:
        return value_BN.argmax(-1)
    value_BKN = value_BN[:, : blocks * block].view(rows, blocks, block)
    block_B = value_BKN.amax(-1).argmax(-1)
    among_BN = torch.cat([value_BKN[row_B, block_B], value_BN[:, blocks * block :]], dim=1)
    among_B = among_BN.argmax(-1)
    return among_B + torch.where(among_B < block, block_B, blocks - 1) * block


def drawn(logits_BV: Tensor, number_B: Tensor) -> Tensor:
    """The token whose share of the line from 0 to 1 holds the number, when each has its probability as its share."""
    reach_BV = logits_BV.cpu().double().softmax(-1).cumsum(-1)  # not every device has float64
    place_B1 = number_B.unsqueeze(-1) * reach_BV[:, -1:]  # the last reach is 1 but for rounding
    token_B = torch.searchsorted(reach_BV, place_B1, right=True).squeeze(-1)  # `right` passes over probability 0
    return token_B.to(logits_BV.device)


@torch.inference_mode()
def _written(
    model: Stepper[StateT],
    state: StateT,
    choose: Callable[[Tensor, Tensor, int], Tensor],
    rules: DecodingRules,
    *,
    first_B: Tensor,
    limit_B: Tensor,
    prefix: Prefix | None,
) -> Writing:
    """One continuation of each row, with `choose(logp_BV, row_B, chosen)` as the pen; finished rows leave the batch."""
    logits_BV, state = opened(model, state, first_B, prefix)
    text_BT = rules.given_text(prefix, first_B)
    given = text_BT.shape[1]
    logp_BT = logits_BV.new_empty(len(first_B), 0, dtype=torch.float32)
    row_B = torch.arange(len(first_B), device=first_B.device)
    found: dict[int, Hypothesis] = {}
    while True:
        logp_BV = rules.log_probability(logits_BV, text_BT, logp_BT.shape[1])
        token_B = choose(rules.preferred(logits_BV, logp_BV, text_BT), row_B, logp_BT.shape[1])
        text_BT = torch.cat([text_BT, token_B.unsqueeze(1)], dim=1)
        logp_BT = torch.cat([logp_BT, logp_BV.gather(1, token_B.unsqueeze(1))], dim=1)
        yield ChosenTokens(row_B, token_B)
        ended_B = rules.over(text_BT[:, given:], row_B)
        over_B = ended_B | (logp_BT.shape[1] >= limit_B)
        if bool(over_B.any()):
            for i in over_B.nonzero().flatten().tolist():
                chosen, total = text_BT[i, given:].tolist(), logp_BT[i].tolist()
                finished = bool(ended_B[i])
                found[int(row_B[i])] = Hypothesis.of(chosen, total, sum(total), end=rules.end, finished=finished)
            if len(found) == len(first_B):
                return [found[row] for row in range(len(first_B))]
            live_B = (~over_B).nonzero().flatten()
            row_B, limit_B, text_BT, logp_BT = reordered((row_B, limit_B, text_BT, logp_BT), live_B)
            token_B, state = reordered((token_B, state), live_B)
        logits_BV, state = model.step(token_B, state)
