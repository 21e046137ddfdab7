from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqwright.decoding.stepper import Prefix, moved, opened, reordered, repeated


class Inner(NamedTuple):
    memory_BD: Tensor
    nothing: None


class Outer(NamedTuple):
    position_B: Tensor
    layers: tuple[Inner, ...]


def a_state(rows: int = 3) -> Outer:
    number_B = torch.arange(rows)
    inner = [Inner(number_B[:, None] * torch.ones(rows, 2 + i) + 10 * i, None) for i in range(2)]
    return Outer(number_B, tuple(inner))


def first_values(state: Outer) -> list[list[float]]:
    return [state.position_B.tolist(), *(layer.memory_BD[:, 0].tolist() for layer in state.layers)]


def test_every_tensor_of_a_nested_state_is_reordered() -> None:
    state = reordered(a_state(), torch.tensor([2, 0, 0, 1]))
    assert first_values(state) == [[2, 0, 0, 1], [2, 0, 0, 1], [12, 10, 10, 11]]


def test_what_no_step_has_touched_is_not_moved_among_the_hypotheses_of_a_row() -> None:
    source_RS, other_RS, read_R = torch.arange(8.0).view(4, 2), torch.zeros(4, 1), torch.arange(4)
    first: Any = (source_RS, (other_RS, None))
    state = (source_RS, (other_RS + 1, read_R))  # a step gave the second anew, and the third for the first time
    within = torch.tensor([1, 0, 3, 3])
    (source, (other, read)), first = moved(state, first, within, within=True)
    assert source is source_RS
    assert other.tolist() == [[1.0]] * 4
    assert read.tolist() == [1, 0, 3, 3]
    (source, (_, read)), first = moved((source, (other, read)), first, torch.tensor([3, 2]), within=False)
    assert source.tolist() == source_RS[[3, 2]].tolist()  # a row has left: now it is moved, once
    assert read.tolist() == [3, 3]
    again = moved((source, (other[:2], read)), first, torch.tensor([1, 0]), within=True)[0]
    assert again[0] is source


def test_a_reordered_state_is_made_of_the_same_named_tuples() -> None:
    state = reordered(a_state(), torch.tensor([1]))
    assert type(state) is Outer
    assert type(state.layers) is tuple
    assert type(state.layers[0]) is Inner
    assert state.layers[0].nothing is None


def test_repeating_keeps_the_copies_of_a_row_together() -> None:
    assert first_values(repeated(a_state(2), 3))[0] == [0, 0, 0, 1, 1, 1]


def test_the_state_given_stays_as_it_was() -> None:
    state = a_state()
    reordered(state, torch.tensor([2, 1, 0]))
    assert first_values(state) == first_values(a_state())


class Adding:
    """Its state is the sum of what was read, its logits are (sum, last token)."""

    def start(self, rows: int) -> Tensor:
        return torch.zeros(rows)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        sum_BT = state[:, None] + (tokens_BT * real_BT).cumsum(1)
        return torch.stack([sum_BT, tokens_BT.float()], dim=-1), sum_BT[:, -1]

    def step(self, tokens_B: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        logits_BTV, state = self.read(tokens_B[:, None], torch.ones(len(tokens_B), 1, dtype=torch.bool), state)
        return logits_BTV[:, 0], state


def test_after_prefixes_of_different_length_the_logits_are_those_of_each_last_token() -> None:
    prefix = Prefix(
        torch.tensor([[5, 7, 9], [3, 99, 99], [99, 99, 99]]),
        torch.tensor([[True, True, True], [True, False, False], [False, False, False]]),
    )
    model = Adding()
    logits_BV, state_B = opened(model, model.start(3), torch.tensor([1, 1, 2]), prefix)
    assert logits_BV.tolist() == [[22, 9], [4, 3], [2, 2]]
    assert state_B.tolist() == [22, 4, 2]


def test_without_a_prefix_only_the_first_token_is_read() -> None:
    model = Adding()
    logits_BV, _ = opened(model, model.start(2), torch.tensor([4, 6]), None)
    assert logits_BV.tolist() == [[4, 4], [6, 6]]
