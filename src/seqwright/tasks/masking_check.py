"""What there is to know of a corpus before hidden words are learnt from it."""

from typing import Any

from seqwright.batches.bucketed import Bucketed
from seqwright.data.examples import PartName
from seqwright.data.text import TextData
from seqwright.inputs.masked_text import MaskedText
from seqwright.tasks import Checked
from seqwright.tasks.text_check import Found
from seqwright.text_cache import TokenisedTexts

COLUMNS = ("part", "documents", "duplicates", "in train", "sentences", "tokens", "tokens a sentence", "examples")


def checked_sentences(
    data: TextData,
    inputs: MaskedText,
    parts: dict[PartName, TokenisedTexts],
    examples: dict[PartName, Any],
    batches: Bucketed[Any, Any],
) -> Checked:
    """Documents, sentences and examples, blanks and duplicates, documents that training has too."""
    rows: list[tuple[str, ...]] = []
    remarks: list[str] = []
    training: set[bytes] = set()
    for part, tokens in parts.items():
        found = Found(data.examples(part), training)
        if part == "train":
            training = found.documents
        rows.append(_row(part, found, tokens, examples[part], inputs.end))
        remarks += _remarks(part, found, examples[part])
        if unknown := inputs.tokenizer.unknowns(tokens.rows.values):
            share = 100 * unknown / len(tokens.rows.values)
            remarks.append(f"tokens of the {part} part that the vocabulary lacks: {share:.2g} %; they are never hidden")
    facts = {"vocabulary": f"{inputs.tokenizer.size:,}", "padding": f"{100 * batches.padding():.1f} %"}
    return Checked(COLUMNS, rows, facts, remarks)


def _row(part: PartName, found: Found, tokens: TokenisedTexts, examples: Any, end: int) -> tuple[str, ...]:
    counts, sentences = found.counts, int((tokens.rows.values == end).sum())
    every = len(tokens.rows.values) - sentences
    return (
        part,
        f"{counts['documents']:,}",
        f"{counts['duplicates']:,}",
        "" if part == "train" else f"{counts['shared']:,}",
        f"{sentences:,}",
        f"{every:,}",
        f"{every / sentences:,.1f}",
        f"{len(examples.length_N):,}",
    )


def _remarks(part: PartName, found: Found, examples: Any) -> list[str]:
    remarks = []
    if found.counts["shared"]:
        share = 100 * found.counts["shared"] / found.counts["documents"]
        remarks.append(f"documents of the {part} part that are in training too: {share:.1f} %; its scores will flatter")
    if found.counts["blank"]:
        remarks.append(f"blank documents of the {part} part, left out: {found.counts['blank']:,}")
    if examples.left_out:
        remarks.append(
            f"documents of the {part} part with one sentence, which none can follow, left out: {examples.left_out:,}; "
            "inputs.examples=sentences would read them"
        )
    return remarks
