"""Answering questions with a trained model: question and context in, the characters of the answer out.

B batch · T time, here the tokens of a context · L lengths of an answer
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seqwright.batches import InMemory
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.questions import Asked, QuestionRows, asked
from seqwright.devices import device_of
from seqwright.inputs.question_text import PlacedTokens, QuestionText

TOKENS_AT_ONCE = 8192


class Found(NamedTuple):
    """An answer: characters `begin` up to but without `end` of the context.

    `score` is the sum of the start's and the end's logit, `probability` its share among all that could be answered.
    """

    text: str
    begin: int
    end: int
    score: float
    probability: float


class Answered(NamedTuple):
    """The best answers to a question, none overlapping another, and how probable it is that there is none.

    `margin` is how far the best one's score lies above that of saying nothing (Devlin et al. 2019, section 4.3); it is
    infinite where the model never saw a question without an answer.
    """

    answers: list[Found]
    no_answer: float
    margin: float

    def said(self, threshold: float = 0.0) -> str:
        """What is answered: nothing, unless the best answer lies above saying so by more than the threshold."""
        return self.answers[0].text if self.answers and self.margin > threshold else ""


class Answerer:
    """A trained model with its inputs: `answerer([("Who came?", "In the evening Anna came."), …])`."""

    def __init__(self, model: nn.Module, inputs: QuestionText) -> None:
        self.model = model.eval()
        self.inputs = inputs

    def __call__(self, questions: Sequence[tuple[str, str]], *, top: int = 1) -> list[Answered]:
        """The `top` best answers to each question about its context; fewer where the context has no more."""
        if not questions:
            return []
        inputs, number = self.inputs, dict[str, int]()
        context_M = np.array([number.setdefault(context, len(number)) for _, context in questions])
        placed = [inputs.encode_context(context) for context in number]
        rows = QuestionRows(
            InMemory(inputs.encode_questions([question for question, _ in questions])),
            InMemory([context.tokens for context in placed]),
            context_M,
            np.full((len(questions), 2), -1),
            longest=inputs.longest,
            stride=inputs.stride,
        )
        begin, end = inputs.tokenizer.begin, inputs.tokenizer.end
        reading = Reading(rows, inputs)
        batches = Bucketed(rows, partial(asked, begin=begin, end=end), tokens=TOKENS_AT_ONCE)
        for number_B in batches.plan(None):
            batch = batches.batch(number_B, None)
            reading.add(span_logits(self.model, batch), batch, number_B)
        contexts = zip(context_M.tolist(), (context for _, context in questions), strict=True)
        return [reading.answered(each, placed[m], context, top=top) for each, (m, context) in enumerate(contexts)]


@torch.inference_mode()
def span_logits(model: nn.Module, batch: Asked) -> Tensor:
    """`logits_BT2`: how much speaks for each position as the answer's start, and as its end."""
    logits_BT2, _ = model(batch.to(device_of(model)), None)
    logits: Tensor = logits_BT2.float().cpu()
    return logits


class Reading:
    """What a model says of the windows of some questions, until every one is there and answers can be chosen."""

    def __init__(self, rows: QuestionRows, inputs: QuestionText) -> None:
        self.rows, self.inputs = rows, inputs
        self._logits: dict[int, NDArray[np.float32]] = {}  # of each window: [CLS], then the context's tokens
        self._windows = np.split(np.arange(len(rows.question_N)), np.flatnonzero(np.diff(rows.question_N)) + 1)

    def add(self, logits_BT2: Tensor, batch: Asked, number_B: NDArray[np.int64]) -> None:
        """The logits of a batch, and which windows it has."""
        for number, logits_T2, allowed_T in zip(number_B.tolist(), logits_BT2, batch.allowed_BT, strict=True):
            self._logits[number] = logits_T2[allowed_T].numpy()

    def answered(self, question: int, placed: PlacedTokens, context: str, *, top: int = 1) -> Answered:
        """The best answers to a question, by its number."""
        spans = Spans(len(placed.tokens), self.inputs.answer)
        for window in self._windows[question].tolist():
            spans.add(int(self.rows.begin_N[window]), self._logits[window])
        silence = spans.silence if self.inputs.unanswerable else -np.inf
        total = np.logaddexp(spans.total(), silence)
        answers = []
        for first, last, score in spans.best(top):
            begin, end = int(placed.begin_T[first]), int(placed.end_T[last])
            answers.append(Found(context[begin:end], begin, end, score, float(np.exp(score - total))))
        margin = answers[0].score - silence if answers else -np.inf
        return Answered(answers, float(np.exp(silence - total)), float(margin))


class Spans:
    """The score of every answer in a context, by its first token and its length: start logit + end logit.

    An answer that stands in several windows has the best score that any of them gives it. Saying nothing has the least
    of all: every window without the answer speaks for it, so that only those that have it matter.
    """

    def __init__(self, tokens: int, longest: int) -> None:
        self.score_TL = np.full((tokens, longest), -np.inf, dtype=np.float32)
        self.silence = np.inf

    def add(self, begin: int, logits_S2: NDArray[np.float32]) -> None:
        """A window that begins at this token: the logits of its first position, then those of the context's tokens."""
        self.silence = min(self.silence, float(logits_S2[0].sum()))
        start_T, end_T = logits_S2[1:].T
        count = len(start_T)
        for longer in range(min(count, self.score_TL.shape[1])):
            known = self.score_TL[begin : begin + count - longer, longer]
            np.maximum(known, start_T[: count - longer] + end_T[longer:], out=known)

    def total(self) -> float:
        """The logarithm of Σ exp(score) over all answers."""
        return float(np.logaddexp.reduce(self.score_TL, axis=None, dtype=np.float64, initial=-np.inf))

    def best(self, count: int) -> list[tuple[int, int, float]]:
        """The first and the last token of the best answers with their scores, none overlapping a better one."""
        score_TL, found = self.score_TL.copy(), list[tuple[int, int, float]]()
        length_L = np.arange(score_TL.shape[1])
        while len(found) < count and score_TL.size:
            first, longer = divmod(int(score_TL.argmax()), len(length_L))
            score = float(score_TL[first, longer])
            if score == -np.inf:
                break
            last = first + longer
            found.append((first, last, score))
            low = max(0, first - len(length_L) + 1)
            reaches_TL = np.arange(low, last + 1)[:, None] + length_L >= first
            score_TL[low : last + 1][reaches_TL] = -np.inf
        return found
