"""Windows of contexts: nothing is left out, answers stand where they should."""

from itertools import pairwise

import numpy as np
import pytest

from seqwright.batches import InMemory
from seqwright.batches.questions import PlacedTokens, QuestionRows, stacked_windows, window, window_starts
from seqwright.data.question_files import Question, RightAnswer
from seqwright.inputs import Given
from seqwright.outputs.span import SpanOutput

BEGIN, END = 2, 3


def placed(tokens: list[int]) -> PlacedTokens:
    """Each token has two characters of its own."""
    begin_T = 2 * np.arange(len(tokens))
    return PlacedTokens(np.array(tokens), begin_T, begin_T + 2)


@pytest.mark.parametrize("stride", [1, 3, 5])
@pytest.mark.parametrize("context", range(24))
def test_windows_cover_every_token_and_none_begins_in_vain(context: int, stride: int) -> None:
    starts = window_starts(context, room=5, stride=stride)
    covered = {place for start in starts for place in range(start, min(start + 5, context))}
    assert covered == set(range(context))
    assert all(later - start == stride for start, later in pairwise(starts))
    assert all(start + 5 < context for start in starts[:-1])  # the one before the last does not reach the end


def test_a_row_is_the_question_and_a_window_with_what_stands_around_them() -> None:
    rows = [window(np.array([10, 11, 3]), placed([19, 20, 21, 22, 29]), 1, 3), window(np.array([12, 3]), placed([23]))]
    read = stacked_windows(rows, begin=BEGIN, end=END)
    assert read["input_BT"].tolist() == [[2, 10, 11, 3, 20, 21, 22, 3], [2, 12, 3, 23, 3, 0, 0, 0]]
    assert read["real_BT"].tolist() == [[True] * 8, [True] * 5 + [False] * 3]
    assert read["segment_BT"].tolist() == [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0, 0]]
    assert read["allowed_BT"].nonzero().tolist() == [[0, 0], [0, 4], [0, 5], [0, 6], [1, 0], [1, 3]]
    assert read["token_B"].tolist() == [1, 0]
    assert read["place_BT2"][0].tolist() == [[0, 0]] * 4 + [[2, 4], [4, 6], [6, 8], [0, 0]]
    assert read["place_BT2"][1, 3].tolist() == [0, 2]


def corpus() -> QuestionRows:
    """Four questions about three contexts of 4, 17 and 9 tokens."""
    contexts = [placed(list(range(*ends))) for ends in ((100, 104), (200, 217), (300, 309))]
    questions = [np.array([*each, END]) for each in ([10], [11, 12], [13], [14, 15, 16])]
    columns = [InMemory([context[part] for context in contexts]) for part in range(3)]
    return QuestionRows(InMemory(questions), columns, np.array([0, 1, 1, 2]), longest=13, stride=4)


def test_windows_know_whose_they_are_and_where_they_begin() -> None:
    rows = corpus()
    assert rows.example_N.tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 3, 3]
    assert rows.begin_N.tolist() == [0, 0, 4, 8, 12, 0, 4, 8, 0, 4]
    assert rows.count_N.tolist() == [4, 8, 8, 8, 5, 9, 9, 9, 7, 5]
    assert rows.lengths(0).flatten().tolist() == [8, 13, 13, 13, 10, 13, 13, 13, 13, 11]
    assert rows.lengths(0).max() == 13  # inputs.longest
    (third,) = rows.take(np.array([3]), 0)
    assert third.tokens.tolist() == [11, 12, END, *range(208, 216)]
    assert (third.first, third.begin) == (4, 8)
    assert third.places.begin_T.tolist() == list(range(16, 32, 2))


def test_the_answer_counts_only_in_windows_that_have_all_of_it() -> None:
    """The answers are tokens 1 to 2, 7 to 9, none, 8."""
    rows = corpus()
    tokens_of = {0: (1, 2), 1: (7, 9), 3: (8, 8)}  # each of two characters
    spans = {n: RightAnswer("?" * 2 * (last + 1 - first), 2 * first) for n, (first, last) in tokens_of.items()}
    questions = [Question("?", "?" * 34, (spans[n],) if n in spans else ()) for n in range(4)]
    targets = SpanOutput(longest=30, unanswerable=True).encode(Given(questions), rows)
    answers = targets.rows.take(np.arange(10), 0)
    # Of the second question only the window of tokens 4 to 11 has tokens 7 to 9; the first has two of them.
    nowhere = (0, 0)
    wanted = [(4, 5), nowhere, (7, 9), nowhere, nowhere, nowhere, nowhere, nowhere, nowhere, (9, 9)]
    assert answers == wanted
    for number, tokens in ((2, [207, 208, 209]), (9, [308])):
        (row,) = rows.take(np.array([number]), 0)
        start, end = wanted[number]
        assert stacked_windows([row], begin=BEGIN, end=END)["input_BT"][0, start : end + 1].tolist() == tokens
