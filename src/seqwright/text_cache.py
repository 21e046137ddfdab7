"""The token cache of running text: the documents of a corpus tokenised once, into the files that `cache` maps."""

import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from seqwright.batches import Ids, Numbered, Numbers
from seqwright.cache import Encode, Overlong, Ragged, RaggedWriter, kept_folder
from seqwright.errors import DataError
from seqwright.metrics.language import Extent, extent

FORMAT = 1
BLOCK = 1 << 22  # characters tokenised at a time: documents may be lines or books


class Rules(NamedTuple):
    """Which documents are kept: up to `longest` tokens (None is any number), and blank ones or not."""

    longest: int | None = None
    overlong: Overlong = "drop"
    blank: Literal["drop", "keep"] = "drop"


class KeptTexts(NamedTuple):
    """What became of the documents of a corpus; `extent` is that of the kept ones, as far as they are kept."""

    extent: Extent
    blank: int = 0
    overlong: int = 0
    cut: int = 0

    def sentence(self) -> str:
        """`29,000 documents; left out: 3 blank, 2 too long`."""
        left_out = [f"{n:,} {why}" for n, why in ((self.blank, "blank"), (self.overlong, "too long")) if n]
        count = self.extent.documents
        told = f"{count:,} document" + ("s" if count != 1 else "")
        told += f"; left out: {', '.join(left_out)}" if left_out else ""
        return told + (f"; cut: {self.cut:,} too long" if self.cut else "")


class TokenisedTexts(Numbered[Ids]):
    """A part of a corpus as token rows; `example_N` says which document of the part each row is."""

    rows: Ragged

    def __init__(self, rows: Ragged, example_N: Numbers, kept: KeptTexts) -> None:
        super().__init__(rows, example_N)
        self.kept = kept


def tokenised_texts(
    texts: Callable[[], Iterable[str]],
    *,
    key: str,
    encode: Encode,
    decode: Callable[[Any], str],
    rules: Rules,
    where: str,
    progress: Callable[[int], None] = lambda count: None,
) -> TokenisedTexts:
    """The token rows of documents, from the cache where they are there already. `key` names content and tokenizer.

    `texts` reads them from the first on: once, and again where the cache cannot be written.
    """
    folder = kept_folder(
        f"texts {FORMAT} {key} {json.dumps(rules)}",
        lambda aside: _Writing(aside, rules, where, decode).write(texts(), encode, progress),
    )
    counted, *others = json.loads((folder / "kept.json").read_text(encoding="utf-8"))
    example_N = np.load(folder / "numbers.npy", mmap_mode="r")
    return TokenisedTexts(Ragged.mapped(folder / "text"), example_N, KeptTexts(Extent(*counted), *others))


class _Writing:
    """The files of a corpus while they are written."""

    def __init__(self, folder: Path, rules: Rules, where: str, decode: Callable[[Any], str]) -> None:
        self.folder, self.rules, self.where, self.decode = folder, rules, where, decode
        self.numbers = array("q")
        self.extent = Extent()
        self.seen = self.blank = self.overlong = self.cut = 0

    def write(self, texts: Iterable[str], encode: Encode, progress: Callable[[int], None]) -> None:
        """Tokenise everything, and put down what became of it last."""
        with RaggedWriter(self.folder / "text") as writer:
            for block in _blocks(texts):
                for text, ids in zip(block, encode(block), strict=True):
                    kept = self._kept(text, ids)
                    if kept is not None:
                        writer.add(kept)
                        self.numbers.append(self.seen)
                    self.seen += 1
                progress(self.seen)
        if not self.numbers:
            long = f", {self.overlong:,} longer than input.longest = {self.rules.longest}" if self.overlong else ""
            raise DataError(
                f"{self.where} has no usable document: {self.seen:,} read, {self.blank:,} blank{long}; give it some "
                f"text{' or raise that setting' if long else ''}"
            )
        np.save(self.folder / "numbers.npy", np.asarray(self.numbers, dtype=np.int64))
        kept_texts = KeptTexts(self.extent, self.blank, self.overlong, self.cut)
        (self.folder / "kept.json").write_text(json.dumps(kept_texts), encoding="utf-8")

    def _kept(self, text: str, ids: Ids) -> Ids | None:
        """What is kept of a document, if anything."""
        if self.rules.blank == "drop" and not text.strip():
            self.blank += 1
            return None
        longest = self.rules.longest
        if longest is not None and len(ids) > longest:
            if self.rules.overlong == "refuse":
                raise DataError(
                    f"{self.where} has a document with {len(ids)} tokens, more than input.longest = {longest}: "
                    f"'{text[:40]}…'; raise it, or set input.overlong to drop or truncate, or input.rows to stream"
                )
            if self.rules.overlong == "drop":
                self.overlong += 1
                return None
            self.cut += 1
            ids = ids[:longest]
            text = self.decode(ids)
        self.extent = self.extent.plus(extent(text))
        return ids


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    block: list[str] = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text) + 1  # a million blank lines are a block as well
        if size >= BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block
