"""The recurrent classifier, against torch's own modules with copied weights.

B batch · T time · E embedding · D width · C classes
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.layers.recurrence import Weights
from seqwright.models.headed import RecurrentClassifierSettings, pooled_model
from tests.small_models import some_labelled

D, E, V, C = 7, 5, 13, 3


def built(**settings: Any) -> Any:
    torch.manual_seed(2)
    chosen = RecurrentClassifierSettings(**{"width": D, "embedding": E, **settings})
    return pooled_model(chosen, vocabulary=V, classes=C).eval()


def torchs_own(model: Any, kind: Callable[..., nn.RNNBase]) -> nn.RNNBase:
    """The same layer as torch has it, the second bias zero."""
    settings = model.body.settings
    theirs = kind(E, D, num_layers=settings.layers, batch_first=True, bidirectional=settings.bidirectional).eval()
    cells = [weights for weights in model.body.recurrent.modules() if isinstance(weights, Weights)]
    names = [
        f"l{layer}{way}" for layer in range(settings.layers) for way in ["", "_reverse"][: 1 + theirs.bidirectional]
    ]
    with torch.no_grad():
        for name, weights in zip(names, cells, strict=True):
            assert weights.input_GE is not None
            getattr(theirs, f"weight_ih_{name}").copy_(weights.input_GE)
            getattr(theirs, f"weight_hh_{name}").copy_(weights.hidden_GD)
            getattr(theirs, f"bias_ih_{name}").copy_(weights.bias_G)
            getattr(theirs, f"bias_hh_{name}").zero_()
    return theirs


def pooled(hidden_TD: Tensor, last_LD: Tensor, pooling: str, ways: int) -> Tensor:
    """One row, without padding."""
    if pooling == "last":
        return last_LD[-ways:].flatten()
    return hidden_TD.mean(0) if pooling == "mean" else hidden_TD.max(0).values


@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
@pytest.mark.parametrize(
    ("kind", "theirs", "layers", "bidirectional"),
    [("lstm", nn.LSTM, 1, True), ("lstm", nn.LSTM, 2, True), ("gru", nn.GRU, 2, True), ("rnn", nn.RNN, 1, False)],
)
@torch.no_grad()
def test_it_is_what_torch_makes_of_each_row_alone(
    kind: str, theirs: Callable[..., nn.RNNBase], layers: int, bidirectional: bool, pooling: str
) -> None:
    model, batch = built(kind=kind, layers=layers, bidirectional=bidirectional, pooling=pooling), some_labelled()
    own = torchs_own(model, theirs)
    found_BC, carry = model(batch, None)
    assert carry is None
    assert found_BC.shape == (4, C)
    for row, real_T in enumerate(batch.real_BT):
        x_1TE = model.body.embedding(batch.input[row, real_T]).unsqueeze(0)
        hidden_1TD, last = own(x_1TE)
        last_L1D = last[0] if isinstance(last, tuple) else last
        target_C = model.head.output(pooled(hidden_1TD[0], last_L1D[:, 0], pooling, 1 + bidirectional))
        torch.testing.assert_close(found_BC[row], target_C, rtol=0, atol=1e-6)


def test_a_dropped_word_is_as_if_its_vector_were_nothing() -> None:
    """With word dropout alone, the vectors of a text in training are zero or stretched, whole words at a time."""
    model = built(word_dropout=0.5, embedding_dropout=0.0, dropout=0.0).train()
    heard: list[Tensor] = []
    model.body.recurrent.register_forward_pre_hook(lambda module, given: heard.append(given[0]))
    torch.manual_seed(1)
    model(some_labelled(), None)
    plain_BTE = model.body.embedding(some_labelled().input)
    stretch_BTE = (heard[0] / plain_BTE).detach()
    kept_BT = stretch_BTE[..., 0]
    assert set(kept_BT.flatten().round(decimals=4).tolist()) == {0.0, 2.0}
    torch.testing.assert_close(stretch_BTE, kept_BT.unsqueeze(-1).expand_as(stretch_BTE))


def test_embedding_dropout_drops_the_same_values_at_every_word() -> None:
    model = built(word_dropout=0.0, embedding_dropout=0.5, dropout=0.0).train()
    heard: list[Tensor] = []
    model.body.recurrent.register_forward_pre_hook(lambda module, given: heard.append(given[0]))
    model(some_labelled(), None)
    kept_BTE = heard[0] != 0
    assert bool((kept_BTE == kept_BTE[:, :1]).all())
    assert 0 < int(kept_BTE[:, 0].sum()) < kept_BTE[:, 0].numel()


def test_the_label_itself_is_not_read() -> None:
    model, batch = built(), some_labelled()
    other = batch.replace(target_B=(batch.target_B + 1) % C)
    with torch.no_grad():
        assert torch.equal(model(batch, None)[0], model(other, None)[0])
