"""The recurrent tagger against torch's own modules with copied weights, and its loss against torch's.

B batch · T time · E embedding · D width · C classes
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seqwright.layers.recurrence import Weights
from seqwright.models.headed import token_model
from seqwright.models.reading import ReadingSettings
from seqwright.objectives.labels import Labels, LabelsSettings
from tests.small_models import some_tagged

D, E, V, C = 7, 5, 13, 3


def built(**settings: Any) -> Any:
    torch.manual_seed(2)
    chosen = ReadingSettings(**{"width": D, "embedding": E, **settings})
    return token_model(chosen, vocabulary=V, classes=C).eval()


def torchs_own(model: Any, kind: Callable[..., nn.RNNBase]) -> nn.RNNBase:
    """The same layers as torch has them, the second bias zero."""
    settings = model.body.settings
    theirs = kind(E, D, num_layers=settings.layers, batch_first=True, bidirectional=settings.bidirectional).eval()
    cells = [weights for weights in model.body.recurrent.modules() if isinstance(weights, Weights)]
    ways = ["", "_reverse"][: 1 + settings.bidirectional]
    names = [f"l{layer}{way}" for layer in range(settings.layers) for way in ways]
    with torch.no_grad():
        for name, weights in zip(names, cells, strict=True):
            assert weights.input_GE is not None
            getattr(theirs, f"weight_ih_{name}").copy_(weights.input_GE)
            getattr(theirs, f"weight_hh_{name}").copy_(weights.hidden_GD)
            getattr(theirs, f"bias_ih_{name}").copy_(weights.bias_G)
            getattr(theirs, f"bias_hh_{name}").zero_()
    return theirs


@pytest.mark.parametrize(
    ("kind", "theirs", "layers", "bidirectional"),
    [("lstm", nn.LSTM, 1, True), ("lstm", nn.LSTM, 2, True), ("gru", nn.GRU, 2, False), ("rnn", nn.RNN, 1, True)],
)
@torch.no_grad()
def test_it_is_what_torch_makes_of_each_row_alone(
    kind: str, theirs: Callable[..., nn.RNNBase], layers: int, bidirectional: bool
) -> None:
    model, batch = built(kind=kind, layers=layers, bidirectional=bidirectional), some_tagged()
    own = torchs_own(model, theirs)
    found_BTC, carry = model(batch, None)
    assert carry is None
    assert found_BTC.shape == (*batch.input_BT.shape, C)
    for row, real_T in enumerate(batch.real_BT):
        hidden_1TD, _ = own(model.body.embedding(batch.input_BT[row, real_T]).unsqueeze(0))
        torch.testing.assert_close(found_BTC[row, real_T], model.head.output(hidden_1TD[0]), rtol=0, atol=1e-6)


@torch.no_grad()
def test_the_tags_and_where_words_begin_are_not_read() -> None:
    model, batch = built(), some_tagged()
    other = batch.replace(target_BT=(batch.target_BT + 1) % C, first_BT=~batch.first_BT)
    assert torch.equal(model(batch, None)[0], model(other, None)[0])


@torch.no_grad()
@pytest.mark.parametrize("bidirectional", [True, False])
def test_the_words_after_a_word_count_in_both_directions_only(bidirectional: bool) -> None:
    model, batch = built(bidirectional=bidirectional), some_tagged()
    tokens_BT = batch.input_BT.clone()
    tokens_BT[0, 4] = 4 + (tokens_BT[0, 4] - 3) % 9  # another one of those that are not reserved
    before_TC, after_TC = (model(one, None)[0][0] for one in (batch, batch.replace(input_BT=tokens_BT)))
    changed_T = (before_TC != after_TC).any(-1).tolist()
    assert changed_T == [bidirectional] * 4 + [True] * 3


# The objective


class Fixed(nn.Module):
    """Says the same of every batch."""

    def __init__(self) -> None:
        super().__init__()
        shape = (*some_tagged().input_BT.shape, C)
        self.logits_BTC = nn.Parameter(3 * torch.randn(shape, generator=torch.Generator().manual_seed(1)))

    def forward(self, batch: Any, carry: Any) -> tuple[torch.Tensor, Any]:
        return self.logits_BTC, carry


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weights", [None, (1.0, 2.0, 0.5)])
def test_only_the_first_token_of_each_word_teaches(smoothing: float, weights: tuple[float, ...] | None) -> None:
    """Against torch's own loss over a list of words that is made by hand."""
    batch, model, theirs = some_tagged(), Fixed(), Fixed()
    objective = Labels(LabelsSettings(label_smoothing=smoothing, class_weights=weights))
    loss, _ = objective(model, batch, None)
    counts = objective.counts(batch)
    assert set(counts.values()) == {8}
    assert counts == {name: part.over for name, part in loss.parts.items()}
    loss.total(counts).backward()
    places = [(0, 0), (0, 1), (0, 4), (1, 0), (2, 0), (2, 1), (2, 2), (2, 3)]
    tags = torch.tensor([int(batch.target_BT[place]) for place in places])
    logits_NC = torch.stack([theirs.logits_BTC[place] for place in places])
    each = torch.ones(8) if weights is None else torch.tensor(weights)[tags]
    (F.cross_entropy(logits_NC, tags, label_smoothing=smoothing, reduction="none") * each).mean().backward()
    assert model.logits_BTC.grad is not None
    assert theirs.logits_BTC.grad is not None
    torch.testing.assert_close(model.logits_BTC.grad, theirs.logits_BTC.grad)
    plain = F.cross_entropy(logits_NC, tags, reduction="sum")
    torch.testing.assert_close(loss.parts["loss"].sum, plain)
    assert not bool(model.logits_BTC.grad[~batch.loss_mask].any())


def test_what_is_said_at_the_other_tokens_gives_no_gradient_to_the_model() -> None:
    """Whatever tags stand at tokens that are not judged, the gradient of every weight is the same to the bit."""
    gradients = []
    for other in (0, 2):
        model, batch = built(), some_tagged()
        batch = batch.replace(target_BT=batch.target_BT.where(batch.first_BT, torch.tensor(other)))
        loss, _ = Labels()(model, batch, None)
        loss.total(Labels().counts(batch)).backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    for one, another in zip(*gradients, strict=True):
        assert one is not None
        assert another is not None
        assert torch.equal(one, another)
