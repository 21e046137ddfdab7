"""How what was written is scored against what was wanted: as translations are, or as summaries are."""

from collections.abc import Sequence

from seqwright.metrics.summaries import NAMES, rouge
from seqwright.metrics.text import Score, bleu, chrf, exact_match
from seqwright.recipe import Recipe


def score_names(recipe: Recipe) -> tuple[str, ...]:
    """The scores of what was written."""
    if _summaries(recipe):
        return tuple(NAMES)
    return ("exact",) if recipe.data.kind == "mappings" else ("bleu", "chrf", "exact")


def scored(recipe: Recipe, texts: Sequence[str], wanted: Sequence[str]) -> dict[str, Score]:
    """The scores of texts, each from 0 to 100."""
    if _summaries(recipe):
        return rouge(texts, wanted)
    makers = {"bleu": bleu, "chrf": chrf, "exact": exact_match}
    return {name: makers[name](texts, wanted, lowercase=recipe.inputs.lowercase) for name in score_names(recipe)}


def _summaries(recipe: Recipe) -> bool:
    kind: str = recipe.data.kind
    return kind in {"summaries", "summaries-card"}
