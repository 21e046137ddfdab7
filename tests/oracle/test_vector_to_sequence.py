"""Texts from vectors, against torch's own recurrent modules with copied weights and a first state made by hand.

B batch · T time · V vocabulary · E embedding · D width · X numbers of the vector · L layers
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.layers.recurrence import Weights
from seqwright.models.encoder_decoder import EncoderDecoder
from seqwright.models.vector_to_sequence import VectorToSequenceSettings, vector_to_sequence
from tests.small_models import some_described

D, E, V, X = 7, 3, 13, 5


def built(**settings: Any) -> EncoderDecoder:
    torch.manual_seed(2)
    chosen = VectorToSequenceSettings(**{"width": D, "embedding": E, "tied": False, **settings})
    return vector_to_sequence(chosen, inputs=X, vocabulary=V).eval()


def torchs_own(model: EncoderDecoder, kind: Callable[..., nn.RNNBase]) -> nn.RNNBase:
    """The same layers as torch has them, the second bias zero."""
    cells = [weights for weights in model.decoder.language.recurrent.modules() if isinstance(weights, Weights)]
    theirs = kind(E + X if model.decoder.fed else E, D, num_layers=len(cells), batch_first=True).eval()
    with torch.no_grad():
        for layer, weights in enumerate(cells):
            assert weights.input_GE is not None
            getattr(theirs, f"weight_ih_l{layer}").copy_(weights.input_GE)
            getattr(theirs, f"weight_hh_l{layer}").copy_(weights.hidden_GD)
            getattr(theirs, f"bias_ih_l{layer}").copy_(weights.bias_G)
            getattr(theirs, f"bias_hh_l{layer}").zero_()
    return theirs


def first_state(model: EncoderDecoder, vector_X: Tensor) -> Tensor:
    """h_0 of each layer, and for an LSTM c_0 after it: (layers · tensors, D)."""
    weight, bias = model.decoder.bridge.linear.weight, model.decoder.bridge.linear.bias
    sums = [sum((float(w) * float(x) for w, x in zip(row, vector_X, strict=True)), 0.0) for row in weight]
    first_LD: Tensor = (torch.tensor(sums) + bias).tanh().view(-1, D)
    return first_LD


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize(
    ("kind", "theirs", "layers"), [("rnn", nn.RNN, 1), ("gru", nn.GRU, 2), ("lstm", nn.LSTM, 1), ("lstm", nn.LSTM, 2)]
)
@torch.no_grad()
def test_it_is_what_torch_makes_of_each_row_alone(
    kind: str, theirs: Callable[..., nn.RNNBase], layers: int, fed: bool
) -> None:
    model, batch = built(kind=kind, layers=layers, fed=fed), some_described()
    network, output = torchs_own(model, theirs), model.decoder.language.output
    assert output is not None
    found_BTV, _ = model(batch)
    for row, length in enumerate(batch.real_BT.sum(1).tolist()):
        x_TE = model.decoder.language.embedding(batch.input_BT[row : row + 1])[0, :length]
        if fed:
            x_TE = torch.stack([torch.cat((x_E, batch.vector_BX[row])) for x_E in x_TE])
        first_LD = first_state(model, batch.vector_BX[row])
        state = (first_LD[0::2].contiguous(), first_LD[1::2].contiguous()) if kind == "lstm" else first_LD
        hidden_TD, _ = network(x_TE, state)
        torch.testing.assert_close(found_BTV[row, :length], output(hidden_TD), rtol=0, atol=1e-5)


@torch.no_grad()
def test_without_feeding_nothing_but_the_first_state_knows_the_vector() -> None:
    model, fed, batch = built(kind="gru", fed=False), built(kind="gru"), some_described()
    other = batch.replace(vector_BX=batch.vector_BX + 1)
    assert model.start(batch).vector_BX is None
    for each, same in ((model, True), (fed, False)):
        state = each.start(other)._replace(layers=each.start(batch).layers)
        found_BTV, _ = each.read(batch.input_BT, batch.real_BT, state)
        target_BTV, _ = each(batch)
        assert torch.equal(found_BTV, target_BTV) is same
