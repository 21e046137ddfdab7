import math
from collections import Counter
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from seqwright.decoding import (
    DecodingRules,
    DecodingSettings,
    Prefix,
    Sampling,
    beam_search,
    decoded,
    drawn,
    greedy,
    only_top_k,
    only_top_p,
    row_generators,
    sample,
    target_log_probability,
    with_temperature,
)
from seqwright.decoding.sampling import first_largest
from seqwright.errors import SettingError

BEGIN, END, V = 0, 1, 11


class GRUState(NamedTuple):
    hidden_BD: Tensor
    nothing: None = None


class TinyGRU(nn.Module):
    """A random recurrent language model; `asked` notes how many rows each step was given."""

    def __init__(self, *, end_bias: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.embedding = nn.Embedding(V, 5)
        self.cell = nn.GRUCell(5, 7)
        self.out = nn.Linear(7, V)
        with torch.no_grad():
            self.out.weight.mul_(4)
            self.embedding.weight.mul_(2)
            self.out.bias[END] += end_bias
        self.asked: list[int] = []

    def start(self, source_BD: Tensor) -> GRUState:
        return GRUState(source_BD)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: GRUState) -> tuple[Tensor, GRUState]:
        hidden_BD, logits = state.hidden_BD, []
        for t in range(tokens_BT.shape[1]):
            new_BD = self.cell(self.embedding(tokens_BT[:, t]), hidden_BD)
            hidden_BD = torch.where(real_BT[:, t, None], new_BD, hidden_BD)
            logits.append(self.out(hidden_BD))
        return torch.stack(logits, dim=1), GRUState(hidden_BD)

    def step(self, tokens_B: Tensor, state: GRUState) -> tuple[Tensor, GRUState]:
        self.asked.append(len(tokens_B))
        logits_BTV, state = self.read(tokens_B[:, None], torch.ones(len(tokens_B), 1, dtype=torch.bool), state)
        return logits_BTV[:, 0], state


@pytest.fixture
def model() -> TinyGRU:
    return TinyGRU()


def sources(rows: int) -> Tensor:
    return torch.randn(rows, 7, generator=torch.Generator().manual_seed(rows)) * 2


def begins(rows: int) -> Tensor:
    return torch.full((rows,), BEGIN)


def test_temperature_divides_the_logits() -> None:
    assert with_temperature(torch.tensor([[2.0, -4.0]]), 0.5).tolist() == [[4.0, -8.0]]


def test_top_k_keeps_exactly_k_even_of_equals() -> None:
    kept = only_top_k(torch.tensor([[1.0, 3.0, 3.0, 3.0, 0.0]]), 2)
    assert kept.isfinite().sum() == 2
    assert kept.amax() == 3.0


def test_top_p_keeps_the_fewest_that_reach_p() -> None:
    logits_BV = torch.tensor([[0.1, 0.5, 0.15, 0.25]]).log()
    assert only_top_p(logits_BV, 0.7).isfinite().tolist() == [[False, True, False, True]]
    assert only_top_p(logits_BV, 0.8).isfinite().tolist() == [[False, True, True, True]]
    assert only_top_p(logits_BV, 0.0).isfinite().tolist() == [[False, True, False, False]]
    assert only_top_p(torch.zeros(3, 4), 0.5).isfinite().sum(-1).tolist() == [2, 2, 2]  # two quarters are enough


def test_each_number_falls_on_the_token_whose_share_holds_it() -> None:
    logits_BV = torch.tensor([0.0, 0.25, 0.0, 0.75, 0.0]).log().expand(5, 5)
    number_B = torch.tensor([0.0, 0.2499, 0.2501, 0.9999, 1 - 2**-53], dtype=torch.float64)
    assert drawn(logits_BV, number_B).tolist() == [1, 1, 3, 3, 3]


def test_draws_follow_the_probabilities() -> None:
    class Coin:
        def start(self, batch: None) -> None:
            return None

        def read(self, tokens_BT: Tensor, real_BT: Tensor, state: None) -> tuple[Tensor, None]:
            raise AssertionError

        def step(self, tokens_B: Tensor, state: None) -> tuple[Tensor, None]:
            return torch.tensor([0.05, 0.2, 0.3, 0.45]).log().expand(len(tokens_B), 4), None

    rows = 2000
    generators = row_generators(seed=7, rows=range(rows))
    samples = sample(
        Coin(), None, DecodingRules(0), Sampling(0.5), first_B=begins(rows), steps=1, generators=generators
    )
    counts = Counter(-1 if one.finished else one.tokens[0] for one in samples)
    squares = {token: p**2 for token, p in {-1: 0.05, 1: 0.2, 2: 0.3, 3: 0.45}.items()}
    total = sum(squares.values())
    off = sum((counts[token] - rows * p / total) ** 2 / (rows * p / total) for token, p in squares.items())
    assert off < 16.3  # the 0.999 quantile of chi-squared with 3 degrees of freedom


def test_a_row_is_sampled_the_same_alone_and_in_a_batch(model: TinyGRU) -> None:
    source_BD = sources(5)
    together = sample(
        model,
        model.start(source_BD),
        DecodingRules(END),
        first_B=begins(5),
        steps=13,
        generators=row_generators(1, range(5)),
    )
    for row in (3, 1):
        alone = sample(
            model,
            model.start(source_BD[row : row + 1]),
            DecodingRules(END),
            first_B=begins(1),
            steps=13,
            generators=row_generators(1, [row]),
        )
        assert alone[0].tokens == together[row].tokens
    assert len({tuple(one.tokens) for one in together}) > 1


def test_another_seed_draws_another_text(model: TinyGRU) -> None:
    texts = {
        tuple(
            sample(
                model,
                model.start(sources(1)),
                DecodingRules(END, shortest=13),
                first_B=begins(1),
                steps=13,
                generators=row_generators(seed, [0]),
            )[0].tokens
        )
        for seed in range(5)
    }
    assert len(texts) == 5


@pytest.mark.parametrize("rows", [5])
def test_scoring_what_was_sampled_gives_the_same_log_probabilities(model: TinyGRU, rows: int) -> None:
    state = model.start(sources(rows))
    samples = sample(
        model,
        state,
        DecodingRules(END),
        Sampling(temperature=1.3, top_k=7),
        first_B=begins(rows),
        steps=17,
        generators=row_generators(2, range(rows)),
    )
    assert len({len(one.tokens) for one in samples}) > 1
    wanted = [one.tokens + [END] * one.finished for one in samples]
    longest = max(map(len, wanted))
    target_BT = torch.tensor([tokens + [2] * (longest - len(tokens)) for tokens in wanted])
    real_BT = torch.tensor([[t < len(tokens) for t in range(longest)] for tokens in wanted])
    input_BT = torch.cat([begins(rows)[:, None], target_BT[:, :-1]], dim=1)
    logp_BT = target_log_probability(model, state, input_BT, target_BT, real_BT)
    for row, one in enumerate(samples):
        assert logp_BT[row, : len(one.log_probabilities)].tolist() == pytest.approx(one.log_probabilities, abs=1e-5)
        assert logp_BT[row, len(one.log_probabilities) :].abs().sum() == 0
        assert one.log_probability == pytest.approx(float(logp_BT[row].sum()), abs=1e-4)


def greedy_by_hand(model: TinyGRU, source_D: Tensor, steps: int) -> list[int]:
    """Reads the whole text anew for each token."""
    text = [BEGIN]
    with torch.no_grad():
        while len(text) <= steps and text[-1] != END:
            real_BT = torch.ones(1, len(text), dtype=torch.bool)
            logits_BTV, _ = model.read(torch.tensor([text]), real_BT, model.start(source_D[None]))
            text.append(int(logits_BTV[0, -1].argmax()))
    return [token for token in text[1:] if token != END]


def test_greedy_takes_the_most_probable_token_each_time() -> None:
    model = TinyGRU(end_bias=1.0)
    source_BD = sources(7)
    limit_B = torch.tensor([3, 19, 19, 19, 19, 19, 2])
    found = greedy(model, model.start(source_BD), DecodingRules(END), first_B=begins(7), steps=limit_B)
    assert [one.tokens for one in found] == [
        greedy_by_hand(model, source_BD[row], limit) for row, limit in enumerate(limit_B.tolist())
    ]
    assert {one.finished for one in found} == {True, False}


def test_finished_rows_leave_the_batch() -> None:
    model = TinyGRU(end_bias=1.0)
    limit_B = torch.tensor([3, 5, 19, 7, 19])
    found = greedy(model, model.start(sources(5)), DecodingRules(END), first_B=begins(5), steps=limit_B)
    chosen = [len(one.log_probabilities) for one in found]
    assert len(set(chosen)) > 2
    assert model.asked == [sum(count > t for count in chosen) for t in range(max(chosen))]


@pytest.mark.parametrize("settings", [DecodingSettings(), DecodingSettings(temperature=1.0)])
def test_every_token_is_told_as_it_is_chosen_under_the_number_of_its_row(settings: DecodingSettings) -> None:
    model, told = TinyGRU(end_bias=1.0), dict[int, list[int]]()
    limit_B = torch.tensor([3, 5, 19, 7])
    found = decoded(
        model,
        model.start(sources(4)),
        settings,
        first_B=begins(4),
        end=END,
        steps=limit_B,
        tell=lambda row, token: told.setdefault(row, []).append(token),
    )
    for row, (one,) in enumerate(found):
        assert told[row] == one.tokens + [END] * one.finished


def test_end_waits_for_the_shortest_length_and_the_forbidden_never_come(model: TinyGRU) -> None:
    forbidden = [0, 2, 3]
    found = greedy(
        TinyGRU(end_bias=20.0),
        model.start(sources(3)),
        DecodingRules(END, forbidden, shortest=6),
        first_B=begins(3),
        steps=17,
    )
    for one in found:
        assert one.finished
        assert len(one.tokens) == 6
        assert not set(one.tokens) & {END, *forbidden}


def has_a_repeat(tokens: list[int], size: int) -> bool:
    grams = [tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)]
    return len(set(grams)) < len(grams)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_n_gram_comes_twice(size: int) -> None:
    model = TinyGRU(end_bias=-20.0)
    free = greedy(model, model.start(sources(3)), DecodingRules(END), first_B=begins(3), steps=9)
    assert any(has_a_repeat(one.tokens, size) for one in free)
    found = greedy(model, model.start(sources(3)), DecodingRules(END, no_repeat=size), first_B=begins(3), steps=9)
    assert all(len(one.tokens) == 9 and not has_a_repeat(one.tokens, size) for one in found)


def test_only_what_completes_an_n_gram_of_the_prefix_is_ruled_out() -> None:
    prefix = Prefix(
        torch.tensor([[7, 8, 7, 2], [3, 4, 5, 3], [2, 2, 2, 2]]),
        torch.tensor([[True, True, True, False], [True] * 4, [False] * 4]),
    )
    for size, ruled_out in [(1, [{7, 8}, {3, 4, 5}, set()]), (2, [{8}, {4}, set()]), (5, [set(), set(), set()])]:
        rules = DecodingRules(END, no_repeat=size)
        text_BT = rules.given_text(prefix, begins(3))
        logp_BV = rules.log_probability(torch.zeros(3, V), text_BT, chosen=0)
        assert [set(row.isinf().nonzero().flatten().tolist()) for row in logp_BV] == ruled_out


def test_the_prefix_counts_for_repeats() -> None:
    model = TinyGRU(end_bias=-20.0)
    tokens_BT = torch.tensor([[3, 4, 5, 6], [7, 8, 2, 2]])
    prefix = Prefix(tokens_BT, torch.tensor([[True] * 4, [True, True, False, False]]))
    found = greedy(
        model, model.start(sources(2)), DecodingRules(END, [0], no_repeat=1), first_B=begins(2), steps=5, prefix=prefix
    )
    assert not has_a_repeat([3, 4, 5, 6, *found[0].tokens], 1)
    assert not has_a_repeat([7, 8, *found[1].tokens], 1)
    assert len(found[0].tokens) == 5


def test_a_question_does_not_count_as_said() -> None:
    """Of the second row the last token is what the answer begins with, and counts."""
    tokens_BT, real_BT = torch.tensor([[3, 4, 5], [6, 7, 2]]), torch.tensor([[True] * 3, [True, True, False]])
    prefix = Prefix(tokens_BT, real_BT, torch.tensor([[False] * 3, [False, True, False]]))
    rules = DecodingRules(END, no_repeat=1)
    logp_BV = rules.log_probability(torch.zeros(2, V), rules.given_text(prefix, begins(2)), chosen=0)
    assert [set(row.isinf().nonzero().flatten().tolist()) for row in logp_BV] == [set(), {7}]


def test_a_text_with_nothing_left_to_say_ends_before_its_shortest_length(model: TinyGRU) -> None:
    (one,) = greedy(
        model, model.start(sources(1)), DecodingRules(END, [0], shortest=50, no_repeat=1), first_B=begins(1), steps=99
    )
    assert one.finished
    assert sorted(one.tokens) == list(range(2, V))


def test_prefixes_of_different_length_continue_as_if_alone(model: TinyGRU) -> None:
    source_BD = sources(3)
    tokens_BT = torch.tensor([[3, 4, 5, 6], [7, 2, 2, 2], [2, 2, 2, 2]])
    real_BT = torch.tensor([[True] * 4, [True, False, False, False], [False] * 4])
    together = greedy(
        model, model.start(source_BD), DecodingRules(END), first_B=begins(3), steps=7, prefix=Prefix(tokens_BT, real_BT)
    )
    for row, length in enumerate([4, 1, 0]):
        prefix = Prefix(tokens_BT[row : row + 1, :length], real_BT[row : row + 1, :length])
        state = model.start(source_BD[row : row + 1])
        alone = greedy(model, state, DecodingRules(END), first_B=begins(1), steps=7, prefix=prefix)
        assert alone[0].tokens == together[row].tokens


def test_the_settings_choose_greedy_beam_or_samples(model: TinyGRU) -> None:
    state = model.start(sources(3))

    def by(**settings: Any) -> list[list[list[int]]]:
        rows = decoded(model, state, DecodingSettings(**settings), first_B=begins(3), end=END, steps=9)
        return [[one.tokens for one in row] for row in rows]

    assert by() == [[one.tokens] for one in greedy(model, state, DecodingRules(END), first_B=begins(3), steps=9)]
    wide = beam_search(model, state, DecodingRules(END), first_B=begins(3), width=4, steps=9, n_best=2)
    assert by(beam=4, n_best=2) == [[one.tokens for one in row] for row in wide]
    samples = by(temperature=1.0, n_best=5)
    assert [len(row) for row in samples] == [5, 5, 5]
    assert len({tuple(tokens) for tokens in samples[0]}) > 1
    assert samples == by(temperature=1.0, n_best=5)
    assert samples != by(temperature=1.0, n_best=5, seed=1)


def test_samples_are_seeded_by_the_number_of_the_example(model: TinyGRU) -> None:
    settings, source_BD = DecodingSettings(temperature=1.0, n_best=2), sources(5)
    state = model.start(source_BD)
    every = decoded(model, state, settings, first_B=begins(5), end=END, steps=9)
    state = model.start(source_BD[[4, 2]])
    some = decoded(model, state, settings, first_B=begins(2), end=END, steps=9, rows=[4, 2])
    assert [[one.tokens for one in row] for row in some] == [[one.tokens for one in every[row]] for row in (4, 2)]


def test_the_longest_length_follows_the_source_unless_set() -> None:
    assert DecodingSettings().steps(torch.tensor([3, 20])).tolist() == [16, 50]
    assert DecodingSettings(longest=7).steps(torch.tensor([3, 20])).tolist() == [7, 7]


@pytest.mark.parametrize("temperature", [1e-6, 1e6])
@pytest.mark.parametrize("repetition_penalty", [1e-6, 1.0, 1e6])
def test_the_farthest_settings_still_draw_tokens(model: TinyGRU, temperature: float, repetition_penalty: float) -> None:
    settings = DecodingSettings(temperature=temperature, repetition_penalty=repetition_penalty)
    rows = decoded(model, model.start(sources(5)), settings, first_B=begins(5), end=END, steps=9, forbidden=[1])
    assert all(math.isfinite(one.log_probability) for (one,) in rows)


EXTREME = [{name: value} for name in ("temperature", "repetition_penalty") for value in (1e-7, 1e7, 1e39, math.inf)]


@pytest.mark.parametrize(
    "settings", [{"beam": 3, "temperature": 1.0}, {"n_best": 2}, {"beam": 0}, {"top_p": 0.0}, *EXTREME]
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        DecodingSettings(**settings)


def test_what_cannot_be_sampled_is_refused_in_words(model: TinyGRU) -> None:
    state, first_B = model.start(sources(2)), begins(2)
    with pytest.raises(SettingError, match="1 generators for 2 rows"):
        sample(model, state, DecodingRules(END), first_B=first_B, steps=3, generators=row_generators(0, [0]))
    generators = row_generators(0, [0, 1])
    for temperature in (1e-7, 1e7, math.inf, math.nan):
        with pytest.raises(SettingError, match="give one from 1e-06 to 1e\\+06"):
            with_temperature(torch.zeros(1, 3), temperature)
    with pytest.raises(SettingError, match="temperature is 0"):
        sample(
            model, state, DecodingRules(END), Sampling(temperature=0), first_B=first_B, steps=3, generators=generators
        )
    with pytest.raises(SettingError, match="steps is 0"):
        greedy(model, state, DecodingRules(END), first_B=first_B, steps=0)


def test_a_score_compared_with_no_other_is_the_log_probability(model: TinyGRU) -> None:
    (one,) = greedy(model, model.start(sources(1)), DecodingRules(END), first_B=begins(1), steps=9)
    assert one.score == pytest.approx(one.log_probability)
    assert math.isclose(one.log_probability, sum(one.log_probabilities))


@pytest.mark.parametrize("length", [5, 64, 127, 128, 192, 200])
def test_the_first_of_the_largest_values_is_that_of_argmax(length: int) -> None:
    value_BN = torch.randint(7, (11, length), generator=torch.Generator().manual_seed(1)).float()
    value_BN[3] = -torch.inf
    value_BN[4, -1] = 9.0
    assert torch.equal(first_largest(value_BN), value_BN.argmax(-1))
