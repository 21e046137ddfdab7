"""The loss of masked tokens and of next sentences against NumPy, and that accumulation changes nothing."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seqwright.batches.masked import Masked
from seqwright.errors import SettingError
from seqwright.models.bert import MaskedBert, MaskedBertSettings
from seqwright.objectives.masked_token import MaskedToken

B, T, V = 5, 11, 17


def batch_of(seed: int = 1, *, asked: bool = True) -> Masked:
    chance = torch.Generator().manual_seed(seed)
    tokens_BT = torch.randint(5, V, (B, T), generator=chance)
    real_BT = torch.arange(T) < torch.randint(4, T + 1, (B, 1), generator=chance)
    chosen_BT = real_BT & (torch.rand(B, T, generator=chance) < 0.4)
    chosen_BT[:, 1] = True
    next_B = torch.randint(0, 2, (B,), generator=chance) if asked else torch.full((B,), -1)
    segment_BT = (torch.arange(T) > 3).long().expand(B, T) * real_BT
    return Masked(tokens_BT, real_BT, segment_BT, chosen_BT, torch.randint(5, V, (B, T), generator=chance), next_B)


def model_of(**settings: Any) -> MaskedBert:
    torch.manual_seed(3)
    small = {"width": 12, "heads": 3, "layers": 2, "feed_forward": 19, "context": 13, "dropout": 0.0}
    model = MaskedBert(MaskedBertSettings(**{**small, **settings}), vocabulary=V)
    for parameter in model.parameters():  # drawn so small that everything would be equally likely
        nn.init.normal_(parameter, std=0.5)
    return model.double()


class Fixed(nn.Module):
    """Says what it is told."""

    def __init__(self, word_NV: Tensor, next_B2: Tensor | None) -> None:
        super().__init__()
        self.said = word_NV, next_B2

    def both(self, batch: Masked) -> tuple[Tensor, Tensor | None]:
        return self.said


def cross_entropy(logits: NDArray[np.float64], wanted: NDArray[np.int64]) -> float:
    """Σ (log Σ exp logit - logit of what is wanted), row by row."""
    return float(
        sum(np.log(np.exp(row - row.max()).sum()) + row.max() - row[n] for row, n in zip(logits, wanted, strict=True))
    )


def test_the_two_parts_are_their_cross_entropies() -> None:
    batch = batch_of()
    count = int(batch.chosen_BT.sum())
    word_NV, next_B2 = torch.randn(count, V) * 3, torch.randn(B, 2) * 3
    objective = MaskedToken()
    loss, carry = objective(Fixed(word_NV, next_B2), batch, None)
    hidden = [batch.target_BT[b, t] for b in range(B) for t in range(T) if batch.chosen_BT[b, t]]
    words = cross_entropy(word_NV.double().numpy(), np.array(hidden))
    follows = cross_entropy(next_B2.double().numpy(), batch.next_B.numpy())
    assert carry is None
    assert (
        objective.counts(batch)
        == {"loss": count, "next_sentence": B}
        == {name: part.over for name, part in loss.parts.items()}
    )
    assert float(loss.parts["loss"].sum) == pytest.approx(words, rel=1e-5)
    assert float(loss.parts["next_sentence"].sum) == pytest.approx(follows, rel=1e-5)
    assert float(loss.total(objective.counts(batch))) == pytest.approx(words / count + follows / B, rel=1e-5)


def test_where_nobody_asks_only_the_words_count() -> None:
    batch, objective = batch_of(asked=False), MaskedToken()
    loss, _ = objective(Fixed(torch.randn(int(batch.chosen_BT.sum()), V), None), batch, None)
    assert list(loss.parts) == list(objective.counts(batch)) == ["loss"]


def test_a_model_that_cannot_say_what_follows_is_refused() -> None:
    with pytest.raises(SettingError, match=r"input.rows"):
        MaskedToken()(model_of(pooler=False).float(), batch_of(), None)


def test_only_the_hidden_words_go_through_the_output_and_it_changes_nothing() -> None:
    model, batch = model_of(), batch_of()
    word_NV, next_B2 = model.both(batch)
    logits_BTV, _ = model(batch, None)
    assert word_NV.shape == (int(batch.chosen_BT.sum()), V)
    torch.testing.assert_close(word_NV, logits_BTV[batch.chosen_BT])
    assert next_B2 is not None
    assert next_B2.shape == (B, 2)


def gradients(model: MaskedBert, batches: list[Masked]) -> list[Tensor]:
    """Of one step over micro-batches, as `fit` takes it."""
    objective = MaskedToken()
    counted = [objective.counts(batch) for batch in batches]
    counts = {name: float(sum(count[name] for count in counted)) for name in counted[0]}
    model.zero_grad()
    for batch in batches:
        loss, _ = objective(model, batch, None)
        loss.total(counts).backward()
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


def test_accumulation_changes_nothing() -> None:
    model, batch = model_of(), batch_of()
    whole = gradients(model, [batch])
    parts = gradients(model, [batch.rows(some) for some in (slice(0, 1), slice(1, 4), slice(4, 5))])
    assert len(whole) == len(list(model.parameters()))
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)
    assert len(set(batch.chosen_BT.sum(1).tolist())) > 1  # otherwise a mean of means would do as well
