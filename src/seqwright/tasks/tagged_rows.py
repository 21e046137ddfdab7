"""The token cache of tagged text: a corpus tokenised once, into the files that `cache` maps.

N rows · M sentences · W words of all sentences in a line
"""

import json
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.batches.tagged import TaggedRows
from seqwright.cache import Ragged, RaggedWriter, kept_folder
from seqwright.data.examples import PartName
from seqwright.data.tagged import TaggedData, with_known_tags
from seqwright.data.tagged_columns import Sentence
from seqwright.inputs.tagged_text import TaggedText
from seqwright.progress import Progress

FORMAT = 2
BLOCK = 2048  # sentences tokenised at a time
NAMES = ("tokens", "lengths", "tags")


class TokenisedTags(NamedTuple):
    """A part as token rows; a sentence that is too long to be read at once has several."""

    tokens: Ragged
    lengths: Ragged
    tags: Ragged
    sentence_N: NDArray[np.int64]  # which sentence each row is of

    @property
    def rows(self) -> TaggedRows:
        """What batches are made of."""
        return TaggedRows(self.tokens, self.lengths, self.tags, self.sentence_N)

    @property
    def tag_W(self) -> NDArray[np.int64]:
        """The number of the tag of every word."""
        return np.asarray(self.tags.values, dtype=np.int64)

    @property
    def end_M(self) -> NDArray[np.int64]:
        """Where each sentence ends, in words."""
        return np.cumsum(np.bincount(self.sentence_N, weights=self.tags.length_N)).astype(np.int64)

    @property
    def cut(self) -> int:
        """How many sentences are read in several stretches."""
        return int((np.bincount(self.sentence_N) > 1).sum())

    def sentence(self, inputs: TaggedText) -> str:
        """`1,009 sentences, 15,733 words; 2 with over 512 tokens are read in stretches`."""
        told = f"{len(self.end_M):,} sentences, {len(self.tags.values):,} words"
        return told + (f"; {self.cut:,} with over {inputs.longest:,} tokens are read in stretches" if self.cut else "")


def tokenised(data: TaggedData, inputs: TaggedText, part: PartName) -> TokenisedTags:
    """A part as token rows, from the cache where it is there."""
    folder = kept_folder(
        f"tagged {FORMAT} {data.fingerprint(part)} {inputs.fingerprint()}",
        lambda aside: _write(data, inputs, part, aside),
    )
    sentence_N: NDArray[np.int64] = np.load(folder / "sentences.npy", mmap_mode="r")
    tokens, lengths, tags = (Ragged.mapped(folder / name) for name in NAMES)
    return TokenisedTags(tokens, lengths, tags, sentence_N)


def _write(data: TaggedData, inputs: TaggedText, part: PartName, folder: Path) -> None:
    numbers = {tag: number for number, tag in enumerate(inputs.tags)}
    sentences, progress = array("q"), Progress(f"tokenising the {part} part")
    seen = 0
    with ExitStack() as stack:
        writers = [stack.enter_context(RaggedWriter(folder / name)) for name in NAMES]
        for block in _blocks(with_known_tags(data, part, inputs.tags)):
            for sentence, tokens in zip(block, inputs.encode([each.words for each in block]), strict=True):
                for stretch in inputs.stretches(tokens, [numbers[tag] for tag in sentence.tags]):
                    for writer, values in zip(writers, stretch, strict=True):
                        writer.add(values)
                    sentences.append(seen)
                seen += 1
            progress(seen)
    np.save(folder / "sentences.npy", np.asarray(sentences, dtype=np.int64))
    (folder / "kept.json").write_text(json.dumps(seen), encoding="utf-8")


def _blocks(sentences: Iterator[Sentence]) -> Iterator[list[Sentence]]:
    while block := list(islice(sentences, BLOCK)):
        yield block
