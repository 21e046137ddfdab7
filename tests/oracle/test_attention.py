"""Attention against torch's own module, against the lectures' worked numbers, and its two ways against each other.

B batch · T query positions · S memory positions · D width · H heads
"""

import math
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor, nn

from seqwright.layers.attention import Attention
from seqwright.layers.taps import listen

B, T, S, D, H = 3, 5, 7, 12, 4


def an_attention() -> Attention:
    torch.manual_seed(1)
    return Attention(width=D, heads=H)


def the_same_in_torch(ours: Attention) -> nn.MultiheadAttention:
    theirs = nn.MultiheadAttention(D, H, bias=False, batch_first=True)
    with torch.no_grad():
        assert theirs.in_proj_weight is not None
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key_value.weight]))
        theirs.out_proj.weight.copy_(ours.output.weight)
    return theirs


def inputs() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(2)
    return torch.randn(B, T, D, generator=draw), torch.randn(B, S, D, generator=draw)


def some_allowed() -> Tensor:
    """At random, but every query may read something."""
    allowed_BTS = torch.rand(B, T, S, generator=torch.Generator().manual_seed(3)) < 0.5
    allowed_BTS[..., 2] = True
    return allowed_BTS


def real_source() -> Tensor:
    """The same for every query: a source of 7, of 4 and of 1 words."""
    return (torch.arange(S) < torch.tensor([7, 4, 1])[:, None]).unsqueeze(1)


@pytest.mark.parametrize("allowed_BTS", [None, some_allowed(), real_source()], ids=["all", "some", "source"])
def test_it_reads_what_torchs_own_module_reads(allowed_BTS: Tensor | None) -> None:
    ours = an_attention()
    theirs, (x_BTD, memory_BSD) = the_same_in_torch(ours), inputs()
    hidden = None if allowed_BTS is None else ~allowed_BTS.expand(B, T, S).repeat_interleave(H, dim=0)
    target_BTD, target_BHTS = theirs(
        x_BTD, memory_BSD, memory_BSD, attn_mask=hidden, need_weights=True, average_attn_weights=False
    )
    torch.testing.assert_close(ours(x_BTD, memory_BSD, allowed_BTS), target_BTD, rtol=0, atol=1e-5)
    with listen(ours) as heard:
        listened_BTD = ours(x_BTD, memory_BSD, allowed_BTS)
    torch.testing.assert_close(listened_BTD, target_BTD, rtol=0, atol=1e-5)
    torch.testing.assert_close(heard["weights"][0], target_BHTS, rtol=0, atol=1e-5)


def test_its_gradients_are_those_of_torchs_own_module() -> None:
    ours = an_attention()
    theirs, (x_BTD, memory_BSD) = the_same_in_torch(ours), inputs()
    allowed_BTS = some_allowed()
    weight_BTD = torch.randn(B, T, D, generator=torch.Generator().manual_seed(5))
    (ours(x_BTD, memory_BSD, allowed_BTS) * weight_BTD).sum().backward()
    hidden = ~allowed_BTS.repeat_interleave(H, dim=0)
    (theirs(x_BTD, memory_BSD, memory_BSD, attn_mask=hidden, need_weights=False)[0] * weight_BTD).sum().backward()
    assert theirs.in_proj_weight is not None
    assert ours.query.weight.grad is not None
    assert ours.key_value.weight.grad is not None
    together = torch.cat([ours.query.weight.grad, ours.key_value.weight.grad])
    torch.testing.assert_close(together, theirs.in_proj_weight.grad, rtol=0, atol=2e-5)
    torch.testing.assert_close(ours.output.weight.grad, theirs.out_proj.weight.grad, rtol=0, atol=2e-5)


def test_it_is_the_papers_formula_in_double_precision() -> None:
    """Written out head by head, in numbers of twice the length."""
    ours = an_attention()
    x_BTD, memory_BSD = inputs()
    query, key_value, output = (m.weight.double() for m in (ours.query, ours.key_value, ours.output))
    K = D // H
    heads = []
    for h in range(H):
        rows = slice(h * K, (h + 1) * K)
        q_BTK = x_BTD.double() @ query[rows].T
        k_BSK = memory_BSD.double() @ key_value[:D][rows].T
        v_BSK = memory_BSD.double() @ key_value[D:][rows].T
        heads.append((q_BTK @ k_BSK.transpose(1, 2) / math.sqrt(K)).softmax(-1) @ v_BSK)
    target_BTD = torch.cat(heads, dim=-1) @ output.T
    torch.testing.assert_close(ours(x_BTD, memory_BSD).double(), target_BTD, rtol=0, atol=1e-5)


def test_the_lectures_scores_of_112_and_96_become_weights_of_088_and_012() -> None:
    """q·k = 112 and 96; divided by √64 = 8 they are 14 and 12; their softmax is 0.88 and 0.12."""
    attention = Attention(width=64, heads=1)
    with torch.no_grad():
        attention.query.weight.copy_(torch.eye(64))
        attention.key_value.weight.copy_(torch.cat([torch.eye(64), torch.eye(64)]))
    q_11D = torch.ones(1, 1, 64)
    k_12D = torch.stack([torch.full((64,), 112 / 64), torch.full((64,), 96 / 64)]).unsqueeze(0)
    assert (q_11D @ k_12D.transpose(1, 2)).flatten().tolist() == [112, 96]
    with listen(attention) as heard:
        attention(q_11D, k_12D)
    weights = heard["weights"][0].flatten().tolist()
    assert [round(weight, 2) for weight in weights] == [0.88, 0.12]
    assert weights[0] == pytest.approx(1 / (1 + math.exp(-2)), abs=1e-6)


def test_a_query_that_may_read_nothing_reads_nothing_and_harms_no_other() -> None:
    """As a position of padding before the first word does; whether somebody listens or not."""
    attention = an_attention()
    x_BTD, memory_BSD = inputs()
    allowed_BTS = some_allowed()
    allowed_BTS[1, 3] = False
    target_BTD = attention(x_BTD, memory_BSD, allowed_BTS)
    assert not bool(target_BTD[1, 3].any())
    with listen(attention):
        listened_BTD = attention(x_BTD, memory_BSD, allowed_BTS)
    torch.testing.assert_close(listened_BTD, target_BTD, rtol=0, atol=1e-5)


def test_remembering_first_is_the_same_as_reading_at_once() -> None:
    attention = an_attention()
    x_BTD, memory_BSD = inputs()
    early, late = attention.remember(memory_BSD[:, :3]), attention.remember(memory_BSD[:, 3:])
    found_BTD = attention.recall(x_BTD, early.extended(late), some_allowed())
    torch.testing.assert_close(found_BTD, attention(x_BTD, memory_BSD, some_allowed()), rtol=0, atol=1e-6)


@pytest.mark.parametrize("listening", [False, True])
def test_bfloat16_is_close_to_float32(listening: bool) -> None:
    attention = an_attention()
    x_BTD, memory_BSD = inputs()
    target_BTD = attention(x_BTD, memory_BSD, some_allowed())
    with torch.autocast("cpu", torch.bfloat16):
        if listening:
            with listen(attention):
                found_BTD = attention(x_BTD, memory_BSD, some_allowed())
        else:
            found_BTD = attention(x_BTD, memory_BSD, some_allowed())
    assert found_BTD.dtype is torch.bfloat16
    torch.testing.assert_close(found_BTD.float(), target_BTD, rtol=0.03, atol=0.02)
    found_BTD.float().sum().backward()
    assert attention.query.weight.grad is not None
    assert bool(attention.query.weight.grad.isfinite().all())


def test_a_width_that_the_heads_cannot_share_is_refused() -> None:
    with pytest.raises(ValueError, match="width 12 does not divide into 5 heads"):
        Attention(width=12, heads=5)


@pytest.mark.parametrize("listening", [False, True])
def test_in_training_weights_are_dropped_and_what_is_left_is_raised(listening: bool) -> None:
    torch.manual_seed(2)
    attention, x_1TD = Attention(width=6, heads=2, dropout=0.4), torch.randn(1, 5, 6)
    rows_BTD = x_1TD.expand(5000, -1, -1)
    with torch.no_grad(), listen(attention) if listening else nullcontext():
        kept_BTD, dropped_BTD = attention.eval()(rows_BTD, rows_BTD), attention.train()(rows_BTD, rows_BTD)
    assert (dropped_BTD - kept_BTD).std(0).min() > 0.01  # each row lost other weights
    torch.testing.assert_close(dropped_BTD.mean(0), kept_BTD[0], atol=0.02, rtol=0)
