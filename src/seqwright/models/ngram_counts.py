"""Counting n-grams with sorted arrays: text joined from batches, and every n-gram of it, order by order.

P positions of the joined text · G different n-grams of an order · S stretches of text · B batch · V vocabulary
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from seqwright.batches.text import Text

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class TextStretch(NamedTuple):
    """The real tokens of one batch, row after row; each row is a stretch of a longer text."""

    token_P: NDArray[np.int32]
    length_S: Integers
    text_S: Integers
    after_S: NDArray[np.int32]
    """The target after the last token of each stretch."""


class Joined(NamedTuple):
    """All texts one after another; `depth_P` is how many tokens of its own text stand before a token."""

    token_P: Integers
    depth_P: Integers


class Transcript:
    """Text as it was shown, a few small arrays per batch; rows that span several batches are joined at the end."""

    def __init__(self) -> None:
        self._stretches: list[TextStretch] = []
        self._text_B: Integers = np.empty(0, dtype=np.int64)
        self._texts = 0

    def add(self, batch: Text) -> None:
        """Keep a batch."""
        kept = (batch.input_BT, batch.target_BT, batch.real_BT, batch.fresh_B)
        input_BT, target_BT, real_BT, fresh_B = (tensor.cpu().numpy() for tensor in kept)
        if len(self._text_B) == 0:  # nothing to continue
            fresh_B = np.ones_like(fresh_B)
        assert len(self._text_B) == len(fresh_B) or fresh_B.all(), "a row continues a batch with other rows"
        new_B = self._texts + np.cumsum(fresh_B) - 1
        self._text_B = new_B if fresh_B.all() else np.where(fresh_B, new_B, self._text_B)
        self._texts += int(fresh_B.sum())
        length_B = real_BT.sum(1)
        some = length_B > 0
        after_S = target_BT[some, length_B[some] - 1]
        input_P = input_BT[real_BT]
        self._stretches.append(
            TextStretch(input_P.astype(np.int32), length_B[some], self._text_B[some], after_S.astype(np.int32))
        )

    def joined(self, *, begin: int) -> Joined:
        """The texts, each with its last target at the very end. A `begin` starts a text wherever it stands."""
        if not self._stretches:
            return Joined(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        input_P, length_S, text_S, after_S = (np.concatenate(arrays) for arrays in zip(*self._stretches, strict=True))
        first_S = np.cumsum(length_S) - length_S
        order_S = np.argsort(text_S, kind="stable")
        length_S, text_S, first_S = length_S[order_S], text_S[order_S], first_S[order_S]
        last_S = np.append(text_S[1:] != text_S[:-1], True)
        taken_S = length_S + last_S
        end_S = np.cumsum(taken_S)
        index_P = np.arange(end_S[-1]) + np.repeat(first_S - (end_S - taken_S), taken_S)
        index_P[end_S[last_S] - 1] = len(input_P) + order_S[last_S]
        token_P = np.concatenate((input_P, after_S))[index_P].astype(np.int64)

        starts_P = token_P == begin
        starts_P[0] = True
        starts_P[end_S[last_S][:-1]] = True
        place_P = np.arange(len(token_P))
        return Joined(token_P, place_P - np.maximum.accumulate(np.where(starts_P, place_P, 0)))


class Level(NamedTuple):
    """The different n-grams of one order, sorted by `key_G`, and what Kneser–Ney smoothing asks about them.

    An n-gram is an n-gram of the order below, its context, and one more token: `key = context * vocabulary + token`,
    where the context is its place among the sorted contexts. A unigram's key is the token, and all tokens are there.
    """

    key_G: Integers
    count_G: Integers
    """How often it occurs."""
    adjusted_G: Integers
    """After how many different tokens it occurs; in the highest order and after BEGIN, how often."""
    suffix_G: Integers
    """The n-gram of the order below that is left without the first token; of a unigram, itself."""


def counted_ngrams(text: Joined, *, order: int, vocabulary: int, begin: int) -> list[Level]:
    """Every n-gram up to an order, as lmplz counts them (Heafield et al. 2013, sections 3.1 and 3.2).

    The first token of a text is only context. An n-gram at the edge of a text that does not begin with BEGIN has the
    edge as one more token before it.
    """
    token_P, depth_P = text
    gram_P = token_P  # the n-gram of the current order that ends at each position
    every_V = np.arange(vocabulary)
    count_V = np.bincount(token_P[depth_P > 0], minlength=vocabulary)
    levels = [Level(every_V, count_V, count_V, every_V)]
    for n in range(2, order + 1):
        at_P = np.flatnonzero(depth_P >= n - 1)
        key_G, gram_of_P, count_G, example_G = distinct(gram_P[at_P - 1] * vocabulary + token_P[at_P])
        suffix_G = gram_P[at_P[example_G]]
        levels[-1] = levels[-1]._replace(adjusted_G=_adjusted(levels[-1], n - 1, suffix_G, gram_P, text, begin))
        levels.append(Level(key_G, count_G, count_G, suffix_G))
        gram_P = np.full(len(token_P), -1)
        gram_P[at_P] = gram_of_P
    return levels


def distinct(key_P: Integers) -> tuple[Integers, Integers, Integers, Integers]:
    """The different keys in order; which of them each key is; how often each occurs; and where each does, once."""
    ordered, order = torch.from_numpy(key_P).sort()  # faster than numpy's unique with all it would have to return
    sorted_P, order_P = ordered.numpy(), order.numpy()
    new_P = np.ones(len(sorted_P), dtype=bool)
    new_P[1:] = sorted_P[1:] != sorted_P[:-1]
    first_G = np.flatnonzero(new_P)
    which_P = np.empty(len(key_P), dtype=np.int64)
    which_P[order_P] = np.cumsum(new_P) - 1
    return sorted_P[first_G], which_P, np.diff(first_G, append=len(sorted_P)), order_P[first_G]


def _adjusted(level: Level, n: int, suffix_G: Integers, gram_P: Integers, text: Joined, begin: int) -> Integers:
    """After how many different tokens each n-gram occurs; `suffix_G` is of the n-grams one order higher."""
    adjusted_G = np.bincount(suffix_G, minlength=len(level.key_G))
    if n == 1:  # a unigram at the edge of a text is only context
        return adjusted_G
    edge_P = np.flatnonzero(text.depth_P == n - 1)
    begins_P = text.token_P[edge_P - (n - 1)] == begin
    adjusted_G[np.unique(gram_P[edge_P[~begins_P]])] += 1
    after_begin_G = gram_P[edge_P[begins_P]]
    adjusted_G[after_begin_G] = level.count_G[after_begin_G]
    return adjusted_G
