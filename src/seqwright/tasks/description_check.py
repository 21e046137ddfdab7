"""What there is to know of texts and what they are written from, before training on them."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from seqwright.batches.bucketed import Bucketed
from seqwright.cache import Ragged
from seqwright.data.described import DescribedData, GivenText
from seqwright.data.examples import PartName
from seqwright.inputs.vector_text import VectorText
from seqwright.tasks import Checked

COLUMNS = ("part", "texts", "blank", "duplicates", "in train", "tokens a text", "longest")


def checked_descriptions(
    data: DescribedData, inputs: VectorText, parts: Mapping[PartName, Ragged], batches: Bucketed[Any, Any]
) -> Checked:
    """Lengths, blanks, duplicates, examples that training has too, characters the vocabulary lacks."""
    rows: list[tuple[str, ...]] = []
    remarks = data.remarks()
    training: set[bytes] = set()
    for part, tokens in parts.items():
        found = Found(data.examples(part), training)
        if part == "train":
            training = found.examples
        rows.append(_row(part, found.counts, tokens))
        remarks += _remarks(part, found.counts, left_out=found.used - len(tokens))
        unknown = inputs.tokenizer.unknown_characters(example.text for example in data.examples(part))
        if unknown:
            common = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(5))
            remarks.append(f"characters of the {part} part that the vocabulary lacks: {len(unknown)} ({common})")
    facts = {
        "given": inputs.vectors.wanted,
        "vector": f"{inputs.vectors.size:,} numbers",
        "vocabulary": f"{inputs.tokenizer.size:,}",
        "padding": f"{100 * batches.padding():.1f} %",
    }
    return Checked(COLUMNS, rows, facts, remarks)


class Found:
    """Counts over the examples of a part, in one pass; of the texts only hashes are kept."""

    def __init__(self, examples: Iterator[GivenText], training: set[bytes]) -> None:
        self.examples: set[bytes] = set()
        self.counts: Counter[str] = Counter()
        for example in examples:
            self.counts["texts"] += 1
            if example.blank:
                self.counts["blank"] += 1
                continue
            digest = hashlib.blake2b(f"{example.given}\n{example.text}".encode(), digest_size=8).digest()
            self.counts["duplicates"] += digest in self.examples
            self.counts["shared"] += digest in training
            self.examples.add(digest)

    @property
    def used(self) -> int:
        """The examples that are not blank."""
        return self.counts["texts"] - self.counts["blank"]


def _row(part: PartName, counts: Mapping[str, int], tokens: Ragged) -> tuple[str, ...]:
    length_N = tokens.length_N
    return (
        part,
        f"{counts['texts']:,}",
        f"{counts['blank']:,}",
        f"{counts['duplicates']:,}",
        "" if part == "train" else f"{counts['shared']:,}",
        f"{length_N.mean():,.1f}",
        f"{length_N.max():,}",
    )


def _remarks(part: PartName, counts: Mapping[str, int], *, left_out: int) -> list[str]:
    remarks = []
    if counts["shared"]:
        share = 100 * counts["shared"] / (counts["texts"] - counts["blank"])
        remarks.append(f"examples of the {part} part that are in training too: {share:.1f} %; its scores will flatter")
    if counts["blank"]:
        remarks.append(f"rows of the {part} part without a text or what it is written from: {counts['blank']:,}")
    if left_out:
        remarks.append(f"texts of the {part} part that are too long and left out: {left_out:,}")
    return remarks
