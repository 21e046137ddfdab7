"""The best answers among all stretches of a context.

T time, here the tokens of a context · L lengths of an answer · S positions of a window
"""

import re

import numpy as np
from numpy.typing import NDArray

from seqwright.metrics.answers import normalised

# A sentence ends with its mark and the space behind it, or with the line.
_SENTENCE = re.compile(r".+?(?:[.!?。！？]+[\"')\]»”]*(?=\s|$)|(?=\n)|$)", re.DOTALL)


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


def likeliest_sentence(question: str, context: str) -> str:
    """The sentence of the context with most words of the question; among equals the first."""
    words = set(normalised(question).split())
    sentences: list[str] = [found.strip() for found in _SENTENCE.findall(context) if found.strip()] or [context.strip()]
    return max(sentences, key=lambda sentence: len(words & set(normalised(sentence).split())))
