"""Beam search against exhaustive search, against a plain search without stopping early, and against the scores."""

import itertools
import math
from typing import Any, ClassVar, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from seqwright.decoding import DecodingRules, Hypothesis, Prefix, beam_search, greedy, target_log_probability
from seqwright.decoding.beam import largest_sums
from seqwright.errors import SettingError

BEGIN, END = 0, 1


class TrigramState(NamedTuple):
    table_B: Tensor
    before_B: Tensor


class Trigram:
    """A random table of what follows two tokens, another for each row; `asked` notes the rows of each step."""

    def __init__(self, *, seed: int, rows: int = 3, vocabulary: int = 5, end_bias: float = 0.0) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.logits = 2 * torch.randn(rows, vocabulary, vocabulary, vocabulary, generator=generator)
        self.logits[..., END] += end_bias
        self.asked: list[int] = []

    def start(self, table_B: Tensor) -> TrigramState:
        return TrigramState(table_B, torch.full_like(table_B, BEGIN))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: TrigramState) -> tuple[Tensor, TrigramState]:
        before_B, logits = state.before_B, []
        for tokens_B, real_B in zip(tokens_BT.T, real_BT.T, strict=True):
            logits.append(self.logits[state.table_B, before_B, tokens_B])
            before_B = torch.where(real_B, tokens_B, before_B)
        return torch.stack(logits, dim=1), TrigramState(state.table_B, before_B)

    def step(self, tokens_B: Tensor, state: TrigramState) -> tuple[Tensor, TrigramState]:
        self.asked.append(len(tokens_B))
        logits_BTV, state = self.read(tokens_B[:, None], torch.ones(len(tokens_B), 1, dtype=torch.bool), state)
        return logits_BTV[:, 0], state

    def log_probabilities(self, row: int, text: list[int]) -> list[float]:
        """For the oracles: plain numbers, token by token, after BEGIN."""
        found = []
        for before, last, token in zip([BEGIN, BEGIN, *text], [BEGIN, *text], text, strict=False):
            logits = self.logits[row, before, last].tolist()
            found.append(logits[token] - math.log(sum(math.exp(value) for value in logits)))
        return found


def score(log_probabilities: list[float], alpha: float) -> float:
    return sum(log_probabilities) / math.pow((5 + len(log_probabilities)) / 6, alpha)


def search(model: Trigram, rows: list[int], width: int, **options: Any) -> list[list[Hypothesis]]:
    state, first_B = model.start(torch.tensor(rows)), torch.full((len(rows),), BEGIN)
    rules = DecodingRules(END, **{name: options.pop(name) for name in DecodingRules._fields if name in options})
    return beam_search(model, state, rules, first_B=first_B, width=width, **options)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize(("shortest", "longest"), [(0, 4), (2, 4), (0, 2)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_beam_as_wide_as_everything_is_exhaustive_search(
    alpha: float, shortest: int, longest: int, seed: int
) -> None:
    model = Trigram(seed=seed)
    found = search(model, [0, 1, 2], 5**4, steps=longest, shortest=shortest, length_penalty=alpha, n_best=7)
    for row in range(3):
        every = [
            [*tokens, END]
            for length in range(shortest, longest)
            for tokens in itertools.product([0, 2, 3, 4], repeat=length)
        ]
        scored = sorted(((score(model.log_probabilities(row, text), alpha), text) for text in every), reverse=True)
        expected = scored[:7]
        finished = [one for one in found[row] if one.finished]
        assert len(found[row]) == 7
        assert [[*one.tokens, END] for one in finished] == [text for _, text in expected]
        assert [one.score for one in finished] == pytest.approx([value for value, _ in expected], abs=1e-5)


def plain_beam_search(model: Trigram, row: int, width: int, steps: int, alpha: float, n_best: int) -> list[list[int]]:
    """One hypothesis at a time, to the last step."""
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    for length in range(1, steps + 1):
        grown = [
            (sum(model.log_probabilities(row, [*text, token])), [*text, token])
            for _, text in live
            for token in range(model.logits.shape[-1])
        ]
        grown.sort(reverse=True)
        finished += [(total / ((5 + length) / 6) ** alpha, text) for total, text in grown[:width] if text[-1] == END]
        live = [(total, text) for total, text in grown if text[-1] != END][:width]
    ranked = [text for _, text in sorted(finished, reverse=True)] + [text for _, text in live]
    return ranked[:n_best]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize(("width", "n_best"), [(1, 1), (2, 1), (3, 3), (4, 2)])
def test_stopping_early_and_leaving_the_batch_change_nothing(width: int, n_best: int, alpha: float) -> None:
    limits = [7, 3, 11, 5, 7]
    stopped_early = 0
    for seed in range(4):
        model = Trigram(seed=seed, rows=5, vocabulary=7)
        steps = torch.tensor(limits)
        found = search(model, list(range(5)), width, steps=steps, length_penalty=alpha, n_best=n_best)
        for row, limit in enumerate(limits):
            expected = plain_beam_search(model, row, width, limit, alpha, n_best)
            assert [one.tokens + [END] * one.finished for one in found[row]] == expected
        stopped_early += len(model.asked) < max(limits)
    assert stopped_early or alpha > 1


@pytest.mark.parametrize("width", [2, 3])
def test_where_every_hypothesis_may_end_at_once_enough_live_on(width: int) -> None:
    """END is the likeliest token everywhere, and long texts score best: 2·width candidates are needed, and no fewer."""
    for seed in range(12):
        model = Trigram(seed=seed, vocabulary=7, end_bias=3.0)
        found = search(model, [0, 1, 2], width, steps=5, length_penalty=5.0, n_best=width)
        for row in range(3):
            expected = plain_beam_search(model, row, width, 5, 5.0, width)
            assert [one.tokens + [END] * one.finished for one in found[row]] == expected


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_beam_of_one_without_length_penalty_is_greedy(seed: int) -> None:
    model = Trigram(seed=seed, rows=5, vocabulary=11)
    state, first_B = model.start(torch.arange(5)), torch.full((5,), BEGIN)
    narrow = beam_search(model, state, DecodingRules(END), first_B=first_B, width=1, steps=9, length_penalty=0.0)
    plain = greedy(model, state, DecodingRules(END), first_B=first_B, steps=9)
    assert [row[0].tokens for row in narrow] == [one.tokens for one in plain]
    assert [row[0].finished for row in narrow] == [one.finished for one in plain]
    for row, one in zip(narrow, plain, strict=True):
        assert row[0].log_probabilities == pytest.approx(one.log_probabilities)


THOSE, APPLES, ARE, GOOD = 2, 3, 4, 5


class Sentences:
    """`Those` is the likelier first word, but `Apples are good` is the likelier sentence."""

    after: ClassVar = {
        (): {THOSE: 0.6, APPLES: 0.4},
        (THOSE,): {APPLES: 0.5, ARE: 0.3, GOOD: 0.2},
        (THOSE, APPLES): {ARE: 0.9, GOOD: 0.1},
        (APPLES,): {ARE: 0.95, GOOD: 0.05},
    }

    def start(self, rows: int) -> Tensor:
        return torch.full((rows, 1), BEGIN)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        raise AssertionError

    def step(self, tokens_B: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        state = torch.cat([state, tokens_B[:, None]], dim=1)
        probability_BV = torch.zeros(len(state), 6)
        for row, text in enumerate(state[:, 2:].tolist()):
            usual = {ARE: {GOOD: 1.0}}.get(text[-1] if text else BEGIN, {END: 1.0})
            for token, probability in self.after.get(tuple(text), usual).items():
                probability_BV[row, token] = probability
        return probability_BV.log(), state


def test_beam_search_finds_the_better_sentence_where_greedy_fails() -> None:
    model = Sentences()
    first_B = torch.tensor([BEGIN])
    (fooled,) = greedy(model, model.start(1), DecodingRules(END), first_B=first_B, steps=7)
    assert fooled.tokens == [THOSE, APPLES, ARE, GOOD]
    ((found,),) = beam_search(
        model, model.start(1), DecodingRules(END), first_B=first_B, width=2, steps=7, length_penalty=0.0
    )
    assert found.tokens == [APPLES, ARE, GOOD]
    assert fooled.log_probability == pytest.approx(math.log(0.6 * 0.5 * 0.9))
    assert found.log_probability == pytest.approx(math.log(0.4 * 0.95))


class TinyGRU(nn.Module):
    """A random recurrent model: a hypothesis given another's state would be scored otherwise when read again."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.embedding = nn.Embedding(13, 5)
        self.cell = nn.GRUCell(5, 7)
        self.out = nn.Linear(7, 13)
        with torch.no_grad():
            self.out.weight.mul_(4)
            self.embedding.weight.mul_(2)

    def start(self, source_BD: Tensor) -> tuple[Tensor, None]:
        return source_BD, None

    def read(
        self, tokens_BT: Tensor, real_BT: Tensor, state: tuple[Tensor, None]
    ) -> tuple[Tensor, tuple[Tensor, None]]:
        hidden_BD, logits = state[0], []
        for t in range(tokens_BT.shape[1]):
            new_BD = self.cell(self.embedding(tokens_BT[:, t]), hidden_BD)
            hidden_BD = torch.where(real_BT[:, t, None], new_BD, hidden_BD)
            logits.append(self.out(hidden_BD))
        return torch.stack(logits, dim=1), (hidden_BD, None)

    def step(self, tokens_B: Tensor, state: tuple[Tensor, None]) -> tuple[Tensor, tuple[Tensor, None]]:
        logits_BTV, state = self.read(tokens_B[:, None], torch.ones(len(tokens_B), 1, dtype=torch.bool), state)
        return logits_BTV[:, 0], state


def test_scoring_every_hypothesis_again_gives_the_same_log_probabilities() -> None:
    model, source_BD = TinyGRU(), 2 * torch.randn(3, 7, generator=torch.Generator().manual_seed(1))
    prefix = Prefix(torch.tensor([[5, 6], [7, 2], [2, 2]]), torch.tensor([[True, True], [True, False], [False, False]]))
    forced = [[5, 6], [7], []]
    found = beam_search(
        model,
        model.start(source_BD),
        DecodingRules(END),
        first_B=torch.full((3,), BEGIN),
        width=5,
        steps=11,
        prefix=prefix,
        n_best=5,
    )
    for row, hypotheses in enumerate(found):
        assert len({tuple(one.tokens) for one in hypotheses}) == 5
        assert [one.score for one in hypotheses if one.finished] == sorted(
            (one.score for one in hypotheses if one.finished), reverse=True
        )
        for one in hypotheses:
            target_BT = torch.tensor([forced[row] + one.tokens + [END] * one.finished])
            input_BT = torch.cat([torch.tensor([[BEGIN]]), target_BT[:, :-1]], dim=1)
            logp_BT = target_log_probability(
                model, model.start(source_BD[row : row + 1]), input_BT, target_BT, torch.ones_like(target_BT).bool()
            )
            again = logp_BT[0, len(forced[row]) :].tolist()
            assert again == pytest.approx(one.log_probabilities, abs=1e-5)
            assert one.score == pytest.approx(score(again, 0.6), abs=1e-5)


def test_rows_of_a_batch_do_not_influence_each_other() -> None:
    model = Trigram(seed=8, rows=5, vocabulary=7)
    together = search(model, [0, 1, 2, 3, 4], 3, steps=9, n_best=3, no_repeat=2)
    for row in range(5):
        assert search(model, [row], 3, steps=9, n_best=3, no_repeat=2) == [together[row]]


def test_finished_rows_leave_the_batch_and_are_not_asked_again() -> None:
    model = Trigram(seed=8, rows=5, vocabulary=7)
    together = search(model, [0, 1, 2, 3, 4], 3, steps=torch.tensor([2, 9, 9, 4, 9]))
    assert len(together) == 5
    asked, model.asked = model.asked, []
    for row, steps in enumerate([2, 9, 9, 4, 9]):
        search(model, [row], 3, steps=steps)
    assert sum(asked) == sum(model.asked)
    assert asked[0] == 5
    assert asked == [5, *sorted(asked[1:], reverse=True)]
    assert asked[-1] < 15


def test_where_nothing_ends_the_live_hypotheses_are_given_as_unfinished() -> None:
    model = Trigram(seed=2, end_bias=-50.0)
    for row in search(model, [0, 1, 2], 4, steps=6, n_best=3):
        assert [one.finished for one in row] == [False] * 3
        assert [len(one.tokens) for one in row] == [6] * 3
        assert [one.score for one in row] == sorted((one.score for one in row), reverse=True)


def test_forbidden_tokens_and_repeated_n_grams_never_come() -> None:
    model = Trigram(seed=4, rows=3, vocabulary=11)
    for row in search(model, [0, 1, 2], 4, steps=13, shortest=8, n_best=4, no_repeat=2, forbidden=[0, 5]):
        for one in row:
            assert len(one.tokens) >= 8
            assert not {0, END, 5} & set(one.tokens)
            pairs = list(itertools.pairwise(one.tokens))
            assert len(set(pairs)) == len(pairs)


def test_a_model_that_allows_nothing_gives_one_hypothesis_of_no_probability() -> None:
    model = Sentences()
    first_B = torch.tensor([BEGIN])
    ((found,),) = beam_search(
        model, model.start(1), DecodingRules(END, forbidden=[THOSE, APPLES]), first_B=first_B, width=2, steps=7
    )
    assert found == Hypothesis([], [], -math.inf, False)


def test_hypotheses_of_no_probability_are_not_given() -> None:
    model = Sentences()
    first_B = torch.tensor([BEGIN])
    (found,) = beam_search(model, model.start(1), DecodingRules(END), first_B=first_B, width=5, steps=1, n_best=5)
    assert [one.tokens for one in found] == [[THOSE], [APPLES]]


@pytest.mark.parametrize(("length", "count"), [(7, 3), (64, 1), (131, 5), (1000, 10), (6401, 10)])
def test_the_largest_sums_are_those_of_topk(length: int, count: int) -> None:
    generator = torch.Generator().manual_seed(length)
    value_RV, total_BW = torch.randn(5 * 3, length, generator=generator), torch.randn(5, 3, generator=generator)
    value_RV[:3] = -torch.inf
    value_RV[4, -1] = 9.0
    total_BW[2, 1:] = -torch.inf
    sum_BN = (total_BW.unsqueeze(2) + value_RV.view(5, 3, length)).flatten(1)
    values_BC, place_BC = largest_sums(total_BW, value_RV, count)
    assert torch.equal(values_BC, sum_BN.topk(count).values)
    assert torch.equal(sum_BN.gather(1, place_BC), values_BC)
    assert all(len(set(places)) == count for places in place_BC.tolist())


def test_impossible_widths_and_penalties_are_refused_in_words() -> None:
    with pytest.raises(SettingError, match="n_best is 3 and the beam 2 wide"):
        search(Trigram(seed=1), [0], 2, steps=3, n_best=3)
    with pytest.raises(SettingError, match="length_penalty is -1"):
        search(Trigram(seed=1), [0], 2, steps=3, length_penalty=-1.0)
    with pytest.raises(SettingError, match="steps is a number of 31 digits; decoding takes at most 2,147,483,648"):
        search(Trigram(seed=1), [0], 2, steps=10**30)
