"""Beam search: the best continuations of each row, the same code for every model.

B batch · T time · S source · V vocabulary · W beam · R = B·W hypotheses in a line
N any long axis · C the largest of it
"""

from collections.abc import Generator
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from seqwright.decoding.coverage import Coverage, attention_of
from seqwright.decoding.rules import NEVER, DecodingRules, limits
from seqwright.decoding.scoring import Hypothesis, penalty
from seqwright.decoding.searching import Growth, whole
from seqwright.decoding.stepper import Prefix, State, StateT, Stepper, moved, opened, reordered, repeated
from seqwright.errors import SettingError

Hypotheses: TypeAlias = list[list[Hypothesis]]
"""For each row its hypotheses, best first."""


@torch.inference_mode()
def beam_steps(
    model: Stepper[StateT],
    state: StateT,
    rules: DecodingRules,
    *,
    first_B: Tensor,
    width: int,
    steps: int | Tensor,
    length_penalty: float = 0.6,
    coverage: Coverage | None = None,
    prefix: Prefix | None = None,
    n_best: int = 1,
) -> Generator[Growth, None, Hypotheses]:
    """The `n_best` best continuations of each row among those that a beam of `width` meets, best first.

    Each step extends the `width` live hypotheses of a row by every token and looks at the 2·`width` best of the
    results. Among the best `width`, those that chose END or are stopped are finished; the best `width` others live on.
    The score is log-probability / lp(length), plus the coverage penalty where there is one (Wu et al. 2016, section 7).
    Where fewer than `n_best` are finished after `steps` tokens (one number, or one a row; END counts), the best live
    ones follow as unfinished. A row has fewer than `n_best` only where the model gives no more of them a probability.
    """
    _check(width, n_best, length_penalty)
    row_B, limit_B = torch.arange(len(first_B), device=first_B.device), limits(steps, first_B)
    beam = _first_beam(rules.given_text(prefix, first_B), width)
    logits_RV, state, looked_RS = repeated(_opened(model, state, first_B, prefix, coverage), width)
    first: State = state
    floor_B = beam.total_BW.new_full((len(first_B),), NEVER)  # the n_best-th finished score: the bar to exceed
    longest_B = penalty(limit_B, length_penalty)
    best: Hypotheses = [[] for _ in first_B]
    while True:
        beam = _extended(beam, logits_RV, rules, 2 * width).scored(length_penalty, coverage, looked_RS)
        ended_BW = rules.over(beam.chosen_BWT, row_B.unsqueeze(1).expand_as(beam.total_BW))
        yield beam.growth(row_B, ended_BW, width)
        if bool(ended_BW.any()):
            better_BW = ended_BW & (beam.score_BW > floor_B.unsqueeze(1))
            for i, w in better_BW[:, :width].nonzero().tolist():
                ranked = best[int(row_B[i])]
                floor_B[i] = _ranked(ranked, beam.hypothesis(i, w, rules.end, finished=True), n_best)
            beam = _live(beam, ended_BW, width)
        else:
            beam = beam.first(width)
        # A live hypothesis can only lose: its log-probability, at most 0, falls with each token, lp is largest at the
        # limit, coverage only takes off. So none scores above total / lp(limit): not above the floor, the row is over.
        full_B = beam.length >= limit_B
        over_B = full_B | (beam.total_BW[:, 0] / longest_B <= floor_B)
        within = not bool(over_B.any())
        if not within:
            for i in full_B.nonzero().flatten().tolist():
                best[int(row_B[i])] += beam.unfinished(i, n_best - len(best[int(row_B[i])]), rules.end)
            if bool(over_B.all()):
                return [ranked or [Hypothesis([], [], NEVER, finished=False)] for ranked in best]
            living = (~over_B).nonzero().flatten()
            row_B, limit_B, longest_B, floor_B, beam = reordered((row_B, limit_B, longest_B, floor_B, beam), living)
        parent_R = beam.parent_BW.flatten()
        if not torch.equal(parent_R, torch.arange(len(logits_RV), device=parent_R.device)):
            state, first = moved(state, first, parent_R, within=within)
            looked_RS = reordered(looked_RS, parent_R)
        logits_RV, state = model.step(beam.text_BWT[..., -1].flatten(), state)
        if looked_RS is not None:
            looked_RS = looked_RS + attention_of(model, state)


beam_search = whole(beam_steps)
"""The hypotheses that `beam_steps` ends with."""


def _opened(
    model: Stepper[StateT], state: StateT, first_B: Tensor, prefix: Prefix | None, coverage: Coverage | None
) -> tuple[Tensor, StateT, Tensor | None]:
    """The logits of the first choice and the state before it; where coverage counts, also where was looked so far."""
    if coverage is None:
        return (*opened(model, state, first_B, prefix), None)
    return coverage.opened(model, state, first_B, prefix)


class _Beam(NamedTuple):
    """The hypotheses of each row, best first."""

    total_BW: Tensor  # what lives on by it: log-probability, less what is taken off for repetition; or NEVER
    score_BW: Tensor  # what it is ranked by among those of other lengths
    text_BWT: Tensor  # tokens: as much of the prefix as the rules look at, then the chosen ones
    logp_BWT: Tensor  # log-probability of each chosen token
    parent_BW: Tensor  # the row of the state that the hypothesis grew from

    @property
    def length(self) -> int:
        """How many tokens have been chosen."""
        return self.logp_BWT.shape[-1]

    @property
    def chosen_BWT(self) -> Tensor:
        """The tokens that have been chosen, without the prefix."""
        return self.text_BWT[..., self.text_BWT.shape[-1] - self.length :]

    def first(self, width: int) -> "_Beam":
        """The best `width` of each row."""
        return _Beam(*(part[:, :width] for part in self))

    def scored(self, alpha: float, coverage: Coverage | None, looked_RS: Tensor | None) -> "_Beam":
        """The same hypotheses, with their scores."""
        score_BW = self.total_BW / penalty(self.length, alpha)
        if coverage is not None and looked_RS is not None:
            score_BW = score_BW + coverage.penalty(looked_RS)[self.parent_BW]
        return self._replace(score_BW=score_BW)

    def growth(self, row_B: Tensor, ended_BW: Tensor, width: int) -> Growth:
        """The hypotheses, for who watches."""
        token_BW, logp_BW = self.text_BWT[..., -1], self.logp_BWT[..., -1]
        return Growth(row_B, self.parent_BW % width, token_BW, logp_BW, self.score_BW, ended_BW)

    def unfinished(self, i: int, count: int, end: int) -> list[Hypothesis]:
        """The best of the i-th row, as far as they have a probability above 0."""
        return [self.hypothesis(i, w, end, finished=False) for w in range(count) if self.total_BW[i, w] > NEVER]

    def hypothesis(self, i: int, w: int, end: int, *, finished: bool) -> Hypothesis:
        """The w-th hypothesis of the i-th row, for the caller."""
        chosen, logp_T = self.chosen_BWT[i, w].tolist(), self.logp_BWT[i, w]
        return Hypothesis.of(chosen, logp_T.tolist(), float(self.score_BW[i, w]), end=end, finished=finished)


def _first_beam(text_BT: Tensor, width: int) -> _Beam:
    """Nothing chosen yet: the copies of a row are one hypothesis, and the first stands for all."""
    total_BW = torch.full((len(text_BT), width), NEVER, device=text_BT.device)
    total_BW[:, 0] = 0.0
    text_BWT = text_BT.unsqueeze(1).expand(-1, width, -1)
    parent_BW = torch.arange(total_BW.numel(), device=text_BT.device).view_as(total_BW)
    return _Beam(total_BW, total_BW, text_BWT, total_BW.new_empty(*total_BW.shape, 0), parent_BW)


def _extended(beam: _Beam, logits_RV: Tensor, rules: DecodingRules, count: int) -> _Beam:
    """The `count` best hypotheses of each row that are one token longer."""
    (B, W), V = beam.total_BW.shape, logits_RV.shape[1]
    text_RT = beam.text_BWT.flatten(0, 1)
    logp_RV = rules.log_probability(logits_RV, text_RT, beam.length)
    preferred_RV = rules.preferred(logits_RV, logp_RV, text_RT)
    total_BC, place_BC = largest_sums(beam.total_BW, preferred_RV, count)
    token_BC = place_BC % V
    parent_BC = place_BC // V + torch.arange(0, B * W, W, device=place_BC.device).unsqueeze(1)
    logp_BC = logp_RV[parent_BC, token_BC]
    text_BCT = torch.cat([text_RT[parent_BC], token_BC.unsqueeze(-1)], dim=-1)
    logp_BCT = torch.cat([beam.logp_BWT.flatten(0, 1)[parent_BC], logp_BC.unsqueeze(-1)], dim=-1)
    return _Beam(total_BC, total_BC, text_BCT, logp_BCT, parent_BC)


def _ranked(ranked: list[Hypothesis], another: Hypothesis, n_best: int) -> float:
    """Put another among the best of a row; the score above which one more is among them."""
    ranked.append(another)
    ranked[:] = sorted(ranked, key=lambda hypothesis: -hypothesis.score)[:n_best]
    return ranked[-1].score if len(ranked) == n_best else NEVER


def _live(beam: _Beam, ended_BW: Tensor, width: int) -> _Beam:
    """The `width` best hypotheses of each row that have not ended; their order stays."""
    # Of the 2·width, at most one from each of the width parents has chosen END: enough are left, but for the stopped.
    place_BW = ended_BW.long().argsort(dim=1, stable=True)[:, :width]
    row_B1 = torch.arange(len(place_BW), device=place_BW.device).unsqueeze(1)
    beam = beam._replace(total_BW=beam.total_BW.masked_fill(ended_BW, NEVER))
    return _Beam(*(part[row_B1, place_BW] for part in beam))


def largest_sums(total_BW: Tensor, value_RV: Tensor, count: int, block: int = 64) -> tuple[Tensor, Tensor]:
    """The `count` largest of total[b, w] + value[b W + w, v] in each row b, largest first, and their places w V + v.

    They lie in the `count` blocks of tokens with the largest maxima: no sum is made for the others.
    """
    (B, W), V = total_BW.shape, value_RV.shape[1]
    value_BWV, blocks = value_RV.view(B, W, V), V // block
    if W * blocks <= count:
        sum_BC, place_BC = (total_BW.unsqueeze(2) + value_BWV).flatten(1).topk(min(count, W * V))
        return sum_BC, place_BC
    largest_BWN = value_BWV[..., : blocks * block].view(B, W, blocks, block).amax(-1) + total_BW.unsqueeze(2)
    chosen_BC = largest_BWN.flatten(1).topk(count).indices
    parent_BC, rest = chosen_BC // blocks, V % block
    begin_BC = chosen_BC * block + parent_BC * rest
    place_BN = (begin_BC.unsqueeze(2) + torch.arange(block, device=value_RV.device)).flatten(1)
    value_BCK = value_BWV.flatten(1).gather(1, place_BN).view(B, count, block)
    sum_BN = (value_BCK + total_BW.gather(1, parent_BC).unsqueeze(2)).flatten(1)
    if rest:  # tokens behind the last whole block
        rest_WN = torch.arange(W * V, device=value_RV.device).view(W, V)[:, V - rest :]
        place_BN = torch.cat([place_BN, rest_WN.flatten().expand(B, -1)], dim=1)
        sum_BN = torch.cat([sum_BN, (total_BW.unsqueeze(2) + value_BWV[..., V - rest :]).flatten(1)], dim=1)
    sum_BC, among_BC = sum_BN.topk(count)
    return sum_BC, place_BN.gather(1, among_BC)


def _check(width: int, n_best: int, alpha: float) -> None:
    if not 1 <= n_best <= width:
        raise SettingError(f"n_best is {n_best} and the beam {width} wide; n_best must be from 1 to the width")
    if alpha < 0:
        raise SettingError(f"length_penalty is {alpha}; it must be 0 (none) or more")
