"""Batches of sentence pairs.

B batch · S source · T target
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from seqwright.batches import Batch, Ids, padded


@dataclass(frozen=True)
class Pairs(Batch):
    """A batch of sentence pairs. `input_BT` is what the decoder reads, `target_BT` what it should say after each."""

    source_BS: Tensor
    source_real_BS: Tensor
    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor


def sources(rows: Sequence[Ids], *, end: int) -> Pairs:
    """A batch that has only sources, each closed by `end`: what `start` needs to translate."""
    source_BS, source_real_BS = padded([np.append(row, end) for row in rows])
    nothing_B0 = source_BS[:, :0]
    return Pairs(source_BS, source_real_BS, nothing_B0, nothing_B0, source_real_BS[:, :0])


def pairs(source: Sequence[Ids], target: Sequence[Ids], *, begin: int, end: int) -> Pairs:
    """Pairs of token rows as a batch: `x end` is the source, `begin y` the decoder's input, `y end` its target."""
    source_BS, source_real_BS = padded([np.append(row, end) for row in source])
    return Pairs(source_BS, source_real_BS, **decoder_rows(target, len(target), begin=begin, end=end))


def decoder_rows(rows: Sequence[Ids] | None, count: int, *, begin: int, end: int) -> dict[str, Tensor]:
    """`input_BT`, `target_BT` and `real_BT` of `count` texts: `begin y`, and `y end`; blank ones, if none are known."""
    known = [np.zeros(0, dtype=np.int64)] * count if rows is None else rows
    whole_BT, real_BT = padded([np.concatenate(([begin], row, [end])) for row in known])
    return {"input_BT": whole_BT[:, :-1], "target_BT": whole_BT[:, 1:], "real_BT": real_BT[:, 1:]}
