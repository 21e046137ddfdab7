"""Exact match and F1 by hand."""

import pytest

from seqwright.errors import DataError
from seqwright.metrics.answers import answer_scores, best_threshold, normalised, overlap_f1, same_answer, score_of


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("The  Duke's\tcastle.", "dukes castle"),
        ("An apple a day", "apple day"),
        ("theatre an-other", "theatre another"),
        ("the", ""),
        ("Straße (911)", "straße 911"),
    ],
)
def test_articles_marks_capitals_and_spaces_do_not_count(written: str, plain: str) -> None:
    assert normalised(written) == plain


def test_f1_is_the_overlap_of_words() -> None:
    assert overlap_f1("the old castle of Rouen", "castle of Rouen, France") == pytest.approx(2 * 3 / (4 + 4))
    assert overlap_f1("yes yes", "yes") == pytest.approx(2 / 3)  # a word counts as often as both have it
    assert overlap_f1("no", "yes") == 0
    assert same_answer("The Castle!", "castle")


def test_the_nearest_right_answer_counts() -> None:
    exact, f1, answerable = score_of("in 1066", ["1065", "1066", "in the year 1066"])
    assert (exact, answerable) == (False, True)
    assert f1 == pytest.approx(0.8)


def test_silence_is_right_where_there_is_no_answer_and_only_there() -> None:
    assert score_of("", []) == (True, 1.0, False)
    assert score_of("x", []) == (False, 0.0, False)
    assert score_of("", ["x"]) == (False, 0.0, True)
    assert score_of("", ["the"]) == (True, 1.0, False)  # of which nothing remains


def test_both_kinds_of_question_have_scores_of_their_own() -> None:
    scores = answer_scores(["a b", "", "c", "d"], [["b"], [], [], ["d e"]])
    assert scores == {
        "exact": pytest.approx(50.0),
        "f1": pytest.approx(100 * (1 + 1 + 0 + 2 / 3) / 4),
        "has_answer_exact": pytest.approx(50.0),
        "has_answer_f1": pytest.approx(100 * (1 + 2 / 3) / 2),
        "no_answer_exact": pytest.approx(50.0),
    }
    assert answer_scores(["x"], [["x"]]).keys() == {"exact", "f1"}


def test_questions_without_an_answer_to_each_are_refused() -> None:
    with pytest.raises(DataError, match="2 answers to 1 questions"):
        answer_scores(["a", "b"], [["a"]])


def test_the_threshold_lies_between_what_is_given_and_what_is_not() -> None:
    found = best_threshold(["x", "y", "z"], [5.0, 1.0, -1.0], [["x"], [], []])
    assert 1.0 <= found.margin < 5.0
    assert found.f1 == 100
    all_wrong = best_threshold(["x"], [3.0], [[]])
    assert all_wrong == (3.0, 100.0)  # nothing lies above its own margin
