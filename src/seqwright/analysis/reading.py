"""Letting a trained model read texts as its task has it, so that one can listen to it.

B batch · T time
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches import Ids
from seqwright.batches.labelled import labelled
from seqwright.batches.text import texts as running_text
from seqwright.devices import device_of
from seqwright.errors import RunError, SettingError
from seqwright.inputs.plain_text import PlainText
from seqwright.inputs.sentences import HOLE, SentencesInput
from seqwright.inputs.spelling import ReadsTokens, Spelled, every_place, spelled_text
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.layers.embeddings import HasTokenVectors
from seqwright.runs import Run
from seqwright.tasks.language import first_token
from seqwright.tasks.wired import Wires

Notice = Callable[[str], None]
"""Who is told what is not as one might think, a sentence each."""
notice_by_warning: Notice = warnings.warn


class Read(NamedTuple):
    """What a model read: the rows with the tokens that stand before, between and after texts."""

    tokens_BT: Tensor
    before: int  # how many tokens stand before the text of each row


class RunningText(NamedTuple):
    """How a language model reads one text (see `ReadsTokens`)."""

    tokenizer: Tokenizer
    begins: bool = True
    texts: tuple[int, ...] = (1,)
    between: Sequence[int] = ()
    after: Sequence[int] = ()

    def tokenised(self, texts: Sequence[str]) -> list[Ids]:
        """The tokens of each text."""
        return list(self.tokenizer.encode(list(texts)))

    def spelled(self, text: str) -> Spelled:
        """The tokens of a text, and where they stand in it."""
        return spelled_text(self.tokenizer, text)

    def kept(self, texts: Sequence[Spelled]) -> list[Ids]:
        """Everything is read."""
        return every_place(texts)

    def joined(self, texts: Sequence[Ids]) -> Ids:
        """The row of one text."""
        (tokens,) = texts
        return tokens.astype(np.int64)


def reads_tokens(inputs: Any) -> ReadsTokens:
    """What a run reads as tokens; one that reads no text is refused."""
    if isinstance(inputs, PlainText):
        return RunningText(inputs.tokenizer)
    if isinstance(inputs, Wires):
        return inputs.reads_tokens
    raise RunError("the model reads no texts, so that there is nothing to listen to")


def reads_text(run: Run) -> bool:
    """Whether a run reads texts as tokens."""
    return isinstance(run.inputs, PlainText) or isinstance(run.input, ReadsTokens)


def foretells(run: Run) -> bool:
    """Whether a run says of every token of a text how probable it is: a language model."""
    return isinstance(run.inputs, PlainText)


def translates(run: Run) -> bool:
    """Whether a run reads one text and writes another."""
    return isinstance(run.model, HasTokenVectors) and "source" in run.model.token_vectors()


def context_of(run: Run) -> int | None:
    """Most tokens that the model of a run reads at once; None where there is no limit."""
    known = "context" in type(run.recipe.model).model_fields
    return int(run.recipe.model.context) if known else None


def first_of(run: Run) -> int | None:
    """What stands before a text that a language model reads."""
    return first_token(run.recipe, run.inputs) if foretells(run) else None


@torch.inference_mode()
def read_rows(
    model: nn.Module, inputs: Any, rows: Sequence[Any], *, first: int | None = None, side: str = "source"
) -> Read:
    """Let a model read rows of tokens; in a row of two texts the token that ends a text stands between them.

    `first` is the token that stands before running text (`seqwright.tasks.language.first_token`). Of a translation the
    source is read, and nothing is written.
    """
    here: Any = model.eval()
    home = device_of(model)
    match inputs:
        case Wires() if side == "target":
            raise SettingError("what a translation makes of its target depends on a source; choose --side source")
        case Wires(input=SentencesInput()):
            text = labelled(rows, end=inputs.tokenizer.end, begin=inputs.tokenizer.begin)
            here.read(text.to(home))
            return Read(text.input, 1)
        case Wires():
            batch = inputs.output.collate(inputs.input.stack(rows), None)
            here(batch.to(home), None)
            return Read(batch.input, int(inputs.reads_tokens.begins))
        case PlainText():
            begin = inputs.tokenizer.begin if first is None else first
            running = running_text(rows, begin=begin, end=inputs.tokenizer.end)
            here(running.to(home), None)
            return Read(running.input_BT, 1)
        case _:
            raise RunError("the model reads no texts, so that there is nothing to listen to")


def refuse_number(run: Run, texts: Sequence[str]) -> None:
    """Two texts are for runs that read two, one for the others."""
    reads = reads_tokens(run.inputs).texts
    if len(texts) in reads:
        return
    if 1 not in reads:
        raise SettingError(f"{run.folder} reads two texts at a time, and there are {len(texts)}; give two")
    raise SettingError(f"{run.folder} reads one text at a time, and there are {len(texts)}; give one, in quotes")


def tell_unknown(run: Run, texts: Sequence[str], notice: Notice) -> None:
    """Name the characters that the model cannot read."""
    unknown = run.inputs.tokenizer.unknown_characters([HOLE.sub("", text) for text in texts])
    if unknown:
        some = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(8))
        notice(f"the vocabulary of {run.folder} lacks {some}{' …' if len(unknown) > 8 else ''}: it cannot read them")
