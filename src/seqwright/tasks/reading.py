"""Letting a trained model read texts as its task has it, so that one can listen to it.

B batch · T time
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches import Ids
from seqwright.batches.labelled import labelled
from seqwright.devices import device_of
from seqwright.errors import RunError, SettingError
from seqwright.inputs.sentences import SentencesInput
from seqwright.inputs.spelling import Spelled, spelled_text
from seqwright.tasks.wired import Wires


class Read(NamedTuple):
    """What a model read: the rows with the tokens that stand before, between and after texts."""

    tokens_BT: Tensor
    before: int  # how many tokens stand before the text of each row


@torch.inference_mode()
def read_rows(model: nn.Module, inputs: Any, rows: Sequence[Any], *, side: str = "source") -> Read:
    """Let a model read rows of tokens; in a row of two texts the token that ends a text stands between them.

    Of a translation the source is read, and nothing is written.
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
        case _:
            raise RunError("the model reads no texts, so that there is nothing to listen to")


def between(inputs: Any) -> list[int]:
    """What stands between two texts."""
    return inputs.reads_tokens.between if isinstance(inputs, Wires) else [inputs.tokenizer.end]


def spelling_of(text: str, inputs: Any) -> Spelled:
    """A typed text as the tokens that a model reads of it."""
    return inputs.reads_tokens.spelled(text) if isinstance(inputs, Wires) else spelled_text(inputs.tokenizer, text)


def joined(texts: Sequence[Ids], inputs: Any) -> Any:
    """The row of one text, or of two with what stands between them."""
    if isinstance(inputs, Wires):
        return inputs.reads_tokens.joined(texts)
    parts: list[Ids] = [texts[0]]
    for later in texts[1:]:
        parts += [np.array(between(inputs)), later]
    return np.concatenate(parts).astype(np.int64)
