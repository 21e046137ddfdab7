"""Min-p, the penalty for repetition and stop strings, each against a plain computation with numbers and lists."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st
from torch import Tensor

from seqwright.decoding import (
    DecodingRules,
    DecodingSettings,
    Hypothesis,
    Prefix,
    Sampling,
    before_stop,
    decoded,
    only_min_p,
    row_generators,
    sample,
    stops_in,
    sure,
    with_repetition_penalty,
)
from seqwright.errors import SettingError

BEGIN, END, V = 0, 1, 7
LETTERS = "..abcde"  # what each token says


class Bigram:
    """A random table of what follows each token, another for each row."""

    def __init__(self, seed: int, rows: int = 3) -> None:
        self.logits = 3 * torch.randn(rows, V, V, generator=torch.Generator().manual_seed(seed))
        self.logits[..., END] -= 2

    def start(self, rows: int) -> Tensor:
        return torch.arange(rows)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.logits[state.unsqueeze(1), tokens_BT], state

    def step(self, tokens_B: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.logits[state, tokens_B], state

    def follows(self, row: int, text: list[int], penalty: float = 1.0, held: tuple[int, ...] = ()) -> list[float]:
        """Log-probabilities of what follows a text, in plain numbers; `held` is what is penalised."""
        found = self.logits[row, text[-1] if text else BEGIN].tolist()
        for token in set(held):
            found[token] = found[token] * penalty if found[token] < 0 else found[token] / penalty
        total = math.log(sum(math.exp(value) for value in found))
        return [value - total for value in found]


def search(model: Bigram, rows: int = 3, **settings: Any) -> list[list[Hypothesis]]:
    return decoded(
        model,
        model.start(rows),
        DecodingSettings(**settings),
        first_B=torch.full((rows,), BEGIN),
        end=END,
        steps=9,
        text_of=lambda row, tokens: said(tokens),
    )


def said(tokens: list[int]) -> str:
    return "".join(LETTERS[token] for token in tokens)


# Min-p


@hypothesis(max_examples=60, deadline=None)
@given(st.lists(st.floats(-20, 20), min_size=2, max_size=9), st.floats(0.001, 1))
def test_min_p_keeps_what_is_likely_beside_the_likeliest(logits: list[float], p: float) -> None:
    kept = only_min_p(torch.tensor([logits], dtype=torch.float64), p)[0]
    odds = [math.exp(logit - max(logits)) for logit in logits]
    for share, logit, found in zip(odds, logits, kept.tolist(), strict=True):
        if not math.isclose(share, p, rel_tol=1e-9):
            assert found == (logit if share > p else -math.inf)
    assert only_min_p(torch.tensor([logits]), 0.0)[0].tolist() == torch.tensor(logits).tolist()


def test_min_p_looks_at_each_row_alone() -> None:
    logits_BV = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]).log()
    assert only_min_p(logits_BV, 0.5).isfinite().tolist() == [[True, True, False], [False, False, True]]


def test_a_sample_with_min_p_of_one_is_the_likeliest_text() -> None:
    model, first_B = Bigram(1), torch.full((3,), BEGIN)
    generators = row_generators(0, range(3))
    only = Sampling(min_p=1.0)
    found = sample(model, model.start(3), DecodingRules(END), only, first_B=first_B, steps=9, generators=generators)
    assert [one.tokens for one in found] == [row[0].tokens for row in search(model)]


# The penalty for repetition


def test_the_penalty_lowers_only_what_the_text_holds() -> None:
    logits_BV = torch.tensor([[2.0, -1.0, 0.0, 3.0], [2.0, -1.0, 0.5, 3.0]])
    text_BT = torch.tensor([[0, 1, 1], [2, -1, 2]])
    found = with_repetition_penalty(logits_BV, text_BT, 2.0)
    assert found.tolist() == [[1.0, -2.0, 0.0, 3.0], [2.0, -1.0, 0.25, 3.0]]
    assert torch.equal(with_repetition_penalty(logits_BV, text_BT[:, :0], 2.0), logits_BV)


@pytest.mark.parametrize("penalty", [1.3, 2.0])
def test_greedy_obeys_the_penalty_and_tells_the_models_own_probabilities(penalty: float) -> None:
    changed = 0
    for seed in range(5):
        model = Bigram(seed)
        for row, (one,) in enumerate(search(model, repetition_penalty=penalty)):
            text: list[int] = []
            logp: list[float] = []
            while len(text) < 9 and text[-1:] != [END]:
                rated = model.follows(row, text, penalty, tuple(text))
                token = rated.index(max(rated))
                logp.append(model.follows(row, text)[token])
                text.append(token)
            assert one.tokens + [END] * one.finished == text
            assert one.log_probabilities == pytest.approx(logp, abs=1e-5)
        changed += search(model) != search(model, repetition_penalty=penalty)
    assert changed


def test_what_stood_in_the_prompt_counts_as_said() -> None:
    model = Bigram(2, rows=1)
    model.logits[:] = torch.tensor([0.0, 0.0, 3.0, 2.9, 0.0, 0.0, 0.0])
    prefix = Prefix(torch.tensor([[2, 4]]), torch.tensor([[True, False]]))
    arguments: dict[str, Any] = {"first_B": torch.tensor([BEGIN]), "end": END, "steps": 1}
    for settings, token in ((DecodingSettings(), 2), (DecodingSettings(repetition_penalty=1.2), 3)):
        ((one,),) = decoded(model, model.start(1), settings, prefix=prefix, **arguments)
        assert one.tokens == [token]


def plain_beam(
    model: Bigram, row: int, width: int, penalty: float, stops: tuple[str, ...]
) -> list[tuple[float, list[int]]]:
    """One hypothesis at a time, to the last step: the best finished ones, then the best live ones."""
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    for _ in range(9):
        grown = [
            (total + model.follows(row, text, penalty, tuple(text))[token], [*text, token])
            for total, text in live
            for token in range(V)
        ]
        grown.sort(reverse=True)
        over = [text[-1] == END or any(stop in said(text) for stop in stops) for _, text in grown]
        finished += [one for one, ended in zip(grown[:width], over, strict=False) if ended]
        live = [one for one, ended in zip(grown[: 2 * width], over, strict=False) if not ended][:width]
    return sorted(finished, reverse=True) + live


@pytest.mark.parametrize(("penalty", "stops"), [(1.5, ()), (1.0, ("a", "bc")), (1.4, ("d",))])
def test_beam_search_obeys_the_penalty_and_the_stops(penalty: float, stops: tuple[str, ...]) -> None:
    for seed in range(6):
        model = Bigram(seed)
        found = search(model, beam=3, n_best=2, length_penalty=0.0, repetition_penalty=penalty, stop=stops)
        for row, candidates in enumerate(found):
            wanted = plain_beam(model, row, 3, penalty, stops)[:2]
            ended = [one.finished and not stops_in(said(one.tokens), stops) for one in candidates]
            texts = [one.tokens + [END] * end for one, end in zip(candidates, ended, strict=True)]
            assert [one.score for one in candidates] == pytest.approx([score for score, _ in wanted], abs=1e-4)
            for one, text in zip(candidates, texts, strict=True):  # which may be another one with the same score
                rated = [model.follows(row, text[:n], penalty, tuple(text[:n]))[token] for n, token in enumerate(text)]
                assert one.score == pytest.approx(sum(rated), abs=1e-4)
                logp = [model.follows(row, text[:place])[token] for place, token in enumerate(text)]
                assert one.log_probabilities == pytest.approx(logp, abs=1e-4)


# Stop strings


@pytest.mark.parametrize("settings", [{}, {"temperature": 1.0, "n_best": 2}, {"beam": 2, "n_best": 2}])
def test_a_text_is_over_as_soon_as_it_says_a_stop_string(settings: dict[str, Any]) -> None:
    stopped = 0
    for seed in range(5):
        for candidates in search(Bigram(seed), stop=("ab", "c"), **settings):
            for one in candidates:
                text = said(one.tokens)
                assert not stops_in(text[:-1], ("ab", "c"))
                if stops_in(text, ("ab", "c")):
                    assert one.finished
                    assert len(one.log_probabilities) == len(one.tokens)
                    stopped += 1
    assert stopped


def test_each_draw_of_a_row_is_stopped_by_what_its_own_row_says() -> None:
    model = Bigram(3, rows=2)
    found = decoded(
        model,
        model.start(2),
        DecodingSettings(temperature=1.0, n_best=3, stop=("x",)),
        first_B=torch.full((2,), BEGIN),
        end=END,
        steps=9,
        text_of=lambda row, tokens: "x" * (row == 1 and len(tokens) == 2),
    )
    assert {len(one.log_probabilities) for one in found[1]} <= {1, 2}
    assert max(len(one.log_probabilities) for one in found[0]) > 2


def test_stop_strings_without_text_are_refused() -> None:
    model = Bigram(1)
    with pytest.raises(SettingError, match=r"decoding\.stop"):
        decoded(model, model.start(3), DecodingSettings(stop=("a",)), first_B=torch.zeros(3).long(), end=END, steps=2)


@hypothesis(max_examples=60, deadline=None)
@given(st.text("abc", max_size=12), st.lists(st.text("abc", min_size=1, max_size=4), max_size=3))
def test_what_is_told_early_is_never_taken_back(text: str, stops: list[str]) -> None:
    """A reader is shown `sure` after each letter; when a stop string comes, it must not have seen any of it."""
    shown = ""
    for end in range(len(text) + 1):
        known = sure(text[:end], stops)
        assert known.startswith(shown)
        shown = known
        if stops_in(text[:end], stops):
            assert before_stop(text[:end], stops).startswith(shown)
            return
    assert text.startswith(shown)
    assert len(text) - len(shown) < max([1, *map(len, stops)])


def test_a_text_ends_before_its_first_stop_string() -> None:
    assert before_stop("one. two\n\nthree", ["\n\n", ". "]) == "one"
    assert before_stop("one", ["two"]) == "one"
    assert before_stop("", []) == ""
    assert sure("caf\ufffd", []) == "caf"


@torch.inference_mode()
def test_the_end_comes_before_the_shortest_length_only_where_nothing_else_is_left() -> None:
    logits_BV = torch.zeros(3, 131)
    logits_BV[:2] = -math.inf
    logits_BV[:2, END] = 1.0
    logits_BV[0, 100] = 0.0  # a token far from the first ones
    logp_BV = DecodingRules(END, shortest=2).log_probability(logits_BV, torch.empty(3, 0, dtype=torch.long), 1)
    assert (logp_BV[:, END] > -math.inf).tolist() == [False, True, False]
