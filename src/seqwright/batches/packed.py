"""Batches of packed documents: several in a row so that hardly any padding is left, and none reads another.

B batch · T time · N documents · R rows
"""

from collections.abc import Sequence

import numpy as np

from seqwright.batches import Ids, Numbers, Rows, padded
from seqwright.batches.bucketed import cut_by_length
from seqwright.batches.planned import Planned
from seqwright.batches.text import Text

Packed = list[Numbers]
"""Of each row of a batch the documents that stand in it."""


def packed_texts(rows: Sequence[Sequence[Ids]], *, begin: int, end: int) -> Text:
    """Each row several documents: `begin x begin y` is the input, `x end y end` the target, `document_BT` 1 … 2 …."""
    input_BT, real_BT = padded([_one_by_one([([begin], text) for text in row]) for row in rows])
    target_BT, _ = padded([_one_by_one([(text, [end]) for text in row]) for row in rows])
    lengths = [[len(text) + 1 for text in row] for row in rows]
    document_BT, _ = padded([np.repeat(np.arange(1, len(row) + 1), row) for row in lengths])
    return Text(input_BT, target_BT, real_BT, document_BT)


def _one_by_one(parts: Sequence[tuple[Sequence[int] | Ids, Sequence[int] | Ids]]) -> Ids:
    return np.concatenate([one for both in parts for one in both]).astype(np.int64)


def best_fit(length_N: Numbers, size: int) -> Packed:
    """Rows of at most `size` positions: longest first, each where it leaves the least room, else in a new row.

    Best-fit decreasing (Johnson 1973), which Ding et al. 2024 (section 3) pack documents with. What is longer than a
    row has one of its own. Of equal lengths the first comes first.
    """
    rows: list[list[int]] = []
    by_room: list[list[int]] = [[] for _ in range(size)]  # the rows that have so much room left
    rooms = 0  # bit r is 1 where `by_room[r]` has a row: the least that is enough is then one operation away
    for number in np.argsort(-length_N, kind="stable").tolist():
        length = int(length_N[number])
        enough = rooms >> length
        if enough:
            room = length + (enough & -enough).bit_length() - 1
            row = by_room[room].pop()
            rooms ^= (not by_room[room]) << room
        else:
            room, row = size, len(rows)
            rows.append([])
        rows[row].append(number)
        if room > length:
            by_room[room - length].append(row)
            rooms |= 1 << (room - length)
    return [np.array(row) for row in rows]


class PackedBatches(Planned[Packed, Text]):
    """Documents packed into rows of `segment` positions, at most `tokens` positions a batch with padding.

    Each epoch shuffles the documents (which decides among equals), packs them, cuts the rows into batches as
    `Bucketed` does documents, and shuffles those; all from (seed, epoch).
    """

    def __init__(self, rows: Rows[Ids], *, tokens: int, segment: int, seed: int, begin: int, end: int) -> None:
        self.rows, self.example_N = rows, rows.example_N
        self.length_N = rows.lengths(None).sum(1) + 1  # what begins a document is read with it
        self.tokens, self.segment, self.seed, self.begin, self.end = tokens, segment, seed, begin, end
        super().__init__()

    def planned(self, epoch: int | None) -> list[Packed]:
        """Which documents stand in which row of which batch of an epoch; in none they are packed in a fixed way."""
        if epoch is None:
            return self._packed(np.arange(len(self.length_N)))
        order = np.random.default_rng((self.seed, epoch))
        batches = self._packed(order.permutation(len(self.length_N)))
        return [batches[i] for i in order.permutation(len(batches))]

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        every = sum(len(packed) * max(int(self.length_N[row].sum()) for row in packed) for packed in self.plan(epoch))
        return 1 - int(self.length_N.sum()) / every

    def _packed(self, numbers: Numbers) -> list[Packed]:
        length_N = self.length_N[numbers]
        rows = best_fit(length_N, self.segment)
        length_R = np.array([length_N[row].sum() for row in rows])
        return [[numbers[rows[i]] for i in some] for some in cut_by_length(length_R[:, None], self.tokens)]

    def batch(self, some: Packed, epoch: int | None) -> Text:
        """Some rows of documents, as they are in an epoch."""
        batch = packed_texts([self.rows.take(row, epoch) for row in some], begin=self.begin, end=self.end)
        examples = [np.repeat(self.example_N[row], self.length_N[row]) for row in some]
        return batch.replace(example_BT=padded(examples).tokens_BT)
