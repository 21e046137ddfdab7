"""Texts as rows of tokens: those of a part through the token cache, those that a user types in memory."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from seqwright.batches import Ids, InMemory, Rows
from seqwright.cache import Redrawn
from seqwright.inputs import Examples
from seqwright.inputs.bpe_dropout import BPEDropout
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.progress import Progress
from seqwright.text_cache import Rules, TokenisedTexts, tokenised_texts


def token_rows(tokenizer: Tokenizer, examples: Examples[Any], what: str, texts: Iterable[str]) -> Rows[Ids]:
    """The tokens of texts, blank ones included, `what` being their name in the cache: a side of the examples."""
    if not examples.fingerprint:
        return InMemory(tokenizer.encode(list(texts)))
    return _kept(examples, f"{what} {tokenizer.fingerprint()}", texts, tokenizer.encode).rows


def dropping_rows(
    tokenizer: Tokenizer,
    examples: Examples[Any],
    what: str,
    texts: Callable[[], Iterable[str]],
    *,
    dropout: float,
    seed: int,
    longest: int,
) -> Rows[Ids]:
    """As `token_rows`, but each epoch resamples the segmentation with BPE-dropout (Provilkov et al. 2020)."""
    if not examples.fingerprint or not dropout:
        return token_rows(tokenizer, examples, what, texts())
    plain = _kept(examples, f"{what} {tokenizer.fingerprint()}", texts(), tokenizer.encode).rows
    letters = _kept(examples, f"letters of {what}", texts(), _letters).rows
    draw, waiting = BPEDropout(tokenizer, dropout).encode, Progress("resampling the segmentation of an epoch")
    return Redrawn(letters, plain, draw, seed=seed, side=what, longest=longest, progress=waiting)


def _kept(examples: Examples[Any], key: str, texts: Iterable[str], encode: Any) -> TokenisedTexts:
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
