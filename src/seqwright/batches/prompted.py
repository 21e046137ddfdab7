"""Batches of prompts with their answers: `begin source task answer end`, of which only the answer is learnt.

A row may hold several turns, `source task answer end source task answer end …`, each of which can be learnt from those
before it.

B batch · T time · N rows
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches import Ids, Place, Rows
from seqwright.batches.text import DocumentBatches, Text, texts


class Marks(NamedTuple):
    """The tokens around the parts of a row: before all, between a source and its answer, and after an answer."""

    begin: int
    task: int
    end: int


class Prompted(NamedTuple):
    """A batch of prompts with their answers, in one row each. `target_BT` is what should follow each given token.

    `real_BT` is False at the padding on the right, `learnt_BT` True only where the wanted token belongs to an answer,
    its end included: what stands in a source is read and never learnt.
    """

    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor
    fresh_B: Tensor
    learnt_BT: Tensor

    @property
    def loss_mask(self) -> Tensor:
        """True where the model's output counts: in the answers."""
        return self.learnt_BT

    @property
    def document_BT(self) -> None:
        """Nothing: whoever reads a row reads all of it."""
        return None

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds, those that are only read included."""
        return int(self.real_BT.sum())

    def to(self, device: torch.device) -> "Prompted":
        """The same batch on another device."""
        return Prompted(*(tensor.to(device, non_blocking=True) for tensor in self))


def joined(turns: Sequence[tuple[Ids, Ids]], marks: Marks) -> Ids:
    """`source task answer end source task answer`: what stands between `begin` and the last `end`."""
    parts = [part for source, answer in turns for part in (source, [marks.task], answer, [marks.end])]
    return np.concatenate(parts[:-1]).astype(np.int64)


def prompted(rows: Sequence[Ids], marks: Marks) -> Prompted:
    """Rows as `joined` gives them as a batch."""
    return _with_answers(texts(rows, begin=marks.begin, end=marks.end), marks)


def _with_answers(batch: Text, marks: Marks) -> Prompted:
    """The task token opens an answer, `end` closes it. They are special tokens, so that no text of a user's has one."""
    time_T = torch.arange(batch.input_BT.shape[1])
    opened_BT = torch.where(batch.input_BT == marks.task, time_T, -1).cummax(1).values
    closed_BT = torch.where(batch.input_BT == marks.end, time_T, -1).cummax(1).values
    learnt_BT = (opened_BT > closed_BT) & batch.real_BT
    return Prompted(batch.input_BT, batch.target_BT, batch.real_BT, batch.fresh_B, learnt_BT)


class PromptRows:
    """Sources and answers as the rows of a corpus, `turns` of them after each other in each."""

    def __init__(self, source: Rows, answer: Rows, marks: Marks, turns: int) -> None:
        self.source, self.answer, self.marks, self.turns = source, answer, marks, turns
        self.length_N: NDArray[np.int64] = (source.length_N + answer.length_N + 2).reshape(-1, turns).sum(1) - 1

    def take(self, rows: NDArray[np.int64], epoch: int) -> list[Ids]:
        """Some rows."""
        pairs = (rows[:, None] * self.turns + np.arange(self.turns)).ravel()
        both = list(zip(self.source.take(pairs, epoch), self.answer.take(pairs, epoch), strict=True))
        return [joined(both[i : i + self.turns], self.marks) for i in range(0, len(both), self.turns)]


class PromptBatches:
    """Prompts with their answers, those of like length together, as `DocumentBatches` orders its documents."""

    def __init__(self, source: Rows, answer: Rows, *, tokens: int, seed: int, marks: Marks, turns: int = 1) -> None:
        self.marks, self.tokens = marks, tokens
        self.rows = PromptRows(source, answer, marks, turns)
        self._documents = DocumentBatches(self.rows, tokens=tokens, seed=seed, begin=marks.begin, end=marks.end)

    def at(self, place: Place) -> Prompted:
        """The batch at a place."""
        return _with_answers(self._documents.at(place), self.marks)

    def after(self, place: Place) -> Place:
        """The place that follows, perhaps in the next epoch."""
        return self._documents.after(place)

    def in_epoch(self, epoch: int) -> int:
        """How many batches an epoch has; nearly the same in each."""
        return self._documents.in_epoch(epoch)

    def once(self) -> Iterator[Prompted]:
        """Every prompt once, longest last."""
        return (_with_answers(batch, self.marks) for batch in self._documents.once())

    def padding(self, epoch: int = 0) -> float:
        """The share of all positions in an epoch's batches that is padding."""
        return self._documents.padding(epoch)
