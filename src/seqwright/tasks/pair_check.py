"""What there is to know of a parallel corpus before training on it."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from seqwright.batches.bucketed import Bucketed
from seqwright.cache import TokenisedPairs
from seqwright.data.examples import Pair, PairData, PartName
from seqwright.data.pairs import PairFiles
from seqwright.inputs.pair_text import PairText
from seqwright.inputs.prompt_text import PromptText
from seqwright.recipe import Recipe
from seqwright.tasks import Checked

FEW_PAIRS = 100  # fewer to judge on, and the scores say little
COLUMNS = ("part", "pairs", "blank", "duplicates", "in train", "tokens a sentence", "longest")


def checked_pairs(
    recipe: Recipe, data: PairData, inputs: PairText, parts: dict[PartName, TokenisedPairs], batches: Bucketed[Any, Any]
) -> Checked:
    """Lengths, blanks, duplicates, sources that training has too, characters the vocabulary lacks, full batches."""
    rows, remarks = _looked_at(recipe, data, inputs, parts)
    remarks += _alone(batches)
    size = f"{inputs.source.size:,}" if inputs.shared else f"{inputs.source.size:,} and {inputs.target.size:,}"
    return Checked(COLUMNS, rows, {"vocabulary": size, **_batch_facts(batches)}, remarks)


def checked_prompts(
    recipe: Recipe,
    data: PairData,
    inputs: PromptText,
    parts: dict[PartName, TokenisedPairs],
    batches: Bucketed[Any, Any],
) -> Checked:
    """The same for texts whose answers follow in the same row."""
    rows, remarks = _looked_at(recipe, data, inputs, parts)
    learnt = int(parts["train"].target.length_N.sum()) + len(parts["train"].target)
    length_N = batches.lengths(0).sum(1)
    facts = {
        "vocabulary": f"{inputs.tokenizer.size:,}",
        "tokens a row": f"{length_N.mean():.1f}, at most {length_N.max():,} of the {recipe.model.context:,} that fit",
        "learnt": f"the {100 * learnt / length_N.sum():.0f} % of the tokens that are answers",
        "tokens a batch": f"{length_N.sum() / batches.in_epoch(0):,.0f}, of at most {batches.tokens:,}",
        "padding": f"{100 * batches.padding():.1f} %",
    }
    return Checked(COLUMNS, rows, facts, remarks)


def _looked_at(
    recipe: Recipe, data: PairData, inputs: PairText | PromptText, parts: dict[PartName, TokenisedPairs]
) -> tuple[list[tuple[str, ...]], list[str]]:
    """A row of the table for each part, and the remarks."""
    rows: list[tuple[str, ...]] = []
    remarks = data.remarks() if isinstance(data, PairFiles) else []  # only files have columns and headers
    training: set[bytes] = set()
    for part, tokens in parts.items():
        found = Found(data.examples(part), training)
        if part == "train":
            training = found.sources
        rows.append(_row(part, found, tokens))
        remarks += _remarks(recipe, part, found, tokens)
        unknown = inputs.source.unknown_characters(pair.source for pair in data.examples(part))
        unknown += inputs.target.unknown_characters(pair.target for pair in data.examples(part))
        if unknown:
            common = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(5))
            remarks.append(f"characters of the {part} part that the vocabulary lacks: {len(unknown)} ({common})")
    return rows, remarks


class Found:
    """Counts over the pairs of a part, in one pass; of the texts only hashes are kept."""

    def __init__(self, pairs: Iterator[Pair], training: set[bytes]) -> None:
        self.sources: set[bytes] = set()
        both: set[bytes] = set()
        self.counts: Counter[str] = Counter()
        for pair in pairs:
            source, whole = _digest(pair.source), _digest(f"{pair.source}\t{pair.target}")
            self.counts["pairs"] += 1
            self.counts["blank"] += not (pair.source.strip() and pair.target.strip())
            self.counts["duplicates"] += whole in both
            self.counts["shared"] += source in training
            self.sources.add(source)
            both.add(whole)


def _row(part: PartName, found: Found, tokens: TokenisedPairs) -> tuple[str, ...]:
    source_N, target_N = tokens.source.length_N, tokens.target.length_N
    counts: Any = found.counts
    return (
        part,
        f"{counts['pairs']:,}",
        f"{counts['blank']:,}",
        f"{counts['duplicates']:,}",
        "" if part == "train" else f"{counts['shared']:,}",
        f"{source_N.mean():.1f} / {target_N.mean():.1f}",
        f"{source_N.max()} / {target_N.max()}",
    )


def _remarks(recipe: Recipe, part: PartName, found: Found, tokens: TokenisedPairs) -> list[str]:
    remarks = []
    if found.counts["shared"]:
        share = 100 * found.counts["shared"] / found.counts["pairs"]
        remarks.append(f"sources of the {part} part that are in training too: {share:.1f} %; its scores will flatter")
    if found.counts["blank"]:
        remarks.append(f"pairs of the {part} part with a blank side, left out: {found.counts['blank']:,}")
    if part != "train" and tokens.kept.pairs < FEW_PAIRS:
        spread = 196 * math.sqrt(0.25 / tokens.kept.pairs)  # 95 % of a binomial, where it is widest
        remarks.append(
            f"the {part} part has only {tokens.kept.pairs:,} pairs: its scores are uncertain, exact match by up to "
            f"± {spread:.0f} %"
        )
    long, cut = tokens.kept.overlong, tokens.kept.cut
    if long or cut:
        fate = f"cut: {cut:,}" if cut else f"left out: {long:,}"
        remarks.append(f"pairs of the {part} part with over {recipe.inputs.longest} tokens on a side, {fate}")
    return remarks


def _batch_facts(batches: Bucketed[Any, Any]) -> dict[str, str]:
    """How full the batches of the first epoch are; the end of each sentence is a token too."""
    source, target = batches.lengths(0).sum(0) / batches.in_epoch(0)
    return {
        "tokens a batch": f"{source:,.0f} source and {target:,.0f} target, of at most {batches.tokens:,} on a side",
        "padding": f"{100 * batches.padding():.1f} %",
    }


def _alone(batches: Bucketed[Any, Any]) -> list[str]:
    longest_N = batches.lengths(0).max(1)
    alone = int((longest_N > batches.tokens).sum())
    if not alone:
        return []
    return [
        f"pairs with over training.tokens = {batches.tokens:,} tokens on a side, each a batch of its own: {alone:,}; "
        f"the longest has {longest_N.max():,}"
    ]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
