"""Stacks of recurrent cells against torch's own modules with copied weights: layers, directions, padding, dropout.

B batch · T time · E input · D width
"""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqwright.layers.recurrence import GRUCell, LSTMCell, ReLUCell, RNNCell, UGRNNCell
from seqwright.layers.scanning import Recurrent, RecurrentLayer, VariationalDropout, turned
from seqwright.layers.taps import listen

B, T, E, D = 4, 7, 5, 3
LENGTH_B = torch.tensor([7, 0, 3, 6])  # one row is all padding
REAL_BT = torch.arange(T) < LENGTH_B[:, None]


def some(*shape: int, seed: int = 2) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def close(found: Any, wanted: Any, by: float = 1e-9) -> None:
    torch.testing.assert_close(found, wanted, rtol=0, atol=by)


def the_same_in_torch(ours: Recurrent, theirs: nn.RNNBase) -> None:
    """Copies the weights: theirs has a second bias, which stays zero."""
    for place, layer in enumerate(ours.stack()):
        for cell, way in zip(layer.directions(), ("", "_reverse"), strict=False):
            w = cell.weights
            named = dict(zip(("weight_ih", "weight_hh", "bias_ih"), (w.input_GE, w.hidden_GD, w.bias_G), strict=True))
            with torch.no_grad():
                for name, value in named.items():
                    getattr(theirs, f"{name}_l{place}{way}").copy_(value)
                getattr(theirs, f"bias_hh_l{place}{way}").zero_()


THEIRS: list[Any] = [
    (RNNCell, nn.RNN),
    (ReLUCell, partial(nn.RNN, nonlinearity="relu")),
    (GRUCell, nn.GRU),
    (LSTMCell, nn.LSTM),
]


@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
@pytest.mark.parametrize(("layers", "bidirectional"), [(1, False), (3, False), (1, True), (2, True)])
@pytest.mark.parametrize(("kind", "torchs"), THEIRS, ids=["rnn", "relu", "gru", "lstm"])
def test_a_stack_is_torchs_own(kind: Any, torchs: Any, layers: int, bidirectional: bool, padded: bool) -> None:
    torch.manual_seed(1)
    ours = Recurrent(kind, inputs=E, width=D, layers=layers, bidirectional=bidirectional).double()
    theirs = torchs(E, D, layers, batch_first=True, bidirectional=bidirectional).double()
    the_same_in_torch(ours, theirs)
    length_B = torch.tensor([3, 7, 1, 6]) if padded else torch.full((B,), T)
    real_BT = torch.arange(T) < length_B[:, None]
    mine_BTE, other_BTE = some(B, T, E).requires_grad_(), some(B, T, E).requires_grad_()

    found_BTD, state = ours(mine_BTE, None, real_BT)
    packed = pack_padded_sequence(other_BTE, length_B, batch_first=True, enforce_sorted=False)
    wanted, last = theirs(packed)
    target_BTD = pad_packed_sequence(wanted, batch_first=True)[0]
    close(found_BTD[real_BT], target_BTD[real_BT])
    cells = [each for layer in state for each in layer]
    for part, theirs_LBD in enumerate(last if isinstance(last, tuple) else [last]):
        close(torch.stack([each[part] for each in cells]), theirs_LBD)

    weight_BTD = some(*found_BTD.shape, seed=5) * real_BT.unsqueeze(-1)
    (found_BTD * weight_BTD).sum().backward()
    (target_BTD * weight_BTD).sum().backward()
    close(mine_BTE.grad, other_BTE.grad)
    for place, layer in enumerate(ours.stack()):
        for cell, way in zip(layer.directions(), ("", "_reverse"), strict=False):
            assert cell.weights.input_GE is not None
            close(cell.weights.input_GE.grad, getattr(theirs, f"weight_ih_l{place}{way}").grad)
            close(cell.weights.hidden_GD.grad, getattr(theirs, f"weight_hh_l{place}{way}").grad)
            close(cell.weights.bias_G.grad, getattr(theirs, f"bias_ih_l{place}{way}").grad)


def test_ordinary_dropout_stands_where_torch_has_it() -> None:
    """One row, read so often that the means and deviations agree; without dropout nothing would deviate."""
    torch.manual_seed(1)
    ours = Recurrent(ReLUCell, inputs=E, width=D, layers=3, between=nn.Dropout(0.5)).double()
    theirs = nn.RNN(E, D, 3, nonlinearity="relu", batch_first=True, dropout=0.5).double()
    the_same_in_torch(ours, theirs)
    x_BTE = some(1, T, E).expand(20_000, T, E)
    with torch.no_grad():
        found_BTD, target_BTD = ours(x_BTE)[0], theirs(x_BTE)[0]
        assert float(target_BTD.std(0).max()) > 0.3
        close(found_BTD.mean(0), target_BTD.mean(0), by=0.02)
        close(found_BTD.std(0), target_BTD.std(0), by=0.02)
        close(ours.eval()(x_BTE[:1])[0], theirs.eval()(x_BTE[:1])[0])


# ------------------------------------------------------------------------------------------------ the stack


def test_turning_a_row_reverses_its_real_steps_only() -> None:
    x_BTE = torch.arange(5.0).view(1, 5, 1)
    assert turned(x_BTE, torch.tensor([3])).flatten().tolist() == [2, 1, 0, 3, 4]
    assert turned(x_BTE, None).flatten().tolist() == [4, 3, 2, 1, 0]
    assert torch.equal(turned(turned(some(B, T, E), LENGTH_B), LENGTH_B), some(B, T, E))


def test_residual_layers_add_what_they_read() -> None:
    torch.manual_seed(1)
    ours = Recurrent(UGRNNCell, inputs=E, width=D, layers=3, residual=True).double()
    first, second, third = ours.stack()
    x_BTE = some(B, T, E)
    a_BTD, _ = first.directions()[0].scan(x_BTE, first.start(B)[0])
    b_BTD, _ = second.directions()[0].scan(a_BTD, second.start(B)[0])
    c_BTD, _ = third.directions()[0].scan(a_BTD + b_BTD, third.start(B)[0])
    close(ours(x_BTE)[0], a_BTD + b_BTD + c_BTD)


def test_what_every_layer_says_can_be_heard() -> None:
    ours = Recurrent(RNNCell, inputs=E, width=D, layers=2, bidirectional=True).double()
    with listen(ours) as heard:
        said_BTD, _ = ours(some(B, T, E))
    assert set(heard) == {"layers.0.hidden", "layers.1.hidden"}
    assert torch.equal(heard["layers.1.hidden"][0], said_BTD)


def test_the_gates_of_the_way_back_are_heard_in_the_order_of_the_steps() -> None:
    torch.manual_seed(1)
    layer = RecurrentLayer(GRUCell(inputs=E, width=D), UGRNNCell(inputs=E, width=D)).double()
    x_BTE = some(B, T, E)
    with listen(layer) as heard:
        layer(x_BTE, layer.start(B), LENGTH_B)
    back = layer.directions()[1]
    for row, length in ((row, length) for row, length in enumerate(LENGTH_B.tolist()) if length):
        with listen(back) as alone:
            back.stepped(x_BTE[row : row + 1, :length].flip(1), back.start(1))
        found_TD = heard["cells.1.update_gate"][0][row, :length]
        close(found_TD, alone["update_gate"][0][0].flip(0))


def test_the_way_back_never_sees_the_padding() -> None:
    torch.manual_seed(1)
    layer = RecurrentLayer(LSTMCell(inputs=E, width=D), GRUCell(inputs=E, width=D)).double()
    x_BTE = some(B, T, E)
    rubbish_BTE = x_BTE.where(REAL_BT.unsqueeze(-1), torch.full_like(x_BTE, 1e3))
    target_BTD, after = layer(x_BTE, layer.start(B), LENGTH_B)
    found_BTD, reached = layer(rubbish_BTE, layer.start(B), LENGTH_B)
    assert torch.equal(found_BTD[REAL_BT], target_BTD[REAL_BT])
    close(reached, after, by=0)


def test_variational_dropout_hides_the_same_values_at_every_step() -> None:
    dropout, x_BTD = VariationalDropout(0.4), torch.ones(1000, T, D)
    torch.manual_seed(3)
    dropped_BTD = dropout(x_BTD)
    assert torch.equal(dropped_BTD, dropped_BTD[:, :1].expand(-1, T, -1))
    torch.testing.assert_close(dropped_BTD.unique(), torch.tensor([0, 1 / 0.6]))
    assert float(dropped_BTD.mean()) == pytest.approx(1, abs=0.03)
    assert dropout.eval()(x_BTD) is x_BTD
    assert VariationalDropout(0.0)(x_BTD) is x_BTD


def test_a_stack_draws_what_it_hides_for_each_layer_and_row() -> None:
    ours = Recurrent(LSTMCell, inputs=E, width=D, layers=2, within=VariationalDropout(0.5)).double()
    x_BTE = some(1, T, E).expand(B, T, E)
    torch.manual_seed(1)
    one_BTD, _ = ours(x_BTE)
    torch.manual_seed(1)
    again_BTD, _ = ours(x_BTE)
    assert torch.equal(one_BTD, again_BTD)
    assert not torch.equal(one_BTD[0], one_BTD[1])
    still_BTD, _ = ours.eval()(x_BTE)
    assert torch.equal(still_BTD[0], still_BTD[1])


def test_carried_states_are_cut_off_and_fresh_rows_begin_anew() -> None:
    ours = Recurrent(LSTMCell, inputs=E, width=D, layers=2).double()
    _, carry = ours(some(B, T, E))
    fresh_B = torch.tensor([False, True, False, True])
    for layer, old in zip(ours.carried(carry, fresh_B), carry, strict=True):
        for found_BD, end_BD in zip(layer[0], old[0], strict=True):
            assert not found_BD.requires_grad
            assert torch.equal(found_BD[~fresh_B], end_BD[~fresh_B])
            assert not bool(found_BD[fresh_B].any())
    others = ours.carried(carry, torch.ones(B + 1, dtype=torch.bool))
    assert not bool(others[0][0].hidden_BD.any())
    with pytest.raises(AssertionError, match="rows that continue"):
        ours.carried(carry, torch.zeros(B + 1, dtype=torch.bool))


@pytest.mark.parametrize("kind", [RNNCell, ReLUCell, UGRNNCell, GRUCell, LSTMCell])
def test_bfloat16_is_close_to_float32_and_leaves_the_state_in_full(kind: Any) -> None:
    ours = Recurrent(kind, inputs=E, width=D, layers=2)
    x_BTE = some(B, T, E).float()
    target_BTD, _ = ours(x_BTE, None, REAL_BT)
    with torch.autocast("cpu", torch.bfloat16):
        found_BTD, state = ours(x_BTE, None, REAL_BT)
        found_BTD, state = ours(x_BTE, ours.carried(state, torch.ones(B, dtype=torch.bool)), REAL_BT)
    assert {part.dtype for layer in state for cell in layer for part in cell} == {torch.float32}
    torch.testing.assert_close(found_BTD[REAL_BT].float(), target_BTD[REAL_BT], rtol=0.03, atol=0.02)
    found_BTD[REAL_BT].float().sum().backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in ours.parameters())


def test_an_lstm_widens_where_there_is_no_kernel_for_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Recurrent(LSTMCell, inputs=E, width=D, layers=1)
    x_BTE = some(B, T, E).float()
    target_BTD, _ = ours(x_BTE, None, REAL_BT)
    lacks = [True]
    monkeypatch.setattr("seqwright.layers.recurrence.lacks_bfloat16", lambda device: bool(lacks and lacks.pop()))
    with torch.autocast("cpu", torch.bfloat16):
        found_BTD, _ = ours(x_BTE, None, REAL_BT)
    assert not lacks
    assert torch.equal(found_BTD, target_BTD)
