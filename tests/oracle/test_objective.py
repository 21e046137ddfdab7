"""The next-token loss against torch's own cross-entropy, value and gradient.

B batch · T time · V vocabulary
"""

from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.objectives.next_token import NextToken, NextTokenSettings, SmoothedCrossEntropy
from seqwright.objectives.objective import Loss, LossPart

B, T, V = 3, 7, 11
SMOOTHING = pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])


def case(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(1)
    logits_BTV = (3 * torch.randn(B, T, V, generator=draw, dtype=torch.float64)).to(dtype).requires_grad_()
    target_BT = torch.randint(V, (B, T), generator=draw)
    return logits_BTV, target_BT, torch.arange(T) < torch.tensor([7, 4, 1])[:, None]


def ours(logits_BTV: Tensor, target_BT: Tensor, real_BT: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    smoothed, plain = SmoothedCrossEntropy.apply(logits_BTV, target_BT, real_BT, smoothing)
    return smoothed, plain


def torchs(logits_BTV: Tensor, target_BT: Tensor, real_BT: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(logits_BTV[real_BT], target_BT[real_BT], label_smoothing=smoothing, reduction="sum")


def gradient(loss: Tensor, logits_BTV: Tensor) -> Tensor:
    (found_BTV,) = torch.autograd.grad(loss, logits_BTV)
    return found_BTV


@SMOOTHING
def test_it_is_torchs_cross_entropy(smoothing: float) -> None:
    logits_BTV, target_BT, real_BT = case(torch.float32)
    smoothed, plain = ours(logits_BTV, target_BT, real_BT, smoothing)
    torch.testing.assert_close(smoothed, torchs(logits_BTV, target_BT, real_BT, smoothing), rtol=1e-5, atol=0)
    torch.testing.assert_close(plain, torchs(logits_BTV, target_BT, real_BT, 0.0), rtol=1e-5, atol=0)


@SMOOTHING
@pytest.mark.parametrize(("dtype", "by"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
def test_its_gradient_is_torchs(smoothing: float, dtype: torch.dtype, by: float) -> None:
    logits_BTV, target_BT, real_BT = case(dtype)
    found_BTV = gradient(5 * ours(logits_BTV, target_BT, real_BT, smoothing)[0], logits_BTV)
    target_BTV = gradient(5 * torchs(logits_BTV, target_BT, real_BT, smoothing), logits_BTV)
    assert found_BTV.dtype is dtype
    torch.testing.assert_close(found_BTV, target_BTV, rtol=0, atol=5 * by)


@SMOOTHING
def test_in_bfloat16_it_is_as_near_as_bfloat16_allows(smoothing: float) -> None:
    logits_BTV, target_BT, real_BT = case(torch.bfloat16)
    smoothed, plain = ours(logits_BTV, target_BT, real_BT, smoothing)
    exact_BTV = logits_BTV.detach().double().requires_grad_()
    exact = torchs(exact_BTV, target_BT, real_BT, smoothing)
    assert smoothed.dtype is plain.dtype is torch.float32
    torch.testing.assert_close(smoothed.double(), exact, rtol=0.005, atol=0)
    found_BTV = gradient(smoothed, logits_BTV)
    torch.testing.assert_close(found_BTV.double(), gradient(exact, exact_BTV), rtol=0.02, atol=0.004)


@SMOOTHING
def test_its_gradient_is_the_slope_of_its_value(smoothing: float) -> None:
    """Sums are kept in float32, so the steps of the comparison are large and the tolerance is too."""
    logits_BTV, target_BT, real_BT = case(torch.float64)

    def value(logits_BTV: Tensor) -> Tensor:
        return ours(logits_BTV, target_BT, real_BT, smoothing)[0].double()

    assert torch.autograd.gradcheck(value, (logits_BTV,), eps=1e-2, atol=2e-3, rtol=1e-2)


def test_the_padding_counts_for_nothing() -> None:
    logits_BTV, target_BT, real_BT = case(torch.float32)
    smoothed, plain = ours(logits_BTV, target_BT, real_BT, 0.1)
    assert not bool(gradient(smoothed, logits_BTV)[~real_BT].any())
    with torch.no_grad():
        rubbish_BTV = logits_BTV.masked_fill(~real_BT.unsqueeze(-1), 1e4)
        rubbish_BT = target_BT.masked_fill(~real_BT, 0)
        again, plain_again = ours(rubbish_BTV, rubbish_BT, real_BT, 0.1)
    assert torch.equal(again, smoothed)
    assert torch.equal(plain_again, plain)


class Batch(NamedTuple):
    logits_BTV: Tensor
    target_BT: Tensor
    real_BT: Tensor


class Telling(nn.Module):
    """Says what the batch tells it to say, and hands the carry on."""

    def forward(self, batch: Batch, carry: str) -> tuple[Tensor, str]:
        return batch.logits_BTV, carry + " on"


def test_the_objective_sums_over_the_real_tokens_and_learns_from_the_smoothed_part_only() -> None:
    batch = Batch(*case(torch.float32))
    objective = NextToken(NextTokenSettings(label_smoothing=0.2))
    loss, carry = objective(Telling(), batch, "carried")
    assert carry == "carried on"
    assert objective.counts(batch) == {"loss": 12, "smoothed": 12}
    assert {name: (part.over, part.weight) for name, part in loss.parts.items()} == {
        "loss": (12, 0.0),
        "smoothed": (12, 1.0),
    }
    assert next(iter(loss.parts)) == "loss", "the first part is the one that progress shows"
    real = batch.logits_BTV[batch.real_BT], batch.target_BT[batch.real_BT]
    torch.testing.assert_close(loss.parts["loss"].sum, F.cross_entropy(*real, reduction="sum"))
    torch.testing.assert_close(loss.total(objective.counts(batch)), F.cross_entropy(*real, label_smoothing=0.2))


def test_without_smoothing_the_plain_loss_is_the_only_part_and_is_learnt_from() -> None:
    batch = Batch(*case(torch.float32))
    objective = NextToken(NextTokenSettings(label_smoothing=0.0))
    loss, _ = objective(Telling(), batch, "carried")
    assert objective.counts(batch) == {"loss": 12}
    assert {name: (part.over, part.weight) for name, part in loss.parts.items()} == {"loss": (12, 1.0)}
    total = loss.total(objective.counts(batch))
    torch.testing.assert_close(total, F.cross_entropy(batch.logits_BTV[batch.real_BT], batch.target_BT[batch.real_BT]))
    assert total.requires_grad


def test_only_the_last_tokens_of_each_row_are_learnt_from() -> None:
    batch = Batch(*case(torch.float32))
    objective = NextToken(NextTokenSettings(label_smoothing=0.1, last=2))
    loss, _ = objective(Telling(), batch, "carried")
    last_BT = torch.zeros(B, T, dtype=torch.bool)
    last_BT[0, 5:7] = last_BT[1, 2:4] = last_BT[2, 0] = True  # the rows have 7, 4 and 1 real tokens
    assert objective.counts(batch) == {"loss": 5, "smoothed": 5}
    wanted = F.cross_entropy(batch.logits_BTV[last_BT], batch.target_BT[last_BT], label_smoothing=0.1)
    total = loss.total(objective.counts(batch))
    torch.testing.assert_close(total, wanted)
    reached_BT = gradient(total, batch.logits_BTV).abs().sum(-1) > 0
    assert torch.equal(reached_BT, last_BT)


def test_the_total_is_the_weighted_sum_of_the_means() -> None:
    """3·(6/4) + 0.5·(10/5) = 5.5: the counts are those of the whole update, not of this batch."""
    loss = Loss({"a": LossPart(torch.tensor(6.0), 2, 3.0), "b": LossPart(torch.tensor(10.0), 1, 0.5)})
    assert float(loss.total({"a": 4, "b": 5})) == pytest.approx(5.5)


def test_a_part_that_counts_nothing_is_not_divided_by_zero() -> None:
    loss = Loss({"a": LossPart(torch.tensor(0.0), 0)})
    assert float(loss.total({"a": 0})) == 0.0
