"""What a model with masked words reads: two stretches of text of which one may follow the other, or full sentences.

N examples · P pieces, sentences or parts of long ones
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.batches import Ids, Numbers, Rows

UNASKED = -1  # whether the second stretch follows, where there is none


class Sentences:
    """The sentences of a corpus in their order; one of more than `most` tokens counts as several.

    Each row of `rows` is a document in which `end` closes every sentence, and so cannot be a token of one.
    """

    def __init__(self, rows: Rows[Ids], *, end: int, most: int) -> None:
        self.rows, self.end = rows, end
        pieces: list[tuple[int, int, int]] = []
        first = [0]
        for document in range(len(rows.example_N)):
            row = self._row(document)
            begin = 0
            for stop in np.flatnonzero(row == end).tolist():
                pieces += [(document, low, min(low + most, stop)) for low in range(begin, stop, most)]
                begin = stop + 1
            first.append(len(pieces))
        found = np.array(pieces, dtype=np.int64).reshape(-1, 3)
        self.document_P, self.begin_P, self.stop_P = found.T
        self.length_P: NDArray[np.int64] = self.stop_P - self.begin_P
        self.before_P: NDArray[np.int64] = np.concatenate(([0], np.cumsum(self.length_P)))  # tokens, the ends left out
        self.first = np.array(first)  # piece of each document; one more at the end

    def __len__(self) -> int:
        return len(self.length_P)

    def tokens(self, first: int, stop: int) -> Ids:
        """The tokens of some pieces of one document, from `first` up to but without `stop`."""
        row = self._row(int(self.document_P[first]))[int(self.begin_P[first]) : int(self.stop_P[stop - 1])]
        kept: Ids = row[row != self.end]
        return kept

    def count(self, first: int, stop: int) -> int:
        """How many tokens those are."""
        return int(self.before_P[stop] - self.before_P[first])

    def after(self, piece: int) -> int:
        """The first piece of the document after that of a piece."""
        return int(self.first[int(self.document_P[piece]) + 1])

    def reached(self, first: int, room: int) -> int:
        """The piece after the last of the same document that begins within `room` tokens from the first."""
        return min(int(np.searchsorted(self.before_P, int(self.before_P[first]) + room)), self.after(first))

    def _row(self, document: int) -> Ids:
        return self.rows.take(np.array([document]), None)[0]


class EpochRow(NamedTuple):
    """An example as it is read in an epoch."""

    tokens: Ids
    second: int  # where the second stretch begins; the length where there is none
    follows: int  # 1 where the second follows the first in the text, 0 where not, UNASKED where there is none


class SentenceRow(NamedTuple):
    """A row as it was drawn, its number among all rows, and the generator from which more may be drawn: masks."""

    drawn: EpochRow
    number: int
    rng: np.random.Generator


class SentenceRows(Rows[SentenceRow]):
    """Stretches of text, all drawn from (seed, epoch, number), and in no epoch from (0, 0, number).

    `example_M` says which example each document is.
    """

    def __init__(self, stretches: "Stretches", example_M: Numbers, *, seed: int = 0) -> None:
        self.stretches, self.example_M, self.seed = stretches, example_M, seed
        self.example_N = example_M[stretches.document_N]  # that it begins with
        self.length_N = stretches.length_N  # at its longest

    def take(self, numbers: Numbers, epoch: int | None) -> list[SentenceRow]:
        """Some rows."""
        return [self._row(number, epoch) for number in numbers.tolist()]

    def _row(self, number: int, epoch: int | None) -> SentenceRow:
        rng = np.random.default_rng((0, 0, number) if epoch is None else (self.seed, epoch, number))
        return SentenceRow(self.stretches.drawn(number, rng), number, rng)


class WholeTexts:
    """Texts that are read as they are, special tokens included: what a user types."""

    def __init__(self, rows: Sequence[Ids]) -> None:
        self.rows = rows
        self.length_N: Numbers = np.array([len(row) for row in rows], dtype=np.int64)
        self.document_N: Numbers = np.arange(len(rows))

    def drawn(self, number: int, rng: np.random.Generator) -> EpochRow:
        """A text; nothing of it is random."""
        return EpochRow(self.rows[number], len(self.rows[number]), UNASKED)


class SentencePairs:
    """`BEGIN A END B END`: half of the time B follows A, otherwise it is from another document.

    (Devlin et al. 2019, section 3.1 and appendix A.2)

    An example is as much of a document as fits, beginning with a sentence. A is its first sentences, a random
    number of them, at least one and not all. B is what follows, up to the end of the example, or just as much of what
    follows a sentence that is drawn from all other documents. The next example begins with the first sentence that
    this one does not hold whole. A document of one sentence cannot be asked about, and is left out.

    Differs from the paper's own program: no example is made shorter on purpose, which it does with one in ten.
    """

    def __init__(self, sentences: Sentences, *, longest: int, begin: int) -> None:
        self.sentences, self.begin = sentences, begin
        spans: list[tuple[int, int, int]] = []
        for low, high in zip(sentences.first[:-1].tolist(), sentences.first[1:].tolist(), strict=True):
            spans += self._spans(low, high, longest - 3)
        self.first_N, self.stop_N, count_N = np.array(spans, dtype=np.int64).reshape(-1, 3).T
        self.length_N: NDArray[np.int64] = count_N + 3
        self.document_N: NDArray[np.int64] = sentences.document_P[self.first_N]
        self.left_out = int((np.diff(sentences.first) == 1).sum())  # documents

    @staticmethod
    def most(longest: int) -> int:
        """The greatest length of a piece, so that two of them always fit."""
        return (longest - 3) // 2

    def drawn(self, number: int, rng: np.random.Generator) -> EpochRow:
        """The example with the cut between A and B, and B itself, drawn with `rng`."""
        first, stop = int(self.first_N[number]), int(self.stop_N[number])
        tokens = self.sentences.tokens(first, stop)[: int(self.length_N[number]) - 3]
        cut = int(rng.integers(first + 1, stop))
        at = self.sentences.count(first, cut)
        follows = int(rng.integers(2))
        one, other = tokens[:at], tokens[at:]
        if not follows:
            elsewhere = self._elsewhere(first, rng)
            other = self.sentences.tokens(elsewhere, self.sentences.reached(elsewhere, len(other)))[: len(other)]
        end = self.sentences.end
        return EpochRow(np.concatenate(([self.begin], one, [end], other, [end])), len(one) + 2, follows)

    def _spans(self, low: int, high: int, room: int) -> list[tuple[int, int, int]]:
        """The examples of a document: its first piece, the one after the last, and how many tokens they are."""
        spans, first = [], low
        while first < high and high - low > 1:
            first = min(first, high - 2)  # a sentence that is left alone takes the one before it again
            stop = self.sentences.reached(first, room)
            spans.append((first, stop, min(room, self.sentences.count(first, stop))))
            cut = self.sentences.count(first, stop) > room  # of the last one only a part is read
            first = stop - cut
        return spans

    def _elsewhere(self, first: int, rng: np.random.Generator) -> int:
        """A sentence of another document, each equally probable."""
        after = self.sentences.after(first)
        before = int(self.sentences.first[int(self.sentences.document_P[first])])
        drawn = int(rng.integers(len(self.sentences) - (after - before)))
        return drawn if drawn < before else drawn + after - before


class FullSentences:
    """`BEGIN s s s END`: as many sentences as fit, one after another; an END more stands between two documents.

    (Liu et al. 2019, RoBERTa, section 4.2, FULL-SENTENCES)
    """

    def __init__(self, sentences: Sentences, *, longest: int, begin: int) -> None:
        self.sentences, self.begin = sentences, begin
        spans, first, length = [], 0, 2
        for piece, count in enumerate(sentences.length_P.tolist()):
            border = piece > first and sentences.document_P[piece] != sentences.document_P[piece - 1]
            if piece > first and length + border + count > longest:
                spans.append((first, piece, length))
                first, length, border = piece, 2, False
            length += border + count
        if len(sentences):
            spans.append((first, len(sentences), length))
        self.first_N, self.stop_N, self.length_N = np.array(spans, dtype=np.int64).reshape(-1, 3).T
        self.document_N: NDArray[np.int64] = sentences.document_P[self.first_N]
        self.left_out = 0

    @staticmethod
    def most(longest: int) -> int:
        """The greatest length of a piece."""
        return longest - 2

    def drawn(self, number: int, rng: np.random.Generator) -> EpochRow:
        """The example; nothing of it is random."""
        first, stop = int(self.first_N[number]), int(self.stop_N[number])
        parts: list[Ids] = [np.array([self.begin])]
        while first < stop:
            border = min(self.sentences.after(first), stop)
            parts += [self.sentences.tokens(first, border), np.array([self.sentences.end])]
            first = border
        tokens = np.concatenate(parts)
        return EpochRow(tokens, len(tokens), UNASKED)


Stretches = WholeTexts | SentencePairs | FullSentences
"""What is read, numbered: `length_N` is the most tokens that each can have, special ones included, `document_N` the
document that it begins with, and `drawn` reads one of them."""
