"""Rows of like length together: every kind of row once an epoch, within the budget, in an order that can be resumed."""

import gzip
import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqwright.batches import Batch, Column, Ids, InMemory, Numbers, Place, Rows, Zipped
from seqwright.batches.bucketed import Bucketed, cut_by_length
from seqwright.batches.labelled import labelled
from seqwright.batches.masked import Masked, masked_rows
from seqwright.batches.masks import MaskedText, TokenMasks
from seqwright.batches.pairs import pairs
from seqwright.batches.prompted import Marks, joined_turns, prompted
from seqwright.batches.questions import Asked, ContextWindow, QuestionRows, stacked_windows
from seqwright.batches.sentences import FullSentences, SentencePairs, SentenceRow, SentenceRows, Sentences
from seqwright.batches.tagged import Stretch, StretchRows, Tagged, stacked
from seqwright.batches.text import texts
from seqwright.cache import Ragged, Redrawn
from seqwright.inputs.sentences import SentencesInput
from seqwright.outputs.masked import MaskedOutput
from tests.columns import by_column, stretch_rows

BEGIN, END, TASK, MASK, FIRST = 2, 3, 4, 5, 10
N, TOKENS, SEED = 157, 101, 5
AROUND: dict[str, Any] = {"begin": BEGIN, "end": END}


def numbered(seed: int = 1, longest: int = 23, count: int = N) -> InMemory:
    """Rows of different length; row n holds n + 10 throughout, so that a batch tells which rows it holds."""
    length_N = np.random.default_rng(seed).integers(1, longest + 1, count).tolist()
    return InMemory([np.full(length, n + FIRST) for n, length in enumerate(length_N)])


def words() -> StretchRows:
    """Every third sentence is long enough to be two rows."""
    each = [[np.full(1 + place % 3, n + FIRST) for place in range(3 + 5 * (n % 3 == 0))] for n in range(61)]
    return stretch_rows(each, longest=9)


def untagged(rows: Sequence[Stretch]) -> Tagged:
    read = stacked(rows, end=END)
    return Tagged(**read, target_BT=torch.zeros_like(read["input_BT"]))


def questions() -> QuestionRows:
    return QuestionRows(numbered(1, 4, 41), [numbered(2, 30, 41)] * 3, np.arange(41), longest=TOKENS // 5, stride=7)


def unanswered(rows: Sequence[ContextWindow]) -> Asked:
    nowhere_B = torch.zeros(len(rows), dtype=torch.long)
    return Asked(**stacked_windows(rows, **AROUND), start_B=nowhere_B, end_B=nowhere_B)


def documents_of(kind: type[FullSentences | SentencePairs], seed: int) -> Zipped:
    """Documents of two sentences."""
    closed = [np.append(row, END) for row in numbered(count=N + 1).rows]
    documents = InMemory([np.concatenate(two) for two in zip(closed[::2], closed[1::2], strict=True)])
    examples = kind(Sentences(documents, end=END, most=kind.most(25)), longest=25, begin=BEGIN)
    rows = SentenceRows(examples, np.arange(len(documents.rows)), seed=seed)
    return Zipped(rows, masked_rows(rows, TokenMasks(mask=MASK, ordinary_V=np.arange(N + 1 + FIRST) >= FIRST), MASK))


def masked(rows: Sequence[SentenceRow], hidden: Sequence[MaskedText]) -> Masked:
    tokenizer: Any = SimpleNamespace(mask=MASK)
    stacked = SentencesInput(tokenizer, 25, 25, "sentence-pairs").stack(rows)
    return MaskedOutput(tokenizer, "tokens", 0.15, True).collate(stacked, hidden)


def ragged(rows: Sequence[Ids]) -> Ragged:
    return Ragged(np.concatenate(rows), np.cumsum([len(row) for row in rows]))


def segmented(side: str, seed: int) -> Redrawn:
    """Rows that are drawn up to twice as long as they are, of the same token."""

    def draw(text: str, rng: random.Random) -> Ids:
        return np.full(rng.randint(1, 2 * len(text)), ord(text[0]))

    rows = [np.full(len(row), row[0]) for row in numbered(len(side)).rows]
    characters = [np.frombuffer("".join(map(chr, row)).encode(), dtype=np.uint8) for row in rows]
    return Redrawn(ragged(characters), ragged(rows), draw, seed=seed, side=side, longest=40)


def rows_of(kind: str, seed: int) -> tuple[Rows[Any], Callable[..., Batch], int]:
    """Rows, what makes a batch of them, and how many tokens that adds to each."""
    marks = Marks(begin=BEGIN, task=TASK, end=END)
    match kind:
        case "documents":
            return numbered(), partial(texts, **AROUND), 1
        case "labelled":
            return Zipped(numbered(), Column(np.arange(N) % 7)), by_column(partial(labelled, end=END)), 1
        case "tagged":
            return words(), untagged, 1
        case "questions":
            return questions(), unanswered, 0
        case "prompts":
            turns = list(zip(numbered(1, 9, 52).rows, numbered(2, 9, 52).rows, strict=True))
            rows = InMemory([joined_turns(turns[i : i + 2], marks) for i in range(0, len(turns), 2)])
            return rows, partial(prompted, marks=marks), 1
        case "masked":
            return documents_of(FullSentences, seed), by_column(masked), 0
        case "masked pairs":
            return documents_of(SentencePairs, seed), by_column(masked), 0
        case "pairs":
            return Zipped(numbered(1), numbered(2)), by_column(partial(pairs, **AROUND)), 1
        case _:
            both = Zipped(segmented("source", seed), segmented("target", seed))
            return both, by_column(partial(pairs, **AROUND)), 1


DRAWN = ["masked", "masked pairs", "segmented anew"]
KINDS = ["documents", "labelled", "tagged", "questions", "prompts", "pairs", *DRAWN]
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path))


def made(kind: str, *, tokens: int = TOKENS, seed: int = SEED) -> Bucketed[Any, Any]:
    rows, collate, marks = rows_of(kind, seed)
    return Bucketed(rows, collate, tokens=tokens, seed=seed, marks=marks)


def an_epoch(order: Bucketed[Any, Any], epoch: int) -> list[Any]:
    place, found = Place(epoch, 0), []
    while place.epoch == epoch:
        found.append(order.at(place))
        place = order.after(place)
    assert place == Place(epoch + 1, 0)
    assert len(found) == order.in_epoch(epoch)
    return found


def same(one: Batch, other: Batch) -> bool:
    mine, theirs = one.tensors(), other.tensors()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def sides(batch: Batch) -> list[torch.Tensor]:
    """What is real, on each side."""
    return [tensor for name, tensor in batch.tensors().items() if "real_" in name]


def listed(plan: Sequence[Numbers]) -> list[list[int]]:
    return [numbers.tolist() for numbers in plan]


# ------------------------------------------------------------------------------------------------ what every kind keeps


@every_kind
def test_every_row_comes_once_an_epoch_as_its_own_example(kind: str) -> None:
    order = made(kind)
    wanted = sorted(order.rows.example_N.tolist())
    for epoch in (0, 3, None):
        assert sorted(chain(*listed(order.plan(epoch)))) == list(range(len(wanted)))
        batches = list(order.once()) if epoch is None else an_epoch(order, epoch)
        assert sorted(chain(*(batch.example_B.tolist() for batch in batches))) == wanted
        for numbers, batch in zip(order.plan(epoch), batches, strict=True):
            plainly = order.collate(order.rows.take(numbers, epoch))
            assert same(batch, plainly.replace(example_B=torch.from_numpy(order.rows.example_N[numbers])))


@every_kind
@pytest.mark.parametrize("tokens", [30, TOKENS, 100_000])
def test_no_batch_holds_more_positions_than_the_budget_on_any_side(kind: str, tokens: int) -> None:
    order = made(kind, tokens=tokens)
    for batch in [*an_epoch(order, 0), *an_epoch(order, 1), *order.once()]:
        for real in sides(batch):
            assert real.numel() <= tokens or len(batch) == 1


@every_kind
def test_a_batch_takes_as_many_rows_as_the_budget_allows(kind: str) -> None:
    """The first row of the next batch would have been too many."""
    order = made(kind)
    length_N = order.lengths(None).max(1)
    for numbers, following in pairwise(order.plan(None)):
        widest = max(int(length_N[numbers].max()), int(length_N[following[0]]))
        assert widest * (len(numbers) + 1) > TOKENS


@every_kind
def test_the_order_follows_from_seed_and_epoch_alone(kind: str) -> None:
    orders = [listed(made(kind, seed=seed).plan(epoch)) for seed, epoch in ((7, 2), (7, 2), (8, 2), (7, 3))]
    assert orders[0] == orders[1]
    assert all(one != other for one, other in ((orders[0], orders[2]), (orders[0], orders[3])))
    sets = [{tuple(sorted(rows)) for rows in order} for order in orders]
    assert sets[0] != sets[3]  # other rows together, not only another order of the same batches
    longest = [int(made(kind).lengths(0)[numbers].max()) for numbers in made(kind).plan(0)]
    assert longest != sorted(longest)  # short rows do not come before long ones


@every_kind
def test_one_can_go_on_from_anywhere_without_replaying(kind: str) -> None:
    straight, place, found = made(kind), Place(), []
    for _ in range(straight.in_epoch(0) + 3):
        found.append((place, straight.at(place)))
        place = straight.after(place)
    assert place.epoch == 1
    for there, batch in (found[-1], found[2], found[0], found[-3]):
        assert same(made(kind).at(there), batch)
        assert made(kind).after(there) == straight.after(there)


@every_kind
def test_reading_once_is_always_the_same_and_longest_first(kind: str) -> None:
    first, second = (made(kind, seed=seed) for seed in (1, 2))
    assert all(same(*both) for both in zip(first.once(), second.once(), strict=True))
    last_N = np.concatenate([first.lengths(None)[numbers, -1] for numbers in first.plan(None)])
    assert (np.diff(last_N) <= 0).all()


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind != "masked pairs"]
)  # those are planned at their longest
@pytest.mark.parametrize("epoch", [0, 1])
def test_the_padding_is_what_one_counts_in_the_batches(kind: str, epoch: int) -> None:
    order = made(kind)
    batches = an_epoch(order, epoch)
    every, real = sum(mask.numel() for batch in batches for mask in sides(batch)), sum(each.tokens for each in batches)
    assert 0 < real < every
    assert order.padding(epoch) == pytest.approx(1 - real / every)


@every_kind
def test_no_epoch_draws_nothing_and_only_what_is_drawn_differs_between_epochs(kind: str) -> None:
    rows, other = (made(kind, seed=seed).rows for seed in (1, 2))
    numbers = np.arange(len(rows.example_N))[::3]

    def taken(some: Rows[Any], epoch: int | None) -> str:
        return repr([np.asarray(part).tolist() for row in some.take(numbers, epoch) for part in flat(row)])

    assert taken(rows, None) == taken(other, None)
    drawn = kind in DRAWN
    assert (taken(rows, 0) != taken(rows, 1)) == drawn
    assert (taken(rows, 0) != taken(other, 0)) == drawn
    assert (taken(rows, 0) != taken(rows, None)) == drawn


def flat(row: Any) -> list[Any]:
    if isinstance(row, np.random.Generator):  # what is drawn from it is looked at beside it
        return []
    return [part for each in row for part in flat(each)] if isinstance(row, tuple) else [row]


# ------------------------------------------------------------------------------------------------ some rows, long rows


class Watched(Zipped):
    """Rows that tell for which epochs somebody asked."""

    asked: set[int | None]

    def lengths(self, epoch: int | None) -> Numbers:
        self.asked.add(epoch)
        return super().lengths(epoch)

    def take(self, numbers: Numbers, epoch: int | None) -> list[tuple[Any, ...]]:
        self.asked.add(epoch)
        return super().take(numbers, epoch)


@pytest.mark.parametrize("epoch", [4, None])
def test_rows_are_asked_for_in_their_own_epoch_alone(epoch: int | None) -> None:
    rows = Watched(numbered(1), numbered(2))
    rows.asked = set()
    order = Bucketed(rows, by_column(partial(pairs, **AROUND)), tokens=TOKENS, seed=SEED, marks=1)
    batch = next(order.once()) if epoch is None else order.at(Place(epoch, 1))
    assert rows.asked == {epoch}
    assert batch.source_BS[:, 0].tolist() == batch.target_BT[:, 0].tolist() == (batch.example_B + FIRST).tolist()


def test_only_some_rows_are_taken() -> None:
    rows, collate, _ = rows_of("questions", SEED)
    some = Bucketed(rows, collate, tokens=TOKENS, seed=SEED, only=np.array([0, 2, 9, 31]))
    for plan in (some.plan(0), some.plan(None)):
        assert sorted(chain(*listed(plan))) == [0, 2, 9, 31]
    batches = an_epoch(some, 0)
    every = sum(batch.real_BT.numel() for batch in batches)
    assert some.padding() == pytest.approx(1 - sum(batch.tokens for batch in batches) / every)


def test_a_row_longer_than_the_budget_stands_alone() -> None:
    both = Zipped(*(InMemory([np.full(length, 7) for length in some]) for some in ((3, 50, 4), (3, 2, 4))))
    order = Bucketed(both, by_column(partial(pairs, **AROUND)), tokens=12, seed=1, marks=1)
    assert sorted(sorted(numbers.tolist()) for numbers in order.plan(0)) == [[0, 2], [1]]


def test_a_step_over_the_end_of_an_epoch_plans_neither_twice() -> None:
    """Accumulated batches: the places of all of them are asked for first, then the batches."""
    order = made("segmented anew")
    last = order.plan(0)
    order.plan(1)
    assert order.plan(0) is last


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 40))
def test_any_lengths_are_cut_within_any_budget(lengths: list[int], tokens: int) -> None:
    length_N = np.array(lengths)
    cut = cut_by_length(length_N[:, None], tokens)
    assert sorted(chain(*listed(cut))) == list(range(len(lengths)))
    assert all(len(some) == 1 or len(some) * int(length_N[some].max()) <= tokens for some in cut)


def test_less_than_a_tenth_of_multi30k_is_padding(shared_data: Path) -> None:
    """Words stand for tokens; the budget is the default one."""
    counted = []
    for language in ("de", "en"):
        path = shared_data / "multi30k" / f"train.{language}.gz"
        if not path.is_file():
            pytest.skip(f"{path} is not there")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            counted.append(InMemory([np.zeros(len(line.split())) for line in lines]))
    order = Bucketed(Zipped(*counted), by_column(partial(pairs, **AROUND)), tokens=4096, seed=1, marks=1)
    assert sum(map(len, order.plan(0))) == 29_000
    assert order.padding(0) < 0.1


# ------------------------------------------------------------------------------------------------ to the bit


def by_hand(sorted_by: list[Numbers], tokens: int, draw: np.random.Generator) -> list[list[int]]:
    """Shuffle, sort by one length after another, cut, shuffle: in Python, row by row."""
    rows = draw.permutation(len(sorted_by[0])).tolist()
    for length_N in sorted_by:  # a stable sort by the last one, of equals by the one before
        rows.sort(key=length_N.tolist().__getitem__)
    batches: list[list[int]] = [[]]
    for row in rows:
        widest = max(int(length_N[each]) for each in [*batches[-1], row] for length_N in sorted_by)
        if batches[-1] and widest * (len(batches[-1]) + 1) > tokens:
            batches.append([])
        batches[-1].append(row)
    return [batches[i] for i in draw.permutation(len(batches)).tolist()]


@pytest.mark.parametrize("kind", ["documents", "pairs"])
@pytest.mark.parametrize("tokens", [30, TOKENS])
def test_the_order_is_that_of_runs_before(kind: str, tokens: int) -> None:
    """Whoever trains anew with an old seed reads the same batches."""
    order = made(kind, tokens=tokens)
    seeds = (1, 2) if kind == "pairs" else (1,)
    length_SN = [np.array([len(row) + 1 for row in numbered(seed).rows]) for seed in seeds]
    for epoch in (0, 1, 6):
        assert listed(order.plan(epoch)) == by_hand(length_SN, tokens, np.random.default_rng((SEED, epoch)))
