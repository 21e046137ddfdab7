"""Recurrent cells against their equations in NumPy, and their two ways, kernel and single steps, against each other.

B batch · T time · E input · D width
"""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seqwright.layers.recurrence import (
    DeepTransition,
    GRUCell,
    HiddenState,
    LSTMCell,
    LSTMState,
    RecurrentCell,
    ReLUCell,
    RNNCell,
    UGRNNCell,
)
from seqwright.layers.taps import listen

B, T, E, D = 4, 7, 5, 3
Array = NDArray[np.float64]
KINDS: list[Any] = [RNNCell, ReLUCell, UGRNNCell, GRUCell, LSTMCell]
DEEP: list[Any] = [partial(DeepTransition[Any], kind, layers=2) for kind in (RNNCell, GRUCell, LSTMCell)]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_cell = pytest.mark.parametrize("kind", KINDS + DEEP, ids=[*(k.__name__ for k in KINDS), "deep", "dGRU", "dLSTM"])
LENGTH_B = torch.tensor([7, 0, 3, 6])  # one row is all padding
REAL_BT = torch.arange(T) < LENGTH_B[:, None]


def a_cell(kind: Any) -> RecurrentCell[Any]:
    torch.manual_seed(1)
    cell: RecurrentCell[Any] = kind(inputs=E, width=D).double()
    return cell


def some(*shape: int, seed: int = 2) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def a_state(cell: RecurrentCell[Any]) -> Any:
    """Not zero, so that forgetting it shows."""
    start = cell.start(B)
    return type(start)(*(some(B, D, seed=10 + place) for place in range(len(start))))


def gradients(cell: nn.Module, *said: Tensor) -> list[Tensor]:
    """The gradients of all parameters from a sum with different weights at every place."""
    total = sum(((one * some(*one.shape, seed=20 + place)).sum() for place, one in enumerate(said)), torch.zeros(()))
    return list(torch.autograd.grad(total, list(cell.parameters())))


def close(found: Any, wanted: Any, by: float = 1e-9) -> None:
    torch.testing.assert_close(found, wanted, rtol=0, atol=by)


# ------------------------------------------------------------------------------------------------ equations


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def blocks(cell: RecurrentCell[Any]) -> dict[str, tuple[Array, Array, Array]]:
    """A_h, A_x and b of each gate and of the target, by name."""
    weights = cell.weights
    assert weights.input_GE is not None
    names = weights.blocks
    parts = (w.detach().numpy().reshape(len(names), D, *w.shape[1:]) for w in (weights.hidden_GD, weights.input_GE))
    bias = weights.bias_G.detach().numpy().reshape(len(names), D)
    return dict(zip(names, zip(*parts, bias, strict=True), strict=True))


def by_hand(cell: RecurrentCell[Any], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """One step of one row, from the lectures' equations."""
    A = {name: (lambda block: lambda h: block[0] @ h + block[1] @ x + block[2])(b) for name, b in blocks(cell).items()}
    match cell:
        case RNNCell():
            return np.tanh(A["target"](h)), c
        case ReLUCell():
            return np.maximum(0, A["target"](h)), c
        case UGRNNCell():
            u, s = sigmoid(A["update"](h)), np.tanh(A["target"](h))
            return u * h + (1 - u) * s, c
        case GRUCell():
            r, u = sigmoid(A["reset"](h)), sigmoid(A["update"](h))
            W_sh, W_sx, b_s = blocks(cell)["target"]
            s = np.tanh(r * (W_sh @ h) + W_sx @ x + b_s)
            return u * h + (1 - u) * s, c
        case _:
            f, i, o = (sigmoid(A[name](h)) for name in ("forget", "input", "output"))
            c = f * c + i * np.tanh(A["target"](h))
            return o * np.tanh(c), c


@every_kind
def test_a_cell_is_its_equation(kind: Any) -> None:
    cell = a_cell(kind)
    state, x_BTE = a_state(cell), some(B, T, E)
    for row in range(B):
        h, c = state.hidden_BD[row].numpy(), state[-1][row].numpy()
        for t in range(T):
            h, c = by_hand(cell, x_BTE[row, t].numpy(), h, c)
        reached = state
        for x_BE in x_BTE.unbind(1):
            reached = cell(x_BE, reached)
        close(reached.hidden_BD[row].detach(), torch.from_numpy(h))
        if isinstance(reached, LSTMState):
            close(reached.memory_BD[row].detach(), torch.from_numpy(c))


def test_a_gru_resets_before_the_product_in_the_paper_and_after_it_here() -> None:
    """Where A_sh is diagonal the two are one."""
    cell = a_cell(GRUCell)
    with torch.no_grad():
        cell.weights.hidden_GD[2 * D :] = torch.diag(some(D))
    state, x_BE = a_state(cell), some(B, E)
    found = cell(x_BE, state).hidden_BD.detach().numpy()
    (W_rh, W_rx, b_r), (W_uh, W_ux, b_u), (W_sh, W_sx, b_s) = blocks(cell).values()
    for row in range(B):
        x, h = x_BE[row].numpy(), state.hidden_BD[row].numpy()
        r, u = sigmoid(W_rh @ h + W_rx @ x + b_r), sigmoid(W_uh @ h + W_ux @ x + b_u)
        s = np.tanh(W_sh @ (r * h) + W_sx @ x + b_s)
        np.testing.assert_allclose(found[row], u * h + (1 - u) * s, rtol=0, atol=1e-12)


def test_a_deep_transition_is_a_feed_forward_network_between_two_states() -> None:
    """h_t = tanh(U_2 tanh(U_1 tanh(A_h h + A_x x + b) + b_1) + b_2)."""
    cell = DeepTransition(RNNCell, inputs=E, width=D, layers=2).double()
    x_BE, h_BD = some(B, E), some(B, D, seed=3)
    first, *further = (each for each in cell.modules() if isinstance(each, RNNCell))
    assert first.weights.input_GE is not None
    target_BD = (h_BD @ first.weights.hidden_GD.T + x_BE @ first.weights.input_GE.T + first.weights.bias_G).tanh()
    for each in further:
        target_BD = (target_BD @ each.weights.hidden_GD.T + each.weights.bias_G).tanh()
    assert len(further) == 2
    close(cell(x_BE, HiddenState(h_BD)).hidden_BD, target_BD)


def test_an_open_update_gate_keeps_the_state_and_a_shut_one_replaces_it() -> None:
    for kind in (UGRNNCell, GRUCell):
        cell = a_cell(kind)
        state, x_BE = a_state(cell), some(B, E)
        update = cell.weights.blocks.index("update")
        for bias, kept in ((50.0, True), (-50.0, False)):
            with torch.no_grad():
                cell.weights.bias_G[update * D : (update + 1) * D] = bias
            assert torch.allclose(cell(x_BE, state).hidden_BD, state.hidden_BD, atol=1e-12) is kept


# ------------------------------------------------------------------------------------------------ two ways, one result


@every_cell
@pytest.mark.parametrize("length_B", [None, LENGTH_B], ids=["full", "padded"])
@pytest.mark.parametrize(("dtype", "by"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])  # torch has a kernel for each
def test_the_kernel_takes_the_same_steps_as_the_cell(
    kind: Any, length_B: Tensor | None, dtype: torch.dtype, by: float
) -> None:
    """Values and gradients, of everything said at the real steps and of the state after them."""
    cell = a_cell(kind)
    state, x_BTE = a_state(cell), some(B, T, E).to(dtype)
    cell, state = cell.to(dtype), type(state)(*(part.to(dtype) for part in state))
    real_BT1 = torch.ones(B, T, 1) if length_B is None else REAL_BT.unsqueeze(-1)
    whole_BTD, reached = cell.scan(x_BTE, state, length_B)
    slow_BTD, wanted = cell.stepped(x_BTE, state, length_B)
    assert whole_BTD.dtype is dtype
    close(whole_BTD * real_BT1, slow_BTD * real_BT1, by)
    close(reached, wanted, by)
    found = gradients(cell, whole_BTD * real_BT1, *reached)
    close(found, gradients(cell, slow_BTD * real_BT1, *wanted), by)


@every_cell
def test_a_padded_row_ends_as_it_would_alone(kind: Any) -> None:
    cell = a_cell(kind)
    state, x_BTE = a_state(cell), some(B, T, E)
    hidden_BTD, reached = cell.scan(x_BTE, state, LENGTH_B)
    for row, length in enumerate(LENGTH_B.tolist()):
        alone = type(state)(*(part[row : row + 1] for part in state))
        for t in range(length):
            alone = cell(x_BTE[row : row + 1, t], alone)
            close(hidden_BTD[row, t], alone.hidden_BD[0])
        for found_BD, target_BD in zip(reached, alone, strict=True):
            close(found_BD[row], target_BD[0])


@every_cell
def test_a_row_without_a_real_step_keeps_its_state_to_the_bit(kind: Any) -> None:
    cell = a_cell(kind).float()
    state = type(start := cell.start(B))(*(some(B, D, seed=4).float() for _ in start))
    for x_BTE in (some(B, T, E).float(), some(B, 0, E).float()):
        hidden_BTD, reached = cell.scan(x_BTE, state, torch.zeros(B, dtype=torch.int64))
        assert hidden_BTD.shape == (B, x_BTE.shape[1], D)
        assert all(torch.equal(found, kept) for found, kept in zip(reached, state, strict=True))


@pytest.mark.parametrize("kind", [UGRNNCell, GRUCell, LSTMCell])
def test_gates_are_heard_along_time_and_hearing_them_changes_nothing(kind: Any) -> None:
    cell = a_cell(kind)
    state, x_BTE = a_state(cell), some(B, T, E)
    target_BTD, _ = cell.scan(x_BTE, state)
    with listen(cell) as heard:
        found_BTD, _ = cell.scan(x_BTE, state)
        cell.scan(x_BTE[:, :2], state)
    close(found_BTD, target_BTD)
    if kind is LSTMCell:
        close(heard["output_gate"][0] * heard.pop("memory")[0], target_BTD)  # h_t = o_t ⊙ tanh(c_t)
    assert set(heard) == {f"{name}_gate" for name in cell.weights.blocks if name != "target"}
    for name, (whole_BTD, begin_BTD) in heard.items():
        A_h, A_x, b = blocks(cell)[name.removesuffix("_gate")]
        before_BTD = torch.cat((state.hidden_BD.unsqueeze(1), target_BTD[:, :-1]), dim=1).detach().numpy()
        close(whole_BTD, torch.from_numpy(sigmoid(before_BTD @ A_h.T + x_BTE.numpy() @ A_x.T + b)))
        close(begin_BTD, whole_BTD[:, :2])


@every_cell
def test_a_step_under_variational_dropout_sees_what_is_kept_of_the_state(kind: Any) -> None:
    """As if A_h had lost the columns of what is left out (Gal & Ghahramani 2016); what is carried over is whole."""
    cell = a_cell(kind)
    first = next(
        each for each in cell.modules() if isinstance(each, RecurrentCell) and not isinstance(each, DeepTransition)
    )
    x_BTE, state, keep_D = some(B, T, E), a_state(cell), torch.tensor([0.0, 1.25, 0.0], dtype=torch.float64)
    found_BTD, _ = cell.scan(x_BTE, state, None, keep_D.expand(B, D))
    with torch.no_grad():
        first.weights.hidden_GD.mul_(keep_D)
    close(found_BTD, cell.scan(x_BTE, state)[0])
