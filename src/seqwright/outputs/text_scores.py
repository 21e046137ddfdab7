"""How texts are scored against what should have been written: as translations, summaries, pronunciations, answers."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from seqwright.metrics import pronunciations, summaries
from seqwright.metrics.text import TextScore, bleu, chrf, exact_match
from seqwright.setting_classes import Settings

Scoring = Literal["bleu", "chrf", "rouge", "word-error-rate", "exact"]
NAMES: dict[Scoring, tuple[str, ...]] = {
    "bleu": ("bleu", "chrf", "exact"),
    "chrf": ("exact", "chrf"),
    "rouge": tuple(summaries.NAMES),
    "word-error-rate": pronunciations.NAMES,
    "exact": ("exact",),
}
LOWER_IS_BETTER = frozenset({"loss", "perplexity", *pronunciations.NAMES})


class ScoresSettings(Settings):
    """How texts are scored."""

    scores: Scoring | None = None
    """How what is written is scored: BLEU, chrF and exact matches; chrF and exact matches; ROUGE; word error rate; or
    exact matches alone. Left out: what the data suggests."""


class Written(NamedTuple):
    """What was read, what was written to it, and what should have been."""

    source: str
    text: str
    target: str
    kind: str = ""  # a group to report scores by


def scored(scoring: Scoring, written: Sequence[Written], *, lowercase: bool) -> dict[str, TextScore]:
    """The scores of texts, by their names."""
    sources, texts, targets = ([each[place] for each in written] for place in range(3))
    if scoring == "rouge":
        return summaries.rouge(texts, targets)
    if scoring == "word-error-rate":
        return pronunciations.pronunciation_errors(sources, texts, targets, lowercase=lowercase)
    makers = {"bleu": bleu, "chrf": chrf, "exact": exact_match}
    return {name: makers[name](texts, targets, lowercase=lowercase) for name in NAMES[scoring]}
