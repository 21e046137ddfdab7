"""The coverage penalty against exhaustive search with plain numbers, and against hand-made cases."""

import itertools
import math
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from seqwright.decoding import Aligns, Coverage, DecodingRules, DecodingSettings, Prefix, beam_search, decoded
from seqwright.errors import SettingError

BEGIN, END, V, S = 0, 1, 5, 3


class LookingState(NamedTuple):
    row_B: Tensor
    weight_BS: Tensor | None


class Looking:
    """What follows a token, and where is looked after it, are random tables, others for each row."""

    def __init__(self, seed: int, rows: int = 2) -> None:
        draw = torch.Generator().manual_seed(seed)
        self.logits = 2 * torch.randn(rows, V, V, generator=draw)
        self.weights = (3 * torch.randn(rows, V, S, generator=draw)).softmax(-1)
        padding_S = torch.arange(S) == 2  # of the second row
        self.weights[1] = (3 * torch.randn(V, S, generator=draw)).masked_fill(padding_S, -torch.inf).softmax(-1)

    def start(self, rows: int) -> LookingState:
        return LookingState(torch.arange(rows), None)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: LookingState) -> tuple[Tensor, LookingState]:
        last_B = (real_BT.sum(1) - 1).clamp_min(0)
        looked_BS = self.weights[state.row_B, tokens_BT[torch.arange(len(last_B)), last_B]]
        if state.weight_BS is not None:
            looked_BS = torch.where(real_BT.any(1, keepdim=True), looked_BS, state.weight_BS)
        return self.logits[state.row_B.unsqueeze(1), tokens_BT], LookingState(state.row_B, looked_BS)

    def step(self, tokens_B: Tensor, state: LookingState) -> tuple[Tensor, LookingState]:
        return self.logits[state.row_B, tokens_B], LookingState(state.row_B, self.weights[state.row_B, tokens_B])

    def attention_of(self, state: LookingState) -> Tensor | None:
        return state.weight_BS

    def score(self, row: int, text: list[int], alpha: float, beta: float, real: list[bool], given: list[int]) -> float:
        """Wu et al. 2016, eq. 14 and 15, in plain numbers: END is among the text, `given` was forced before it."""
        before = [BEGIN, *given, *text]
        logp = 0.0
        for last, token in zip([BEGIN, *given, *text][len(given) :], text, strict=False):
            logits = self.logits[row, last].tolist()
            logp += logits[token] - math.log(sum(map(math.exp, logits)))
        looked = [sum(float(self.weights[row, last, s]) for last in before[:-1]) for s in range(S)]
        missing = sum(math.log(max(1e-6, min(each, 1.0))) for each, there in zip(looked, real, strict=True) if there)
        return float(logp / ((5 + len(text)) / 6) ** alpha + beta * missing)


REAL = torch.tensor([[True, True, True], [True, True, False]])


@pytest.mark.parametrize(("alpha", "beta"), [(0.6, 0.2), (0.0, 1.0), (1.0, 5.0)])
@pytest.mark.parametrize("given", [[], [3, 2]])
def test_a_wide_beam_with_coverage_is_exhaustive_search(alpha: float, beta: float, given: list[int]) -> None:
    changed = 0
    for seed in range(3):
        model = Looking(seed)
        tokens_BT = torch.tensor([given, given], dtype=torch.long).view(2, len(given))
        prefix = Prefix(tokens_BT, torch.ones_like(tokens_BT).bool()) if given else None
        found = beam_search(
            model,
            model.start(2),
            DecodingRules(END, forbidden=[BEGIN]),
            first_B=torch.full((2,), BEGIN),
            width=3**4,
            steps=4,
            length_penalty=alpha,
            coverage=Coverage(beta, REAL),
            prefix=prefix,
            n_best=5,
        )
        for row in range(2):
            every = [[*text, END] for n in range(4) for text in itertools.product([2, 3, 4], repeat=n)]
            ranked = sorted(every, key=lambda text: -model.score(row, text, alpha, beta, REAL[row].tolist(), given))
            plain = sorted(every, key=lambda text: -model.score(row, text, alpha, 0.0, REAL[row].tolist(), given))
            changed += ranked[:5] != plain[:5]
            assert [[*one.tokens, END] for one in found[row]] == ranked[:5]
            scores = [model.score(row, text, alpha, beta, REAL[row].tolist(), given) for text in ranked[:5]]
            assert [one.score for one in found[row]] == pytest.approx(scores, abs=1e-4)
    assert changed, "the penalty changes nothing: the test could not fail"


def test_a_row_is_searched_the_same_whatever_padding_stands_beside_its_source() -> None:
    settings, model = DecodingSettings(beam=3, coverage_penalty=0.7), Looking(4)
    first_B = torch.full((2,), BEGIN)
    arguments: dict[str, Any] = {"end": END, "steps": 6, "forbidden": [BEGIN]}
    together = decoded(model, model.start(2), settings, first_B=first_B, source_real_BS=REAL, **arguments)
    model.weights = model.weights[1:, :, :2]
    model.logits = model.logits[1:]
    real_BS = torch.ones(1, 2, dtype=torch.bool)
    (alone,) = decoded(model, model.start(1), settings, first_B=first_B[:1], source_real_BS=real_BS, **arguments)
    assert [one.tokens for one in alone] == [one.tokens for one in together[1]]
    assert alone[0].score == pytest.approx(together[1][0].score, abs=1e-5)


def test_what_was_looked_at_long_enough_costs_nothing_and_nothing_is_infinite() -> None:
    coverage = Coverage(2.0, torch.ones(1, 3, dtype=torch.bool))
    penalty_R = coverage.penalty(torch.tensor([[1.0, 3.0, 1.5], [0.5, 1.0, 2.0], [0.0, 1.0, 1.0]]))
    assert penalty_R.tolist() == pytest.approx([0.0, 2 * math.log(0.5), 2 * math.log(1e-6)], rel=1e-5)


class Blind:
    """Has no attention."""

    def start(self, rows: int) -> Tensor:
        return torch.arange(rows)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return torch.zeros(*tokens_BT.shape, V), state

    def step(self, tokens_B: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return torch.zeros(len(tokens_B), V), state


def test_a_model_that_does_not_look_and_a_search_without_source_are_refused_in_words() -> None:
    assert isinstance(Looking(1), Aligns)
    assert not isinstance(Blind(), Aligns)
    settings, first_B = DecodingSettings(beam=2, coverage_penalty=0.2), torch.zeros(2).long()
    with pytest.raises(SettingError, match=r"coverage_penalty is above 0, but this model has no attention"):
        decoded(Blind(), Blind().start(2), settings, first_B=first_B, end=END, steps=3, source_real_BS=REAL)
    with pytest.raises(SettingError, match=r"decoding\.coverage_penalty is set, but nothing is translated"):
        decoded(Blind(), Blind().start(2), settings, first_B=first_B, end=END, steps=3)
    with pytest.raises(SettingError, match=r"decoding\.unknown is set, but nothing is translated"):
        decoded(Blind(), Blind().start(2), DecodingSettings(unknown="copy"), first_B=first_B, end=END, steps=3)
