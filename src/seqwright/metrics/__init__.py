"""From sequences to scores."""

from seqwright.metrics.text import Matches, TextScore, bleu, chrf, exact_match, exact_match_by_kind, perplexity

__all__ = ["Matches", "TextScore", "bleu", "chrf", "exact_match", "exact_match_by_kind", "perplexity"]
