import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from torch import Tensor

from seqwright.batches import InMemory
from seqwright.batches.text import StreamBatches, Text, texts
from seqwright.models.ngram import Ngram, NgramSettings, OrderStorage
from seqwright.training.weights import load_tensors, unique_tensors

V = 11
SMOOTHINGS = ["maximum-likelihood", "add-k", "stupid-backoff", "kneser-ney", "modified-kneser-ney"]


def rows_of(seed: int, rows: int = 23) -> list[NDArray[np.int64]]:
    draw = np.random.default_rng(seed)
    return [draw.integers(4, V, draw.integers(0, 9)) for _ in range(rows)]


def counted(batches: list[Text], smoothing: str = "modified-kneser-ney", order: int = 3) -> Ngram:
    model = Ngram(NgramSettings.model_validate({"order": order, "smoothing": smoothing}), vocabulary=V)
    for batch in batches:
        model.observe(batch)
    model.conclude()
    return model


def as_texts(rows: list[NDArray[np.int64]]) -> Text:
    return texts(rows, begin=2, end=3)


def same(one: Ngram, other: Ngram) -> bool:
    """To the bit."""
    mine, theirs = one.state_dict(), other.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_batching_padding_and_the_order_of_the_rows_change_nothing(smoothing: str) -> None:
    rows = rows_of(1)
    whole = counted([as_texts(rows)], smoothing)
    alone = counted([as_texts([row]) for row in rows], smoothing)
    shuffled = [rows[i] for i in np.random.default_rng(2).permutation(len(rows))]
    batches = [as_texts(shuffled[:5]), as_texts(shuffled[5:12]), as_texts(shuffled[12:])]
    for i, batch in enumerate(batches):  # more padding, with tokens in it
        rubbish_BT = torch.full((len(batch), 3), 7)
        input_BT, target_BT = (torch.cat((tensor, rubbish_BT), dim=1) for tensor in (batch.input_BT, batch.target_BT))
        real_BT = torch.cat((batch.real_BT, rubbish_BT < 0), dim=1)
        batches[i] = batch.replace(input_BT=input_BT, target_BT=target_BT, real_BT=real_BT)
    assert same(whole, alone)
    assert same(whole, counted(batches, smoothing))
    assert not same(whole, counted([as_texts(rows[1:])], smoothing))


@pytest.mark.parametrize("segment", [1, 2, 5])
def test_n_grams_go_on_over_the_border_of_batches(segment: int) -> None:
    rows = rows_of(3)
    joined = np.concatenate([[2], *(np.append(row, 3) for row in rows)])
    pair = torch.from_numpy(joined).unsqueeze(0)
    whole = Text(pair[:, :-1], pair[:, 1:], torch.ones_like(pair[:, 1:], dtype=torch.bool))
    stream = StreamBatches(InMemory(rows), streams=1, segment=segment, begin=2, end=3)
    batches = list(stream.once())
    assert same(counted([whole]), counted(batches))

    carried, carry = [], None
    model = counted([whole])
    for batch in batches:
        logp_BT, carry = model.log_probability(batch, carry)
        carried.append(logp_BT)
    torch.testing.assert_close(torch.cat(carried, dim=1), model.log_probability(whole)[0])


def test_several_streams_go_on_each_by_itself() -> None:
    """A row that ends early is padding from then on, and a fresh row begins anew."""

    def batch(given: list[list[int]], wanted: list[list[int]], real: list[list[int]], fresh: list[bool]) -> Text:
        return Text(torch.tensor(given), torch.tensor(wanted), torch.tensor(real) > 0, fresh_B=torch.tensor(fresh))

    first = batch([[2, 4, 5], [2, 7, 8]], [[4, 5, 6], [7, 8, 9]], [[1, 1, 1], [1, 1, 1]], [True, True])
    second = batch([[6, 4, 5], [9, 0, 0]], [[4, 5, 3], [3, 0, 0]], [[1, 1, 1], [1, 0, 0]], [False, False])
    third = batch([[2, 9, 9], [0, 0, 0]], [[9, 9, 3], [0, 0, 0]], [[1, 1, 1], [0, 0, 0]], [True, False])
    rows = [np.array([4, 5, 6, 4, 5]), np.array([7, 8, 9]), np.array([9, 9])]
    assert same(counted([first, second, third]), counted([as_texts(rows)]))

    model, carry, found = counted([as_texts(rows)]), None, 0.0
    for one in (first, second, third):
        logp_BT, carry = model.log_probability(one, carry)
        found += float(logp_BT.sum())
    assert found == pytest.approx(float(model.log_probability(as_texts(rows))[0].sum()), abs=1e-5)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_a_fresh_row_knows_nothing_of_what_was_before_it(smoothing: str) -> None:
    rows = rows_of(3)
    model, row = counted([as_texts(rows)], smoothing), max(rows, key=len)
    _, carry = model.log_probability(as_texts([row[:3], row[:3]]))
    rest_BT = torch.from_numpy(np.stack([row[3:], row[3:]]))  # without BEGIN, which lets no row know what was before
    input_BT, target_BT = rest_BT[:, :-1], rest_BT[:, 1:]
    batch = Text(input_BT, target_BT, torch.ones_like(input_BT, dtype=torch.bool), fresh_B=torch.tensor([True, False]))
    anew, on = (model.log_probability(batch, state)[0] for state in (None, carry))
    assert torch.equal(anew[0], on[0])
    assert not torch.equal(anew[1], on[1])
    anew, on = (model(batch, state)[0] for state in (None, carry))
    assert torch.equal(anew[0], on[0])
    assert not torch.equal(anew[1], on[1])


def test_the_edge_of_a_text_without_begin_is_a_token_before_it() -> None:
    """`5 6` is preceded by 4 and, in the second row, by nothing: two kinds, as if BEGIN stood there."""

    def stretch(tokens: list[int]) -> Text:
        row = torch.tensor([tokens])
        return Text(row[:, :-1], row[:, 1:], torch.ones_like(row[:, 1:], dtype=torch.bool))

    model = counted([stretch([4, 5, 6, 7]), stretch([5, 6, 8])], "kneser-ney")
    # Bigrams: 4 5 before which nothing stands, 5 6 after two kinds, 6 7 and 6 8 after one: n1 = 3, n2 = 1, D = 3/5.
    assert model.discount_N3[1].tolist() == pytest.approx([0.6] * 3)


def test_begin_starts_a_text_wherever_it_stands() -> None:
    rows = rows_of(4, rows=7)
    joined = torch.from_numpy(np.concatenate([np.concatenate(([2], row, [3])) for row in rows])).unsqueeze(0)
    real_BT = torch.ones_like(joined[:, 1:], dtype=torch.bool)
    together = Text(joined[:, :-1], joined[:, 1:], real_BT)
    model = counted([as_texts(rows)])
    assert same(model, counted([together]))
    logp_BT, _ = model.log_probability(together)
    begins_BT = together.target_BT == 2
    assert logp_BT[begins_BT].tolist() == [-math.inf] * 6  # which is never foretold
    apart = model.log_probability(as_texts(rows))[0].sum()
    assert float(logp_BT[~begins_BT].sum()) == pytest.approx(float(apart), abs=1e-4)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_another_model_that_loads_it_knows_the_same_bits(smoothing: str) -> None:
    model, other = counted([as_texts(rows_of(5))], smoothing), counted([as_texts(rows_of(6, rows=3))], smoothing)
    fresh = Ngram(model.settings, vocabulary=V)
    for loaded in (other, fresh):
        assert not same(model, loaded)
        loaded.load_state_dict(model.state_dict())
        assert same(model, loaded)
    with pytest.raises(RuntimeError, match="size mismatch for base_V"):
        Ngram(model.settings, vocabulary=V + 1).load_state_dict(model.state_dict())


def test_before_anything_is_counted_all_tokens_are_equally_likely() -> None:
    untaught = Ngram(NgramSettings(order=3), vocabulary=V)
    nothing = counted([])
    for model in (untaught, nothing):
        logits_BTV, _ = model(as_texts(rows_of(1, rows=3)))
        target_V: Tensor = torch.full((V,), 1 / (V - 2)).index_fill(0, torch.tensor([0, 2]), 0.0)
        torch.testing.assert_close(logits_BTV.exp(), target_V.expand_as(logits_BTV))


def test_logits_are_finite_even_where_the_probability_is_0() -> None:
    model = counted([as_texts(rows_of(7, rows=3))], "maximum-likelihood")
    batch = as_texts(rows_of(8))
    logits_BTV, _ = model(batch)
    assert bool(logits_BTV.isfinite().all())
    assert bool((model.log_probability(batch)[0] == -math.inf).any())


def test_rows_that_are_all_padding_are_left_alone() -> None:
    model = counted([as_texts(rows_of(1))])
    tokens_BT = torch.tensor([[2, 5, 6], [2, 7, 8]])
    _, state = model.read(tokens_BT, torch.ones_like(tokens_BT, dtype=torch.bool), model.start(as_texts(rows_of(1, 2))))
    _, after = model.read(tokens_BT, torch.tensor([[True, False, False], [False, False, False]]), state)
    assert after.tokens_BC.tolist() == [[6, 2], [7, 8]]
    assert after.known_B.tolist() == [2, 2]


def test_storage_is_told_for_each_order() -> None:
    model = counted([as_texts([np.array([4, 5, 4, 5]), np.array([4])])])
    # <s>4 45 54 5</s> 4</s>;  <s>45 454 545 45</s> <s>4</s>
    # Each token has a probability and a weight, each bigram also a key, each trigram a key and a probability.
    assert model.storage() == [
        OrderStorage(1, V - 2, V * 8 + (V + 1) * 8, 0, V),
        OrderStorage(2, 5, 5 * 16 + 6 * 8, 0, V**2),
        OrderStorage(3, 5, 5 * 16, 0, V**3),
    ]


def test_pruning_leaves_out_what_occurs_too_seldom() -> None:
    rows = [np.array([4, 5, 6])] * 2 + [np.array([4, 5, 7]), np.array([7])]
    model = Ngram(NgramSettings(order=3, prune=(0, 1, 2)), vocabulary=V)
    model.observe(as_texts(rows))
    model.conclude()
    # Bigrams seen twice: <s> 4, 4 5, 5 6, 6 </s>, 7 </s>; trigrams seen three times: <s> 4 5.
    # Of seven bigrams and six trigrams: also 5 7, <s> 7;  4 5 6, 5 6 </s>, 4 5 7, 5 7 </s>, <s> 7 </s>.
    assert [(storage.ngrams, storage.pruned) for storage in model.storage()] == [(V - 2, 0), (5, 2), (1, 5)]
    again = Ngram(model.settings, vocabulary=V)
    load_tensors(again, unique_tensors(model))
    assert again.storage() == model.storage()
    assert model.table(2).key_G.tolist() == [2 * V + 4, 4 * V + 5, 5 * V + 6, 6 * V + 3, 7 * V + 3]
    assert model.table(3).key_G.tolist() == [0 * V + 5]


def test_counting_again_begins_anew() -> None:
    model = counted([as_texts(rows_of(5))])
    model.observe(as_texts(rows_of(6)))
    model.conclude()
    assert same(model, counted([as_texts(rows_of(6))]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": 0},
        {"order": 7},
        {"smoothing": "laplace"},
        {"added": 0},
        {"factor": 0},
        {"fallback": (1.5, 1, 1.5)},
        {"prune": (1, 0)},
        {"prune": (-1,)},
        {"prune": (0,) * 7},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NgramSettings.model_validate(wrong)
