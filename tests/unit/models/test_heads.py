"""Heads: what makes one vector of a row ignores padding, and what stands on a frozen body leaves it alone.

B batch · T time · D width · C classes
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.models.headed import (
    BertHeadSettings,
    RecurrentClassifierSettings,
    pooled_model,
    span_model,
    token_model,
)
from seqwright.models.heads import First, Headed, Last, Max, Mean, PooledHead, TokenHead
from seqwright.models.reading import ReadingSettings
from seqwright.training.weights import unique_tensors
from tests.small_models import V, labelled_series, some_asked, some_labelled, some_tagged

B, T, D, C = 4, 6, 10, 3
LENGTHS = (6, 2, 4, 1)
BERT: dict[str, Any] = {"width": 8, "heads": 2, "layers": 2, "context": 19}
POOLS: dict[str, Any] = {
    "first": lambda: First(nn.Linear(D, D)),
    "positive": lambda: First(nn.Linear(D, D), positive=True),
    "last": Last,
    "both ends": lambda: Last(bidirectional=True),
    "mean": Mean,
    "max": Max,
}


def vectors() -> tuple[Tensor, Tensor]:
    """`h_BTD` and `real_BT`."""
    h_BTD = torch.randn(B, T, D, generator=torch.Generator().manual_seed(1))
    return h_BTD, torch.arange(T) < torch.tensor(LENGTHS).unsqueeze(1)


@pytest.mark.parametrize("pool", POOLS)
@torch.no_grad()
def test_pooling_ignores_padding(pool: str) -> None:
    torch.manual_seed(1)
    pooled, (h_BTD, real_BT) = POOLS[pool](), vectors()
    found_BD = pooled(h_BTD, real_BT)
    assert found_BD.shape == (B, D)
    wild_BTD = h_BTD.masked_fill(~real_BT.unsqueeze(-1), 1e4)
    assert torch.equal(pooled(wild_BTD, real_BT), found_BD)
    for row, length in enumerate(LENGTHS):
        alone_1D = pooled(h_BTD[row : row + 1, :length], real_BT[row : row + 1, :length])
        torch.testing.assert_close(alone_1D[0], found_BD[row], rtol=0, atol=1e-6)


@pytest.mark.parametrize("pool", ["last", "both ends", "mean", "max"])
@torch.no_grad()
def test_pooling_is_what_its_name_says(pool: str) -> None:
    h_BTD, real_BT = vectors()
    found_BD = POOLS[pool]()(h_BTD, real_BT)
    for row, length in enumerate(LENGTHS):
        real_TD, half = h_BTD[row, :length].numpy(), D // 2
        expected_D = {
            "last": real_TD[-1],
            "both ends": [*real_TD[-1, :half], *real_TD[0, half:]],
            "mean": real_TD.mean(0),
            "max": real_TD.max(0),
        }[pool]
        assert found_BD[row].tolist() == pytest.approx(list(expected_D), abs=1e-6)


@torch.no_grad()
def test_the_first_vector_goes_through_a_layer_of_its_own() -> None:
    torch.manual_seed(1)
    layer, (h_BTD, real_BT) = nn.Linear(D, D), vectors()
    x_BD = layer(h_BTD[:, 0])
    assert torch.equal(First(layer)(h_BTD, real_BT), x_BD.tanh())
    assert torch.equal(First(layer, positive=True)(h_BTD, real_BT), x_BD.clamp(min=0))


@torch.no_grad()
def test_without_padding_every_vector_is_real() -> None:
    torch.manual_seed(1)
    head, (h_BTD, _) = PooledHead(Mean(), nn.Identity(), width=D, outputs=C), vectors()
    batch = some_labelled()
    whole = batch.replace(real_BT=torch.ones(B, T, dtype=torch.bool))
    torch.testing.assert_close(head(h_BTD, whole), head.output(h_BTD.mean(1)))


@torch.no_grad()
def test_what_is_real_as_a_whole_has_one_flag_for_all_its_vectors() -> None:
    torch.manual_seed(1)
    (h_BTD, _), whole = vectors(), some_labelled().replace(real_BT=torch.ones(B, 1, dtype=torch.bool))
    for pool, wanted_BD in ((Mean(), h_BTD.mean(1)), (Max(), h_BTD.amax(1)), (Last(), h_BTD[:, -1])):
        head = PooledHead(pool, nn.Identity(), width=D, outputs=C)
        torch.testing.assert_close(head(h_BTD, whole), head.output(wanted_BD))


@torch.no_grad()
def test_a_head_of_tokens_says_something_of_each_alone() -> None:
    torch.manual_seed(1)
    head, (h_BTD, _) = TokenHead(nn.Identity(), width=D, outputs=C), vectors()
    logits_BTC = head(h_BTD, some_labelled())
    assert logits_BTC.shape == (B, T, C)
    torch.testing.assert_close(logits_BTC[2, 3], head(h_BTD[2:3, 3:4], some_labelled())[0, 0])


def frozen(name: str) -> tuple[Any, Any]:
    """A model on a frozen body that has much to drop, and a batch for it."""
    recurrent: dict[str, Any] = {"width": 7, "embedding": 5, "dropout": 0.5, "frozen": True}
    bert: dict[str, Any] = {**BERT, "dropout": 0.5, "frozen": True}
    made = {
        "texts": lambda: pooled_model(RecurrentClassifierSettings(**recurrent), classes=C, vocabulary=V),
        "series": lambda: pooled_model(RecurrentClassifierSettings(**recurrent), classes=C, channels=2),
        "tags": lambda: token_model(ReadingSettings(**recurrent), classes=C, vocabulary=V),
        "tags of bert": lambda: token_model(BertHeadSettings(**bert), classes=C, vocabulary=V),
        "spans": lambda: span_model(BertHeadSettings(**bert), vocabulary=V),
    }
    batches = {"texts": some_labelled, "series": labelled_series, "spans": some_asked}
    return made[name](), batches.get(name, some_tagged)()


@pytest.mark.parametrize("name", ["texts", "series", "tags", "tags of bert", "spans"])
def test_a_frozen_body_neither_learns_nor_drops_and_the_head_does(name: str) -> None:
    torch.manual_seed(1)
    model, batch = frozen(name)
    before = {name: tensor.clone() for name, tensor in unique_tensors(model).items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)
    model.train()
    assert torch.equal(model.read(batch), model.read(batch))
    for _ in range(3):
        optimizer.zero_grad()
        model(batch)[0].square().sum().backward()
        optimizer.step()
    after = unique_tensors(model)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"head.output.weight", "head.output.bias"}
    with_dropout = [model(batch)[0] for _ in range(2)]
    assert not torch.equal(*with_dropout)
    assert torch.equal(model.eval()(batch)[0], model(batch)[0])


def test_a_body_that_is_not_frozen_learns() -> None:
    torch.manual_seed(1)
    model = pooled_model(RecurrentClassifierSettings(width=7, embedding=5), classes=C, vocabulary=V).train()
    assert isinstance(model, Headed)
    assert not torch.equal(model.read(some_labelled()), model.read(some_labelled()))
    model(some_labelled())[0].square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_depths_are_those_of_the_body() -> None:
    model, _ = frozen("tags of bert")
    assert model.depths() == {f"body.{start}": depth for start, depth in model.body.depths().items()}
    assert max(model.depths().values()) >= BERT["layers"]
