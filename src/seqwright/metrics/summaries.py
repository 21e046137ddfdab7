"""Scores of summaries: ROUGE (Lin 2004), by the library of Google Research, which the figures of papers are made with.

It is imported where it is used: it has the Porter stemmer of NLTK, which takes a second to load.
"""

from collections.abc import Sequence

from seqwright.metrics.text import TextScore, check_counts

NAMES = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL"}  # ours, and the library's


def rouge(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, TextScore]:
    """The mean over all texts of the F-scores of single words, of pairs of words, and of the longest common row.

    Words are lower-cased and stemmed; what is neither a letter a-z nor a digit separates them.
    """
    from importlib.metadata import version

    signature = f"F1|nrefs:1|case:lc|stemmer:porter|mean|rouge-score:{version('rouge-score')}"
    found = each_rouge(hypotheses, references)
    return {name: TextScore(sum(values) / len(values), signature) for name, values in found.items()}


def each_rouge(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, list[float]]:
    """The F-scores of each text, from 0 to 100."""
    from rouge_score.rouge_scorer import RougeScorer

    check_counts(hypotheses, references)
    scorer = RougeScorer(list(NAMES.values()), use_stemmer=True)
    found = [scorer.score(reference, hypothesis) for hypothesis, reference in zip(hypotheses, references, strict=True)]
    return {ours: [100 * score[theirs].fmeasure for score in found] for ours, theirs in NAMES.items()}
