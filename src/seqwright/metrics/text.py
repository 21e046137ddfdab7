"""Scores of written text: BLEU, chrF, exact matches, perplexity.

BLEU and chrF are sacreBLEU's (Post 2018), so that a number can be compared with those of papers; the signature says
how it was made.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from seqwright.errors import DataError, SettingError, nearest

# sacreBLEU is imported where it is used: it takes longer than all of the command line's help.


class TextScore(NamedTuple):
    """A number from 0 to 100 and the signature that says how it was made."""

    value: float
    signature: str


class Matches(NamedTuple):
    """How many hypotheses are their reference, out of how many."""

    matched: int
    total: int


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False, tokenize: str = "13a"
) -> TextScore:
    """Corpus BLEU (Papineni et al. 2002) with one reference per sentence, over plain (not tokenized) text."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in BLEU.TOKENIZERS:
        known = sorted(BLEU.TOKENIZERS)
        raise SettingError(
            f"BLEU has no tokenizer '{tokenize}'; choose one of {', '.join(known)}.{nearest(tokenize, known)}"
        )
    check_counts(hypotheses, references)
    metric = BLEU(lowercase=lowercase, tokenize=tokenize)
    value = metric.corpus_score(hypotheses, [references]).score
    return TextScore(float(value), str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> TextScore:
    """Corpus chrF2 (Popović 2015): the F-score, recall counting double, of character n-grams up to six."""
    from sacrebleu.metrics.chrf import CHRF

    check_counts(hypotheses, references)
    metric = CHRF(lowercase=lowercase)
    value = metric.corpus_score(hypotheses, [references]).score
    return TextScore(float(value), str(metric.get_signature()))


def exact_match(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> TextScore:
    """The share of hypotheses that are their reference to the letter, but for spaces around the whole."""
    check_counts(hypotheses, references)
    matched = sum(
        _same(hypothesis, reference, lowercase) for hypothesis, reference in zip(hypotheses, references, strict=True)
    )
    return TextScore(100 * matched / len(references), f"exact|nrefs:1|case:{'lc' if lowercase else 'mixed'}|trim:yes")


def exact_match_by_kind(
    hypotheses: Sequence[str], references: Sequence[str], kinds: Sequence[str], *, lowercase: bool = False
) -> dict[str, Matches]:
    """Exact matches within each kind of sentence, kinds in alphabetical order."""
    check_counts(hypotheses, references)
    if len(kinds) != len(references):
        raise DataError(f"there are {len(kinds)} kinds for {len(references)} references; give one per sentence")
    matches = {kind: Matches(0, 0) for kind in sorted(set(kinds))}
    for hypothesis, reference, kind in zip(hypotheses, references, kinds, strict=True):
        matched, total = matches[kind]
        matches[kind] = Matches(matched + _same(hypothesis, reference, lowercase=lowercase), total + 1)
    return matches


def perplexity(negative_log_likelihood: float, count: int) -> float:
    """`exp(sum of negative log-likelihoods / number of tokens)`: among how many tokens the model seems to waver."""
    if count < 1:
        raise DataError(f"perplexity was asked for over {count} tokens; it needs at least one")
    try:
        return math.exp(negative_log_likelihood / count)
    except OverflowError:
        return math.inf


def _same(hypothesis: str, reference: str, lowercase: bool) -> bool:
    if lowercase:
        hypothesis, reference = hypothesis.lower(), reference.lower()
    return hypothesis.strip() == reference.strip()


def check_counts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what cannot be scored: no texts, or not one reference for each."""
    if len(hypotheses) != len(references):
        raise DataError(
            f"there are {len(hypotheses)} hypotheses for {len(references)} references; give one for each sentence"
        )
    if not references:
        raise DataError("there are no sentences to score; give at least one hypothesis and its reference")
