"""Batches of tagged text: each sentence a row of tokens, or several, a tag at the first token of each word.

B batch · T time · W words of a row · N rows
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqwright.batches import Batch, Ids, Numbers, Rows, begun, padded


@dataclass(frozen=True)
class Tagged(Batch):
    """A batch of sentences, each closed by its end, with padding on the right.

    A word may be several tokens. What counts is said at the first of them, where `first_BT` is True and `target_BT`
    numbers its tag (as Devlin et al. 2019, section 5.3); what a model says elsewhere plays no part. `word_B` is the
    number of the row's first word in its sentence.
    """

    input_BT: Tensor
    real_BT: Tensor
    first_BT: Tensor
    word_B: Tensor
    target_BT: Tensor
    counted: ClassVar[str] = "first_BT"

    @property
    def labels(self) -> Tensor:
        """The number of the right tag at each output that counts, row by row."""
        return self.target_BT[self.first_BT]


class Stretch(NamedTuple):
    """Words in a row: the tokens of all of them, how many each has, and the number of the first in its sentence."""

    tokens: Ids
    length_W: Ids
    begin: int = 0


def stretches(tokens: Sequence[Ids], *, longest: int) -> Iterator[Stretch]:
    """A sentence, the tokens of each of its words given, cut between words so that no stretch has over `longest`.

    A word that is longer on its own is cut off there.
    """
    tokens = [word[:longest] for word in tokens]
    length_W = np.fromiter(map(len, tokens), dtype=np.uint32, count=len(tokens))
    begin = used = 0
    for place, length in enumerate([*length_W.tolist(), longest + 1]):
        if place > begin and used + length > longest:
            yield Stretch(np.concatenate(tokens[begin:place]), length_W[begin:place], begin)
            begin, used = place, 0
        used += length


def stacked(rows: Sequence[Stretch], *, end: int, begin: int | None = None) -> dict[str, Tensor]:
    """Stretches as the tensors of a batch but for its tags, each closed by `end` and perhaps opened by `begin`."""
    input_BT, real_BT = begun(padded([np.append(row.tokens, end) for row in rows]), begin)
    first_BT, before = torch.zeros_like(real_BT), 0 if begin is None else 1
    for number, row in enumerate(rows):
        first_BT[number, torch.from_numpy(before + np.cumsum(row.length_W, dtype=np.int64) - row.length_W)] = True
    word_B = torch.tensor([row.begin for row in rows])
    return {"input_BT": input_BT, "real_BT": real_BT, "first_BT": first_BT, "word_B": word_B}


class StretchRows(Rows[Stretch]):
    """The stretches of a corpus, kept by what they are made of; `example_N` says of which sentence each is."""

    def __init__(self, tokens: Rows[Ids], lengths: Rows[Ids]) -> None:
        self.tokens, self.words, self.example_N = tokens, lengths, tokens.example_N
        self.word_N: Numbers = lengths.lengths(None).sum(1)  # how many words each has
        before_N = np.cumsum(self.word_N) - self.word_N
        self.begin_N: Numbers = before_N - before_N[np.searchsorted(self.example_N, self.example_N)]

    @property
    def cut(self) -> int:
        """How many sentences are read in several stretches."""
        return int((np.bincount(self.example_N) > 1).sum())

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_N1` in tokens."""
        return self.tokens.lengths(epoch)

    def take(self, numbers: Numbers, epoch: int | None) -> list[Stretch]:
        """Some rows."""
        parts = (self.tokens.take(numbers, epoch), self.words.take(numbers, epoch), self.begin_N[numbers].tolist())
        return [Stretch(*row) for row in zip(*parts, strict=True)]
