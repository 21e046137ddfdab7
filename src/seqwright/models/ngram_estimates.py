"""From counts of n-grams to probabilities: maximum likelihood, add-k, stupid backoff and Kneser–Ney smoothing.

G different n-grams of an order · C contexts of an order, its n-grams without their last token · V vocabulary
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.models.ngram_counts import Flags, Integers, Level

Floats = NDArray[np.float64]
Discounts = tuple[float, float, float]


class OrderTable(NamedTuple):
    """The n-grams of one order from 2 on, sorted by `key = context * vocabulary + token`, in logarithms."""

    key_G: Integers
    logp_G: Floats
    weight_C: Floats
    """What is added to the shorter context's value of a token that was not seen after a context; the last entry is
    for contexts that were not seen themselves."""
    pruned: int = 0
    """How many more n-grams of the order the text had."""


class Estimate(NamedTuple):
    """Values of the tokens before any context is asked, and a table for each order from 2 on."""

    base_V: Floats
    tables: list[OrderTable]


class Corpus(NamedTuple):
    """The counts, which n-grams of each order stay, and which tokens can be foretold."""

    levels: list[Level]
    kept: list[Flags]
    predicted_V: Flags

    @property
    def uniform_V(self) -> Floats:
        """The same probability for every token that can be foretold."""
        share_V: Floats = self.predicted_V / self.predicted_V.sum()
        return share_V

    def contexts(self, n: int) -> int:
        """How many contexts n-grams have: n-grams one order lower, or the empty one."""
        return 1 if n == 1 else len(self.levels[n - 2].key_G)

    def context_G(self, n: int) -> Integers:
        """The context of each n-gram."""
        return self.levels[n - 1].key_G // len(self.predicted_V)


def thresholds(prune: tuple[int, ...], order: int) -> list[int]:
    """A number for each order; the last one given holds for all further orders."""
    given = list(prune) or [0]
    return (given + given[-1:] * order)[:order]


def likely(corpus: Corpus, *, added: float) -> Estimate:
    """Relative frequencies, each count raised by k (`added`); with k = 0 maximum likelihood.

        p(w | c) = (count(c w) + k) / (count(c) + k V)

    With k = 0, what was not seen has probability 0, and after a context that was not seen nothing has any other: the
    sparsity problem. Nothing is borrowed from shorter contexts, so a model asks only the longest context there is.
    """
    size = added * corpus.predicted_V.sum()
    tables = []
    for n, (level, kept_G) in enumerate(zip(corpus.levels, corpus.kept, strict=True), start=1):
        context_G = corpus.context_G(n)
        count_G = np.where(kept_G, level.count_G, 0)
        total_C = np.bincount(context_G, count_G, corpus.contexts(n)) + size
        logp_G = _log(_divided(count_G + added, total_C[context_G]))
        weight_C = np.append(_log(_divided(np.full_like(total_C, size), total_C)), 0.0 if added else -np.inf)
        tables.append(OrderTable(level.key_G, logp_G, weight_C))
    base_V = _log(corpus.uniform_V)
    if len(tables) == 1:
        base_V = np.where(corpus.predicted_V, tables[0].logp_G, -np.inf)
    return Estimate(base_V, tables[1:])


def stupid_backoff(corpus: Corpus, *, factor: float) -> Estimate:
    """Stupid backoff (Brants et al. 2007, section 4), which gives scores, not probabilities; made to sum to one.

        S(w | c) = count(c w) / count(c)  where c w was seen,  factor * S(w | shorter c)  otherwise
        p(w | c) = S(w | c) / Z(c),       Z(c) = sum of S(w | c) over all w

    Z(c) is counted out for every context seen; the order of the tokens after a context is that of the scores.
    Differs from the paper: a token that was never seen scores factor / V rather than 0.
    """
    seen_V = corpus.kept[0]
    count_V = np.where(seen_V, corpus.levels[0].count_G, 0)
    score_G = np.where(seen_V, count_V / max(count_V.sum(), 1), factor * corpus.uniform_V)
    sum_C = np.array([score_G.sum()])
    base_V, tables = _log(score_G / sum_C), []
    shorter_C = np.zeros(len(seen_V), dtype=np.int64)  # each context without its first token; of a unigram the empty
    for n in range(2, len(corpus.levels) + 1):
        level, kept_G, context_G = corpus.levels[n - 1], corpus.kept[n - 1], corpus.context_G(n)
        contexts = corpus.contexts(n)
        total_C = np.bincount(context_G, level.count_G, contexts)
        below_G, score_G = score_G[level.suffix_G], np.where(kept_G, level.count_G / total_C[context_G], 0.0)
        lower_C = sum_C[shorter_C]
        unseen_C = np.maximum(lower_C - np.bincount(context_G, kept_G * below_G, contexts), 0.0)
        sum_C = np.bincount(context_G, score_G, contexts) + factor * unseen_C
        weight_C = np.append(_log(factor * lower_C / sum_C), 0.0)
        tables.append(OrderTable(level.key_G, _log(score_G / sum_C[context_G]), weight_C))
        shorter_C = level.suffix_G
    return Estimate(base_V, tables)


def kneser_ney(corpus: Corpus, discounts: list[Discounts]) -> Estimate:
    """Interpolated Kneser–Ney smoothing (Chen & Goodman 1998, section 3; as lmplz has it, Heafield et al. 2013).

        p(w | c) = (a(c w) - D(a(c w))) / a(c) + g(c) p(w | shorter c),   a(c) = sum of a(c w) over w

    a is the adjusted count, D the discount of its order for counts of 1, 2, and 3 or more; g(c) is what the discounts
    and the pruned n-grams leave. Below the unigrams lies the uniform distribution, from which also a token never seen
    has its share, as lmplz gives it to <unk> (and, with --vocab_pad, to as many as there are).
    """
    lower = corpus.uniform_V
    values = []
    for n, (level, kept_G) in enumerate(zip(corpus.levels, corpus.kept, strict=True), start=1):
        context_G, contexts = corpus.context_G(n), corpus.contexts(n)
        discount_G = np.array((0.0, *discounts[n - 1]))[np.minimum(level.adjusted_G, 3)]
        total_C = np.bincount(context_G, level.adjusted_G, contexts)
        left_C = np.bincount(context_G, np.where(kept_G, discount_G, level.adjusted_G), contexts)
        weight_C = np.where(total_C > 0, _divided(left_C, total_C), 1.0)
        own_G = _divided(np.where(kept_G, level.adjusted_G - discount_G, 0.0), total_C[context_G])
        lower = own_G + weight_C[context_G] * lower[level.suffix_G]
        values.append(OrderTable(level.key_G, _log(lower), np.append(_log(weight_C), 0.0)))
    return Estimate(values[0].logp_G, values[1:])


def modified_discounts(adjusted_G: Integers, fallback: Discounts) -> Discounts:
    """Discounts for counts of 1, 2, and 3 or more, from how many n-grams have them (Chen & Goodman 1998, eq. 26).

        D_j = j - (j + 1) Y n_(j+1) / n_j,   Y = n_1 / (n_1 + 2 n_2)

    Where that cannot be computed or leaves the range from 0 to j, as on small corpora, `fallback` stands in; lmplz
    stops there unless it is given --discount_fallback. Differs from lmplz: that counts one n-gram of each lower order,
    the last it comes to, at its plain count, which only a small corpus shows.
    """
    n = np.bincount(np.minimum(adjusted_G, 5), minlength=6).tolist()
    if 0 in n[1:4]:
        return fallback
    y = n[1] / (n[1] + 2 * n[2])
    one, two, more = (j - (j + 1) * y * n[j + 1] / n[j] for j in (1, 2, 3))
    return (one, two, more) if 0 <= one <= 1 and 0 <= two <= 2 and 0 <= more <= 3 else fallback


def single_discount(adjusted_G: Integers, fallback: Discounts) -> Discounts:
    """One discount for all counts, Y above (Ney et al. 1994); the first of `fallback` where n_1 or n_2 is 0."""
    n = np.bincount(np.minimum(adjusted_G, 3), minlength=4).tolist()
    y = n[1] / (n[1] + 2 * n[2]) if n[1] and n[2] else fallback[0]
    return (y, y, y)


def pruned(estimate: Estimate, corpus: Corpus) -> Estimate:
    """Without the n-grams that do not stay; the others are renumbered. Every token stays."""
    vocabulary = len(corpus.predicted_V)
    tables, stays_C = [], np.ones(vocabulary, dtype=bool)
    for table, kept_G in zip(estimate.tables, corpus.kept[1:], strict=True):
        place_C = np.cumsum(stays_C) - 1
        key_G = table.key_G[kept_G]
        key_G = place_C[key_G // vocabulary] * vocabulary + key_G % vocabulary
        weight_C = table.weight_C[np.append(stays_C, True)]
        tables.append(OrderTable(key_G, table.logp_G[kept_G], weight_C, pruned=int((~kept_G).sum())))
        stays_C = kept_G
    return Estimate(estimate.base_V, tables)


def _divided(above: Floats | Integers, below: Floats | Integers) -> Floats:
    """A quotient that is 0 where there is nothing to divide by."""
    quotient: Floats = np.divide(above, below, out=np.zeros(len(below)), where=below > 0)
    return quotient


def _log(value: Floats) -> Floats:
    """The natural logarithm, minus infinity of 0."""
    logarithm: Floats = np.log(value, out=np.full(len(value), -np.inf), where=value > 0)
    return logarithm
