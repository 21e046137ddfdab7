"""Batches: everything once an epoch, within the budget, in an order that is a pure function of the place."""

import gzip
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from seqwright.batches import Ids, Place, padded
from seqwright.batches.pairs import PairBatches, Pairs, pairs, sources

BEGIN, END = 2, 3


class Numbered:
    """Rows of given lengths; row n holds the number n + 10 throughout, so that a batch tells which rows it holds."""

    def __init__(self, lengths: list[int]) -> None:
        self.length_N: NDArray[np.int64] = np.asarray(lengths, dtype=np.int64)
        self.asked: list[int] = []

    def take(self, rows: NDArray[np.int64], epoch: int) -> list[Ids]:
        self.asked.append(epoch)
        return [np.full(self.length_N[row], row + 10, dtype=np.int64) for row in rows.tolist()]


def lengths(count: int, seed: int, longest: int = 23) -> list[int]:
    return [int(length) for length in np.random.default_rng(seed).integers(1, longest + 1, count)]


def batches(count: int = 157, tokens: int = 101, seed: int = 5) -> PairBatches:
    source, target = Numbered(lengths(count, 1)), Numbered(lengths(count, 2))
    return PairBatches(source, target, tokens=tokens, seed=seed, begin=BEGIN, end=END)


def an_epoch(order: PairBatches, epoch: int) -> list[Pairs]:
    place, found = Place(epoch, 0), []
    while place.epoch == epoch:
        found.append(order.at(place))
        place = order.after(place)
    assert place == Place(epoch + 1, 0)
    return found


def rows_in(batch: Pairs) -> list[int]:
    return [int(row) - 10 for row in batch.source_BS[:, 0]]


def test_rows_are_filled_up_with_zeros_at_the_right() -> None:
    tokens_BT, real_BT = padded([np.array([5, 6]), np.array([7, 8, 9]), np.array([], dtype=np.int64)])
    assert tokens_BT.tolist() == [[5, 6, 0], [7, 8, 9], [0, 0, 0]]
    assert real_BT.tolist() == [[True, True, False], [True, True, True], [False, False, False]]
    assert tokens_BT.dtype is torch.int64


def test_the_decoder_is_given_the_target_one_place_later_than_it_is_wanted() -> None:
    batch = pairs([np.array([4]), np.array([5, 6])], [np.array([7, 8]), np.array([9])], begin=BEGIN, end=END)
    assert batch.source_BS.tolist() == [[4, END, 0], [5, 6, END]]
    assert batch.source_real_BS.tolist() == [[True, True, False], [True, True, True]]
    assert [row[:n] for row, n in zip(batch.input_BT.tolist(), (3, 2), strict=True)] == [[BEGIN, 7, 8], [BEGIN, 9]]
    assert batch.target_BT.tolist() == [[7, 8, END], [9, END, 0]]
    assert batch.real_BT.tolist() == [[True, True, True], [True, True, False]]
    assert batch.tokens == 2 + 3 + 3 + 2
    assert batch.fresh_B.tolist() == [True, True]


def test_a_batch_to_translate_has_sources_and_no_targets() -> None:
    batch = sources([np.array([4, 5]), np.array([], dtype=np.int64)], end=END)
    assert batch.source_BS.tolist() == [[4, 5, END], [END, 0, 0]]
    assert batch.input_BT.shape == batch.target_BT.shape == batch.real_BT.shape == (2, 0)
    assert batch.real_BT.dtype is torch.bool


def test_a_batch_moves_whole() -> None:
    moved = an_epoch(batches(), 0)[0].to(torch.device("meta"))
    assert {tensor.device.type for tensor in moved} == {"meta"}


@pytest.mark.parametrize("epoch", [0, 3])
def test_every_pair_comes_exactly_once_an_epoch(epoch: int) -> None:
    order = batches()
    rows = [row for batch in an_epoch(order, epoch) for row in rows_in(batch)]
    assert sorted(rows) == list(range(157))


def test_source_and_target_of_a_pair_stay_together() -> None:
    for batch in an_epoch(batches(), 1):
        assert batch.target_BT[:, 0].tolist() == batch.source_BS[:, 0].tolist()


def test_validation_sees_every_pair_once_in_an_order_that_stays() -> None:
    first, second = ([rows_in(batch) for batch in batches(seed=seed).once()] for seed in (1, 2))
    assert first == second
    assert sorted(chain(*first)) == list(range(157))


@pytest.mark.parametrize("tokens", [24, 101, 100_000])
def test_no_batch_holds_more_positions_than_the_budget(tokens: int) -> None:
    order = batches(tokens=tokens)
    for batch in [*an_epoch(order, 0), *order.once()]:
        assert batch.source_BS.numel() <= tokens
        assert batch.target_BT.numel() <= tokens


def test_a_batch_takes_as_many_rows_as_the_budget_allows() -> None:
    """The first row of the next batch would have been too many."""
    for batch, following in pairwise(batches(tokens=200).once()):
        first = max(int(following.source_real_BS[0].sum()), int(following.real_BT[0].sum()))
        widest = max(first, batch.source_BS.shape[1], batch.target_BT.shape[1])
        assert widest * (len(batch.source_BS) + 1) > 200


def test_a_pair_longer_than_the_budget_stands_alone() -> None:
    order = PairBatches(Numbered([3, 50, 4]), Numbered([3, 2, 4]), tokens=12, seed=1, begin=BEGIN, end=END)
    assert sorted(rows_in(batch) for batch in an_epoch(order, 0)) == [[0, 2], [1]]


def test_the_order_follows_from_the_seed_alone() -> None:
    first, again, other = (an_epoch(batches(seed=seed), 2) for seed in (7, 7, 8))
    assert [rows_in(batch) for batch in first] == [rows_in(batch) for batch in again]
    assert [rows_in(batch) for batch in first] != [rows_in(batch) for batch in other]


def test_each_epoch_has_another_order_and_other_batches() -> None:
    order = batches()
    one, two = ([rows_in(batch) for batch in an_epoch(order, epoch)] for epoch in (0, 1))
    assert one != two
    assert {tuple(sorted(rows)) for rows in one} != {tuple(sorted(rows)) for rows in two}


def test_short_batches_do_not_come_before_long_ones() -> None:
    widths = [batch.target_BT.shape[1] for batch in an_epoch(batches(), 0)]
    assert widths != sorted(widths)


def test_one_can_go_on_from_anywhere_without_replaying() -> None:
    straight, place, places = batches(), Place(), []
    for _ in range(60):
        places.append((place, rows_in(straight.at(place))))
        place = straight.after(place)
    assert places[-1][0].epoch >= 1
    for place, rows in (places[59], places[17], places[0], places[43]):
        fresh = batches()
        assert rows_in(fresh.at(place)) == rows
        assert fresh.after(place) == straight.after(place)
        assert fresh.source.asked == [place.epoch]  # type: ignore[attr-defined]


def test_rows_are_taken_as_they_are_in_the_epoch() -> None:
    order = batches()
    order.at(Place(4, 1))
    assert order.source.asked == order.target.asked == [4]  # type: ignore[attr-defined]


@pytest.mark.parametrize("anew", [False, True])
def test_the_padding_is_what_one_counts_in_the_batches(anew: bool) -> None:
    order = growing() if anew else batches()
    every = real = 0
    for batch in an_epoch(order, 1):
        every += batch.source_BS.numel() + batch.target_BT.numel()
        real += batch.tokens
    assert order.padding(1) == pytest.approx(1 - real / every)


# ------------------------------------------------------------------------------------------------ other rows each epoch


class Growing:
    """Rows whose lengths are drawn from the epoch; it counts how often an epoch was asked for anew."""

    def __init__(self, count: int = 157) -> None:
        self.count = count
        self.asked: list[int] = []

    def __call__(self, epoch: int) -> tuple[Numbered, Numbered]:
        self.asked.append(epoch)
        return Numbered(lengths(self.count, 100 + epoch)), Numbered(lengths(self.count, 200 + epoch))


def growing(anew: Growing | None = None, tokens: int = 101) -> PairBatches:
    """Batches of pairs that would all be one token long, if it were not for `anew`."""
    plain = Numbered([1] * 157), Numbered([1] * 157)
    return PairBatches(*plain, tokens=tokens, seed=5, begin=BEGIN, end=END, anew=anew or Growing())


@pytest.mark.parametrize("epoch", [0, 3])
def test_batches_are_planned_with_the_lengths_of_their_epoch(epoch: int) -> None:
    order = growing()
    found = an_epoch(order, epoch)
    assert sorted(row for batch in found for row in rows_in(batch)) == list(range(157))
    assert max(batch.source_BS.numel() for batch in found) <= 101
    assert max(batch.target_BT.numel() for batch in found) <= 101
    for batch in found:
        drawn = dict(zip(rows_in(batch), (batch.source_real_BS.sum(1) - 1).tolist(), strict=True))
        assert drawn == {row: lengths(157, 100 + epoch)[row] for row in rows_in(batch)}


def test_one_can_go_on_in_the_middle_without_the_epochs_before() -> None:
    straight, anew = growing(), Growing()
    before = [an_epoch(straight, epoch) for epoch in range(3)]
    resumed = growing(anew)
    for number in (5, 2):
        one, other = before[2][number], resumed.at(Place(2, number))
        assert all(torch.equal(*both) for both in zip(one, other, strict=True))
    assert set(anew.asked) == {2}


def test_a_step_over_the_end_of_an_epoch_plans_neither_twice() -> None:
    """Accumulated batches: the places of all of them are asked for first, then the batches."""
    order = growing()
    last = order.plan(0)
    order.plan(1)
    assert order.plan(0) is last


def test_less_than_a_tenth_of_multi30k_is_padding(shared_data: Path) -> None:
    """Words stand for tokens; the budget is the default one."""
    counted = []
    for language in ("de", "en"):
        path = shared_data / "multi30k" / f"train.{language}.gz"
        if not path.is_file():
            pytest.skip(f"{path} is not there")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            counted.append([len(line.split()) for line in lines])
    order = PairBatches(Numbered(counted[0]), Numbered(counted[1]), tokens=4096, seed=1, begin=BEGIN, end=END)
    assert sum(map(len, order.plan(0))) == 29_000
    assert order.padding(0) < 0.1
