"""The errors of pronunciations against cases counted by hand, and the edit distance against its definition."""

import itertools
from functools import cache
from random import Random

import pytest

from seqwright.errors import DataError
from seqwright.metrics.pronunciations import edit_distance, pronunciation_errors


def test_a_word_is_right_if_any_of_its_pronunciations_was_said() -> None:
    words = ["A", "A", "B", "C", "C"]
    wanted = ["EY", "AH", "B IY", "S IY", "K"]
    said = ["AH", "AH", "B AY", "K IY", "S IY"]  # of C what was said first counts
    found = pronunciation_errors(words, said, wanted)
    assert found["word_error_rate"].value == pytest.approx(100 * 2 / 3)
    # A: 0 of 1. B: 1 of 2. C: "K IY" is one edit from "K" (length 1) and one from "S IY" (2); the shorter counts.
    assert found["phoneme_error_rate"].value == pytest.approx(100 * 2 / 4)
    assert "words:3" in found["word_error_rate"].signature


def test_case_and_spaces_count_only_where_they_should() -> None:
    strict, loose = (
        pronunciation_errors(["A"], [" hh  ah"], ["HH AH"], lowercase=lowercase)["word_error_rate"].value
        for lowercase in (False, True)
    )
    assert (strict, loose) == (100.0, 0.0)


def test_nothing_said_is_all_deleted() -> None:
    found = pronunciation_errors(["A"], [""], ["HH AH L"])
    assert {name: score.value for name, score in found.items()} == {
        "word_error_rate": 100.0,
        "phoneme_error_rate": 100.0,
    }


def test_counts_that_do_not_fit_are_told() -> None:
    with pytest.raises(DataError, match="2 words for 1 references"):
        pronunciation_errors(["A", "B"], ["x"], ["x"])
    with pytest.raises(DataError, match="no sentences"):
        pronunciation_errors([], [], [])


def test_the_edit_distance_is_the_cheapest_way_to_edit() -> None:
    @cache
    def defined(one: str, other: str) -> int:
        if not one or not other:
            return len(one) + len(other)
        same = defined(one[1:], other[1:]) + (one[0] != other[0])
        return min(same, defined(one[1:], other) + 1, defined(one, other[1:]) + 1)

    chance = Random(1)
    rows = ["".join(chance.choice("abc") for _ in range(chance.randrange(7))) for _ in range(12)]
    for one, other in itertools.product(rows, rows):
        assert edit_distance(list(one), list(other)) == defined(one, other)
