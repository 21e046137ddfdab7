"""Windows of contexts: nothing is left out, answers stand where they should."""

from itertools import pairwise

import numpy as np
import pytest

from seqwright.batches import InMemory
from seqwright.batches.questions import QuestionRows, Window, asked, window_starts

BEGIN, END = 2, 3


@pytest.mark.parametrize("stride", [1, 3, 5])
@pytest.mark.parametrize("context", range(24))
def test_windows_cover_every_token_and_none_begins_in_vain(context: int, stride: int) -> None:
    starts = window_starts(context, room=5, stride=stride)
    covered = {place for start in starts for place in range(start, min(start + 5, context))}
    assert covered == set(range(context))
    assert all(later - start == stride for start, later in pairwise(starts))
    assert all(start + 5 < context for start in starts[:-1])  # the one before the last does not reach the end


def test_a_row_is_the_question_and_a_window_between_three_tokens() -> None:
    rows = [Window(np.array([10, 11]), np.array([20, 21, 22]), (1, 2)), Window(np.array([12]), np.array([23]))]
    batch = asked(rows, begin=BEGIN, end=END)
    assert batch.input_BT.tolist() == [[2, 10, 11, 3, 20, 21, 22, 3], [2, 12, 3, 23, 3, 0, 0, 0]]
    assert batch.real_BT.tolist() == [[True] * 8, [True] * 5 + [False] * 3]
    assert batch.segment_BT.tolist() == [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0, 0]]
    assert batch.allowed_BT.nonzero().tolist() == [[0, 0], [0, 4], [0, 5], [0, 6], [1, 0], [1, 3]]
    assert batch.start_B.tolist() == [5, 0]
    assert batch.end_B.tolist() == [6, 0]
    assert batch.tokens == 13


def corpus() -> QuestionRows:
    """Four questions about three contexts of 4, 17 and 9 tokens; their answers are tokens 1 to 2, 7 to 9, none, 8."""
    contexts = [np.arange(100, 104), np.arange(200, 217), np.arange(300, 309)]
    questions = [np.array([10]), np.array([11, 12]), np.array([13]), np.array([14, 15, 16])]
    answers = np.array([[1, 2], [7, 9], [-1, -1], [8, 8]])
    return QuestionRows(InMemory(questions), InMemory(contexts), np.array([0, 1, 1, 2]), answers, longest=13, stride=4)


def test_windows_know_whose_they_are_and_where_they_begin() -> None:
    rows = corpus()
    assert rows.example_N.tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 3, 3]
    assert rows.begin_N.tolist() == [0, 0, 4, 8, 12, 0, 4, 8, 0, 4]
    assert rows.count_N.tolist() == [4, 8, 8, 8, 5, 9, 9, 9, 7, 5]
    assert rows.lengths(0).flatten().tolist() == [8, 13, 13, 13, 10, 13, 13, 13, 13, 11]
    assert rows.lengths(0).max() == 13  # inputs.longest


def test_the_answer_counts_only_in_windows_that_have_all_of_it() -> None:
    rows = corpus()
    answers = [window.answer for window in rows.take(np.arange(10), 0)]
    # Of the second question only the window of tokens 4 to 11 has tokens 7 to 9; the first has two of them.
    assert answers == [(1, 2), None, (3, 5), None, None, None, None, None, None, (4, 4)]
    for window, answer, wanted in ((2, (3, 5), [207, 208, 209]), (9, (4, 4), [308])):
        (row,) = rows.take(np.array([window]), 0)
        assert row.context[answer[0] : answer[1] + 1].tolist() == wanted
