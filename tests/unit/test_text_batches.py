"""Batches of running text: every token once an epoch, each foretold from those before it, resumable anywhere."""

from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqwright.batches import Ids, InMemory, Numbers, Place, Rows
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.text import StreamBatches, Text, texts
from seqwright.cache import Ragged, RaggedWriter

BEGIN, END = 2, 3
Corpus = list[list[int]]
CORPUS: Corpus = [[4, 5, 6], [], [7], [8, 9, 10, 11, 12, 13, 14], [15, 16]]

corpora = st.lists(st.lists(st.integers(4, 99), max_size=9), min_size=1, max_size=7)


def rows_of(corpus: Corpus) -> InMemory:
    return InMemory([np.array(document, dtype=np.uint16) for document in corpus])


def streams_of(corpus: Corpus, streams: int = 3, segment: int = 2) -> StreamBatches:
    return StreamBatches(rows_of(corpus), streams=streams, segment=segment, begin=BEGIN, end=END)


def an_epoch(order: StreamBatches, epoch: int = 0) -> list[Text]:
    place, found = Place(epoch, 0), []
    while place.epoch == epoch:
        found.append(order.at(place))
        place = order.after(place)
    assert place == Place(epoch + 1, 0)
    return found


def joined(corpus: Corpus) -> list[int]:
    return [BEGIN, *chain(*([*document, END] for document in corpus))]


def column(batches: list[Text], row: int, name: str) -> list[int]:
    """The real tokens of one row through all batches."""
    return [int(token) for batch in batches for token in getattr(batch, name)[row][batch.real_BT[row]]]


def read(batch: Text) -> list[list[int]]:
    return [row[real].tolist() for row, real in zip(batch.target_BT, batch.real_BT, strict=True)]


# Making batches


def test_each_token_is_wanted_one_place_before_it_is_given() -> None:
    batch = texts([np.array([4, 5]), np.array([], dtype=np.int64), np.array([6])], begin=BEGIN, end=END)
    assert batch.input_BT.tolist() == [[BEGIN, 4, 5], [BEGIN, 0, 0], [BEGIN, 6, 0]]
    assert batch.target_BT.tolist() == [[4, 5, END], [END, 0, 0], [6, END, 0]]
    assert batch.real_BT.tolist() == [[True, True, True], [True, False, False], [True, True, False]]
    assert batch.fresh_B.tolist() == [True, True, True]
    assert batch.tokens == 6
    assert batch.input_BT.dtype is batch.target_BT.dtype is torch.int64


# Documents joined


def test_streams_read_stretches_of_the_joined_text() -> None:
    """Worked by hand: 18 tokens are to be foretold, six a stream, two at a time."""
    batches = an_epoch(streams_of(CORPUS))
    assert [batch.input_BT.tolist() for batch in batches] == [
        [[BEGIN, 4], [7, END], [12, 13]],
        [[5, 6], [8, 9], [14, END]],
        [[END, END], [10, 11], [15, 16]],
    ]
    assert [batch.target_BT.tolist() for batch in batches] == [
        [[4, 5], [END, 8], [13, 14]],
        [[6, END], [9, 10], [END, 15]],
        [[END, 7], [11, 12], [16, END]],
    ]
    assert all(batch.real_BT.all() for batch in batches)


@settings(deadline=None)
@given(corpora, st.integers(1, 6), st.integers(1, 8))
def test_the_streams_together_are_the_text_to_the_last_token(corpus: Corpus, streams: int, segment: int) -> None:
    order = streams_of(corpus, streams, segment)
    batches = an_epoch(order)
    for name, wanted in (("input_BT", joined(corpus)[:-1]), ("target_BT", joined(corpus)[1:])):
        stretches = [column(batches, row, name) for row in range(order.streams)]
        assert list(chain(*stretches)) == wanted
        assert max(map(len, stretches)) - min(map(len, stretches)) <= 1
    assert all(batch.input_BT.shape[1] <= segment for batch in batches)


@settings(deadline=None)
@given(corpora, st.integers(1, 6), st.integers(1, 8))
def test_reading_once_is_one_row_from_beginning_to_end(corpus: Corpus, streams: int, segment: int) -> None:
    order = streams_of(corpus, streams, segment)
    batches = list(order.once())
    assert column(batches, 0, "input_BT") == joined(corpus)[:-1]
    assert column(batches, 0, "target_BT") == joined(corpus)[1:]
    assert [batch.fresh_B.tolist() for batch in batches] == [[True], *[[False]] * (len(batches) - 1)]
    assert all(batch.real_BT.all() for batch in batches)
    assert all(batch.real_BT.shape == (1, order.streams * segment) for batch in batches[:-1])


def test_streams_start_anew_only_with_an_epoch() -> None:
    order = streams_of(CORPUS)
    for epoch in (0, 1):
        assert [batch.fresh_B.tolist() for batch in an_epoch(order, epoch)] == [[True] * 3, [False] * 3, [False] * 3]


def test_every_epoch_reads_the_text_in_its_order() -> None:
    order = streams_of(CORPUS)
    assert list(map(read, an_epoch(order, 0))) == list(map(read, an_epoch(order, 5)))


def test_a_stretch_that_is_a_token_shorter_is_padded_in_the_last_batch() -> None:
    *_, last = an_epoch(streams_of([[4, 5, 6, 7, 8, 9]], streams=2, segment=3))
    assert last.target_BT.tolist() == [[0], [END]]
    assert last.real_BT.tolist() == [[False], [True]]


def test_a_text_shorter_than_the_streams_has_fewer() -> None:
    (batch,) = an_epoch(streams_of([[4]], streams=5))
    assert batch.target_BT.tolist() == [[4], [END]]


def test_one_can_go_on_in_the_middle_of_the_streams_without_replaying() -> None:
    straight = an_epoch(streams_of(CORPUS, 2, 3))
    for place in (2, 0, 1):
        mine, theirs = (batch.tensors() for batch in (streams_of(CORPUS, 2, 3).at(Place(4, place)), straight[place]))
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_the_padding_of_streams_is_what_one_counts() -> None:
    order = streams_of(CORPUS, 5, 3)
    batches = an_epoch(order)
    real, every = sum(batch.tokens for batch in batches), sum(batch.real_BT.numel() for batch in batches)
    assert real < every
    assert order.padding() == pytest.approx(1 - real / every)


class Watched(Rows[Ids]):
    """A corpus of one long document that tells how much of it was looked at."""

    example_N = np.array([0])

    def __init__(self) -> None:
        self.seen = 0

    def lengths(self, epoch: int | None) -> Numbers:
        return np.array([[10**12]])

    def take(self, numbers: Numbers, epoch: int | None) -> list[Ids]:
        return [self]  # type: ignore[list-item]

    def __len__(self) -> int:
        return 10**12

    def __getitem__(self, stretch: slice) -> Ids:
        low, high, _ = stretch.indices(len(self))
        self.seen += high - low
        return np.arange(low, high) % 1000 + 4


def test_of_a_text_larger_than_memory_only_the_batch_is_read() -> None:
    rows = Watched()
    batch = StreamBatches(rows, streams=7, segment=11, begin=BEGIN, end=END).at(Place(0, 10**9))
    assert batch.input_BT.shape == (7, 11)
    assert rows.seen == 7 * 12
    first = 10**9 * 11 - 1  # the text begins with one token more than the document
    assert batch.input_BT[0].tolist() == [(first + n) % 1000 + 4 for n in range(11)]


def test_streams_read_mapped_rows(tmp_path: Path) -> None:
    with RaggedWriter(tmp_path / "text") as writer:
        for document in CORPUS:
            writer.add(np.array(document, dtype=np.uint16))
    mapped = StreamBatches(Ragged.mapped(tmp_path / "text"), streams=3, segment=2, begin=BEGIN, end=END)
    assert list(map(read, an_epoch(mapped))) == list(map(read, an_epoch(streams_of(CORPUS))))


# Which document a token belongs to


@settings(deadline=None)
@given(corpora, st.integers(1, 30))
def test_every_wanted_token_is_traced_to_its_document(corpus: Corpus, size: int) -> None:
    apart = Bucketed(rows_of(corpus), partial(texts, begin=BEGIN, end=END), tokens=size, marks=1)
    for batches in (apart.once(), streams_of(corpus, 3, size).once()):
        found: Corpus = [[] for _ in corpus]
        for batch in batches:
            example_BT = batch.examples()
            for token, document in zip(batch.target_BT[batch.real_BT], example_BT[batch.real_BT], strict=True):
                found[int(document)].append(int(token))
            assert batch.example_BT is None or not batch.example_BT[~batch.real_BT].any()
        assert found == [[*document, END] for document in corpus]
