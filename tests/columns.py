"""Batches of rows that are tuples, by functions of their columns."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from seqwright.batches import Ids, InMemory
from seqwright.batches.tagged import StretchRows, stretches

BatchT = TypeVar("BatchT")


def by_column(collate: Callable[..., BatchT]) -> Callable[[Sequence[tuple[Any, ...]]], BatchT]:
    """A function that makes a batch of several columns, for rows that are tuples of them, as `Zipped` has."""
    return lambda rows: collate(*zip(*rows, strict=True))


def stretch_rows(sentences: Sequence[Sequence[Ids]], *, longest: int) -> StretchRows:
    """The stretches of sentences, of each of whose words the tokens are given."""
    every = [(number, row) for number, words in enumerate(sentences) for row in stretches(words, longest=longest)]
    number_N = np.array([number for number, _ in every])
    return StretchRows(
        InMemory([row.tokens for _, row in every], number_N), InMemory([row.length_W for _, row in every], number_N)
    )
