"""Batches of tagged text: every word with its own tag, judged at its first token, the same at the same place."""

import numpy as np
import pytest
import torch

from seqwright.batches import Place
from seqwright.batches.tagged import Stretch, Tagged, TaggedBatches, TaggedRows, stretches, tagged

END = 3
LENGTHS = [[1, 2], [3], [1, 1, 1, 2], [2, 2], [1], [4, 1, 1], [1, 2, 3], [5, 1], [2, 1], [1, 1, 1]]  # tokens of words


def rows() -> list[Stretch]:
    """The tokens of sentence n are n + 4, and the tag of its word w is (n + w) mod 5."""
    return [
        stretch
        for number, lengths in enumerate(LENGTHS)
        for stretch in stretches(
            [np.full(length, number + 4) for length in lengths],
            [(number + place) % 5 for place in range(len(lengths))],
            longest=100,
        )
    ]


def batches(tokens: int = 20, seed: int = 1) -> TaggedBatches:
    return TaggedBatches(TaggedRows.in_memory(rows()), tokens=tokens, seed=seed, end=END)


def seen(batch: Tagged) -> list[tuple[int, list[int], list[int]]]:
    """(which sentence, where its words begin, their tags) of each row."""
    return [
        (int(tokens_T[0]) - 4, first_T.nonzero().flatten().tolist(), tag_T[first_T].tolist())
        for tokens_T, _, first_T, tag_T in zip(*batch, strict=True)
    ]


WANTED = [
    (number, (np.cumsum(lengths) - lengths).tolist(), [(number + place) % 5 for place in range(len(lengths))])
    for number, lengths in enumerate(LENGTHS)
]


def epoch(found: TaggedBatches, number: int) -> list[Tagged]:
    return [found.at(Place(number, index)) for index in range(found.in_epoch(number))]


def test_each_sentence_stands_once_in_an_epoch_with_its_own_tags() -> None:
    for number in range(3):
        assert sorted(row for batch in epoch(batches(), number) for row in seen(batch)) == WANTED
    assert sorted(row for batch in batches().once() for row in seen(batch)) == WANTED


def test_the_numbers_of_the_rows_are_told() -> None:
    for batch, number_B in batches().traced():
        assert [row[0] for row in seen(batch)] == number_B.tolist()


def test_a_row_is_closed_by_the_end_and_judged_at_the_first_token_of_each_word() -> None:
    words = [[np.array([7, 8]), np.array([9])], [np.array([5])]]
    both = [next(stretches(words[0], [1, 4], longest=9)), next(stretches(words[1], [2], longest=9))]
    batch = tagged(both, end=END)
    assert batch.input_BT.tolist() == [[7, 8, 9, END], [5, END, 0, 0]]
    assert batch.real_BT.tolist() == [[True] * 4, [True, True, False, False]]
    assert batch.loss_mask.tolist() == [[True, False, True, False], [True, False, False, False]]
    assert batch.labels.tolist() == [1, 4, 2]
    assert batch.tokens == 6
    assert batch.fresh_B.tolist() == [True, True]
    assert all(torch.equal(a, b) for a, b in zip(batch.to(torch.device("cpu")), batch, strict=True))


def test_without_tags_there_is_what_is_needed_to_ask_for_them() -> None:
    batch = tagged(list(stretches([np.array([7, 8]), np.array([9])], longest=9)), end=END)
    assert batch.loss_mask.tolist() == [[True, False, True, False]]
    assert not bool(batch.target_BT.any())


def test_no_batch_has_more_positions_than_allowed() -> None:
    assert max(batch.input_BT.numel() for batch in epoch(batches(), 0)) <= 20
    assert batches(tokens=3).at(Place(0, 0)).tokens_BT.shape[0] == 1  # a longer sentence is a batch of its own
    assert 0 <= batches().padding() < 0.5


def test_a_batch_is_a_function_of_its_place() -> None:
    one, other = batches(), batches()
    place = one.after(one.after(Place()))
    assert all(torch.equal(a, b) for a, b in zip(one.at(place), other.at(place), strict=True))
    orders = [[seen(batch) for batch in epoch(batches(seed=seed), number)] for seed, number in ((1, 0), (1, 1), (2, 0))]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert one.after(Place(0, one.in_epoch(0) - 1)) == Place(1, 0)


@pytest.mark.parametrize(
    ("longest", "wanted"),
    [
        (9, [[2, 1, 3, 1]]),
        (7, [[2, 1, 3, 1]]),
        (6, [[2, 1, 3], [1]]),
        (5, [[2, 1], [3, 1]]),
        (3, [[2, 1], [3], [1]]),
        (2, [[2], [1], [2], [1]]),  # the word of three tokens is cut off
        (1, [[1], [1], [1], [1]]),
    ],
)
def test_a_long_sentence_is_cut_between_words(longest: int, wanted: list[list[int]]) -> None:
    words = [np.array([4, 5]), np.array([6]), np.array([7, 8, 9]), np.array([10])]
    found = list(stretches(words, [3, 2, 1, 0], longest=longest))
    assert [stretch.length_W.tolist() for stretch in found] == wanted
    assert [tag for stretch in found for tag in stretch.tag_W.tolist()] == [3, 2, 1, 0]
    kept = [token for word in words for token in word[:longest].tolist()]
    assert [token for stretch in found for token in stretch.tokens.tolist()] == kept


def test_a_sentence_without_words_has_no_stretch() -> None:
    assert list(stretches([], longest=5)) == []
