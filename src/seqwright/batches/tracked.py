"""Batches of films, each frame with the place of something in it.

B batch · T frames · C channels · Y rows of pixels · X columns
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from seqwright.batches import Batch


@dataclass(frozen=True)
class Tracked(Batch):
    """A batch of films, with padding on the right, and what should be said of each frame.

    `target_BT2` are x and y as a model says them; `known_BT` is True where somebody knows them. `size_B2` are the rows
    and columns that the frames had before they were resized.
    """

    input_B: Tensor  # (B, T, C, Y, X)
    real_BT: Tensor
    target_BT2: Tensor
    known_BT: Tensor
    size_B2: Tensor
    counted: ClassVar[str] = "known_BT"
