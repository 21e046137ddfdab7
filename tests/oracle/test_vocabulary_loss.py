"""The loss over a vocabulary in parts beside torch's cross-entropy of all logits: value, gradients and memory.

B batch · T time · D width · V vocabulary
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from seqwright.layers.embeddings import LogitFactors
from seqwright.models.gpt import GPT, GPTSettings
from seqwright.models.language_model import LanguageModel
from seqwright.objectives import next_token
from seqwright.objectives import vocabulary_loss as parts
from seqwright.objectives.next_token import NextToken
from seqwright.objectives.vocabulary_loss import vocabulary_loss
from tests.small_models import example, small

B, T, D, V = 3, 7, 5, 11
WIDTH = 8  # of the small models


def case(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(1)
    h_BTD, weight_VD = (
        (2 * torch.randn(*shape, generator=draw, dtype=torch.float64)).to(dtype).requires_grad_()
        for shape in ((B, T, D), (V, D))
    )
    return (
        h_BTD,
        weight_VD,
        torch.randint(V, (B, T), generator=draw),
        torch.arange(T) < torch.tensor([7, 4, 1])[:, None],
    )


def torchs(h_BTD: Tensor, weight_VD: Tensor, target_BT: Tensor, real_BT: Tensor, smoothing: float) -> Tensor:
    logits_NV = (h_BTD.double() @ weight_VD.double().T)[real_BT]
    return F.cross_entropy(logits_NV, target_BT[real_BT], label_smoothing=smoothing, reduction="sum")


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("at_a_time", [1, 4 * V, 100 * V])  # one token, four (and three) tokens, all of them
def test_value_and_gradients_are_those_of_the_whole(
    smoothing: float, at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LOGITS", at_a_time)
    h_BTD, weight_VD, target_BT, real_BT = case()
    found, plain = vocabulary_loss(LogitFactors(h_BTD, weight_VD), target_BT, real_BT, smoothing)
    expected = torchs(h_BTD, weight_VD, target_BT, real_BT, smoothing)
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(
        plain.double(), torchs(h_BTD, weight_VD, target_BT, real_BT, 0.0).detach(), rtol=1e-6, atol=0
    )
    ours = torch.autograd.grad(5 * found, (h_BTD, weight_VD))
    for one, other in zip(ours, torch.autograd.grad(5 * expected, (h_BTD, weight_VD)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    with torch.no_grad():
        assert torch.equal(vocabulary_loss(LogitFactors(h_BTD, weight_VD), target_BT, real_BT, smoothing)[0], found)


def test_under_autocast_products_are_in_bfloat16_and_the_loss_in_float32() -> None:
    h_BTD, weight_VD, target_BT, real_BT = case()
    with torch.autocast("cpu", torch.bfloat16):
        found, _ = vocabulary_loss(LogitFactors(h_BTD, weight_VD), target_BT, real_BT, 0.1)
    rounded_BTD, rounded_VD = h_BTD.detach().bfloat16(), weight_VD.detach().bfloat16()
    assert found.dtype is torch.float32
    torch.testing.assert_close(
        found.double(), torchs(rounded_BTD, rounded_VD, target_BT, real_BT, 0.1), rtol=0.01, atol=0
    )
    for one, tensor in zip(torch.autograd.grad(found, (h_BTD, weight_VD)), (h_BTD, weight_VD), strict=True):
        assert one.dtype is torch.float32
        (exact,) = torch.autograd.grad(torchs(h_BTD, weight_VD, target_BT, real_BT, 0.1), tensor)
        torch.testing.assert_close(one, exact, rtol=0.05, atol=0.1)


class Shapes(TorchDispatchMode):
    """Hears of what shape everything is that anything computes."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: set[tuple[int, ...]] = set()

    def __torch_dispatch__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        found = function(*given, **(named or {}))
        for each in found if isinstance(found, tuple | list) else [found]:
            if isinstance(each, Tensor):
                self.heard.add(tuple(each.shape))
        return found


def gpt() -> tuple[Any, Any, int]:
    settings = GPTSettings(width=WIDTH, heads=2, layers=2, context=19, feed_forward=17, dropout=0.0)
    return LanguageModel(GPT(settings, vocabulary=13)), example("gpt", "language-modeling"), 13


def transformer() -> tuple[Any, Any, int]:
    return small("transformer", "translation"), example("transformer", "translation"), 11


@pytest.mark.parametrize("made", [gpt, transformer])
def test_a_model_learns_the_same_and_never_has_all_logits(
    made: Callable[[], tuple[Any, Any, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(1)
    model, batch, vocabulary = made()
    objective, every, gradients, losses = NextToken(), batch.real_BT.numel(), [], []
    model.eval()
    for number, logits in enumerate((1 << 30, 2 * vocabulary)):
        monkeypatch.setattr(next_token, "LOGITS", logits)
        monkeypatch.setattr(parts, "LOGITS", logits)
        with Shapes() as shapes:
            loss, _ = objective(model, batch, None)
            losses.append(loss.total(objective.counts(batch)))
            gradients.append(torch.autograd.grad(losses[-1], list(model.parameters())))
        matrix = (WIDTH, vocabulary)
        most = max(math.prod(s) for s in shapes.heard if s and s[-1] == vocabulary and s != matrix)
        assert most == (2 if number else every) * vocabulary
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-6, atol=0)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_a_model_that_carries_its_state_or_has_another_output_is_asked_for_logits() -> None:
    for kind, task in (("lstm", "language-modeling"), ("bytenet", "translation")):
        assert small(kind, task).logit_factors(example(kind, task)) is None
