"""Each score against its equation in NumPy, and what alignment makes of scores: weights, windows, heads.

B batch · T target · S source · Q query width · D memory width · A inner width · H heads
"""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seqwright.layers.alignment import (
    Alignment,
    Everywhere,
    Focus,
    MonotonicWindow,
    PredictiveWindow,
    QueryKeyValue,
    Whole,
)
from seqwright.layers.scores import (
    AdditiveScore,
    AlignmentScore,
    BilinearScore,
    DotScore,
    MLPScore,
    TanhScore,
    score_named,
)
from seqwright.layers.taps import listen

B, T, S, Q, D, A = 3, 4, 7, 5, 6, 11
LENGTH_B = torch.tensor([7, 3, 5])
REAL_BS = torch.arange(S) < LENGTH_B[:, None]
POSITION_BT = torch.arange(T).expand(B, T)


def some(*shape: int, seed: int = 2) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def close(found: Any, wanted: Any, by: float = 1e-12) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=0, atol=by)


def array(linear: Any) -> np.ndarray[Any, Any]:
    return np.asarray(linear.weight.detach().numpy())


def dot(score: AlignmentScore, h: Any, s: Any) -> Any:
    return h @ s


def bilinear(score: Any, h: Any, s: Any) -> Any:
    return h @ array(score.weight).T @ s


def additive(score: Any, h: Any, s: Any) -> Any:
    whole = np.concatenate((array(score.of_memory), array(score.of_query)), axis=1)
    return array(score.vector)[0] @ np.tanh(whole @ np.concatenate((h, s)))


def mlp(score: Any, h: Any, s: Any) -> Any:
    first = np.concatenate((array(score.of_memory), array(score.of_query)), axis=1)
    hidden = np.maximum(0, first @ np.concatenate((h, s)) + score.of_memory.bias.detach().numpy())
    hidden = np.maximum(0, array(score.second) @ hidden + score.second.bias.detach().numpy())
    return array(score.vector)[0] @ hidden


def single(score: Any, h: Any, s: Any) -> Any:
    row = np.concatenate((array(score.of_memory)[0], array(score.of_query)[0]))
    return np.tanh(row @ np.concatenate((h, s)))


SCORES: list[Any] = [
    (DotScore, {}, D, dot),
    (BilinearScore, {}, Q, bilinear),
    (AdditiveScore, {"inner": A}, Q, additive),
    (MLPScore, {"inner": A}, Q, mlp),
    (TanhScore, {}, Q, single),
]


@pytest.mark.parametrize(("kind", "extra", "query", "equation"), SCORES, ids=[row[0].__name__ for row in SCORES])
@pytest.mark.parametrize("heads", [0, 2])
def test_a_score_is_its_equation(kind: Any, extra: dict[str, int], query: int, equation: Any, heads: int) -> None:
    torch.manual_seed(1)
    score = kind(query=query, memory=D, **extra).double()
    between = (heads,) if heads else ()
    s, h = some(B, *between, T, query), some(B, *between, S, D, seed=3)
    found = score.score(s, score.prepare(h)).detach().numpy()
    assert found.shape == (B, *between, T, S)
    for place in np.ndindex(found.shape):
        *before, t, i = place
        close(found[place], equation(score, h[tuple(before)][i].numpy(), s[tuple(before)][t].numpy()))
    close(score(s, h).detach(), found)


def test_a_name_gives_the_score_of_that_name() -> None:
    named: dict[Any, type[AlignmentScore]] = {
        "dot": DotScore,
        "bilinear": BilinearScore,
        "additive": AdditiveScore,
        "mlp": MLPScore,
        "tanh": TanhScore,
    }
    assert [type(score_named(name, query=D, memory=D, inner=A)) for name in named] == list(named.values())
    with pytest.raises(ValueError, match="a query as wide as the memory, not 5 and 6"):
        score_named("dot", query=Q, memory=D, inner=A)


# ------------------------------------------------------------------------------------------------ alignment


def aligned(focus: Focus, heads: int = 0) -> Alignment:
    torch.manual_seed(1)
    form: Whole | QueryKeyValue = Whole(query=Q, memory=D)
    if heads:
        form = QueryKeyValue(query=Q, memory=D, width=A - 1, heads=heads)
    score = AdditiveScore(query=form.query_width, memory=form.key_width, inner=A)
    return Alignment(score, form, focus).double()


def softmax(x: Any) -> Any:
    x = np.exp(x - x.max())
    return x / x.sum()


@pytest.mark.parametrize(
    "focus",
    [Everywhere(), MonotonicWindow(1), PredictiveWindow(query=Q, window=1)],
    ids=["global", "local-m", "local-p"],
)
@pytest.mark.parametrize("heads", [0, 2])
@torch.no_grad()
def test_weights_sum_to_one_and_ignore_padding(focus: Focus, heads: int) -> None:
    alignment, query_BTQ, memory_BSD = aligned(focus, heads), some(B, T, Q), some(B, S, D, seed=3)
    context_BTC, weight_BHTS = alignment(query_BTQ, alignment.remember(memory_BSD, REAL_BS), POSITION_BT)
    close(weight_BHTS.sum(-1), np.ones((B, max(heads, 1), T)))
    assert not bool(weight_BHTS[(~REAL_BS)[:, None, None].expand_as(weight_BHTS)].any())
    rubbish_BSD = memory_BSD.where(REAL_BS.unsqueeze(-1), torch.tensor(1e3, dtype=torch.float64))
    again_BTC, _ = alignment(query_BTQ, alignment.remember(rubbish_BSD, REAL_BS), POSITION_BT)
    close(again_BTC, context_BTC)


@torch.no_grad()
def test_global_attention_is_the_mean_of_the_memory_under_its_weights() -> None:
    alignment, query_BTQ, memory_BSD = aligned(Everywhere()), some(B, T, Q), some(B, S, D, seed=3)
    with listen(alignment) as heard:
        context_BTC, _ = alignment(query_BTQ, alignment.remember(memory_BSD, REAL_BS), POSITION_BT)
    for b, length in enumerate(LENGTH_B.tolist()):
        for t in range(T):
            h, s = memory_BSD[b, :length].numpy(), query_BTQ[b, t].numpy()
            weights = softmax(np.array([additive(alignment.score, one, s) for one in h]))
            close(heard["weights"][0][b, 0, t, :length], weights)
            close(context_BTC[b, t], weights @ h)


@torch.no_grad()
def test_every_head_has_queries_keys_and_values_of_its_own() -> None:
    alignment, query_BTQ, memory_BSD = aligned(Everywhere(), heads=2), some(B, T, Q), some(B, S, D, seed=3)
    context_BTC, weight_BHTS = alignment(query_BTQ, alignment.remember(memory_BSD, REAL_BS), POSITION_BT)
    form: Any = alignment.form
    both, wide = array(form.key_value), 5
    for b, length in enumerate(LENGTH_B.tolist()):
        h = memory_BSD[b, :length].numpy()
        for head in range(2):
            q = query_BTQ[b].numpy() @ array(form.query)[head * wide : (head + 1) * wide].T
            k, v = (h @ both[first : first + wide].T for first in (head * 2 * wide, (head * 2 + 1) * wide))
            weights = np.stack([softmax(np.array([additive(alignment.score, k_s, q_t) for k_s in k])) for q_t in q])
            close(weight_BHTS[b, head, :, :length], weights)
            close(context_BTC[b, :, head * wide : (head + 1) * wide], weights @ v)


@torch.no_grad()
def test_a_monotonic_window_moves_on_with_each_word_and_stays_at_the_end() -> None:
    alignment, query_BTQ, memory_BSD = aligned(MonotonicWindow(1)), some(B, T, Q), some(B, S, D, seed=3)
    source = alignment.remember(memory_BSD, REAL_BS)
    _, weight_BHTS = alignment(query_BTQ, source, POSITION_BT + torch.tensor([[0], [0], [2]]))
    windows = [
        [(weight_S > 0).nonzero().flatten().tolist() for weight_S in weight_HTS[0]] for weight_HTS in weight_BHTS
    ]
    assert windows[0] == [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert windows[1] == [[0, 1], [0, 1, 2], [1, 2], [1, 2]]
    assert windows[2] == [[1, 2, 3], [2, 3, 4], [3, 4], [3, 4]]


@torch.no_grad()
def test_a_predictive_window_is_a_gaussian_around_the_place_it_chose() -> None:
    focus = PredictiveWindow(query=Q, window=2)
    alignment, query_BTQ, memory_BSD = aligned(focus), some(B, T, Q), some(B, S, D, seed=3)
    _, weight_BHTS = alignment(query_BTQ, alignment.remember(memory_BSD, REAL_BS), POSITION_BT)
    places = []
    for b, length in enumerate(LENGTH_B.tolist()):
        for t in range(T):
            s = query_BTQ[b, t].numpy()
            inner = array(focus.vector)[0] @ np.tanh(array(focus.hidden) @ s)
            p = length / (1 + np.exp(-inner))
            h = memory_BSD[b, :length].numpy()
            inside = [i for i in range(length) if abs(i - p) <= 2]
            weights = np.zeros(S)
            plain = softmax(np.array([additive(alignment.score, h[i], s) for i in inside]))
            bell = np.array([np.exp(-((i - p) ** 2) / (2 * 1.0**2)) for i in inside])
            weights[inside] = plain * bell / (plain * bell).sum()
            close(weight_BHTS[b, 0, t], weights, by=1e-6)
            places.append(p)
    assert len(set(places)) == B * T


def test_heads_must_share_the_width() -> None:
    with pytest.raises(ValueError, match="width 10 does not divide into 3 heads"):
        QueryKeyValue(query=Q, memory=D, width=10, heads=3)
