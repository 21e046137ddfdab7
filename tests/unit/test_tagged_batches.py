"""Batches of tagged text: every word with its own tag, learnt at its first token."""

import numpy as np
import pytest

from seqwright.batches import Zipped
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.tagged import Tagged, stacked, stretches
from seqwright.data.tagged import TaggedSentence
from seqwright.inputs import Given
from seqwright.outputs.tags import TagsOutput
from tests.columns import by_column, stretch_rows

END = 3
LENGTHS = [[1, 2], [3], [1, 1, 1, 2], [2, 2], [1], [4, 1, 1], [1, 2, 3], [5, 1], [2, 1], [1, 1, 1]]  # tokens of words
FIVE = TagsOutput(dict.fromkeys("abcde", 1))


@pytest.mark.parametrize("longest", [100, 3])
def test_each_word_has_its_own_tag_at_its_first_token(longest: int) -> None:
    """The tokens of sentence n are n + 4, and the tag of its word w is (n + w) mod 5."""
    words = [[np.full(size, n + 4) for size in each] for n, each in enumerate(LENGTHS)]
    rows = stretch_rows(words, longest=longest)
    count_M = [len(lengths) for lengths in LENGTHS]
    tags = (tuple("abcde"[(n + w) % 5] for w in range(count)) for n, count in enumerate(count_M))
    both = Zipped(rows, FIVE.encode(Given(TaggedSentence(each, each) for each in tags), rows).rows)

    def collate(read: tuple[object, ...], tags: tuple[object, ...]) -> Tagged:
        return FIVE.collate(stacked(read, end=END), tags)  # type: ignore[arg-type]

    batches = Bucketed(both, by_column(collate), tokens=20, seed=1, marks=1)
    found: dict[int, dict[int, int]] = {n: {} for n in range(len(LENGTHS))}
    for batch in batches.once():
        assert batch.example_B.tolist() == (batch.input_BT[:, 0] - 4).tolist()
        columns = (batch.example_B.tolist(), batch.word_B.tolist(), batch.first_BT, batch.target_BT)
        for number, word, first_T, tag_T in zip(*columns, strict=True):
            found[number] |= dict(enumerate(tag_T[first_T].tolist(), start=word))
    assert found == {n: {w: (n + w) % 5 for w in range(count)} for n, count in enumerate(count_M)}


def test_the_stretches_of_a_sentence_have_its_number_and_know_where_they_begin() -> None:
    words = [[np.array([7, 8]), np.array([9])], [], [np.array([6]), np.array([4])]]
    rows = stretch_rows(words, longest=2)
    assert rows.example_N.tolist() == [0, 0, 2]
    assert rows.begin_N.tolist() == [0, 1, 0]
    assert rows.cut == 1
    assert rows.lengths(0).tolist() == [[2], [1], [2]]
    taken = rows.take(np.array([2, 1]), 0)
    assert [(row.tokens.tolist(), row.length_W.tolist(), row.begin) for row in taken] == [
        ([6, 4], [1, 1], 0),
        ([9], [1], 1),
    ]


@pytest.mark.parametrize(("begin", "before"), [(None, []), (2, [2])])
def test_a_row_is_closed_by_the_end_and_counts_at_the_first_token_of_each_word(
    begin: int | None, before: list[int]
) -> None:
    words = [[np.array([7, 8]), np.array([9])], [np.array([5])]]
    both = [next(stretches(each, longest=9)) for each in words]
    batch = FIVE.collate(stacked(both, end=END, begin=begin), [np.array([1, 4]), np.array([2])])
    assert batch.input_BT.tolist() == [[*before, 7, 8, 9, END], [*before, 5, END, 0, 0]]
    no = [False] * len(before)
    assert batch.real_BT[:, len(before) :].tolist() == [[True] * 4, [True, True, False, False]]
    assert batch.loss_mask.tolist() == [[*no, True, False, True, False], [*no, True, False, False, False]]
    assert batch.labels.tolist() == [1, 4, 2]
    assert batch.tokens == 6 + 2 * len(before)
    assert batch.fresh_B.tolist() == [True, True]


def test_without_tags_there_is_what_is_needed_to_predict_them() -> None:
    batch = FIVE.collate(stacked(list(stretches([np.array([7, 8]), np.array([9])], longest=9)), end=END), None)
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
    found = list(stretches(words, longest=longest))
    assert [stretch.length_W.tolist() for stretch in found] == wanted
    assert [stretch.begin for stretch in found] == [sum(map(len, wanted[:row])) for row in range(len(wanted))]
    kept = [token for word in words for token in word[:longest].tolist()]
    assert [token for stretch in found for token in stretch.tokens.tolist()] == kept


def test_a_sentence_without_words_has_no_stretch() -> None:
    assert list(stretches([], longest=5)) == []
