"""What a source word moves: gradients against differences."""

from typing import Any

import pytest
import torch

from seqwright.analysis.attention import influence, source_embedding
from seqwright.batches.pairs import Pairs
from seqwright.lineage import MODELS
from tests.small_models import example, small

KINDS = {"seq2seq", "context-rnn", "bytenet", "luong"}
ROWS = [row for row in MODELS if row.task == "translation" and row.kind in KINDS]
STEP = 1e-5


def model_and_batch(row: Any) -> tuple[Any, Pairs]:
    torch.manual_seed(1)
    return small(row.kind, row.task).double().eval(), example(row.kind, row.task)


@torch.no_grad()
def log_probability(model: Any, batch: Pairs, moved: tuple[int, int, float] | None = None) -> torch.Tensor:
    """`logp_BT` of the wanted tokens; one number of the vector of one source position is moved in every row."""

    def move(_: Any, __: Any, e_BSE: torch.Tensor) -> torch.Tensor:
        hook.remove()  # the source is looked up first
        if moved is not None:
            place, number, by = moved
            e_BSE = e_BSE.clone()
            e_BSE[:, place, number] += by
        return e_BSE

    hook = source_embedding(model).register_forward_hook(move)
    logits_BTV, _ = model(batch)
    logp_BT: torch.Tensor = logits_BTV.log_softmax(-1).gather(-1, batch.target_BT.unsqueeze(-1)).squeeze(-1)
    return logp_BT


@pytest.mark.parametrize("row", ROWS, ids=[row.kind for row in ROWS])
def test_the_shares_are_those_of_small_differences(row: Any) -> None:
    model, batch = model_and_batch(row)
    before = [parameter.grad for parameter in model.parameters()]
    found_BTS = influence(model, batch)
    width = model.token_vectors()["source"].embedding_VD.shape[1]
    target_BTS = torch.zeros_like(found_BTS)
    for s in range(batch.source_BS.shape[1]):
        slopes = [
            (log_probability(model, batch, (s, e, STEP)) - log_probability(model, batch, (s, e, -STEP))) / (2 * STEP)
            for e in range(width)
        ]
        target_BTS[..., s] = torch.stack(slopes, dim=-1).norm(dim=-1)
    target_BTS.masked_fill_(~batch.source_real_BS.unsqueeze(1), 0.0)
    target_BTS /= target_BTS.sum(-1, keepdim=True)
    real_BT = batch.real_BT
    torch.testing.assert_close(found_BTS[real_BT], target_BTS[real_BT].float(), rtol=0, atol=1e-5, check_dtype=False)
    assert [parameter.grad for parameter in model.parameters()] == before
    assert all(each.is_leaf for each in model.parameters())
