"""Recurrent cells: each is one step of a network with a memory, readable against its equation.

B batch · T time · E input · D width · G the gates of a cell and its target side by side, D each
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.layers.int8 import rounded_inside
from seqwright.layers.linear import linear_map
from seqwright.layers.taps import Tap, View, heard_inside


class HiddenState(NamedTuple):
    """The state of a cell that shows all it remembers."""

    hidden_BD: Tensor


class LSTMState(NamedTuple):
    """What an LSTM shows, and what it keeps to itself."""

    hidden_BD: Tensor
    memory_BD: Tensor


StateT = TypeVar("StateT", bound=HiddenState | LSTMState)


class Weights(nn.Module):
    """A_x, A_h and b of a cell's gates and of its target, one under the other in the order of torch's kernels.

    One product then serves them all. A cell that reads no input has no A_x. `keeping` names the gate that keeps the
    old state while it is open.
    """

    def __init__(self, *blocks: str, inputs: int, width: int, keeping: str | None = None) -> None:
        super().__init__()
        self.blocks, self.keeping, self.width = blocks, keeping, width
        size = len(blocks) * width
        self.input_GE = nn.Parameter(torch.empty(size, inputs)) if inputs else None
        self.hidden_GD = nn.Parameter(torch.empty(size, width))
        self.bias_G = nn.Parameter(torch.empty(size))
        self.register_buffer("zero_G", torch.zeros(size), persistent=False)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(width**-0.5), width**-0.5)

    def of_input(self, x: Tensor | None) -> Tensor:
        """A_x x + b, for any number of steps at once."""
        return self.bias_G if x is None or self.input_GE is None else linear_map(x, self.input_GE, self.bias_G)

    def of_both(self, input_BG: Tensor, hidden_BD: Tensor) -> tuple[Tensor, ...]:
        """A_x x + b + A_h h of each block."""
        sum_BG = torch.addmm(input_BG, hidden_BD, self.hidden_GD.T)
        return sum_BG.to(hidden_BD.dtype).chunk(len(self.blocks), dim=-1)  # a state stays in full precision

    def kernels(self) -> list[Tensor]:
        """As torch's kernels take them. They would add a second bias, which is of no use."""
        assert self.input_GE is not None
        return [self.input_GE, self.hidden_GD, self.bias_G, self.get_buffer("zero_G")]


class RecurrentCell(nn.Module, Generic[StateT]):
    """One step, `state = cell(x_BE, state)`, and many of them, `hidden_BTD, state = cell.scan(x_BTE, state)`.

    A step is in two parts: `project` is what can be computed without the state, so for all steps at once;
    `advance` is the rest. `keep_BD` is what a step sees of the hidden state, and how strongly (`VariationalDropout`).
    """

    weights: Weights

    @abstractmethod
    def start(self, batch: int) -> StateT:
        """The state before the first step: zeros."""

    def project(self, x: Tensor | None) -> Tensor:
        """A_x x + b: the share of the input in a step. None is the input of a cell that reads none."""
        return self.weights.of_input(x)

    @abstractmethod
    def advance(self, input_BG: Tensor, state: StateT, keep_BD: Tensor | None = None) -> StateT:
        """One step whose input is projected already."""

    def forward(self, x_BE: Tensor, state: StateT) -> StateT:
        """One step."""
        return self.advance(self.project(x_BE), state)

    def scan(
        self, x_BTE: Tensor, state: StateT, length_B: Tensor | None = None, keep_BD: Tensor | None = None
    ) -> tuple[Tensor, StateT]:
        """The hidden state after each step, and the state after the `length_B` first steps of each row (None: all).

        By the fused kernel, unless something is done or heard between the steps. It knows no int8, in which one step
        alone is computed sooner.
        """
        alone = x_BTE.shape[1] == 1 and rounded_inside(self)
        if alone or keep_BD is not None or not x_BTE.shape[1] or heard_inside(self):
            return self.stepped(x_BTE, state, length_B, keep_BD)
        return self.fused(x_BTE, state, length_B)

    def stepped(
        self, x_BTE: Tensor, state: StateT, length_B: Tensor | None = None, keep_BD: Tensor | None = None
    ) -> tuple[Tensor, StateT]:
        """`scan`, step by step; what the taps hear is joined along time."""
        states = [state]
        for input_BG in self.project(x_BTE.transpose(0, 1)).unbind(0):
            states.append(self.advance(input_BG, states[-1], keep_BD))
        for heard in heard_inside(self) if x_BTE.shape[1] else []:
            heard[-x_BTE.shape[1] :] = [torch.stack(heard[-x_BTE.shape[1] :], dim=1)]
        hidden_BTD = torch.stack([each.hidden_BD for each in states])[1:].transpose(0, 1)
        if length_B is None:
            return hidden_BTD, states[-1]
        row_B = torch.arange(len(length_B), device=length_B.device)
        parts = (torch.stack(part)[length_B, row_B] for part in zip(*states, strict=True))
        named: Any = type(state)
        return hidden_BTD, named(*parts)

    def fused(self, x_BTE: Tensor, state: StateT, length_B: Tensor | None = None) -> tuple[Tensor, StateT]:
        """`scan` by torch's kernel, in the cells that have one."""
        return self.stepped(x_BTE, state, length_B)


class RNNCell(RecurrentCell[HiddenState]):
    """One step of the simple recurrent network (Elman 1990).

    h_t = tanh(A_h h_{t-1} + A_x x_t + b)
    """

    def __init__(self, *, inputs: int, width: int) -> None:
        super().__init__()
        self.weights = Weights("target", inputs=inputs, width=width)

    def start(self, batch: int) -> HiddenState:
        """Zeros."""
        return HiddenState(_zeros(self.weights, batch))

    def advance(self, input_BG: Tensor, state: HiddenState, keep_BD: Tensor | None = None) -> HiddenState:
        """One step whose input is projected already."""
        (target_BD,) = self.weights.of_both(input_BG, _seen(state.hidden_BD, keep_BD))
        return HiddenState(target_BD.tanh())

    def fused(self, x_BTE: Tensor, state: HiddenState, length_B: Tensor | None = None) -> tuple[Tensor, HiddenState]:
        """`scan` by torch's kernel."""
        return _by_kernel(torch.rnn_tanh, self.weights, x_BTE, state, length_B)


class ReLUCell(RecurrentCell[HiddenState]):
    """One step of the recurrent network that never saturates (Le et al. 2015); it starts well as the identity.

    h_t = max(0, A_h h_{t-1} + A_x x_t + b)
    """

    def __init__(self, *, inputs: int, width: int) -> None:
        super().__init__()
        self.weights = Weights("target", inputs=inputs, width=width)

    def start(self, batch: int) -> HiddenState:
        """Zeros."""
        return HiddenState(_zeros(self.weights, batch))

    def advance(self, input_BG: Tensor, state: HiddenState, keep_BD: Tensor | None = None) -> HiddenState:
        """One step whose input is projected already."""
        (target_BD,) = self.weights.of_both(input_BG, _seen(state.hidden_BD, keep_BD))
        return HiddenState(target_BD.relu())

    def fused(self, x_BTE: Tensor, state: HiddenState, length_B: Tensor | None = None) -> tuple[Tensor, HiddenState]:
        """`scan` by torch's kernel."""
        return _by_kernel(torch.rnn_relu, self.weights, x_BTE, state, length_B)


class UGRNNCell(RecurrentCell[HiddenState]):
    """One step of the update gate RNN (Collins et al. 2017). Torch has no kernel for it.

    u_t = σ(A_uh h_{t-1} + A_ux x_t + b_u)
    s_t = tanh(A_sh h_{t-1} + A_sx x_t + b_s)
    h_t = u_t ⊙ h_{t-1} + (1 - u_t) ⊙ s_t
    """

    def __init__(self, *, inputs: int, width: int) -> None:
        super().__init__()
        self.weights = Weights("update", "target", inputs=inputs, width=width, keeping="update")
        self.update_gate = _gate("update")

    def start(self, batch: int) -> HiddenState:
        """Zeros."""
        return HiddenState(_zeros(self.weights, batch))

    def advance(self, input_BG: Tensor, state: HiddenState, keep_BD: Tensor | None = None) -> HiddenState:
        """One step whose input is projected already."""
        update_BD, target_BD = self.weights.of_both(input_BG, _seen(state.hidden_BD, keep_BD))
        u_BD, s_BD = self.update_gate(update_BD.sigmoid()), target_BD.tanh()
        return HiddenState(torch.lerp(s_BD, state.hidden_BD, u_BD))


class GRUCell(RecurrentCell[HiddenState]):
    """One step of the gated recurrent unit (Cho et al. 2014, section 2.3).

        r_t = σ(W_rh h_{t-1} + W_rx x_t + b_r)
        u_t = σ(W_uh h_{t-1} + W_ux x_t + b_u)
        s_t = tanh(r_t ⊙ (W_sh h_{t-1}) + W_sx x_t + b_s)
        h_t = u_t ⊙ h_{t-1} + (1 - u_t) ⊙ s_t

    Differs from the paper: it has W_sh (r_t ⊙ h_{t-1}). Torch's kernel resets after the product, which is then one for
    all three blocks.
    """

    def __init__(self, *, inputs: int, width: int) -> None:
        super().__init__()
        self.weights = Weights("reset", "update", "target", inputs=inputs, width=width, keeping="update")
        self.reset_gate, self.update_gate = _gate("reset"), _gate("update")

    def start(self, batch: int) -> HiddenState:
        """Zeros."""
        return HiddenState(_zeros(self.weights, batch))

    def advance(self, input_BG: Tensor, state: HiddenState, keep_BD: Tensor | None = None) -> HiddenState:
        """One step whose input is projected already."""
        hidden_BG = F.linear(_seen(state.hidden_BD, keep_BD), self.weights.hidden_GD).to(state.hidden_BD.dtype)
        (rx_BD, ux_BD, sx_BD), (rh_BD, uh_BD, sh_BD) = input_BG.chunk(3, dim=-1), hidden_BG.chunk(3, dim=-1)
        r_BD = self.reset_gate((rh_BD + rx_BD).sigmoid())
        u_BD = self.update_gate((uh_BD + ux_BD).sigmoid())
        s_BD = (r_BD * sh_BD + sx_BD).tanh()
        return HiddenState(torch.lerp(s_BD, state.hidden_BD, u_BD))

    def fused(self, x_BTE: Tensor, state: HiddenState, length_B: Tensor | None = None) -> tuple[Tensor, HiddenState]:
        """`scan` by torch's kernel."""
        return _by_kernel(torch.gru, self.weights, x_BTE, state, length_B)


class LSTMCell(RecurrentCell[LSTMState]):
    """One step of the LSTM (Hochreiter & Schmidhuber 1997; forget gate: Gers et al. 2000).

    f_t, i_t, o_t = σ(W_h h_{t-1} + W_x x_t + b), each with weights of its own
    s_t = tanh(W_sh h_{t-1} + W_sx x_t + b_s)
    c_t = f_t ⊙ c_{t-1} + i_t ⊙ s_t
    h_t = o_t ⊙ tanh(c_t)
    """

    def __init__(self, *, inputs: int, width: int) -> None:
        super().__init__()
        self.weights = Weights("input", "forget", "target", "output", inputs=inputs, width=width, keeping="forget")
        self.memory = Tap(View("memory", rows="steps", columns="units"))  # hears tanh(c_t)
        self.input_gate, self.forget_gate, self.output_gate = map(_gate, ("input", "forget", "output"))

    def start(self, batch: int) -> LSTMState:
        """Zeros."""
        return LSTMState(_zeros(self.weights, batch), _zeros(self.weights, batch))

    def advance(self, input_BG: Tensor, state: LSTMState, keep_BD: Tensor | None = None) -> LSTMState:
        """One step whose input is projected already."""
        input_BD, forget_BD, target_BD, output_BD = self.weights.of_both(input_BG, _seen(state.hidden_BD, keep_BD))
        i_BD = self.input_gate(input_BD.sigmoid())
        f_BD = self.forget_gate(forget_BD.sigmoid())
        o_BD = self.output_gate(output_BD.sigmoid())
        c_BD = f_BD * state.memory_BD + i_BD * target_BD.tanh()
        return LSTMState(o_BD * self.memory(c_BD.tanh()), c_BD)

    def fused(self, x_BTE: Tensor, state: LSTMState, length_B: Tensor | None = None) -> tuple[Tensor, LSTMState]:
        """`scan` by torch's kernel.

        It gives the memory after the last step only. So padding is made known to it by one more input, which opens the
        forget gate and shuts the input gate: the memory passes unchanged, at no cost.
        """
        if lacks_bfloat16(x_BTE.device):
            with torch.autocast("cpu", enabled=False):
                return self.fused(x_BTE.float(), LSTMState(*(part.float() for part in state)), length_B)
        input_GE, *others = self.weights.kernels()
        if length_B is not None:
            padding_BT = torch.arange(x_BTE.shape[1], device=x_BTE.device) >= length_B.unsqueeze(1)
            x_BTE = torch.cat((x_BTE, padding_BT.unsqueeze(-1).to(x_BTE.dtype)), dim=-1)
            holding_B = input_GE.new_tensor([-SHUT, SHUT, 0.0, 0.0])  # as the blocks: input, forget, target, output
            holding_G1 = holding_B.repeat_interleave(self.weights.width).unsqueeze(1)
            input_GE = torch.cat((input_GE, holding_G1), dim=1)
        first = (state.hidden_BD.unsqueeze(0), state.memory_BD.unsqueeze(0))
        learning = torch.is_grad_enabled()
        hidden_BTD, hidden_1BD, memory_1BD = torch.lstm(
            x_BTE, first, [input_GE, *others], True, 1, 0.0, learning, False, True
        )
        hidden_BD = _after(length_B, hidden_BTD, hidden_1BD, state.hidden_BD)
        return hidden_BTD, LSTMState(hidden_BD, memory_1BD.squeeze(0).to(state.memory_BD.dtype))


def lacks_bfloat16(device: torch.device) -> bool:
    """Whether autocast asks for bfloat16 of a CPU on which oneDNN, and with it torch's LSTM, has no kernel for it."""
    if device.type != "cpu" or not torch.is_autocast_enabled("cpu"):
        return False
    there = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return there and not torch.ops.mkldnn._is_mkldnn_bf16_supported()


SHUT = 1e4  # far outside of what a gate's sum can be, so that σ is exactly 0 or 1


class DeepTransition(RecurrentCell[StateT]):
    """A cell whose step is deeper: `layers` further cells, which read no input, follow one another in it.

        h_t = f_L(… f_1(f_0(x_t, h_{t-1})))

    Of `RNNCell`s it is the deep transition RNN (Pascanu et al. 2014, section 3.2.3), of `GRUCell`s the deep transition
    GRU (Miceli Barone et al. 2017). Variational dropout acts where the step begins.
    """

    def __init__(self, kind: Callable[..., RecurrentCell[StateT]], *, inputs: int, width: int, layers: int) -> None:
        super().__init__()
        self.first = kind(inputs=inputs, width=width)
        self.further = nn.ModuleList(kind(inputs=0, width=width) for _ in range(layers))

    def start(self, batch: int) -> StateT:
        """The state of the first cell is the state of all."""
        return self.first.start(batch)

    def project(self, x: Tensor | None) -> Tensor:
        """The share of the input in the first cell's step, which alone reads it."""
        return self.first.project(x)

    def advance(self, input_BG: Tensor, state: StateT, keep_BD: Tensor | None = None) -> StateT:
        """One step of each cell."""
        state = self.first.advance(input_BG, state, keep_BD)
        for cell in self.further:
            assert isinstance(cell, RecurrentCell)
            state = cell.advance(cell.project(None), state)
        return state


def _by_kernel(
    kernel: Callable[..., tuple[Tensor, Tensor]],
    weights: Weights,
    x_BTE: Tensor,
    state: HiddenState,
    length_B: Tensor | None,
) -> tuple[Tensor, HiddenState]:
    """One layer in one direction by a kernel of torch's, for the cells that show all they remember."""
    learning = torch.is_grad_enabled()  # what the kernels call training: to save what the way back needs
    first_1BD = state.hidden_BD.unsqueeze(0)
    hidden_BTD, last_1BD = kernel(x_BTE, first_1BD, weights.kernels(), True, 1, 0.0, learning, False, True)
    return hidden_BTD, HiddenState(_after(length_B, hidden_BTD, last_1BD, state.hidden_BD))


def _after(length_B: Tensor | None, hidden_BTD: Tensor, last_1BD: Tensor, first_BD: Tensor) -> Tensor:
    """The hidden state after the real steps of each row: the last, an earlier one, or, after none, the first."""
    if length_B is None:
        return last_1BD.squeeze(0).to(first_BD.dtype)
    row_B = torch.arange(len(length_B), device=length_B.device)
    reached_BD = hidden_BTD[row_B, (length_B - 1).clamp_min(0)].to(first_BD.dtype)
    return reached_BD.where(length_B.unsqueeze(1) > 0, first_BD)


def _gate(name: str) -> Tap:
    return Tap(View(f"{name} gate", rows="steps", columns="units"))


def _seen(hidden_BD: Tensor, keep_BD: Tensor | None) -> Tensor:
    return hidden_BD if keep_BD is None else hidden_BD * keep_BD


def _zeros(weights: Weights, batch: int) -> Tensor:
    return weights.bias_G.new_zeros(batch, weights.width)
