"""Batches of questions: each row is a question and a window of its context, `begin question end context end`.

B batch · T time · M questions · N rows, the windows
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqwright.batches import Batch, Ids, Numbers, Rows, padded

AROUND = 3  # `begin`, and an `end` behind the question and behind the context


@dataclass(frozen=True)
class Asked(Batch):
    """A batch of questions with windows of their contexts (Devlin et al. 2019, section 4.2); padding on the right.

    `segment_BT` is 1 from the context on. `allowed_BT` is True where an answer can begin or end: at the tokens of the
    context, and at the first position, which both mean where the window has no answer. `start_B` and `end_B` are the
    positions of the answer's first and last token.
    """

    input_BT: Tensor
    real_BT: Tensor
    segment_BT: Tensor
    allowed_BT: Tensor
    start_B: Tensor
    end_B: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """What is said counts where an answer can begin or end."""
        return self.allowed_BT


class Window(NamedTuple):
    """A question and some tokens in a row of its context; `answer` are the first and the last of it, if it is there."""

    question: Ids
    context: Ids
    answer: tuple[int, int] | None = None

    @property
    def offset(self) -> int:
        """The position of the context's first token in the row."""
        return len(self.question) + AROUND - 1


def window_starts(context: int, *, room: int, stride: int) -> list[int]:
    """Where the windows of a context begin: every `stride` tokens, until one of `room` tokens reaches its end."""
    assert 0 < stride <= room, f"windows of {room} tokens, {stride} apart, leave gaps"
    return list(range(0, max(context - room, 0) + stride, stride))


def asked(rows: Sequence[Window], *, begin: int, end: int) -> Asked:
    """Windows as a batch."""
    whole = [np.concatenate(([begin], row.question, [end], row.context, [end])) for row in rows]
    input_BT, real_BT = padded(whole)
    place_T = torch.arange(input_BT.shape[1])
    offset_B1 = torch.tensor([[row.offset] for row in rows])
    beyond_B1 = offset_B1 + torch.tensor([[len(row.context)] for row in rows])
    context_BT = (place_T >= offset_B1) & (place_T < beyond_B1)
    at_B2 = [(0, 0) if row.answer is None else (row.offset + row.answer[0], row.offset + row.answer[1]) for row in rows]
    start_B, end_B = torch.tensor(at_B2).unbind(1)
    segment_BT = ((place_T >= offset_B1) & real_BT).long()
    return Asked(input_BT, real_BT, segment_BT, context_BT | (place_T == 0), start_B, end_B)


class QuestionRows(Rows[Window]):
    """The windows of questions, cut from the tokens of questions and contexts when they are asked for.

    `context_M` is the number of each question's context, `answer_M2` those of its answer's first and last token in the
    context, below 0 where there is none. Of the windows, `question_N` says whose each is, `begin_N` and `count_N` which
    tokens of the context it has.
    """

    def __init__(
        self,
        questions: Rows[Ids],
        contexts: Rows[Ids],
        context_M: Numbers,
        answer_M2: Numbers,
        *,
        longest: int,
        stride: int,
    ) -> None:
        self.questions, self.contexts = questions, contexts
        self.context_M, self.answer_M2 = context_M, answer_M2
        question_M, length_C = questions.lengths(None).sum(1), contexts.lengths(None).sum(1)
        cuts = []
        for number, context in enumerate(context_M.tolist()):
            length, room = int(length_C[context]), longest - AROUND - int(question_M[number])
            starts = window_starts(length, room=room, stride=stride)
            cuts += [(number, start, min(room, length - start)) for start in starts]
        self.question_N, self.begin_N, self.count_N = np.array(cuts, dtype=np.int64).reshape(-1, 3).T
        self.length_N: Numbers = AROUND + question_M[self.question_N] + self.count_N

    @property
    def example_N(self) -> Numbers:
        """The question of each window."""
        return self.question_N

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_N1` of the windows with their marks."""
        return self.length_N[:, None]

    def take(self, numbers: Numbers, epoch: int | None) -> list[Window]:
        """Some windows."""
        number_B = self.question_N[numbers]
        questions = self.questions.take(number_B, epoch)
        contexts = self.contexts.take(self.context_M[number_B], epoch)
        cuts = zip(self.begin_N[numbers].tolist(), self.count_N[numbers].tolist(), strict=True)
        windows = []
        for number, question, context, (begin, count) in zip(number_B.tolist(), questions, contexts, cuts, strict=True):
            first, last = self.answer_M2[number].tolist()
            inside = begin <= first and last < begin + count
            answer = (first - begin, last - begin) if inside else None  # below 0 is in no window
            windows.append(Window(question, context[begin : begin + count], answer))
        return windows
