"""Batches of tagged text: each sentence a row of tokens, a tag at the first token of each word.

B batch · T time · W words of a row · N rows
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqwright.batches import Batch, Ids, InMemory, Numbers, Rows, begun, padded


@dataclass(frozen=True)
class Tagged(Batch):
    """A batch of sentences, each closed by its end, with padding on the right.

    A word may be several tokens. What counts is said at the first of them, where `first_BT` is True and `target_BT`
    numbers its tag (as Devlin et al. 2019, section 5.3); what a model says elsewhere plays no part.
    """

    input_BT: Tensor
    real_BT: Tensor
    first_BT: Tensor
    target_BT: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """`loss_mask_BT`: the first token of each word counts."""
        return self.first_BT

    @property
    def labels(self) -> Tensor:
        """The number of the right tag at each output that counts, row by row."""
        return self.target_BT[self.first_BT]


class Stretch(NamedTuple):
    """Words in a row: the tokens of all of them, how many each word has, and the number of each one's tag."""

    tokens: Ids
    length_W: Ids
    tag_W: Ids


def stretches(tokens: Sequence[Ids], tags: Sequence[int] | None = None, *, longest: int) -> Iterator[Stretch]:
    """A sentence, the tokens of each of its words given, cut between words so that no stretch has over `longest`.

    A word that is longer on its own is cut off there. Without tags, what is needed to ask for them.
    """
    tokens = [word[:longest] for word in tokens]
    length_W = np.fromiter(map(len, tokens), dtype=np.uint32, count=len(tokens))
    tag_W = np.asarray([0] * len(tokens) if tags is None else tags, dtype=np.uint32)
    begin = used = 0
    for place, length in enumerate([*length_W.tolist(), longest + 1]):
        if place > begin and used + length > longest:
            some = slice(begin, place)
            yield Stretch(np.concatenate(tokens[some]), length_W[some], tag_W[some])
            begin, used = place, 0
        used += length


def tagged(rows: Sequence[Stretch], *, end: int, begin: int | None = None) -> Tagged:
    """Stretches as a batch, each closed by `end` and perhaps opened by `begin`."""
    input_BT, real_BT = begun(padded([np.append(row.tokens, end) for row in rows]), begin)
    before = 0 if begin is None else 1
    first_BT, target_BT = torch.zeros_like(real_BT), torch.zeros_like(input_BT)
    for number, row in enumerate(rows):
        first_W = torch.from_numpy(before + np.cumsum(row.length_W, dtype=np.int64) - row.length_W)
        first_BT[number, first_W] = True
        target_BT[number, first_W] = torch.from_numpy(row.tag_W.astype(np.int64))
    return Tagged(input_BT, real_BT, first_BT, target_BT)


class TaggedRows(Rows[Stretch]):
    """Stretches of a corpus, kept by what they are made of; `sentence_N` says of which sentence each is."""

    def __init__(self, tokens: Rows[Ids], lengths: Rows[Ids], tags: Rows[Ids], sentence_N: Numbers) -> None:
        self.parts, self.sentence_N = (tokens, lengths, tags), sentence_N

    @classmethod
    def in_memory(cls, sentences: Sequence[Sequence[Stretch]]) -> "TaggedRows":
        """The stretches of each sentence, in lists."""
        stretches = [stretch for sentence in sentences for stretch in sentence]
        tokens, lengths, tags = (InMemory([stretch[part] for stretch in stretches]) for part in range(3))
        return cls(tokens, lengths, tags, np.repeat(np.arange(len(sentences)), [len(each) for each in sentences]))

    @property
    def example_N(self) -> Numbers:
        """The sentence of each row."""
        return self.sentence_N

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_N1` in tokens."""
        return self.parts[0].lengths(epoch)

    def take(self, numbers: Numbers, epoch: int | None) -> list[Stretch]:
        """Some rows."""
        return [Stretch(*parts) for parts in zip(*(part.take(numbers, epoch) for part in self.parts), strict=True)]
