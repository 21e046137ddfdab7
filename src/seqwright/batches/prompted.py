"""Batches of prompts with their answers: `begin source task answer end`, of which only the answer is learnt.

A row may hold several turns, `source task answer end source task answer end …`, each of which can be learnt from those
before it.

B batch · T time · N rows
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqwright.batches import Batch, Ids
from seqwright.batches.text import texts


class Marks(NamedTuple):
    """The tokens around the parts of a row: before all, between a source and its answer, and after an answer."""

    begin: int
    task: int
    end: int


@dataclass(frozen=True)
class Prompted(Batch):
    """A batch of prompts with their answers, in one row each. `target_BT` is what should follow each token.

    `real_BT` is False at the padding on the right, `answer_BT` True only where the target belongs to an answer, its end
    included: what stands in a source is read and never learnt.
    """

    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor
    answer_BT: Tensor
    counted: ClassVar[str] = "answer_BT"

    @property
    def document_BT(self) -> None:
        """Nothing: whoever reads a row reads all of it."""
        return None


def joined_turns(turns: Sequence[tuple[Ids, ...]], marks: Marks) -> Ids:
    """`source task answer end source task answer`: what stands between `begin` and the last `end`."""
    parts = [part for source, answer in turns for part in (source, [marks.task], answer, [marks.end])]
    return np.concatenate(parts[:-1]).astype(np.int64)


def prompted(rows: Sequence[Ids], marks: Marks) -> Prompted:
    """Rows as `joined_turns` gives them as a batch.

    The task token opens an answer, `end` closes it. They are special tokens, so that no text of a user's has one.
    """
    batch = texts(rows, begin=marks.begin, end=marks.end)
    time_T = torch.arange(batch.input_BT.shape[1])
    opened_BT = torch.where(batch.input_BT == marks.task, time_T, -1).cummax(1).values
    closed_BT = torch.where(batch.input_BT == marks.end, time_T, -1).cummax(1).values
    answer_BT = (opened_BT > closed_BT) & batch.real_BT
    return Prompted(batch.input_BT, batch.target_BT, batch.real_BT, answer_BT)
