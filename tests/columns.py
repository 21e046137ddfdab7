"""Batches of rows that are tuples, by functions of their columns."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

BatchT = TypeVar("BatchT")


def by_column(collate: Callable[..., BatchT]) -> Callable[[Sequence[tuple[Any, ...]]], BatchT]:
    """A function that makes a batch of several columns, for rows that are tuples of them, as `Zipped` has."""
    return lambda rows: collate(*zip(*rows, strict=True))
