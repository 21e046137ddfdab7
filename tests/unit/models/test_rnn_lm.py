"""The recurrent language model: segments that go on from one another, and how it is built and begins."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seqwright.batches.text import Text
from seqwright.errors import SettingError
from seqwright.layers.dropout import Dropout
from seqwright.layers.initialisation import initialise, quantiles, saturated
from seqwright.layers.recurrence import DeepTransition, ReLUCell, RNNCell, Weights
from seqwright.layers.scanning import Recurrent, VariationalDropout
from seqwright.layers.taps import listen
from seqwright.models.language_model import LanguageModel
from seqwright.models.rnn_lm import (
    RecurrentLM,
    RecurrentLMSettings,
)
from tests.small_models import small, some_texts

V = 13
every_kind = pytest.mark.parametrize("kind", ["rnn", "ugrnn", "gru", "lstm"])


def segments(rows: int = 3, length: int = 6, *, fresh: bool = False) -> tuple[Text, Text, Text]:
    """A long batch, and the two that it is cut into, the second going on from the first."""
    stream_BT = torch.randint(4, V, (rows, 2 * length + 1), generator=torch.Generator().manual_seed(4))
    input_BT, target_BT = stream_BT[:, :-1], stream_BT[:, 1:]
    real_BT = torch.ones_like(input_BT, dtype=torch.bool)
    new_B, on_B = torch.ones(rows, dtype=torch.bool), torch.full((rows,), fresh)
    first, second = slice(None, length), slice(length, None)
    return (
        Text(input_BT, target_BT, real_BT, fresh_B=new_B),
        Text(input_BT[:, first], target_BT[:, first], real_BT[:, first], fresh_B=new_B),
        Text(input_BT[:, second], target_BT[:, second], real_BT[:, second], fresh_B=on_B),
    )


def without_chance(kind: str) -> LanguageModel:
    torch.manual_seed(1)
    model: LanguageModel = small(kind, "language-modeling")
    return model.eval()


# ------------------------------------------------------------------------------------------------ truncated BPTT


@every_kind
@torch.no_grad()
def test_two_segments_with_the_carry_say_what_one_long_one_says(kind: str) -> None:
    model = without_chance(kind)
    whole, first, second = segments()
    target_BTV, end = model(whole, None)
    first_BTV, carry = model(first, None)
    second_BTV, reached = model(second, carry)
    torch.testing.assert_close(torch.cat((first_BTV, second_BTV), dim=1), target_BTV, rtol=0, atol=1e-5)
    torch.testing.assert_close(reached, end, rtol=0, atol=1e-5)


@every_kind
@torch.no_grad()
def test_only_rows_that_are_fresh_start_anew(kind: str) -> None:
    model = without_chance(kind)
    _, first, second = segments()
    _, carry = model(first, None)
    alone_BTV, _ = model(second, None)
    goes_on_BTV, _ = model(second, carry)
    mixed_BTV, _ = model(second.replace(fresh_B=torch.tensor([True, False, True])), carry)
    torch.testing.assert_close(mixed_BTV[[0, 2]], alone_BTV[[0, 2]], rtol=0, atol=1e-6)
    torch.testing.assert_close(mixed_BTV[1], goes_on_BTV[1], rtol=0, atol=1e-6)
    assert float((goes_on_BTV[:, 0] - alone_BTV[:, 0]).abs().min()) > 0


@pytest.mark.parametrize("kind", ["rnn", "ugrnn", "gru", "lstm"])
def test_no_gradient_crosses_the_border_of_two_segments(kind: str) -> None:
    """Token 5 is read in the first half only: what is said in the second half teaches it something, unless cut."""
    torch.manual_seed(1)
    body = RecurrentLM(
        RecurrentLMSettings.model_validate({"kind": kind, "width": 7, "layers": 2, "dropout": 0, "tied": False}),
        vocabulary=V,
    )
    model = LanguageModel(body)
    whole, first, second = segments()
    first = first.replace(input_BT=torch.full_like(first.input_BT, 5))
    second = second.replace(input_BT=torch.full_like(second.input_BT, 4))
    whole = whole.replace(input_BT=torch.cat((first.input_BT, second.input_BT), dim=1))

    _, carry = model(first, None)
    cut_BTV, _ = model(second, carry)
    full_BTV, _ = model(whole, None)
    for logits_BTV, learns in ((cut_BTV, False), (full_BTV, True)):
        model.zero_grad()
        logits_BTV[:, -6:].square().sum().backward()
        assert body.embedding.weight.grad is not None
        assert bool(body.embedding.weight.grad[4].any())
        assert bool(body.embedding.weight.grad[5].any()) is learns


def test_batches_of_another_number_of_rows_may_follow_if_all_of_them_are_fresh() -> None:
    model = without_chance("lstm")
    _, carry = model(some_texts(), None)
    _, first, second = segments(rows=5)
    with torch.no_grad():
        assert torch.equal(model(first, carry)[0], model(first, None)[0])
    with pytest.raises(AssertionError, match="rows that continue"):
        model(second, carry)


# ------------------------------------------------------------------------------------------------ what it says


@every_kind
@torch.no_grad()
def test_the_log_probabilities_are_those_of_the_logits(kind: str) -> None:
    model, batch = without_chance(kind), some_texts()
    found_BT, _ = model.log_probability(batch)
    logits_BTV, _ = model(batch, None)
    for row, t in batch.real_BT.nonzero().tolist():
        wanted = logits_BTV[row, t].log_softmax(-1)[batch.target_BT[row, t]]
        assert float(found_BT[row, t]) == pytest.approx(float(wanted), abs=1e-5)
    assert not bool(found_BT[~batch.real_BT].any())


@torch.no_grad()
def test_scoring_goes_on_from_the_carry_too() -> None:
    model = without_chance("lstm")
    whole, first, second = segments()
    target_BT, _ = model.log_probability(whole)
    first_BT, carry = model.log_probability(first)
    second_BT, _ = model.log_probability(second, carry)
    torch.testing.assert_close(torch.cat((first_BT, second_BT), dim=1), target_BT, rtol=0, atol=1e-5)


@torch.no_grad()
def test_the_language_model_is_torchs_lstm_between_an_embedding_and_itself() -> None:
    torch.manual_seed(1)
    model = RecurrentLM(RecurrentLMSettings(width=7, layers=1, dropout=0.3), vocabulary=V).eval()
    theirs = nn.LSTM(7, 7, batch_first=True)
    weights = next(each for each in model.modules() if isinstance(each, Weights))
    assert weights.input_GE is not None
    theirs.load_state_dict(
        {
            "weight_ih_l0": weights.input_GE,
            "weight_hh_l0": weights.hidden_GD,
            "bias_ih_l0": weights.bias_G,
            "bias_hh_l0": torch.zeros(4 * 7),
        }
    )
    whole, _, _ = segments()
    h_BTD, _ = theirs(F.embedding(whole.input_BT, model.embedding.weight) * 7**0.5)
    torch.testing.assert_close(model(whole.input_BT), h_BTD @ model.embedding.weight.T, rtol=0, atol=1e-5)


def test_what_every_layer_and_gate_says_can_be_heard() -> None:
    model, batch = without_chance("lstm"), some_texts()
    with listen(model) as heard:
        model(batch, None)
    assert heard["body.recurrent.layers.1.hidden"][0].shape == (*batch.input_BT.shape, 7)
    assert heard["body.recurrent.layers.0.cells.0.forget_gate"][0].shape == (*batch.input_BT.shape, 7)


# ------------------------------------------------------------------------------------------------ settings


def test_the_settings_choose_what_is_built() -> None:
    settings = RecurrentLMSettings(kind="rnn", activation="relu", width=7, transition=2, initialisation="identity")
    model = RecurrentLM(settings, vocabulary=V)
    (cell,) = model.recurrent.stack()[0].directions()
    assert isinstance(cell, DeepTransition)
    assert isinstance(cell.first, ReLUCell)
    assert len(cell.further) == 2
    assert torch.equal(cell.first.weights.hidden_GD.detach(), torch.eye(7))
    assert isinstance(model.dropout, Dropout)
    assert model.recurrent.within is None
    variational = small("gru", "language-modeling").body
    assert isinstance(variational.dropout, VariationalDropout)
    assert variational.recurrent.within is variational.dropout


@pytest.mark.parametrize(("embedding", "tied", "parameters"), [(7, True, 0), (5, True, 7 * 5 + 5), (5, False, 8 * V)])
def test_the_output_is_tied_where_it_can_be(embedding: int, tied: bool, parameters: int) -> None:
    model = RecurrentLM(RecurrentLMSettings(width=7, embedding=embedding, tied=tied), vocabulary=V)
    inside = sum(p.numel() for p in [*model.embedding.parameters(), *model.recurrent.parameters()])
    assert sum(p.numel() for p in model.parameters()) == inside + parameters
    assert model(some_texts().input_BT).shape[-1] == V


@pytest.mark.parametrize("wrong", [{"activation": "relu"}, {"initialisation": "identity"}, {"dropout": 1.0}])
def test_settings_that_do_not_fit_are_refused(wrong) -> None:
    with pytest.raises(SettingError):
        RecurrentLMSettings(kind="gru", **wrong)


# ------------------------------------------------------------------------------------------------ initialisation


def drawn(way, kind, **more) -> list[Weights]:
    model = RecurrentLM(
        RecurrentLMSettings(kind=kind, width=50, embedding=30, initialisation=way, **more), vocabulary=V
    )
    return [each for each in model.modules() if isinstance(each, Weights)]


def test_orthogonal_weights_neither_stretch_nor_shrink() -> None:
    (weights,) = drawn("orthogonal", "lstm")
    for block_DD in weights.hidden_GD.detach().chunk(4):
        torch.testing.assert_close(block_DD @ block_DD.T, torch.eye(50), rtol=0, atol=1e-5)


def test_xavier_weights_have_the_deviation_of_the_paper() -> None:
    (weights,) = drawn("xavier", "gru", forget_bias=0.0)
    assert weights.input_GE is not None
    for block_DE in weights.input_GE.detach().chunk(3):
        assert float(block_DE.std()) == pytest.approx((2 / (50 + 30)) ** 0.5, rel=0.1)
    for block_DD in weights.hidden_GD.detach().chunk(3):
        assert float(block_DD.std()) == pytest.approx((2 / (50 + 50)) ** 0.5, rel=0.1)
    assert not bool(weights.bias_G.any())


def test_uniform_weights_are_torchs() -> None:
    (weights,) = drawn("uniform", "lstm", forget_bias=0.0)
    for parameter in weights.parameters():
        assert 0.9 * 50**-0.5 < float(parameter.detach().abs().max()) <= 50**-0.5


@pytest.mark.parametrize(("kind", "gate"), [("lstm", 1), ("gru", 1), ("ugrnn", 0)])
def test_the_gate_that_keeps_the_state_begins_open(kind: str, gate: int) -> None:
    (weights,) = drawn("orthogonal", kind, forget_bias=1.5)
    for place, bias_D in enumerate(weights.bias_G.detach().view(-1, 50)):
        assert bias_D.unique().tolist() == [1.5 if place == gate else 0.0]


def test_cells_inside_a_deep_transition_are_drawn_too() -> None:
    every = drawn("orthogonal", "gru", transition=2)
    assert [weights.input_GE is None for weights in every] == [False, True, True]
    for weights in every:
        assert bool((weights.bias_G.view(3, 50)[1] == 1).all())


def test_wide_weights_saturate_tanh_and_careful_ones_do_not() -> None:
    torch.manual_seed(1)
    x_BTE = torch.randn(11, 20, 30)
    stack = Recurrent(RNNCell, inputs=30, width=50)
    initialise(stack, "xavier")
    real_BT = torch.arange(20) < torch.arange(10, 21)[:, None]
    careful_BTD, _ = stack(x_BTE, None, real_BT)
    with torch.no_grad():
        for parameter in stack.parameters():
            nn.init.normal_(parameter)
    wide_BTD, _ = stack(x_BTE, None, real_BT)
    assert float(saturated(careful_BTD, real_BT).mean()) < 0.12
    assert float(saturated(wide_BTD, real_BT).min()) > 0.7


def test_shares_and_quantiles_are_counted_over_what_is_real() -> None:
    value_BTD = torch.tensor([[[0.99, 0.0], [-0.96, 1.0]], [[0.5, 0.6], [7.0, 7.0]]])
    real_BT = torch.tensor([[True, True], [True, False]])
    assert saturated(value_BTD, real_BT).tolist() == [0.25, 1.0]
    assert saturated(value_BTD).tolist() == [0.25, 1.0]
    assert saturated(value_BTD, beyond=0.55).tolist() == [0.5, 1.0]
    assert quantiles(value_BTD, real_BT, shares=(0.0, 0.5, 1.0))[1].tolist() == pytest.approx([-0.96, 0.02, 1.0])
    assert quantiles(value_BTD).shape == (2, 3)
