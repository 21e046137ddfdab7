"""The seam of decoding, exercised by a model that counts, through the real `count`, and by several models as one.

B batch · T time · V vocabulary
"""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches import Place
from seqwright.decoding import (
    DecodingRules,
    Ensemble,
    beam_search,
    greedy,
    reordered,
    row_generators,
    sample,
)
from seqwright.decoding.ensemble import Average
from seqwright.errors import SettingError
from seqwright.training.checkpoint import read_mark
from seqwright.training.counting import count
from tests.small_models import small, some_pairs

V, BEGIN, END = 7, 0, 1


class Text(NamedTuple):
    """Rows of text."""

    tokens_BT: Tensor


class InARow:
    """Batches that are given."""

    def __init__(self, *batches: Any) -> None:
        self.batches = batches

    def at(self, place: Place) -> Any:
        return self.batches[place.batch]

    def after(self, place: Place) -> Place:
        return Place(0, place.batch + 1)

    def in_epoch(self, epoch: int) -> int:
        return len(self.batches)

    def once(self) -> Iterator[Any]:
        return iter(self.batches)

    def padding(self, epoch: int = 0) -> float:
        return 0.0


# ------------------------------------------------------------------------------------------------ a model that counts


class BigramState(NamedTuple):
    row_B: Tensor


class Bigram(nn.Module):
    """How often each token followed each other one: a Counter, a Stepper and a language model.

    What follows a token that was never seen is even.
    """

    count_VV: Tensor
    logp_VV: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count_VV", torch.zeros(V, V, dtype=torch.int64))
        self.register_buffer("logp_VV", torch.full((V, V), -math.log(V)))

    def observe(self, batch: Text) -> None:
        first, second = batch.tokens_BT[:, :-1].flatten(), batch.tokens_BT[:, 1:].flatten()
        self.count_VV.view(-1).index_add_(0, first * V + second, torch.ones_like(first))

    def conclude(self) -> None:
        every_V1 = self.count_VV.sum(1, keepdim=True)
        self.logp_VV.copy_(torch.where(every_V1 > 0, self.count_VV / every_V1, 1 / V).log())

    def start(self, batch: Text) -> BigramState:
        return BigramState(torch.arange(len(batch.tokens_BT)))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: BigramState) -> tuple[Tensor, BigramState]:
        return self.logp_VV[tokens_BT], state

    def step(self, tokens_B: Tensor, state: BigramState) -> tuple[Tensor, BigramState]:
        return self.logp_VV[tokens_B], state

    def log_probability(self, tokens_BT: Tensor, real_BT: Tensor) -> Tensor:
        input_BT = torch.cat([torch.full_like(tokens_BT[:, :1], BEGIN), tokens_BT[:, :-1]], dim=1)
        return self.logp_VV[input_BT, tokens_BT].masked_fill(~real_BT, 0.0)


# BEGIN is followed by 2 three times and by 3 once; 2 by END once, by 3 twice; 3 by END three times.
CORPUS = [[BEGIN, 2, END, END], [BEGIN, 2, 3, END], [BEGIN, 2, 3, END], [BEGIN, 3, END, END]]
FOLLOWS = {BEGIN: {2: 3 / 4, 3: 1 / 4}, 2: {END: 1 / 3, 3: 2 / 3}, 3: {END: 1.0}}


def corpus() -> InARow:
    tokens_BT = torch.tensor(CORPUS)
    return InARow(*(Text(rows_BT) for rows_BT in tokens_BT.split(3)))


def counted() -> Bigram:
    model = Bigram()
    count(model, corpus())
    return model


def test_one_pass_over_the_data_is_counted_saved_and_not_counted_twice(tmp_path: Path) -> None:
    model = count(Bigram(), corpus(), run=tmp_path, evaluate=lambda model: {"loss": 2.5}, metadata={"size": "7"})
    assert model.get_buffer("count_VV")[BEGIN].tolist() == [0, 0, 3, 1, 0, 0, 0]
    assert model.get_buffer("count_VV")[2].tolist() == [0, 1, 0, 2, 0, 0, 0]
    assert read_mark(tmp_path, "best") == read_mark(tmp_path, "last") == 1
    assert '"loss": 2.5' in (tmp_path / "journal.jsonl").read_text()
    again = count(Bigram(), InARow(None), run=tmp_path)
    assert torch.equal(again.get_buffer("logp_VV"), model.get_buffer("logp_VV"))


def test_a_counting_run_makes_its_folder(tmp_path: Path) -> None:
    count(Bigram(), corpus(), run=tmp_path / "runs" / "new")
    assert read_mark(tmp_path / "runs" / "new", "last") == 1


def test_a_counted_model_gives_log_probabilities_without_logits() -> None:
    tokens_BT = torch.tensor([[2, 3, END], [3, END, 0]])
    real_BT = torch.tensor([[True, True, True], [True, True, False]])
    found = counted().log_probability(tokens_BT, real_BT).exp()
    torch.testing.assert_close(found, torch.tensor([[3 / 4, 2 / 3, 1.0], [1 / 4, 1.0, 1.0]]))


def test_a_counted_model_is_searched_like_any_other() -> None:
    """The three texts there can be: 2 END, 2 3 END and 3 END."""
    model, first_B = counted(), torch.tensor([BEGIN, 3])
    state = model.start(Text(first_B[:, None]))
    best, from_three = beam_search(
        model, state, DecodingRules(END), first_B=first_B, width=4, steps=5, n_best=3, length_penalty=0.0
    )
    assert [one.tokens for one in best] in ([[2, 3], [2], [3]], [[2, 3], [3], [2]])
    assert [math.exp(one.log_probability) for one in best] == pytest.approx([1 / 2, 1 / 4, 1 / 4])
    assert [one.tokens for one in from_three] == [[]]
    assert [one.tokens for one in greedy(model, state, DecodingRules(END), first_B=first_B, steps=5)] == [[2, 3], []]


def test_a_counted_model_is_sampled_like_any_other() -> None:
    model, rows = counted(), 400
    first_B = torch.full((rows,), BEGIN)
    state = model.start(Text(first_B[:, None]))
    found = sample(
        model, state, DecodingRules(END), first_B=first_B, steps=5, generators=row_generators(1, range(rows))
    )
    texts = [tuple(one.tokens) for one in found]
    assert set(texts) == {(2,), (2, 3), (3,)}
    assert texts.count((2, 3)) / rows == pytest.approx(1 / 2, abs=0.08)
    for one in found:
        steps = itertools.pairwise([BEGIN, *one.tokens, END])
        assert one.log_probabilities == pytest.approx([math.log(FOLLOWS[a][b]) for a, b in steps], abs=1e-5)


# ------------------------------------------------------------------------------------------------ an ensemble


def transformer(seed: int) -> Any:
    torch.manual_seed(seed)
    return small("transformer", "translation").eval()


def started(model: Any) -> Any:
    return (
        model.start([some_pairs()] * len(model.members)) if isinstance(model, Ensemble) else model.start(some_pairs())
    )


def searched(model: Any) -> list[list[list[int]]]:
    rules, first_B = DecodingRules(3, forbidden=(0, 2)), torch.full((3,), 2)
    found = beam_search(model, started(model), rules, first_B=first_B, width=4, steps=6, n_best=3)
    return [[one.tokens for one in row] for row in found]


def sampled(model: Any) -> list[list[int]]:
    generators = row_generators(5, range(3))
    found = sample(model, started(model), DecodingRules(3), first_B=torch.full((3,), 2), steps=6, generators=generators)
    return [one.tokens for one in found]


AVERAGES: list[Average] = ["probabilities", "log-probabilities"]


@pytest.mark.parametrize("average", AVERAGES)
def test_a_model_beside_itself_says_what_it_says_alone(average: Average) -> None:
    model = transformer(1)
    twice = Ensemble([model, model], average)
    assert searched(twice) == searched(model)
    assert sampled(twice) == sampled(model)
    plainly = [
        [one.tokens for one in greedy(each, started(each), DecodingRules(3), first_B=torch.full((3,), 2), steps=6)]
        for each in (twice, model)
    ]
    assert plainly[0] == plainly[1]


@pytest.mark.parametrize("average", AVERAGES)
def test_an_ensemble_is_searched_by_the_mean_of_its_members(average: Average) -> None:
    """Each log-probability of what was found is computed again from the members, one after the other, in NumPy."""
    members, batch = [transformer(1), transformer(2), transformer(3)], some_pairs()
    every = Ensemble(members, average)
    assert searched(every) not in [searched(member) for member in members]
    hypotheses = beam_search(every, started(every), DecodingRules(3), first_B=torch.full((3,), 2), width=4, steps=6)
    for row, (best,) in enumerate(hypotheses):
        chosen = [*best.tokens, 3] if best.finished else best.tokens
        input_1T = torch.tensor([[2, *chosen[:-1]]])
        alone = batch.rows([row])
        said = [
            np.exp(member.read(input_1T, torch.ones_like(input_1T).bool(), member.start(alone))[0][0].detach().numpy())
            for member in members
        ]
        shares = [odds / odds.sum(-1, keepdims=True) for odds in said]
        mean = np.mean(shares, axis=0) if average == "probabilities" else np.prod(shares, axis=0) ** (1 / 3)
        mean /= mean.sum(-1, keepdims=True)
        wanted = [math.log(mean[place, token]) for place, token in enumerate(chosen)]
        assert best.log_probabilities == pytest.approx(wanted, abs=1e-4)


@torch.no_grad()
def test_the_state_of_an_ensemble_is_reordered_whole() -> None:
    both, batch = Ensemble([transformer(1), transformer(2)]), some_pairs()
    input_BT, rows = batch.input_BT[:, :2], torch.tensor([2, 0])
    _, state = both.read(input_BT, torch.ones_like(input_BT, dtype=torch.bool), started(both))
    straight_BV, _ = both.step(batch.input_BT[:, 2], state)
    moved_BV, _ = both.step(batch.input_BT[rows, 2], reordered(state, rows))
    torch.testing.assert_close(moved_BV, straight_BV[rows], rtol=0, atol=1e-5)


def test_an_ensemble_of_nothing_and_an_unknown_mean_are_refused_in_words() -> None:
    with pytest.raises(SettingError, match="no members"):
        Ensemble([])
    with pytest.raises(SettingError, match="average is 'median'; choose probabilities or log-probabilities"):
        Ensemble([transformer(1)], "median")  # type: ignore[arg-type]
