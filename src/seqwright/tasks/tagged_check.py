"""What there is to know of tagged text before training on it."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from seqwright.batches.bucketed import Bucketed
from seqwright.data.examples import PartName
from seqwright.data.tagged import TaggedData, rare_tags
from seqwright.inputs.tagged_text import TaggedText
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.metrics.tags import entities, mark_entities, parted
from seqwright.tasks import Checked
from seqwright.tasks.tagged_rows import TokenisedTags

FEW_SENTENCES = 100  # fewer to judge on, and the scores say little
FEW_KINDS = 20  # up to so many are listed
LONG = 250  # words: more in a sentence, and it may be several
COLUMNS = ("part", "sentences", "words", "new words", "repeated", "in train", "tokens a word", "longest")


def checked_tags(
    data: TaggedData, inputs: TaggedText, parts: Mapping[PartName, TokenisedTags], batches: Bucketed[Any, Any]
) -> Checked:
    """Lengths, duplicates, sentences and words that training has too, unknown tokens, and how the tags are used."""
    rows: list[tuple[str, ...]] = []
    remarks, facts = rare_tags(inputs.counts), dict[str, str]()
    marked = mark_entities(inputs.tags)
    training: Seen | None = None
    for part, tokens in parts.items():
        seen = Seen(data, part, training, marked=marked)
        training = training or seen
        rows.append(_row(part, seen, tokens))
        remarks += _remarks(part, seen, tokens, inputs.tokenizer)
        facts[f"{'entities' if marked else 'tags'} of {part}"] = _listed(seen.kinds)
    facts |= {
        "vocabulary": f"{inputs.tokenizer.size:,}",
        "tags": f"{len(inputs.tags):,}{', which mark entities' if marked else ''}",
        "padding": f"{100 * batches.padding():.1f} %",
    }
    return Checked(COLUMNS, rows, facts, remarks)


class Seen:
    """Counts over the sentences of a part, in one pass; of the sentences only hashes are kept."""

    def __init__(self, data: TaggedData, part: PartName, training: "Seen | None", *, marked: bool) -> None:
        self.hashes: set[bytes] = set()
        self.words: set[str] = set()
        self.kinds: Counter[str] = Counter()  # types of entities, or tags where they mark none
        self.counts: Counter[str] = Counter()
        self.longest = 0
        for words, tags, _ in data.sentences(part):
            digest = hashlib.blake2b("\n".join(words).encode(), digest_size=8).digest()
            self.counts["duplicates"] += digest in self.hashes
            if training is not None:
                self.counts["shared"] += digest in training.hashes
                self.counts["new"] += sum(word not in training.words for word in words)
            found = entities(tags) if marked else []
            self.kinds.update([entity.kind for entity in found] if marked else tags)
            self.counts["begun inside"] += sum(parted(tags[entity.begin]).mark == "I" for entity in found)
            self.longest = max(self.longest, len(words))
            self.hashes.add(digest)
            self.words.update(words)


def _row(part: PartName, seen: Seen, tokens: TokenisedTags) -> tuple[str, ...]:
    words, counts = len(tokens.tags.values), seen.counts
    return (
        part,
        f"{len(tokens.end_M):,}",
        f"{words:,}",
        "" if part == "train" else f"{100 * counts['new'] / words:.1f} %",
        f"{counts['duplicates']:,}",
        "" if part == "train" else f"{counts['shared']:,}",
        f"{len(tokens.tokens.values) / words:.2f}",
        f"{seen.longest:,}",
    )


def _listed(kinds: Counter[str]) -> str:
    """`person 660, location 548, …`, the most frequent first."""
    told = ", ".join(f"{kind or 'without a type'} {count:,}" for kind, count in kinds.most_common(FEW_KINDS))
    return (told or "none") + (", …" if len(kinds) > FEW_KINDS else "")


def _remarks(part: PartName, seen: Seen, tokens: TokenisedTags, tokenizer: Tokenizer) -> list[str]:
    remarks, counts, sentences = [], seen.counts, len(tokens.end_M)
    if counts["shared"]:
        share = 100 * counts["shared"] / sentences
        remarks.append(f"sentences of the {part} part that are in training too: {share:.1f} %; its scores will flatter")
    if counts["begun inside"]:
        remarks.append(
            f"entities of the {part} part that begin with I instead of B: {counts['begun inside']:,}; they count as "
            "entities, as in IOB1, but see whether the tags are right"
        )
    unknown = tokenizer.unknowns(tokens.tokens.values)
    if unknown:
        share = 100 * unknown / len(tokens.tokens.values)
        remarks.append(f"tokens of the {part} part that the vocabulary lacks: {share:.2g} %")
    if seen.longest > LONG:
        remarks.append(
            f"a sentence of the {part} part has {seen.longest:,} words: see whether blank lines stand between sentences"
        )
    if part != "train" and sentences < FEW_SENTENCES:
        remarks.append(f"the {part} part has only {sentences:,} sentences: its scores are uncertain")
    return remarks
