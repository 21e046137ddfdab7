"""A text, or two, as the row of tokens that a model reads, with its words and pieces as the user wrote them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from seqwright.analysis.reading import (
    Notice,
    Read,
    context_of,
    first_of,
    notice_by_warning,
    read_rows,
    reads_tokens,
    refuse_number,
    tell_unknown,
)
from seqwright.batches import Ids
from seqwright.errors import DataError
from seqwright.inputs.spelling import ReadsTokens, Spelled, Words
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.layers.taps import listen
from seqwright.outputs.label import LabelOutput
from seqwright.runs import Run

Heard = dict[str, list[Any]]


class ReadRow(NamedTuple):
    """What a model read of some texts: every token of the row, those that begin and end texts included."""

    tokens: Ids
    words: Words
    pieces: list[str]  # the text of each token
    heard: Heard  # what passed the model's taps


def row_of(run: Run, texts: Sequence[str], most: int, notice: Notice = notice_by_warning) -> ReadRow:
    """Let the run read one text, or two in a row, as it does to predict, as many tokens as can be shown."""
    refuse_number(run, texts)
    tell_unknown(run, texts, notice)
    reads = reads_tokens(run.inputs)
    parts = _shown(run, reads, [_spelled(run, reads, text) for text in texts], most, notice)
    with listen(run.model) as heard:
        row = joined_row(reads, parts)
        read = read_rows(run.model, run.inputs, [row], first=first_of(run))
    return _laid_out(run.inputs.tokenizer, read, parts, len(reads.between), heard)


def joined_row(reads: ReadsTokens, parts: Sequence[Spelled]) -> Any:
    """The row of texts, and of what stands between and behind them."""
    *before, last = (part.tokens for part in parts)
    return reads.joined([*before, np.append(last, reads.after).astype(np.int64)])


def _spelled(run: Run, reads: ReadsTokens, text: str) -> Spelled:
    found = reads.spelled(text)
    if not len(found.tokens):
        raise DataError(f"there is nothing to look at: the vocabulary of {run.folder} has no token for {text!r}")
    return found


def _shown(run: Run, reads: ReadsTokens, texts: Sequence[Spelled], most: int, notice: Notice) -> Sequence[Spelled]:
    """Those tokens of the texts that the run reads, and of them the first that can be shown."""
    context, later = context_of(run), len(texts) - 1
    around = reads.begins + later * len(reads.between) + len(reads.after) + 1
    room = most if context is None else min(most, context - around)
    shown = []
    for text, kept in zip(texts, reads.kept(texts), strict=True):
        if len(kept) < len(text.tokens):
            notice(f"the model reads {len(kept):,} of the {len(text.tokens):,} tokens of the text")
        some = kept[: max(1, room - later)]
        if len(some) < len(kept):
            notice(f"the first {len(some):,} of {len(kept):,} tokens of the text are looked at")
        shown.append(text.at(some))
        room, later = room - len(some), later - 1
    return shown


def _laid_out(tokenizer: Tokenizer, read: Read, parts: Sequence[Spelled], apart: int, heard: Heard) -> ReadRow:
    """The texts at their places in the row, so many tokens apart, and the names of the special tokens around them."""
    tokens = read.tokens_BT[0].cpu().numpy()
    names = {number: name for name, number in tokenizer.special.items()}
    pieces = [names.get(token, "") for token in tokens.tolist()]
    words: Words = []
    first = read.before
    for part in parts:
        pieces[first : first + len(part.tokens)] = part.pieces
        words += [(word, [first + place for place in places]) for word, places in part.words]
        first += len(part.tokens) + apart
    taken = {place for _, places in words for place in places}
    words += [(pieces[place], [place]) for place in range(len(tokens)) if place not in taken]
    return ReadRow(tokens, sorted(words, key=lambda word: word[1][0]), pieces, heard)


def verdict_on(run: Run, texts: Sequence[str]) -> str:
    """What a classifier takes a text, or a pair of texts, for; nothing where the run is none."""
    if not isinstance(run.output, LabelOutput):
        return ""
    found = run.inputs.predict(run.model, "\t".join(texts))
    return f"{found.label} ({100 * found.probability:.0f} %)"
