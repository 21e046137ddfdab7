"""How what was written is scored against what was wanted: as translations are, summaries, or pronunciations."""

from collections.abc import Sequence

from seqwright.data.examples import Pair
from seqwright.metrics import pronunciations, summaries
from seqwright.metrics.text import Score, bleu, chrf, exact_match
from seqwright.recipe import Recipe

LOWER_IS_BETTER = frozenset({"loss", "perplexity", *pronunciations.NAMES})


def score_names(recipe: Recipe) -> tuple[str, ...]:
    """The scores of what was written."""
    match recipe.data.kind:
        case "summaries" | "summaries-card":
            return tuple(summaries.NAMES)
        case "pronunciations" | "pronunciations-card":
            return pronunciations.NAMES
        case "mappings":
            return ("exact",)
        case _:
            return ("bleu", "chrf", "exact")


def scored(recipe: Recipe, pairs: Sequence[Pair], texts: Sequence[str]) -> dict[str, Score]:
    """The scores of what was written to the source of each pair."""
    names, wanted, lowercase = score_names(recipe), [pair.target for pair in pairs], recipe.inputs.lowercase
    if names == tuple(summaries.NAMES):
        return summaries.rouge(texts, wanted)
    if names == pronunciations.NAMES:
        words = [pair.source for pair in pairs]
        return pronunciations.pronunciation_errors(words, texts, wanted, lowercase=lowercase)
    makers = {"bleu": bleu, "chrf": chrf, "exact": exact_match}
    return {name: makers[name](texts, wanted, lowercase=lowercase) for name in names}
