"""Batches of running text: each document a row of its own, or all of them joined and read on from batch to batch.

B batch · T time · N documents
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from seqwright.batches import Batch, Batches, Ids, Numbers, Place, Rows, padded


@dataclass(frozen=True)
class Text(Batch):
    """A batch of running text. `input_BT` is what the model reads, `target_BT` what should follow each token.

    Padding stands on the right, where `real_BT` is False. Where several documents share a row though none may read
    another, `document_BT` numbers the document of each position, from 1 in each row, 0 at the padding. Where a row is
    not one example, `example_BT` numbers the example of each target, 0 at the padding. Where a document is several
    rows that overlap, `place_B` says where in it each begins, and `new_BT` is True at targets of no row before.
    """

    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor
    document_BT: Tensor | None = None
    example_BT: Tensor | None = None
    place_B: Tensor | None = None
    new_BT: Tensor | None = None

    @property
    def loss_mask(self) -> Tensor:
        """Every real token counts, once."""
        return self.real_BT if self.new_BT is None else self.new_BT

    def examples(self) -> Tensor:
        """`example_BT`: the number of the example of each target."""
        if self.example_BT is not None:
            return self.example_BT
        return self.example_B.unsqueeze(1).expand_as(self.real_BT)


def texts(rows: Sequence[Ids], *, begin: int, end: int) -> Text:
    """Each row a document: `begin x` is the input, `x end` the target, nothing continues an earlier batch."""
    return shifted([np.concatenate(([begin], row, [end])) for row in rows])


def shifted(rows: Sequence[Ids], *, fresh: bool = True, examples: Sequence[Numbers] | None = None) -> Text:
    """Each row without its last token is the input, each without its first the target.

    `fresh` is False where all continue the batch before; `examples` numbers the example of each target.
    """
    input_BT, _ = padded([row[:-1] for row in rows])
    target_BT, real_BT = padded([row[1:] for row in rows])
    example_BT = None if examples is None else padded(examples).tokens_BT
    fresh_B = torch.full((len(rows),), fresh, dtype=torch.bool)
    return Text(input_BT, target_BT, real_BT, example_BT=example_BT, fresh_B=fresh_B)


class JoinedText:
    """All documents joined into one text, `begin a b end c end …`, of which any stretch can be read."""

    def __init__(self, rows: Rows[Ids], *, begin: int, end: int) -> None:
        self.rows, self.begin, self.end, self.example_N = rows, begin, end, rows.example_N
        # Where each document and its `end` are over, in the joined text.
        self.edge_N: Numbers = 1 + np.cumsum(rows.lengths(None).sum(1) + 1)
        # The first token of the text is read, but no target.
        self.positions = int(self.edge_N[-1]) - 1 if len(self.edge_N) else 0

    def read(self, edges: Sequence[tuple[int, int]], epoch: int | None, *, fresh: bool = True) -> Text:
        """Stretches of the text as a batch, each given by where it begins and where it ends."""
        stretches = [self.stretch(low, high, epoch) for low, high in edges]
        return shifted(stretches, fresh=fresh, examples=[self.documents(low, high) for low, high in edges])

    def stretch(self, low: int, high: int, epoch: int | None) -> Ids:
        """The tokens from `low` to `high`, that one included: the input, and one place later the target."""
        stretch = np.full(high + 1 - low, self.end, dtype=np.int64)
        if low == 0:
            stretch[0] = self.begin
        first, last = np.searchsorted(self.edge_N, [max(low, 1), high], side="right").tolist()
        numbers = np.arange(first, min(last + 1, len(self.edge_N)))
        for number, row in zip(numbers.tolist(), self.rows.take(numbers, epoch), strict=True):
            begins = int(self.edge_N[number]) - 1 - len(row)
            seen = row[max(low - begins, 0) : high + 1 - begins]  # a slice: of a long document only this is read
            at = max(begins - low, 0)
            stretch[at : at + len(seen)] = seen
        return stretch

    def documents(self, low: int, high: int) -> Numbers:
        """The number of the example that each target of a stretch belongs to."""
        example_T: Numbers = self.example_N[np.searchsorted(self.edge_N, np.arange(low + 1, high + 1), "right")]
        return example_T


class StreamBatches(Batches[Text]):
    """All documents joined into one text and read by `streams` rows at once.

    The text is cut into as many stretches of equal length (but for one token) as there are rows; a batch is the next
    `segment` tokens of each, so that state can be carried from batch to batch: truncated back-propagation through
    time (Mikolov et al. 2010, section 2). Stretches that are a token shorter are padded in the last batch, so that no
    token is left out. Every epoch reads everything in the order of the corpus, whatever the seed.
    """

    def __init__(self, rows: Rows[Ids], *, streams: int, segment: int, begin: int, end: int) -> None:
        self.text, self.segment = JoinedText(rows, begin=begin, end=end), segment
        self.positions = self.text.positions
        self.streams = max(1, min(streams, self.positions))

    def at(self, place: Place) -> Text:
        """The batch at a place."""
        edges = [stream * self.positions // self.streams for stream in range(self.streams + 1)]
        skipped = place.batch * self.segment
        stretches = [
            (min(low + skipped, high), min(low + skipped + self.segment, high)) for low, high in pairwise(edges)
        ]
        return self.text.read(stretches, place.epoch, fresh=place.batch == 0)

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; the same in each."""
        return ceiling(ceiling(self.positions, self.streams), self.segment)

    def once(self) -> Iterator[Text]:
        """The whole text in one row, so that every token can be foretold from all before it.

        A batch has as many tokens as one of training, and so needs no more memory; all of them one after another, it
        takes far fewer calls than segment by segment.
        """
        at_once = self.streams * self.segment
        for low in range(0, self.positions, at_once):
            yield self.text.read([(low, min(low + at_once, self.positions))], None, fresh=low == 0)

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        return 1 - self.positions / (self.streams * ceiling(self.positions, self.streams))


def ceiling(amount: int, share: int) -> int:
    """How many shares an amount takes, the last one perhaps not full."""
    return -(-amount // share)
