"""Batches of questions: each row is a question and a window of its context, `begin question end… context end`.

B batch · T time · M questions · N rows, the windows
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqwright.batches import Batch, Ids, Numbers, Rows, padded

AROUND = 2  # `begin` before the question, and an `end` behind the context


@dataclass(frozen=True)
class Asked(Batch):
    """A batch of questions with windows of their contexts (Devlin et al. 2019, section 4.2); padding on the right.

    `segment_BT` is 1 from the context on. `allowed_BT` is True where an answer can begin or end: at the tokens of the
    context, and at the first position, which both mean where the window has no answer. `token_B` is the number of the
    window's first token in its context, `place_BT2` from where to where each token stands in it, in characters.
    `start_B` and `end_B` are the positions of the answer's first and last token.
    """

    input_BT: Tensor
    real_BT: Tensor
    segment_BT: Tensor
    allowed_BT: Tensor
    token_B: Tensor
    place_BT2: Tensor
    start_B: Tensor
    end_B: Tensor
    counted: ClassVar[str] = "allowed_BT"


class PlacedTokens(NamedTuple):
    """The tokens of a context, and where each stands in it: characters from `begin_T` up to but without `end_T`."""

    tokens: Ids
    begin_T: Ids
    end_T: Ids

    def tokens_of(self, begin: int, end: int) -> tuple[int, int] | None:
        """The first and the last token that some characters have a part in, if any; white space has no part."""
        some = np.flatnonzero((self.begin_T < end) & (self.end_T > begin) & (self.begin_T < self.end_T))
        return (int(some[0]), int(some[-1])) if len(some) else None


class ContextWindow(NamedTuple):
    """A question, what stands behind it, and some tokens in a row of its context, which begin at the position `first`.

    `begin` is the number of the first of them in the context.
    """

    tokens: Ids
    first: int
    places: PlacedTokens
    begin: int = 0


def window(question: Ids, context: PlacedTokens, begin: int = 0, count: int | None = None) -> ContextWindow:
    """A question with what stands behind it, and so many tokens of its context."""
    places = PlacedTokens(*(values[begin:][:count] for values in context))
    return ContextWindow(np.concatenate((question, places.tokens)), len(question) + 1, places, begin)


def window_starts(context: int, *, room: int, stride: int) -> list[int]:
    """Where the windows of a context begin: every `stride` tokens, until one of `room` tokens reaches its end."""
    assert 0 < stride <= room, f"windows of {room} tokens, {stride} apart, leave gaps"
    return list(range(0, max(context - room, 0) + stride, stride))


def stacked_windows(rows: Sequence[ContextWindow], *, begin: int, end: int) -> dict[str, Tensor]:
    """Windows as the tensors of a batch, but for where the answer is."""
    input_BT, real_BT = padded([np.concatenate(([begin], row.tokens, [end])) for row in rows])
    place_T = torch.arange(input_BT.shape[1])
    first_B1 = torch.tensor([[row.first] for row in rows])
    beyond_B1 = first_B1 + torch.tensor([[len(row.places.tokens)] for row in rows])
    context_BT = (place_T >= first_B1) & (place_T < beyond_B1)
    place_BT2 = torch.zeros((*input_BT.shape, 2), dtype=torch.long)
    places = [np.stack((row.places.begin_T, row.places.end_T), axis=1) for row in rows]
    place_BT2[context_BT] = torch.from_numpy(np.concatenate(places).astype(np.int64))
    return {
        "input_BT": input_BT,
        "real_BT": real_BT,
        "segment_BT": ((place_T >= first_B1) & real_BT).long(),
        "allowed_BT": context_BT | (place_T == 0),
        "token_B": torch.tensor([row.begin for row in rows]),
        "place_BT2": place_BT2,
    }


class QuestionRows(Rows[ContextWindow]):
    """The windows of questions, cut from the tokens of questions and contexts when they are asked for.

    `context_M` is the number of each question's context; `contexts` are its tokens, where each begins and where it
    ends. Of the windows, `example_N` says whose each is, `begin_N` and `count_N` which tokens of the context it has.
    `cut` is how many questions were longer than is read.
    """

    def __init__(
        self,
        questions: Rows[Ids],
        contexts: Sequence[Rows[Ids]],
        context_M: Numbers,
        *,
        longest: int,
        stride: int,
        cut: int = 0,
    ) -> None:
        self.questions, self.contexts, self.context_M, self.cut = questions, contexts, context_M, cut
        question_M, length_K = questions.lengths(None).sum(1), contexts[0].lengths(None).sum(1)
        cuts = []
        for number, context in enumerate(context_M.tolist()):
            length, room = int(length_K[context]), longest - AROUND - int(question_M[number])
            starts = window_starts(length, room=room, stride=stride)
            cuts += [(number, start, min(room, length - start)) for start in starts]
        self.example_N, self.begin_N, self.count_N = np.array(cuts, dtype=np.int64).reshape(-1, 3).T
        self.length_N = AROUND + question_M[self.example_N] + self.count_N

    def placed(self, number_B: Numbers) -> list[PlacedTokens]:
        """The whole contexts of some questions."""
        context_B = self.context_M[number_B]
        return [
            PlacedTokens(*parts) for parts in zip(*(each.take(context_B, None) for each in self.contexts), strict=True)
        ]

    def take(self, numbers: Numbers, epoch: int | None) -> list[ContextWindow]:
        """Some windows."""
        number_B = self.example_N[numbers]
        columns = (self.begin_N[numbers].tolist(), self.count_N[numbers].tolist())
        each = zip(self.questions.take(number_B, epoch), self.placed(number_B), *columns, strict=True)
        return [window(*row) for row in each]


def position_in(row: ContextWindow, answer: Sequence[int]) -> tuple[int, int]:
    """The positions in a window of an answer's first and last token in the context; 0 and 0 where it is not whole."""
    first, last = (token - row.begin for token in answer)
    return (row.first + first, row.first + last) if first >= 0 and last < len(row.places.tokens) else (0, 0)
