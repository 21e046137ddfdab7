"""Texts as rows of tokens: those of a part through the token cache, those that a user types in memory."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqwright.batches import Ids, InMemory, Rows
from seqwright.cache import Ragged, RaggedWriter, Redrawn, kept_folder
from seqwright.inputs import Examples
from seqwright.inputs.bpe_dropout import BPEDropout
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.progress import Progress
from seqwright.text_cache import Rules, TokenisedTexts, tokenised_texts

BLOCK = 2048  # rows written between two words of progress


class Resampling(NamedTuple):
    """Each epoch resamples the segmentation of texts with BPE-dropout (Provilkov et al. 2020); none where it is 0."""

    probability: float
    seed: int
    longest: float  # a text that is drawn longer stays as it is without


def token_rows(
    tokenizer: Tokenizer,
    examples: Examples[Any],
    what: str,
    texts: Callable[[], Iterable[str]],
    resampling: Resampling | None = None,
) -> Rows[Ids]:
    """The tokens of texts, blank ones included, `what` being their name in the cache: a side of the examples."""
    if not examples.fingerprint:
        key = tokenizer, what
        if key not in examples.tokenised:
            examples.tokenised[key] = InMemory(tokenizer.encode(list(texts())))
        return examples.tokenised[key]
    plain = _kept(examples, f"{what} {tokenizer.fingerprint()}", texts, tokenizer.encode).rows
    if resampling is None or not resampling.probability:
        return plain
    letters = _kept(examples, f"letters of {what}", texts, _letters).rows
    draw = BPEDropout(tokenizer, resampling.probability).encode
    waiting = Progress("resampling the segmentation of an epoch")
    return Redrawn(letters, plain, draw, seed=resampling.seed, side=what, longest=resampling.longest, progress=waiting)


def row_columns(
    examples: Examples[Any], key: str, names: Sequence[str], rows: Callable[[], Iterable[tuple[Any, ...]]]
) -> list[Rows[Ids]]:
    """Rows of several parts, `(number, part, part, …)`, as a column for each part; the number is what a row is of."""
    if not examples.fingerprint:
        numbers, *parts = list(zip(*rows(), strict=True)) or [()] * (1 + len(names))
        return [InMemory(part, np.array(numbers, dtype=np.int64)) for part in parts]

    def write(folder: Path) -> None:
        numbers, progress = array("q"), Progress(f"tokenising {examples.name}")
        with ExitStack() as stack:
            writers = [stack.enter_context(RaggedWriter(folder / name)) for name in names]
            for number, *parts in rows():
                numbers.append(number)
                for writer, part in zip(writers, parts, strict=True):
                    writer.add(part)
                if not len(numbers) % BLOCK:
                    progress(len(numbers))
        np.save(folder / "numbers.npy", np.asarray(numbers, dtype=np.int64))

    folder = kept_folder(f"{key} {examples.fingerprint}", write)
    number_N = np.load(folder / "numbers.npy", mmap_mode="r")
    return [Ragged.mapped(folder / name, number_N) for name in names]


def _kept(examples: Examples[Any], key: str, texts: Callable[[], Iterable[str]], encode: Any) -> TokenisedTexts:
    return tokenised_texts(
        texts,
        key=f"{key} {examples.fingerprint}",
        encode=encode,
        decode=lambda ids: "",  # nothing is cut
        rules=Rules(blank="keep"),
        where=examples.name,
        progress=Progress(f"tokenising {examples.name}"),
    )


def _letters(texts: Sequence[str]) -> list[Ids]:
    return [np.frombuffer(text.encode(), dtype=np.uint8) for text in texts]
