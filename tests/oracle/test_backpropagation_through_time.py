"""Gradients through time: the lectures' sums and products by hand, how far they reach, and where they are cut.

T time · E input · D width · V vocabulary
"""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqwright.batches.series import pasts
from seqwright.batches.text import Text
from seqwright.layers.gradients import gradient_norms, gradient_norms_within
from seqwright.layers.initialisation import initialise
from seqwright.layers.recurrence import DeepTransition, GRUCell, LSTMCell, RecurrentCell, ReLUCell, RNNCell, UGRNNCell
from seqwright.layers.scanning import Recurrent
from seqwright.models.forecasters import RecurrentForecaster, RecurrentForecasterSettings
from seqwright.models.language_model import LanguageModel
from seqwright.models.rnn_lm import RecurrentLM, RecurrentLMSettings

T, E, D, V = 5, 3, 2, 4


def an_rnn(**weights: Tensor) -> Recurrent:
    """One layer of simple cells with given weights, in double precision."""
    rnn = Recurrent(RNNCell, inputs=weights["A_x"].shape[1], width=len(weights["A_h"])).double()
    cell = rnn.stack()[0].directions()[0]
    assert cell.weights.input_GE is not None
    with torch.no_grad():
        cell.weights.input_GE.copy_(weights["A_x"])
        cell.weights.hidden_GD.copy_(weights["A_h"])
        cell.weights.bias_G.zero_()
    return rnn


# ------------------------------------------------------------------------------------------------ the sum over k


def test_the_gradient_of_the_recurrent_weight_is_the_lectures_sum_over_all_earlier_steps() -> None:
    """∂J^(t)/∂w = Σ_k ∂J^(t)/∂ŷ ∂ŷ/∂z ∂z/∂h^(t) (Π_{j=k+1}^t ∂h^(j)/∂s^(j) ∂s^(j)/∂h^(j-1)) ∂h^(k)/∂s^(k) ∂s^(k)/∂w.

    With s = u x + w h, h = tanh(s), z = v h, ŷ = softmax(z), J = -log ŷ_right, and the sum over t; u and w alike.
    """
    numbers = np.random.default_rng(1)
    u, w, v = numbers.normal(size=(D, E)), numbers.normal(size=(D, D)), numbers.normal(size=(V, D))
    x, right = numbers.normal(size=(T, E)), numbers.integers(V, size=T)

    h = [np.zeros(D)]
    for t in range(T):
        h.append(np.tanh(u @ x[t] + w @ h[t]))
    by_w, by_u = np.zeros_like(w), np.zeros_like(u)
    for t in range(1, T + 1):
        z = v @ h[t]
        by_z = np.exp(z) / np.exp(z).sum() - np.eye(V)[right[t - 1]]  # ∂J/∂ŷ ∂ŷ/∂z
        for k in range(1, t + 1):
            chain = by_z @ v  # ∂z/∂h
            for j in range(t, k, -1):
                chain = chain @ np.diag(1 - h[j] ** 2) @ w
            by_s = chain @ np.diag(1 - h[k] ** 2)
            by_w += np.outer(by_s, h[k - 1])
            by_u += np.outer(by_s, x[k - 1])

    rnn = an_rnn(A_x=torch.from_numpy(u), A_h=torch.from_numpy(w))
    said_1TD, _ = rnn(torch.from_numpy(x).unsqueeze(0))
    F.cross_entropy(said_1TD[0] @ torch.from_numpy(v).T, torch.from_numpy(right), reduction="sum").backward()
    weights = rnn.stack()[0].directions()[0].weights
    assert weights.input_GE is not None
    torch.testing.assert_close(weights.hidden_GD.grad, torch.from_numpy(by_w), rtol=0, atol=1e-12)
    torch.testing.assert_close(weights.input_GE.grad, torch.from_numpy(by_u), rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------------------ vanishing, exploding


@pytest.mark.parametrize(("a_h", "wanted"), [(1.1, 13781), (0.9, 0.0000266)])
def test_the_lectures_gradients_after_a_hundred_steps(a_h: float, wanted: float) -> None:
    """Around zero tanh(x) ≈ x, and ∂h_t/∂h_{t-k} = a_h^k: 1.1^100 explodes and 0.9^100 vanishes."""
    rnn = an_rnn(A_x=torch.zeros(D, E), A_h=a_h * torch.eye(D, dtype=torch.float64))
    norm_LBK = gradient_norms(rnn, torch.zeros(1, 100, E, dtype=torch.float64))
    assert norm_LBK.shape == (1, 1, 101)
    for k, norm in enumerate(norm_LBK.flatten().tolist()):
        assert norm == pytest.approx(a_h**k, rel=1e-9)
    assert float(norm_LBK[0, 0, 100]) == pytest.approx(wanted, rel=2e-3)


def test_the_norm_is_that_of_the_direction_stretched_most() -> None:
    rnn = an_rnn(A_x=torch.zeros(D, E), A_h=torch.diag(torch.tensor([0.5, -0.8], dtype=torch.float64)))
    norm_K = gradient_norms(rnn, torch.zeros(1, T, E, dtype=torch.float64)).flatten()
    torch.testing.assert_close(norm_K, 0.8 ** torch.arange(T + 1, dtype=torch.float64))


def test_a_saturated_tanh_lets_no_gradient_through() -> None:
    """∂h_t/∂h_{t-k} = (Π tanh'_i) a_h^k, by hand in one dimension."""
    rnn = an_rnn(A_x=torch.ones(1, 1), A_h=torch.full((1, 1), 1.1, dtype=torch.float64))
    x_T = [0.3, -0.2, 0.1, 2.5, 3.0]
    h, slopes = 0.0, []
    for x in x_T:
        h = math.tanh(1.1 * h + x)
        slopes.append((1 - h * h) * 1.1)
    wanted = [math.prod(slopes[len(slopes) - k :]) for k in range(len(slopes) + 1)]
    found = gradient_norms(rnn, torch.tensor(x_T, dtype=torch.float64).view(1, -1, 1)).flatten().tolist()
    assert found == pytest.approx(wanted, rel=1e-9)
    assert found[2] < 1e-3


KINDS: list[Any] = [RNNCell, ReLUCell, UGRNNCell, GRUCell, LSTMCell, partial(DeepTransition, GRUCell, layers=1)]


@pytest.mark.parametrize("kind", KINDS, ids=["rnn", "relu", "ugrnn", "gru", "lstm", "deep"])
def test_the_norms_are_those_of_the_whole_jacobian(kind: Any) -> None:
    """Of each layer on its own, from a state in the middle: autograd through all steps at once is the judge."""
    torch.manual_seed(1)
    stack = Recurrent(kind, inputs=E, width=D, layers=2).double()
    x_BTE = torch.randn(3, T, E, dtype=torch.float64)
    _, state = stack(torch.randn(3, T, E, dtype=torch.float64))
    state = stack.carried(state, torch.zeros(3, dtype=torch.bool))
    norm_LBK = gradient_norms(stack, x_BTE, state)
    assert norm_LBK.shape == (2, 3, T + 1)
    for place, (layer, (first,)) in enumerate(zip(stack.stack(), state, strict=True)):
        for k in range(T + 1):
            target_B = torch.linalg.svdvals(whole_jacobian(layer.directions()[0], x_BTE, first, k))[:, 0]
            torch.testing.assert_close(norm_LBK[place, :, k], target_B, rtol=0, atol=1e-9)
        x_BTE, _ = layer(x_BTE, (first,))


def test_norms_from_several_last_steps_are_those_of_the_text_up_to_each() -> None:
    torch.manual_seed(1)
    stack = Recurrent(LSTMCell, inputs=E, width=D, layers=2, bidirectional=True).double()
    x_BTE = torch.randn(3, T, E, dtype=torch.float64)
    norm_LRK = gradient_norms(stack, x_BTE, last=[3, T])
    assert norm_LRK.shape == (2, 6, 4)
    torch.testing.assert_close(norm_LRK[:, 3:], gradient_norms(stack, x_BTE)[..., :4])
    # Above the lowest layer, what is read also knows of later steps.
    torch.testing.assert_close(norm_LRK[0, :3], gradient_norms(stack, x_BTE[:, :3])[0])


def test_a_model_is_followed_layer_by_layer_while_it_reads_a_batch() -> None:
    torch.manual_seed(1)
    settings = RecurrentForecasterSettings(kind="rnn", width=D, layers=2, output_layer="recurrent")
    model = RecurrentForecaster(settings, channels=1, horizon=1).double()
    past_BTC = torch.randn(3, T, 1, dtype=torch.float64)
    first_RK, second_RK, output_RK = gradient_norms_within(
        model, pasts(past_BTC, horizon=1), last=lambda steps: [steps]
    )
    torch.testing.assert_close(torch.stack([first_RK, second_RK]), gradient_norms(model.recurrent, past_BTC))
    assert model.output is not None
    said_BTD, _ = model.recurrent(past_BTC)
    torch.testing.assert_close(output_RK, gradient_norms(model.output, said_BTD)[0])


@pytest.mark.parametrize("a_h", [9.0, 0.1])
def test_norms_stay_right_where_single_precision_ends(a_h: float) -> None:
    """9^80 is 2e76, 0.1^80 is 1e-80; single precision holds 3e38 and 1e-45."""
    rnn = an_rnn(A_x=torch.zeros(D, E), A_h=a_h * torch.eye(D)).float()
    norm_K = gradient_norms(rnn, torch.zeros(1, 80, E)).flatten()
    np.testing.assert_allclose(norm_K, a_h ** np.arange(81.0), rtol=1e-4)


def whole_jacobian(cell: RecurrentCell[Any], x_BTE: Tensor, first: Any, k: int) -> Tensor:
    """∂h_T/∂state_{T-k} of each row."""
    _, before = cell.stepped(x_BTE[:, : T - k], first)

    def last_hidden(*parts: Tensor) -> Tensor:
        _, after = cell.stepped(x_BTE[:, T - k :], type(before)(*parts))
        hidden_BD: Tensor = after.hidden_BD
        return hidden_BD.sum(0)  # a row's hidden state depends on no other row

    blocks = torch.autograd.functional.jacobian(last_hidden, tuple(part.detach() for part in before))
    return torch.cat([block_DBD.transpose(0, 1) for block_DBD in blocks], dim=-1)


def test_an_open_gate_carries_the_gradient_where_the_simple_cell_loses_it() -> None:
    """A_h is small; with u ≈ 1, or f ≈ 1, the state and its gradient stay."""
    x_BTE = torch.zeros(1, 50, E)
    for kind, reaches in ((RNNCell, False), (UGRNNCell, True), (GRUCell, True), (LSTMCell, True)):
        torch.manual_seed(1)
        stack = Recurrent(kind, inputs=E, width=D)
        initialise(stack, "xavier", forget_bias=8.0)
        for weights in (cell.weights for cell in stack.stack()[0].directions()):
            with torch.no_grad():
                weights.hidden_GD.mul_(0.5)
        norm = float(gradient_norms(stack, x_BTE)[0, 0, -1])
        assert norm > 0.1 if reaches else norm < 1e-6


# ------------------------------------------------------------------------------------------------ what is learnt from


def test_a_loss_over_the_last_outputs_reaches_every_step_through_them_alone() -> None:
    """The lectures' cost over the last three of five outputs: no gradient through the first two."""
    torch.manual_seed(1)
    model = LanguageModel(RecurrentLM(RecurrentLMSettings(width=D, dropout=0), vocabulary=V))
    input_BT = torch.randint(V, (3, T))
    batch = Text(input_BT, input_BT.roll(1, dims=0), torch.ones(3, T, dtype=torch.bool))
    logits_BTV, _ = model(batch, None)
    logits_BTV.retain_grad()
    last = 3
    F.cross_entropy(logits_BTV[:, -last:].flatten(0, 1), batch.target_BT[:, -last:].flatten()).backward()
    assert logits_BTV.grad is not None
    reached_T = logits_BTV.grad.abs().amax((0, 2)) > 0
    assert reached_T.tolist() == [False, False, True, True, True]


def test_the_first_step_still_learns_from_the_last_output() -> None:
    torch.manual_seed(1)
    stack = Recurrent(LSTMCell, inputs=E, width=D, layers=2)
    x_BTE = torch.randn(3, T, E).requires_grad_()
    said_BTD, _ = stack(x_BTE)
    said_BTD[:, -1].sum().backward()
    assert x_BTE.grad is not None
    assert bool((x_BTE.grad.abs().amax(-1) > 0).all())
