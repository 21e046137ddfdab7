"""Batches of tagged text: every word with its own tag, judged at its first token."""

from functools import partial

import numpy as np
import pytest

from seqwright.batches.bucketed import Bucketed
from seqwright.batches.tagged import TaggedRows, stretches, tagged

END = 3
LENGTHS = [[1, 2], [3], [1, 1, 1, 2], [2, 2], [1], [4, 1, 1], [1, 2, 3], [5, 1], [2, 1], [1, 1, 1]]  # tokens of words


def test_each_word_has_its_own_tag_at_its_first_token() -> None:
    """The tokens of sentence n are n + 4, and the tag of its word w is (n + w) mod 5."""
    sentences = [
        list(stretches([np.full(length, n + 4) for length in lengths], [(n + w) % 5 for w in range(9)], longest=100))
        for n, lengths in enumerate(LENGTHS)
    ]
    batches = Bucketed(TaggedRows.in_memory(sentences), partial(tagged, end=END), tokens=20, seed=1, marks=1)
    found = []
    for batch in batches.once():
        assert batch.example_B.tolist() == (batch.input_BT[:, 0] - 4).tolist()
        for number, first_T, tag_T in zip(batch.example_B, batch.first_BT, batch.target_BT, strict=True):
            found.append((int(number), first_T.nonzero().flatten().tolist(), tag_T[first_T].tolist()))
    assert sorted(found) == [
        (n, (np.cumsum(lengths) - lengths).tolist(), [(n + w) % 5 for w in range(len(lengths))])
        for n, lengths in enumerate(LENGTHS)
    ]


def test_the_stretches_of_a_sentence_have_its_number() -> None:
    words = [[np.array([7, 8]), np.array([9])], [np.array([5])], [np.array([6]), np.array([4])]]
    rows = TaggedRows.in_memory([list(stretches(each, longest=2)) for each in words])
    assert rows.example_N.tolist() == [0, 0, 1, 2]
    assert rows.lengths(0).tolist() == [[2], [1], [1], [2]]
    assert [row.tokens.tolist() for row in rows.take(np.array([3, 0]), 0)] == [[6, 4], [7, 8]]


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


def test_without_tags_there_is_what_is_needed_to_ask_for_them() -> None:
    batch = tagged(list(stretches([np.array([7, 8]), np.array([9])], longest=9)), end=END)
    assert batch.loss_mask.tolist() == [[True, False, True, False]]
    assert not bool(batch.target_BT.any())


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
