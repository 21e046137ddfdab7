"""Batches of tagged text: each sentence a row of tokens, a tag at the first token of each word.

B batch · T time · W words of a row · N rows
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import Ids, InMemory, Place, Rows, begun, padded
from seqwright.batches.text import DocumentBatches


class Tagged(NamedTuple):
    """A batch of sentences, each closed by its end, with padding on the right.

    A word may be several tokens. It is judged at the first of them, where `first_BT` is True and `tag_BT` numbers its
    tag (as Devlin et al. 2019, section 5.3); what a model says elsewhere plays no part.
    """

    tokens_BT: Tensor
    real_BT: Tensor
    first_BT: Tensor
    tag_BT: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """`loss_mask_BT`: True at those of the model's outputs that count."""
        return self.first_BT

    @property
    def labels(self) -> Tensor:
        """The number of the right tag at each judged output, row by row."""
        return self.tag_BT[self.first_BT]

    @property
    def fresh_B(self) -> Tensor:
        """True where a row has nothing to do with the same row of the batch before: here everywhere."""
        return torch.ones_like(self.real_BT[:, 0])

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds."""
        return int(self.real_BT.sum())

    def to(self, device: torch.device) -> "Tagged":
        """The same batch on another device."""
        return Tagged(*(tensor.to(device, non_blocking=True) for tensor in self))


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
    tokens_BT, real_BT = begun(padded([np.append(row.tokens, end) for row in rows]), begin)
    before = 0 if begin is None else 1
    first_BT, tag_BT = torch.zeros_like(real_BT), torch.zeros_like(tokens_BT)
    for number, row in enumerate(rows):
        first_W = torch.from_numpy(before + np.cumsum(row.length_W, dtype=np.int64) - row.length_W)
        first_BT[number, first_W] = True
        tag_BT[number, first_W] = torch.from_numpy(row.tag_W.astype(np.int64))
    return Tagged(tokens_BT, real_BT, first_BT, tag_BT)


class TaggedRows(NamedTuple):
    """Stretches of a corpus, kept by what they are made of."""

    tokens: Rows
    lengths: Rows
    tags: Rows

    @classmethod
    def in_memory(cls, rows: Sequence[Stretch]) -> "TaggedRows":
        """Rows in lists."""
        return cls(*(InMemory(part) for part in zip(*rows, strict=True)))

    def take(self, rows: NDArray[np.int64], epoch: int) -> list[Stretch]:
        """Some rows."""
        return [Stretch(*parts) for parts in zip(*(part.take(rows, epoch) for part in self), strict=True)]


class TracedTags(NamedTuple):
    """A batch, and the number of each of its rows."""

    batch: Tagged
    number_B: NDArray[np.int64]


class TaggedBatches:
    """Rows of like length together, at most `tokens` positions a batch with padding, in the order of (seed, epoch).

    Which of them stand together is for `DocumentBatches` to say.
    """

    def __init__(self, rows: TaggedRows, *, tokens: int, seed: int, end: int, begin: int | None = None) -> None:
        self.rows, self.tokens, self.end, self.begin = rows, tokens, end, begin
        self._order = DocumentBatches(rows.tokens, tokens=tokens, seed=seed, begin=end, end=end)

    def at(self, place: Place) -> Tagged:
        """The batch at a place."""
        return self._batch(self._order.plan(place.epoch)[place.batch], place.epoch)

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return self._order.after(place)

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; nearly the same in each."""
        return self._order.in_epoch(epoch)

    def once(self) -> Iterator[Tagged]:
        """Every row once, longest last."""
        return (traced.batch for traced in self.traced())

    def traced(self) -> Iterator[TracedTags]:
        """The batches of `once`, and which row stands where."""
        for _, number_BT in self._order.traced():
            number_B = number_BT[:, 0].numpy()  # a row begins with a real token, and so with its number
            yield TracedTags(self._batch(number_B, 0), number_B)

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        return self._order.padding(epoch)

    def _batch(self, number_B: NDArray[np.int64], epoch: int) -> Tagged:
        return tagged(self.rows.take(number_B, epoch), end=self.end, begin=self.begin)
