"""What there is to know of a corpus of running text before training on it."""

import hashlib
from collections import Counter
from collections.abc import Iterator

from seqwright.batches import Ids
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.packed import PackedBatches
from seqwright.batches.text import StreamBatches, Text
from seqwright.batches.windows import WindowBatches
from seqwright.data.examples import PartName
from seqwright.data.text import TextData
from seqwright.inputs.plain_text import PlainText
from seqwright.recipe import Recipe
from seqwright.tasks import Checked
from seqwright.text_cache import TokenisedTexts

TextBatches = Bucketed[Ids, Text] | PackedBatches | StreamBatches | WindowBatches
COLUMNS = (
    *("part", "documents", "blank", "duplicates", "in train"),
    *("tokens", "tokens a document", "longest", "characters a token"),
)


def checked_texts(
    recipe: Recipe,
    data: TextData,
    inputs: PlainText,
    parts: dict[PartName, TokenisedTexts],
    batches: TextBatches,
) -> Checked:
    """Lengths, blanks, duplicates, documents that training has too, characters the vocabulary lacks."""
    rows: list[tuple[str, ...]] = []
    remarks: list[str] = []
    training: set[bytes] = set()
    for part, tokens in parts.items():
        found = Found(data.examples(part), training)
        if part == "train":
            training = found.documents
        rows.append(_row(part, found, tokens))
        remarks += _remarks(recipe, part, found, tokens)
        unknown = inputs.tokenizer.unknown_characters(data.examples(part))
        if unknown:
            common = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(5))
            remarks.append(f"characters of the {part} part that the vocabulary lacks: {len(unknown)} ({common})")
    facts = {"vocabulary": f"{inputs.tokenizer.size:,}", "padding": f"{100 * batches.padding():.1f} %"}
    match batches:
        case StreamBatches():
            facts["streams"] = f"{batches.streams:,} of {batches.positions // batches.streams:,} tokens"
        case WindowBatches():
            facts["windows"] = f"{len(batches.plan(0)):,} of {batches.segment:,} tokens, cut anew each epoch"
        case PackedBatches():
            packed = sum(map(len, batches.plan(0)))
            facts["documents a row"] = f"{len(batches.length_N) / packed:.1f}"
    return Checked(COLUMNS, rows, facts, remarks)


class Found:
    """Counts over the documents of a part, in one pass; of the texts only hashes are kept."""

    def __init__(self, texts: Iterator[str], training: set[bytes]) -> None:
        self.documents: set[bytes] = set()
        self.counts: Counter[str] = Counter()
        for text in texts:
            self.counts["documents"] += 1
            if not text.strip():  # all blank ones are alike, and it means nothing
                self.counts["blank"] += 1
                continue
            digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
            self.counts["duplicates"] += digest in self.documents
            self.counts["shared"] += digest in training
            self.documents.add(digest)


def _row(part: PartName, found: Found, tokens: TokenisedTexts) -> tuple[str, ...]:
    length_N, counts = tokens.rows.length_N, found.counts
    every = int(length_N.sum())
    return (
        part,
        f"{counts['documents']:,}",
        f"{counts['blank']:,}",
        f"{counts['duplicates']:,}",
        "" if part == "train" else f"{counts['shared']:,}",
        f"{every:,}",
        f"{every / len(length_N):,.1f}",
        f"{int(length_N.max()):,}",
        f"{tokens.kept.extent.characters / max(every, 1):.2f}",
    )


def _remarks(recipe: Recipe, part: PartName, found: Found, tokens: TokenisedTexts) -> list[str]:
    remarks = []
    if found.counts["shared"]:
        share = 100 * found.counts["shared"] / found.counts["documents"]
        remarks.append(f"documents of the {part} part that are in training too: {share:.1f} %; its scores will flatter")
    if tokens.kept.blank:
        remarks.append(f"blank documents of the {part} part, left out: {tokens.kept.blank:,}")
    long, cut = tokens.kept.overlong, tokens.kept.cut
    if long or cut:
        fate = f"cut: {cut:,}" if cut else f"left out: {long:,}"
        remarks.append(f"documents of the {part} part with over {recipe.input.longest} tokens, {fate}")
    return remarks
