"""Batches of running text: each document a row of its own, or all of them joined and read on from batch to batch.

B batch · T time · N documents
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Generic, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import KEPT_EPOCHS, BatchT_co, Ids, Place, Rows, following, padded


class Text(NamedTuple):
    """A batch of running text. `input_BT` is what the model reads, `target_BT` what should follow each token.

    Padding stands on the right, where `real_BT` is False. `fresh_B` is True where a row does not go on from the same
    row of the batch before.
    """

    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor
    fresh_B: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """True where the model's output counts: at every real token."""
        return self.real_BT

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds."""
        return int(self.real_BT.sum())

    @property
    def document_BT(self) -> None:
        """Nothing: whoever reads a row reads all of it."""
        return None

    def to(self, device: torch.device) -> "Text":
        """The same batch on another device."""
        return Text(*(tensor.to(device, non_blocking=True) for tensor in self))


class PackedText(NamedTuple):
    """A batch of documents several of which share a row, though none may read another.

    `document_BT` numbers the document that each position belongs to, from 1 in each row; it is 0 at the padding on the
    right, where `real_BT` is False.
    """

    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor
    fresh_B: Tensor
    document_BT: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """True where the model's output counts: at every real token."""
        return self.real_BT

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds."""
        return int(self.real_BT.sum())

    def to(self, device: torch.device) -> "PackedText":
        """The same batch on another device."""
        return PackedText(*(tensor.to(device, non_blocking=True) for tensor in self))


def texts(rows: Sequence[Ids], *, begin: int, end: int) -> Text:
    """Each row a document: `begin x` is given, `x end` is wanted, nothing goes on from before."""
    return shifted([np.concatenate(([begin], row, [end])) for row in rows], fresh=True)


def prompts(rows: Sequence[Ids]) -> Text:
    """Rows that are only given, with nothing wanted after them: what `start` needs to write on."""
    input_BT, real_BT = padded(rows)
    return Text(input_BT, torch.zeros_like(input_BT), real_BT, _everywhere(len(rows), fresh=True))


def shifted(rows: Sequence[Ids], *, fresh: bool) -> Text:
    """Each row without its last token is given, each without its first is wanted."""
    input_BT, _ = padded([row[:-1] for row in rows])
    target_BT, real_BT = padded([row[1:] for row in rows])
    return Text(input_BT, target_BT, real_BT, _everywhere(len(rows), fresh=fresh))


def _everywhere(rows: int, *, fresh: bool) -> Tensor:
    return torch.full((rows,), fresh, dtype=torch.bool)


class Traced(NamedTuple, Generic[BatchT_co]):
    """A batch, and the number of the document whose token is wanted at each position (0 at padding)."""

    batch: BatchT_co
    document_BT: Tensor


class DocumentBatches:
    """Documents of like length together, each a row of its own, at most `tokens` positions a batch with padding.

    A document that is longer than that stands alone. Each epoch shuffles the documents, sorts them by length (the
    shuffle decides among equals), cuts the sorted row into batches and shuffles those; all from (seed, epoch).
    """

    def __init__(self, rows: Rows, *, tokens: int, seed: int, begin: int, end: int) -> None:
        self.rows = rows
        self.tokens, self.seed, self.begin, self.end = tokens, seed, begin, end
        self._remembered = lru_cache(KEPT_EPOCHS)(self._planned)

    def at(self, place: Place) -> Text:
        """The batch at a place."""
        return self._batch(self.plan(place.epoch)[place.batch], place.epoch)

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return following(place, self.in_epoch(place.epoch))

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; nearly the same in each."""
        return len(self.plan(epoch))

    def once(self) -> Iterator[Text]:
        """Every document once, longest last."""
        return (traced.batch for traced in self.traced())

    def traced(self) -> Iterator[Traced[Text]]:
        """The batches of `once`, and which document stands where."""
        for rows in self._cut(np.arange(len(self.rows.length_N))):
            batch = self._batch(rows, 0)
            yield Traced(batch, torch.from_numpy(rows).unsqueeze(1) * batch.real_BT)

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """Which documents stand in which batch of an epoch."""
        return self._remembered(epoch)

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        length_N = self.rows.length_N + 1
        every = sum(len(rows) * int(length_N[rows].max()) for rows in self.plan(epoch))
        return 1 - int(length_N.sum()) / every

    def _planned(self, epoch: int) -> list[NDArray[np.int64]]:
        order = np.random.default_rng((self.seed, epoch))
        batches = self._cut(order.permutation(len(self.rows.length_N)))
        return [batches[i] for i in order.permutation(len(batches))]

    def _cut(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        return [rows[some] for some in cut_by_length(self.rows.length_N[rows] + 1, self.tokens)]

    def _batch(self, rows: NDArray[np.int64], epoch: int) -> Text:
        return texts(self.rows.take(rows, epoch), begin=self.begin, end=self.end)


def cut_by_length(length_N: NDArray[np.int64], tokens: int) -> list[NDArray[np.int64]]:
    """The places of rows, sorted by length and cut so that rows × longest stays within `tokens`."""
    sorted_N = np.argsort(length_N, kind="stable")
    batches, first = [], 0
    for i, length in enumerate(length_N[sorted_N].tolist()):  # never falls: the last is the longest
        if i > first and length * (i - first + 1) > tokens:
            batches.append(sorted_N[first:i])
            first = i
    batches.append(sorted_N[first:])
    return batches


class JoinedText:
    """All documents joined into one text, `begin a b end c end …`, of which any stretch can be read."""

    def __init__(self, rows: Rows, *, begin: int, end: int) -> None:
        self.rows, self.begin, self.end = rows, begin, end
        # Where each document and its `end` are over, in the joined text.
        self.edge_N: NDArray[np.int64] = 1 + np.cumsum(rows.length_N + 1)
        self.positions = int(self.edge_N[-1]) - 1  # the first token of the text is given, never wanted

    def stretch(self, low: int, high: int, epoch: int) -> Ids:
        """The tokens from `low` to `high`, that one included: what is given, and one place later wanted."""
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

    def documents(self, low: int, high: int) -> NDArray[np.int64]:
        """The number of the document of each wanted token of a stretch."""
        return np.searchsorted(self.edge_N, np.arange(low + 1, high + 1), side="right")


class StreamBatches:
    """All documents joined into one text and read by `streams` rows at once.

    The text is cut into as many stretches of equal length (but for one token) as there are rows; a batch is the next
    `segment` tokens of each, so that state can be carried from batch to batch: truncated back-propagation through
    time (Mikolov et al. 2010, section 2). Stretches that are a token shorter are padded in the last batch, so that no
    token is left out. Every epoch reads everything in the order of the corpus, whatever the seed.
    """

    def __init__(self, rows: Rows, *, streams: int, segment: int, begin: int, end: int, seed: int = 0) -> None:
        self.text, self.segment, self.seed = JoinedText(rows, begin=begin, end=end), segment, seed
        self.positions = self.text.positions
        self.streams = min(streams, self.positions)

    def at(self, place: Place) -> Text:
        """The batch at a place."""
        edges = [stream * self.positions // self.streams for stream in range(self.streams + 1)]
        skipped = place.batch * self.segment
        stretches = [
            self.text.stretch(min(low + skipped, high), min(low + skipped + self.segment, high), place.epoch)
            for low, high in pairwise(edges)
        ]
        return shifted(stretches, fresh=place.batch == 0)

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return following(place, self.in_epoch(place.epoch))

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; the same in each."""
        return ceiling(ceiling(self.positions, self.streams), self.segment)

    def once(self) -> Iterator[Text]:
        """The whole text in one row, so that every token can be foretold from all before it.

        A batch has as many tokens as one of training, and so needs no more memory; all of them one after another, it
        takes far fewer calls than segment by segment.
        """
        return (traced.batch for traced in self.traced())

    def traced(self) -> Iterator[Traced[Text]]:
        """The batches of `once`, and which document stands where."""
        at_once = self.streams * self.segment
        for low in range(0, self.positions, at_once):
            high = min(low + at_once, self.positions)
            batch = shifted([self.text.stretch(low, high, 0)], fresh=low == 0)
            yield Traced(batch, torch.from_numpy(self.text.documents(low, high)).unsqueeze(0))

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        return 1 - self.positions / (self.streams * ceiling(self.positions, self.streams))


def ceiling(amount: int, share: int) -> int:
    """How many shares an amount takes, the last one perhaps not full."""
    return -(-amount // share)
