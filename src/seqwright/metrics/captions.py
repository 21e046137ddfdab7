"""Scores of captions against several references, as the code of COCO's captions defines them (Chen et al. 2015).

CIDEr-D (Vedantam et al. 2015), BLEU of up to n words (Papineni et al. 2002), and ROUGE-L (Lin 2004), each from 0 to 100
but CIDEr-D, which goes up to 1,000. They count words; `caption_words` says what these are.

N captions · S sums of which a score is made · R resamples
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from seqwright.errors import DataError
from seqwright.metrics.significance import Additive, Array, mean_over

LONGEST = 4  # words of an n-gram
COCO = ("cider", *(f"bleu_{n}" for n in range(1, LONGEST + 1)), "rouge_l")
NAMES = (*COCO, "exact")
DEVIATION = 6.0  # of the Gaussian by which CIDEr-D punishes another length
BETA = 1.2  # how much more recall counts in ROUGE-L than precision
TINY, SMALL = 1e-15, 1e-9  # of COCO's code, which divides by no count of zero with them

CLITIC = re.compile(r"(?<=\w)(n't|'(?:s|m|d|re|ve|ll))\b")
WORD = re.compile(r"n't|'?\w+(?:[-.'&/]\w+)*")

Grams = Counter[tuple[str, ...]]


def caption_words(text: str) -> list[str]:
    """The words of a caption in small letters, without punctuation; `'s` and `n't` are words of their own.

    Differs from COCO's code, which runs the tokenizer of the Penn Treebank in Java: both agree on plain captions.
    """
    return WORD.findall(CLITIC.sub(r" \1", text.lower().replace("’", "'")))


def caption_scores(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool = False
) -> dict[str, Additive]:
    """Every score, by `NAMES`, of one caption for each image against those that people wrote of it.

    `exact` is the share of captions that are one of them to the letter, but for spaces around the whole.
    """
    if not hypotheses or len(hypotheses) != len(references) or not all(references):
        raise DataError(
            f"there are {len(hypotheses)} captions for {len(references)} images, of which {sum(map(bool, references))} "
            "have references; give one caption for each image, and at least one reference"
        )
    said = [caption_words(text) for text in hypotheses]
    right = [[caption_words(text) for text in texts] for texts in references]
    sums_NS = np.array([_bleu_sums(words, several) for words, several in zip(said, right, strict=True)])
    bleus = {f"bleu_{n}": Additive(sums_NS, partial(_bleu, longest=n)) for n in range(1, LONGEST + 1)}
    rouge_N = [_rouge(words, several) for words, several in zip(said, right, strict=True)]
    exact_N = [100.0 * _is_one_of(*both, lowercase) for both in zip(hypotheses, references, strict=True)]
    every = {"cider": mean_over(_ciders(said, right)), **bleus}
    return {**every, "rouge_l": mean_over(rouge_N), "exact": mean_over(exact_N)}


def signatures(references: Sequence[Sequence[str]], *, lowercase: bool) -> dict[str, str]:
    """How each score is made."""
    counts = sorted({len(several) for several in references}) or [0]
    known = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"
    made = dict.fromkeys(COCO, f"COCO captions|nrefs:{known}|case:lc|tok:words")
    return {**made, "exact": f"exact|nrefs:{known}|case:{'lc' if lowercase else 'mixed'}|trim:yes"}


def _is_one_of(text: str, references: Sequence[str], lowercase: bool) -> bool:
    one, *others = (each.strip().lower() if lowercase else each.strip() for each in (text, *references))
    return one in others


def grams_of(words: Sequence[str]) -> Grams:
    """How often each n-gram of up to four words occurs."""
    return Counter(tuple(words[i : i + n]) for n in range(1, LONGEST + 1) for i in range(len(words) - n + 1))


# ---------------------------------------------------------------------------------------------------- CIDEr-D


class Weighed(NamedTuple):
    """The n-grams of a caption weighed by tf-idf, the norm of those of each length, and how many pairs of words."""

    weights: dict[tuple[str, ...], float]
    norm_n: list[float]
    pairs: int


def _ciders(said: Sequence[Sequence[str]], right: Sequence[Sequence[Sequence[str]]]) -> list[float]:
    """CIDEr-D of each caption (Vedantam et al. 2015, section 4 and equation 6), times 100.

        10 / m Σ_j exp(-(l - l_j)² / 2σ²) mean_n [Σ_w min(g_w, g_jw) g_jw / (‖g‖ ‖g_j‖)]

    g are the tf-idf weights of the n-grams w of a caption and of its m references j. In how many images an n-gram
    stands is counted over all references that are given. The lengths l count pairs of words, as in COCO's code.
    """
    grams = [[grams_of(words) for words in several] for several in right]
    images = Counter(gram for several in grams for gram in {gram for each in several for gram in each})
    log_images = math.log(len(right))

    def weighed(counts: Grams) -> Weighed:
        weights = {gram: n * (log_images - math.log(max(1, images[gram]))) for gram, n in counts.items()}
        squares = [0.0] * LONGEST
        for gram, weight in weights.items():
            squares[len(gram) - 1] += weight**2
        return Weighed(weights, [*map(math.sqrt, squares)], sum(n for gram, n in counts.items() if len(gram) == 2))

    found = []
    for words, several in zip(said, grams, strict=True):
        own = weighed(grams_of(words))
        likeness = [_likeness(own, weighed(each)) for each in several]
        found.append(1000 * sum(likeness) / len(likeness))
    return found


def _likeness(one: Weighed, reference: Weighed) -> float:
    """The clipped cosine of two captions, the mean over the lengths of n-grams, less for another length."""
    sums = [0.0] * LONGEST
    for gram, weight in one.weights.items():
        other = reference.weights.get(gram, 0.0)
        sums[len(gram) - 1] += min(weight, other) * other
    norms = [mine * theirs for mine, theirs in zip(one.norm_n, reference.norm_n, strict=True)]
    cosines = [total / norm if norm else 0.0 for total, norm in zip(sums, norms, strict=True)]
    return sum(cosines) / LONGEST * math.exp(-((one.pairs - reference.pairs) ** 2) / (2 * DEVIATION**2))


# ---------------------------------------------------------------------------------------------------- BLEU


def _bleu_sums(words: Sequence[str], references: Sequence[Sequence[str]]) -> list[int]:
    """The length, that of the closest reference, and of each n how many n-grams are right, and how many there are."""
    length = len(words)
    closest = min((abs(len(each) - length), len(each)) for each in references)[1]
    most = Grams()
    for each in references:
        most |= grams_of(each)
    right = [0] * LONGEST
    for gram, count in grams_of(words).items():
        right[len(gram) - 1] += min(count, most[gram])
    return [length, closest, *right, *(max(0, length - n) for n in range(LONGEST))]


def _bleu(sum_RS: Array, longest: int) -> Array:
    """BLEU of all captions together from the sums over them (Papineni et al. 2002, section 2.3)."""
    length_R, closest_R = sum_RS[:, 0], sum_RS[:, 1]
    right_RS, every_RS = sum_RS[:, 2 : 2 + LONGEST], sum_RS[:, 2 + LONGEST :]
    precision_RS = (right_RS[:, :longest] + TINY) / (every_RS[:, :longest] + SMALL)
    ratio_R = (length_R + TINY) / (closest_R + SMALL)
    brevity_R = np.exp(np.minimum(0.0, 1 - 1 / ratio_R))
    found_R: Array = 100 * brevity_R * precision_RS.prod(1) ** (1 / longest)
    return found_R


# ---------------------------------------------------------------------------------------------------- ROUGE-L


def _rouge(words: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The F-score of the longest common subsequence, by the best precision and the best recall of any reference."""
    common = [_longest_common(words, each) for each in references]
    precision = max(common) / max(1, len(words))
    recall = max(count / max(1, len(each)) for count, each in zip(common, references, strict=True))
    if not precision or not recall:
        return 0.0
    return 100 * (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def _longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two captions have in common in the same order."""
    reached = [0] * (len(other) + 1)
    for word in one:
        before = 0  # of the row above, one to the left
        for place, each in enumerate(other, start=1):
            above = reached[place]
            reached[place] = before + 1 if word == each else max(above, reached[place - 1])
            before = above
    return reached[-1]
