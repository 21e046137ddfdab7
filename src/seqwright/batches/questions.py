"""Batches of questions: each row is a question and a window of its context, `begin question end context end`.

B batch · T time · M questions · N rows, the windows
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import KEPT_EPOCHS, Ids, Place, Rows, following, padded
from seqwright.batches.text import cut_by_length

AROUND = 3  # `begin`, and an `end` behind the question and behind the context


class Asked(NamedTuple):
    """A batch of questions with windows of their contexts (Devlin et al. 2019, section 4.2); padding on the right.

    `segment_BT` is 1 from the context on. `allowed_BT` is True where an answer can begin or end: at the tokens of the
    context, and at the first position, which both mean where the window has no answer. `start_B` and `end_B` are the
    positions of the answer's first and last token.
    """

    tokens_BT: Tensor
    real_BT: Tensor
    segment_BT: Tensor
    allowed_BT: Tensor
    start_B: Tensor
    end_B: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """True where the model's output counts: where an answer can begin or end."""
        return self.allowed_BT

    @property
    def fresh_B(self) -> Tensor:
        """True where a row has nothing to do with the same row of the batch before: here everywhere."""
        return torch.ones_like(self.real_BT[:, 0])

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds."""
        return int(self.real_BT.sum())

    def to(self, device: torch.device) -> "Asked":
        """The same batch on another device."""
        return Asked(*(tensor.to(device, non_blocking=True) for tensor in self))


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
    tokens_BT, real_BT = padded(whole)
    place_T = torch.arange(tokens_BT.shape[1])
    offset_B1 = torch.tensor([[row.offset] for row in rows])
    beyond_B1 = offset_B1 + torch.tensor([[len(row.context)] for row in rows])
    context_BT = (place_T >= offset_B1) & (place_T < beyond_B1)
    at_B2 = [(0, 0) if row.answer is None else (row.offset + row.answer[0], row.offset + row.answer[1]) for row in rows]
    start_B, end_B = torch.tensor(at_B2).unbind(1)
    segment_BT = ((place_T >= offset_B1) & real_BT).long()
    return Asked(tokens_BT, real_BT, segment_BT, context_BT | (place_T == 0), start_B, end_B)


class QuestionRows:
    """The windows of questions, cut from the tokens of questions and contexts when they are asked for.

    `context_M` is the number of each question's context, `answer_M2` those of its answer's first and last token in the
    context, below 0 where there is none. Of the windows, `question_N` says whose each is, `begin_N` and `count_N` which
    tokens of the context it has.
    """

    def __init__(
        self,
        questions: Rows,
        contexts: Rows,
        context_M: NDArray[np.int64],
        answer_M2: NDArray[np.int64],
        *,
        longest: int,
        stride: int,
    ) -> None:
        self.questions, self.contexts = questions, contexts
        self.context_M, self.answer_M2 = context_M, answer_M2
        cuts = []
        for number, context in enumerate(context_M.tolist()):
            length, room = int(contexts.length_N[context]), longest - AROUND - int(questions.length_N[number])
            starts = window_starts(length, room=room, stride=stride)
            cuts += [(number, start, min(room, length - start)) for start in starts]
        self.question_N, self.begin_N, self.count_N = np.array(cuts, dtype=np.int64).reshape(-1, 3).T
        self.length_N: NDArray[np.int64] = AROUND + questions.length_N[self.question_N] + self.count_N

    def take(self, rows: NDArray[np.int64]) -> list[Window]:
        """Some windows."""
        number_B = self.question_N[rows]
        questions = self.questions.take(number_B, 0)
        contexts = self.contexts.take(self.context_M[number_B], 0)
        cuts = zip(self.begin_N[rows].tolist(), self.count_N[rows].tolist(), strict=True)
        windows = []
        for number, question, context, (begin, count) in zip(number_B.tolist(), questions, contexts, cuts, strict=True):
            first, last = self.answer_M2[number].tolist()
            inside = begin <= first and last < begin + count
            answer = (first - begin, last - begin) if inside else None  # below 0 is in no window
            windows.append(Window(question, context[begin : begin + count], answer))
        return windows


class TracedQuestions(NamedTuple):
    """A batch, and the number of each of its windows."""

    batch: Asked
    number_B: NDArray[np.int64]


class QuestionBatches:
    """Windows of like length together, at most `tokens` positions a batch with padding, in the order of (seed, epoch).

    `only` are the windows to take, all if not given.
    """

    def __init__(
        self,
        rows: QuestionRows,
        *,
        tokens: int,
        seed: int,
        begin: int,
        end: int,
        only: NDArray[np.int64] | None = None,
    ) -> None:
        self.rows, self.tokens, self.seed, self.begin, self.end = rows, tokens, seed, begin, end
        self.only = np.arange(len(rows.length_N)) if only is None else only
        self._plan = lru_cache(KEPT_EPOCHS)(self._planned)

    def at(self, place: Place) -> Asked:
        """The batch at a place."""
        return self._batch(self._plan(place.epoch)[place.batch])

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return following(place, self.in_epoch(place.epoch))

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; nearly the same in each."""
        return len(self._plan(epoch))

    def once(self) -> Iterator[Asked]:
        """Every window once, longest last."""
        return (traced.batch for traced in self.traced())

    def traced(self) -> Iterator[TracedQuestions]:
        """The batches of `once`, and which window stands where."""
        for number_B in self._cut(self.only):
            yield TracedQuestions(self._batch(number_B), number_B)

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        length_N = self.rows.length_N
        every = sum(len(rows) * int(length_N[rows].max()) for rows in self._plan(epoch))
        return 1 - int(length_N[self.only].sum()) / every

    def _planned(self, epoch: int) -> list[NDArray[np.int64]]:
        order = np.random.default_rng((self.seed, epoch))
        batches = self._cut(order.permutation(self.only))
        return [batches[i] for i in order.permutation(len(batches))]

    def _cut(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        return [rows[some] for some in cut_by_length(self.rows.length_N[rows], self.tokens)]

    def _batch(self, number_B: NDArray[np.int64]) -> Asked:
        return asked(self.rows.take(number_B), begin=self.begin, end=self.end)
