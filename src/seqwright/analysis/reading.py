"""Letting a trained model read texts as its task has it, so that one can listen to it.

A text, or two, become the row of tokens that the model predicts from, with words and pieces as the user wrote them.

B batch · T time
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches import Ids
from seqwright.devices import device_of
from seqwright.errors import DataError, SettingError
from seqwright.inputs.sentences import HOLE
from seqwright.inputs.spelling import Spelled, TokenInput, Words
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.layers.embeddings import HasTokenVectors
from seqwright.layers.taps import listen
from seqwright.models.bert import MaskedBert
from seqwright.outputs.label import LabelOutput
from seqwright.outputs.next_token import NextTokenOutput
from seqwright.outputs.values import ValuesOutput
from seqwright.runs import Run
from seqwright.tasks.wired import Wires

Notice = Callable[[str], None]
"""Who is told what is not as one might think, a sentence each."""
notice_by_warning: Notice = warnings.warn
Heard = dict[str, list[Any]]


class Read(NamedTuple):
    """What a model read: the rows with the tokens that stand before, between and after texts."""

    tokens_BT: Tensor
    before: int  # how many tokens stand before the text of each row


def reads_text(run: Run) -> bool:
    """Whether a run reads texts as tokens."""
    return isinstance(run.input, TokenInput)


def foretells(run: Run) -> bool:
    """Whether a run says of every token of a text how probable it is: a language model."""
    return isinstance(run.output, NextTokenOutput)


def forecasts_series(run: Run) -> bool:
    """Whether a run continues series, so that windows of its own data can be read."""
    return isinstance(run.output, ValuesOutput)


def translates(run: Run) -> bool:
    """Whether a run reads one text and writes another."""
    return isinstance(run.model, HasTokenVectors) and "source" in run.model.token_vectors()


def context_of(run: Run) -> int | None:
    """Most tokens that the model of a run reads at once; None where there is no limit."""
    known = "context" in type(run.recipe.model).model_fields
    return int(run.recipe.model.context) if known else None


@torch.inference_mode()
def read_rows(model: nn.Module, inputs: Wires, rows: Sequence[Any], *, side: str = "source") -> Read:
    """Let a model read rows of tokens; in a row of two texts the token that ends a text stands between them.

    Of a translation the source is read, and nothing is written.
    """
    here: Any = model.eval()
    if side == "target":
        raise SettingError("what a translation makes of its target depends on a source; choose --side source")
    batch, read = row_batch(inputs, rows)
    if isinstance(model, MaskedBert):  # of which another program may have left out the output
        here.read(batch.to(device_of(model)))
    else:
        here(batch.to(device_of(model)), None)
    return read


def row_batch(inputs: Wires, rows: Sequence[Any]) -> tuple[Any, Read]:
    """Rows of tokens as a batch that a model reads, and what it reads of them."""
    batch = inputs.output.collate(inputs.input.stack(rows), None)
    return batch, Read(batch.input, int(inputs.reads_tokens.begins))


def tell_unknown(run: Run, parts: Sequence[Spelled], notice: Notice) -> None:
    """Name the characters of texts that the model cannot read."""
    unknown = run.inputs.tokenizer.unknown_characters([HOLE.sub("", part.text) for part in parts])
    if unknown:
        some = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(8))
        notice(f"the vocabulary of {run.folder} lacks {some}{' …' if len(unknown) > 8 else ''}: it cannot read them")


class ReadRow(NamedTuple):
    """What a model read of some texts: every token of the row, those that begin and end texts included."""

    tokens: Ids
    words: Words
    pieces: list[str]  # the text of each token
    heard: Heard  # what passed the model's taps


def row_of(run: Run, given: Any, most: int, notice: Notice = notice_by_warning) -> ReadRow:
    """Let the run read what is given, as it does to predict, as many tokens as can be shown."""
    reads = run.inputs.reads_tokens
    whole = reads.parts(given)
    tell_unknown(run, whole, notice)
    for part in whole:
        if not len(part.tokens):
            raise DataError(
                f"there is nothing to look at: the vocabulary of {run.folder} has no token for {part.text!r}"
            )
    parts = _shown(run, reads, whole, most, notice)
    with listen(run.model) as heard:
        row = joined_row(reads, parts)
        read = read_rows(run.model, run.inputs, [row])
    return _laid_out(run.inputs.tokenizer, read, parts, len(reads.between), heard)


def joined_row(reads: TokenInput[Any, Any], parts: Sequence[Spelled]) -> Any:
    """The row of texts, and of what stands between and behind them."""
    *before, last = (part.tokens for part in parts)
    return reads.joined([*before, np.append(last, reads.after).astype(np.int64)])


def _shown(
    run: Run, reads: TokenInput[Any, Any], texts: Sequence[Spelled], most: int, notice: Notice
) -> Sequence[Spelled]:
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


def verdict_on(run: Run, given: Any) -> str:
    """What a classifier takes what is given for; nothing where the run is none."""
    if not isinstance(run.output, LabelOutput):
        return ""
    found = run.inputs.predict(run.model, given)
    return f"{found.label} ({100 * found.probability:.0f} %)"
