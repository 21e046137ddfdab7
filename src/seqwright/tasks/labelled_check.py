"""What there is to know of labelled text before training on it."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping

from seqwright.batches.labelled import LabelledBatches, Shortened
from seqwright.data.examples import PartName
from seqwright.data.labelled import LabelledData, rare_labels
from seqwright.data.labelled_tables import Example
from seqwright.inputs.labelled_text import LabelledText
from seqwright.tasks import Checked

FEW_TEXTS = 100  # fewer to judge on, and the scores say little
COLUMNS = ("part", "texts", "blank", "duplicates", "in train", "tokens a text", "longest", "shortened")


def checked_labels(
    data: LabelledData, inputs: LabelledText, parts: Mapping[PartName, Shortened], batches: LabelledBatches
) -> Checked:
    """Lengths, blanks, duplicates, texts that training has too, labels that contradict each other, unknown letters."""
    rows: list[tuple[str, ...]] = []
    remarks = [*data.remarks(), *rare_labels(inputs.counts)]
    training: dict[bytes, str] = {}
    for part, tokens in parts.items():
        found = Found(data.examples(part), training)
        if part == "train":
            training = found.labels
        rows.append(_row(part, found, tokens))
        remarks += _remarks(part, found)
        unknown = inputs.tokenizer.unknown_characters(example.text for example in data.examples(part))
        if unknown:
            common = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(5))
            remarks.append(f"characters of the {part} part that the vocabulary lacks: {len(unknown)} ({common})")
    facts = {
        "vocabulary": f"{inputs.tokenizer.size:,}",
        "labels": f"{len(inputs.labels):,}",
        "padding": f"{100 * batches.padding():.1f} %",
    }
    return Checked(COLUMNS, rows, facts, remarks)


class Found:
    """Counts over the texts of a part, in one pass; of the texts only hashes are kept."""

    def __init__(self, examples: Iterator[Example], training: Mapping[bytes, str]) -> None:
        self.labels: dict[bytes, str] = {}
        self.counts: Counter[str] = Counter()
        for text, label in examples:
            self.counts["texts"] += 1
            if not text.strip() or not label:
                self.counts["blank"] += 1
                continue
            digest = hashlib.blake2b(text.strip().encode(), digest_size=8).digest()
            self.counts["duplicates"] += digest in self.labels
            self.counts["contradictions"] += self.labels.get(digest, label) != label
            self.counts["shared"] += digest in training
            self.labels[digest] = label

    @property
    def used(self) -> int:
        """The texts that have a label."""
        return self.counts["texts"] - self.counts["blank"]


def _row(part: PartName, found: Found, tokens: Shortened) -> tuple[str, ...]:
    length_N, counts = tokens.rows.length_N, found.counts
    return (
        part,
        f"{counts['texts']:,}",
        f"{counts['blank']:,}",
        f"{counts['duplicates']:,}",
        "" if part == "train" else f"{counts['shared']:,}",
        f"{length_N.mean():,.1f}",
        f"{length_N.max():,}",
        f"{tokens.cut:,}",
    )


def _remarks(part: PartName, found: Found) -> list[str]:
    remarks, counts = [], found.counts
    if counts["shared"]:
        share = 100 * counts["shared"] / found.used
        remarks.append(f"texts of the {part} part that are in training too: {share:.1f} %; its scores will flatter")
    if counts["contradictions"]:
        remarks.append(f"texts of the {part} part that occur again with another label: {counts['contradictions']:,}")
    if counts["blank"]:
        remarks.append(f"rows of the {part} part without text or label, left out: {counts['blank']:,}")
    if part != "train" and found.used < FEW_TEXTS:
        spread = 196 * math.sqrt(0.25 / found.used)  # 95 % of a binomial, where it is widest
        remarks.append(
            f"the {part} part has only {found.used:,} texts: its scores are uncertain, accuracy by up to "
            f"± {spread:.0f} %"
        )
    return remarks
