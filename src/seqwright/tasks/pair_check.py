"""What there is to know of a parallel corpus before training on it."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from seqwright.batches import PairBatches
from seqwright.cache import TokenisedPairs
from seqwright.data.examples import Pair, PairData, PartName
from seqwright.inputs.pair_text import PairText
from seqwright.recipe import Recipe
from seqwright.tasks import Checked

COLUMNS = ("part", "pairs", "blank", "duplicates", "in train", "tokens a sentence", "longest")


def checked_pairs(
    recipe: Recipe, data: PairData, inputs: PairText, parts: dict[PartName, TokenisedPairs], batches: PairBatches
) -> Checked:
    """Lengths, blanks, duplicates, sources that training has too, characters the vocabulary lacks."""
    rows: list[tuple[str, ...]] = []
    remarks: list[str] = []
    training: set[bytes] = set()
    for part, tokens in parts.items():
        found = Found(data.pairs(part), training)
        if part == "train":
            training = found.sources
        rows.append(_row(part, found, tokens))
        remarks += _remarks(recipe, part, found, tokens)
        unknown = inputs.source.unknown_characters(pair.source for pair in data.pairs(part))
        unknown += inputs.target.unknown_characters(pair.target for pair in data.pairs(part))
        if unknown:
            common = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(5))
            remarks.append(f"characters of the {part} part that the vocabulary lacks: {len(unknown)} ({common})")
    size = f"{inputs.source.size:,}" if inputs.shared else f"{inputs.source.size:,} and {inputs.target.size:,}"
    return Checked(COLUMNS, rows, {"vocabulary": size, "padding": f"{100 * batches.padding():.1f} %"}, remarks)


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
    long, cut = tokens.kept.overlong, tokens.kept.cut
    if long or cut:
        fate = f"cut: {cut:,}" if cut else f"left out: {long:,}"
        remarks.append(f"pairs of the {part} part with over {recipe.inputs.longest} tokens on a side, {fate}")
    return remarks


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
