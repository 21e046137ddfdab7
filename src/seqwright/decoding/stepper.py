"""The seam between a left-to-right model and every search: start, read, step, and states that can be reordered.

B batch · T time · V vocabulary
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import torch
from torch import Tensor


@runtime_checkable
class Reorderable(Protocol):
    """A part of a state that knows how its rows are repeated and reordered, such as a cache that hypotheses share."""

    def repeated(self, times: int, /) -> "Reorderable":
        """With each row `times` times in a row."""

    def reordered(self, rows_B: Tensor, /) -> "Reorderable":
        """With row `rows_B[i]` as row i."""


State: TypeAlias = "Tensor | Reorderable | tuple[State, ...] | None"
"""A tensor whose first axis is the row, what has rows in another way, a (named) tuple of such states, or nothing."""

StateT = TypeVar("StateT", bound=State)


class Stepper(Protocol[StateT]):
    """A model that writes from left to right: n-gram, LSTM, Transformer, or several of them together.

    A row of the state knows its own position, so rows of different length share a batch, and rows can be
    reordered, repeated and dropped between two steps. A state is never written into: a step gives a new one.
    """

    def start(self, batch: Any, /) -> StateT:
        """The state before the first token, from the model's own batch without the target."""

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: StateT, /) -> tuple[Tensor, StateT]:
        """`logits_BTV` of what follows each token; padding stands on the right and leaves the state as it is."""

    def step(self, tokens_B: Tensor, state: StateT, /) -> tuple[Tensor, StateT]:
        """`logits_BV` of what follows one more token: `read` with T = 1."""


@runtime_checkable
class HasContext(Protocol):
    """A model that may read no more than so many tokens, such as one with a vector for each position; None: any."""

    context: int | None


def reordered(state: StateT, rows_B: Tensor) -> StateT:
    """The state whose row i is row `rows_B[i]` of `state`; a row may be left out or taken several times."""
    return _each(state, lambda leaf: leaf.index_select(0, rows_B), lambda part: part.reordered(rows_B))


def moved(state: StateT, first: State, rows_B: Tensor, *, within: bool) -> tuple[StateT, State]:
    """`reordered`, for hypotheses that began in the same state: what of it no step has touched need not be moved.

    `first` is the state in which the hypotheses of each row began, all alike. A tensor that is still the very one of
    `first`, such as the keys of a source, is the same for all of them, and where they change places `within` their row
    only, it stays as it is. The second result is the `first` of the next time.
    """
    if isinstance(state, tuple):
        firsts = first if isinstance(first, tuple) and len(first) == len(state) else (None,) * len(state)
        parts = [moved(part, began, rows_B, within=within) for part, began in zip(state, firsts, strict=True)]
        named: Any = type(state)
        after: Any = tuple(part for part, _ in parts)
        return (after if named is tuple else named(*after)), tuple(began for _, began in parts)
    if state is None or (within and state is first):
        return state, first
    leaf = reordered(state, rows_B)
    return leaf, leaf if state is first else None


def repeated(state: StateT, times: int) -> StateT:
    """The state with each row `times` times in a row: 0 0 1 1 2 2."""
    return _each(state, lambda leaf: leaf.repeat_interleave(times, dim=0), lambda part: part.repeated(times))


def _each(
    state: StateT, change: Callable[[Tensor], Tensor], change_part: Callable[[Reorderable], Reorderable]
) -> StateT:
    """The same tree with every tensor changed, and every part that knows how."""
    changed: State = None
    if isinstance(state, tuple):
        parts = (_each(part, change, change_part) for part in state)
        named: Any = type(state)
        changed = tuple(parts) if named is tuple else named(*parts)
    elif isinstance(state, Tensor):
        changed = change(state)
    elif state is not None:
        changed = change_part(state)
    return cast(StateT, changed)


class Prefix(NamedTuple):
    """Tokens each row is made to begin with, padded on the right; `real_BT` is True where a token is not padding.

    `written_BT` is True where they belong to what is being written, and so must not be repeated where nothing may be; a
    question does not. None: all of them do.
    """

    tokens_BT: Tensor
    real_BT: Tensor
    written_BT: Tensor | None = None


def opened(model: Stepper[StateT], state: StateT, first_B: Tensor, prefix: Prefix | None) -> tuple[Tensor, StateT]:
    """`logits_BV` of what follows the first token and the prefix of each row, and the state after them."""
    if prefix is None:
        return model.step(first_B, state)
    first_B1 = first_B.unsqueeze(1)
    real_BT = torch.cat([torch.ones_like(first_B1, dtype=torch.bool), prefix.real_BT], dim=1)
    logits_BTV, state = model.read(torch.cat([first_B1, prefix.tokens_BT], dim=1), real_BT, state)
    last_B = real_BT.sum(1) - 1
    return logits_BTV[torch.arange(len(last_B), device=last_B.device), last_B], state
