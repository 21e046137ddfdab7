"""Windows and packed documents: every token wanted once an epoch, other cuts each time, nothing mixed up."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import chain, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqwright.batches import InMemory, Place
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.packed import PackedBatches, best_fit, packed_texts
from seqwright.batches.text import Text, texts
from seqwright.batches.windows import WindowBatches

BEGIN, END = 2, 3
Corpus = list[list[int]]
CORPUS: Corpus = [[4, 5, 6], [], [7], [8, 9, 10, 11, 12, 13, 14], [15, 16]]

corpora = st.lists(st.lists(st.integers(4, 99), max_size=9), min_size=1, max_size=7)


def rows_of(corpus: Corpus) -> InMemory:
    return InMemory([np.array(document, dtype=np.uint16) for document in corpus])


def windows_of(corpus: Corpus, tokens: int = 6, segment: int = 3, seed: int = 1) -> WindowBatches:
    return WindowBatches(rows_of(corpus), tokens=tokens, segment=segment, seed=seed, begin=BEGIN, end=END)


def packed_of(corpus: Corpus, tokens: int = 16, segment: int = 8, seed: int = 1) -> PackedBatches:
    return PackedBatches(rows_of(corpus), tokens=tokens, segment=segment, seed=seed, begin=BEGIN, end=END)


def an_epoch(order: WindowBatches | PackedBatches, epoch: int = 0) -> list[Text]:
    place, found = Place(epoch, 0), []
    while place.epoch == epoch:
        found.append(order.at(place))
        place = order.after(place)
    assert place == Place(epoch + 1, 0)
    assert len(found) == order.in_epoch(epoch)
    return found


def joined(corpus: Corpus) -> list[int]:
    return [BEGIN, *chain(*([*document, END] for document in corpus))]


def windows_in(batches: Sequence[Text]) -> list[tuple[list[int], list[int]]]:
    """What each row is given and what is wanted of it."""
    return [
        (given[real].tolist(), wanted[real].tolist())
        for batch in batches
        for given, wanted, real in zip(batch.input_BT, batch.target_BT, batch.real_BT, strict=True)
    ]


def padding_of(batches: list[Text]) -> float:
    return 1 - sum(batch.tokens for batch in batches) / sum(batch.real_BT.numel() for batch in batches)


# Windows


def test_windows_are_cut_from_the_joined_text() -> None:
    """Worked by hand: 18 tokens are to be foretold, three a window, two windows a batch."""
    text = joined(CORPUS)
    batches = list(windows_of(CORPUS).once())
    assert [batch.input_BT.tolist() for batch in batches] == [
        [text[low : low + 3], text[low + 3 : low + 6]] for low in (0, 6, 12)
    ]
    assert [batch.target_BT.tolist() for batch in batches] == [
        [text[low + 1 : low + 4], text[low + 4 : low + 7]] for low in (0, 6, 12)
    ]
    assert all(batch.real_BT.all() and batch.fresh_B.all() for batch in batches)


@settings(max_examples=60, deadline=None)
@given(corpora, st.integers(1, 12), st.integers(1, 5), st.integers(0, 3))
def test_every_token_is_wanted_once_an_epoch_after_the_one_before_it(
    corpus: Corpus, tokens: int, segment: int, epoch: int
) -> None:
    order, text = windows_of(corpus, tokens, segment), joined(corpus)
    for batches in (an_epoch(order, epoch), list(order.once())):
        found = windows_in(batches)
        assert all(given[1:] == wanted[:-1] for given, wanted in found)
        assert all(1 <= len(given) <= segment for given, _ in found)
        pairs = Counter(pair for given, wanted in found for pair in zip(given, wanted, strict=True))
        assert pairs == Counter(pairwise(text))
        assert all(len(batch.input_BT) <= max(1, tokens // segment) for batch in batches)
        assert all(batch.fresh_B.all() for batch in batches)
    assert list(chain(*(wanted for _, wanted in windows_in(list(order.once()))))) == text[1:]


def test_each_epoch_cuts_elsewhere_and_in_another_order() -> None:
    corpus = [list(range(4, 90))]
    epochs = [windows_in(an_epoch(windows_of(corpus, segment=7), epoch)) for epoch in range(6)]
    first = {min(len(wanted) for given, wanted in epoch if given[0] == BEGIN) for epoch in epochs}
    assert len(first) > 2, "the first window has another length when the cuts lie elsewhere"
    assert all(sorted(epoch) != epoch for epoch in epochs)
    again, other = windows_of(corpus, segment=7), windows_of(corpus, segment=7, seed=2)
    assert windows_in(an_epoch(again, 3)) == epochs[3]
    assert windows_in(an_epoch(other, 3)) != epochs[3]


@settings(max_examples=60, deadline=None)
@given(corpora, st.integers(1, 12), st.integers(1, 5))
def test_each_wanted_token_of_a_window_is_traced_to_its_document(corpus: Corpus, tokens: int, segment: int) -> None:
    numbered = [n for n, row in enumerate(corpus) for _ in [*row, END]]
    found = []
    for batch in windows_of(corpus, tokens, segment).once():
        found += batch.examples()[batch.real_BT].tolist()
        assert not batch.examples()[~batch.real_BT].any()
    assert found == numbered


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_the_padding_is_what_one_counts(epoch: int) -> None:
    for order in (windows_of(CORPUS, tokens=9), packed_of(CORPUS, tokens=24)):
        assert order.padding(epoch) == pytest.approx(padding_of(an_epoch(order, epoch)))


def test_one_can_go_on_in_the_middle_of_an_epoch_without_replaying() -> None:
    for make in (windows_of, packed_of):
        straight = an_epoch(make(CORPUS), 4)
        for place in (1, 0):
            mine, theirs = (batch.tensors() for batch in (make(CORPUS).at(Place(4, place)), straight[place]))
            assert mine.keys() == theirs.keys()
            assert all(torch.equal(mine[name], theirs[name]) for name in mine)


# Packed documents


def test_documents_share_a_row_and_are_numbered_in_it() -> None:
    batch = packed_texts([[np.array([4, 5]), np.array([6])], [np.array([], dtype=np.int64)]], begin=BEGIN, end=END)
    assert batch.input_BT.tolist() == [[BEGIN, 4, 5, BEGIN, 6], [BEGIN, 0, 0, 0, 0]]
    assert batch.target_BT.tolist() == [[4, 5, END, 6, END], [END, 0, 0, 0, 0]]
    assert batch.document_BT is not None
    assert batch.document_BT.tolist() == [[1, 1, 1, 2, 2], [1, 0, 0, 0, 0]]
    assert batch.real_BT.tolist() == [[True] * 5, [True] + [False] * 4]
    assert batch.fresh_B.tolist() == [True, True]


@settings(max_examples=60, deadline=None)
@given(corpora, st.integers(1, 30), st.integers(1, 12), st.integers(0, 3))
def test_every_document_stands_whole_in_one_row_once_an_epoch(
    corpus: Corpus, tokens: int, segment: int, epoch: int
) -> None:
    order = packed_of(corpus, tokens, segment)
    for batches in (an_epoch(order, epoch), list(order.once())):
        found = []
        for batch in batches:
            assert batch.document_BT is not None
            assert batch.real_BT.numel() <= tokens or len(batch.input_BT) == 1
            assert torch.equal(batch.document_BT > 0, batch.real_BT)
            for known, wanted, document in zip(batch.input_BT, batch.target_BT, batch.document_BT, strict=True):
                numbers = range(1, int(document.max()) + 1)
                assert int((document > 0).sum()) <= segment or len(numbers) == 1
                for number in numbers:
                    assert known[document == number].tolist() == [BEGIN, *wanted[document == number].tolist()[:-1]]
                    found.append(wanted[document == number].tolist())
        assert sorted(found) == sorted([*document, END] for document in corpus)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 9))
def test_packing_is_best_fit_decreasing(lengths: list[int], size: int) -> None:
    """By the book: longest first, into the row that is left with the least room, else into a new one."""
    room: list[int] = []
    for length in sorted(lengths, reverse=True):
        fitting = [row for row in range(len(room)) if room[row] >= length]
        if fitting:
            room[min(fitting, key=lambda row: room[row])] -= length
        else:
            room.append(size - length)
    packed = best_fit(np.array(lengths), size)
    assert sorted(chain(*(row.tolist() for row in packed))) == list(range(len(lengths)))
    assert sorted(size - sum(lengths[number] for number in row) for row in packed) == sorted(room)


@settings(max_examples=60, deadline=None)
@given(corpora, st.integers(1, 30), st.integers(1, 12))
def test_each_wanted_token_of_a_packed_row_is_traced_to_its_document(corpus: Corpus, tokens: int, segment: int) -> None:
    found: dict[int, list[int]] = {}
    for batch in packed_of(corpus, tokens, segment).once():
        numbers = batch.examples()[batch.real_BT].tolist()
        for number, token in zip(numbers, batch.target_BT[batch.real_BT], strict=True):
            found.setdefault(number, []).append(int(token))
    assert found == {number: [*document, END] for number, document in enumerate(corpus)}


def test_packing_pads_less_than_a_row_for_each() -> None:
    draw = np.random.default_rng(1)
    corpus = [[5] * int(length) for length in draw.integers(0, 40, 200)]
    apart = Bucketed(rows_of(corpus), partial(texts, begin=BEGIN, end=END), tokens=640, seed=1, marks=1)
    assert packed_of(corpus, tokens=640, segment=64).padding() < 0.02 < apart.padding()


def test_the_packing_follows_from_seed_and_epoch() -> None:
    corpus = [[4 + n] * (1 + n % 5) for n in range(40)]
    first, again, other = (windows_in(an_epoch(packed_of(corpus, seed=seed), 2)) for seed in (7, 7, 8))
    assert first == again
    assert first != other
    assert first != windows_in(an_epoch(packed_of(corpus, seed=7), 3))
