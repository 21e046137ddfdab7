"""What there is to know of labelled text before training on it."""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from seqwright.data.examples import PartName
from seqwright.data.labelled import LabelledData, is_blank, rare_labels
from seqwright.data.labelled_tables import Example
from seqwright.inputs.labelled_text import LabelledText, ReadText
from seqwright.tasks import Checked
from seqwright.tasks.labelled_rows import LabelledBatches, TokenRows

FEW_TEXTS = 100  # fewer to judge on, and the scores say little
COLUMNS = ("part", "texts", "blank", "duplicates", "in train", "tokens a text", "longest", "shortened")


def checked_labels(
    data: LabelledData, inputs: LabelledText, parts: Mapping[PartName, TokenRows], batches: LabelledBatches
) -> Checked:
    """What `checked_texts` finds, and labels that a model can hardly learn."""
    checked = checked_texts(data, inputs, parts, batches, uncertain=_accuracy_spread)
    labels = {"labels": f"{len(inputs.labels):,}"}
    facts = {"vocabulary": checked.facts["vocabulary"], **labels, "padding": checked.facts["padding"]}
    remarks = [*data.remarks(), *rare_labels(inputs.counts), *checked.remarks]
    return checked._replace(facts=facts, remarks=remarks)


def checked_texts(
    data: LabelledData,
    inputs: ReadText,
    parts: Mapping[PartName, TokenRows],
    batches: LabelledBatches,
    *,
    uncertain: Callable[[int], str],
) -> Checked:
    """Lengths, blanks, duplicates, texts that training has too, labels that contradict each other, unknown letters.

    `uncertain` says how much the scores on so many texts may be off.
    """
    rows: list[tuple[str, ...]] = []
    remarks: list[str] = []
    training: dict[bytes, str] = {}
    for part, tokens in parts.items():
        found = Found(data.examples(part), training)
        if part == "train":
            training = found.labels
        rows.append(_row(part, found, tokens))
        remarks += _remarks(part, found, uncertain)
        texts = (text for example in data.examples(part) for text in _texts(example))
        unknown = inputs.tokenizer.unknown_characters(texts)
        if unknown:
            common = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(5))
            remarks.append(f"characters of the {part} part that the vocabulary lacks: {len(unknown)} ({common})")
    facts = {"vocabulary": f"{inputs.tokenizer.size:,}", "padding": f"{100 * batches.padding():.1f} %"}
    return Checked(COLUMNS, rows, facts, remarks)


def _accuracy_spread(texts: int) -> str:
    spread = 196 * math.sqrt(0.25 / texts)  # 95 % of a binomial, where it is widest
    return f", accuracy by up to ± {spread:.0f} %"


def _texts(example: Example) -> list[str]:
    return [text for text in (example.text, example.second) if text is not None]


class Found:
    """Counts over the texts of a part, in one pass; of the texts only hashes are kept."""

    def __init__(self, examples: Iterator[Example], training: Mapping[bytes, str]) -> None:
        self.labels: dict[bytes, str] = {}
        self.counts: Counter[str] = Counter()
        for example in examples:
            self.counts["texts"] += 1
            if is_blank(example):
                self.counts["blank"] += 1
                continue
            label, both = example.label, "\0".join(text.strip() for text in _texts(example))
            digest = hashlib.blake2b(both.encode(), digest_size=8).digest()
            self.counts["duplicates"] += digest in self.labels
            self.counts["contradictions"] += self.labels.get(digest, label) != label
            self.counts["shared"] += digest in training
            self.labels[digest] = label

    @property
    def used(self) -> int:
        """The texts that have a label."""
        return self.counts["texts"] - self.counts["blank"]


def _row(part: PartName, found: Found, tokens: TokenRows) -> tuple[str, ...]:
    length_N, counts = tokens.whole_N, found.counts
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


def _remarks(part: PartName, found: Found, uncertain: Callable[[int], str]) -> list[str]:
    remarks, counts = [], found.counts
    if counts["shared"]:
        share = 100 * counts["shared"] / found.used
        remarks.append(f"texts of the {part} part that are in training too: {share:.1f} %; its scores will flatter")
    if counts["contradictions"]:
        remarks.append(f"texts of the {part} part that occur again with another label: {counts['contradictions']:,}")
    if counts["blank"]:
        remarks.append(f"rows of the {part} part without text or label, left out: {counts['blank']:,}")
    if part != "train" and found.used < FEW_TEXTS:
        remarks.append(
            f"the {part} part has only {found.used:,} texts: its scores are uncertain{uncertain(found.used)}"
        )
    return remarks
