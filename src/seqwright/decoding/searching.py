"""Searches as generators: they yield after each step, so that whoever goes through one can show it, or stop it.

B batch · C candidates of a row, best first
"""

from collections.abc import Callable, Generator
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

from torch import Tensor

P = ParamSpec("P")
StepT = TypeVar("StepT")
FoundT = TypeVar("FoundT")


class Growth(NamedTuple):
    """One step of a beam search: the best hypotheses of each row that are one token longer, best first."""

    row_B: Tensor  # the numbers of the rows that are still searched
    parent_BC: Tensor  # the place, among those of its row that lived on, of the hypothesis it grew from
    token_BC: Tensor
    logp_BC: Tensor  # of this token
    score_BC: Tensor  # of the whole hypothesis; minus infinity where it is none
    ended_BC: Tensor


class ChosenTokens(NamedTuple):
    """One step of writing token by token: the rows that are still written, and the token that each has chosen."""

    row_B: Tensor
    token_B: Tensor


def whole(steps: Callable[P, Generator[StepT, None, FoundT]]) -> Callable[P, FoundT]:
    """A search that goes through all of its steps at once."""

    @wraps(steps)
    def found(*given: P.args, **named: P.kwargs) -> FoundT:
        return run_search(steps(*given, **named))

    return found


def run_search(search: Generator[StepT, None, FoundT], watch: Callable[[StepT], None] | None = None) -> FoundT:
    """What a search finds, gone through to its end; `watch` is shown each step."""
    while True:
        try:
            step = next(search)
        except StopIteration as end:
            found: FoundT = end.value
            return found
        if watch is not None:
            watch(step)
