"""Batches of texts, each with the vector it is to be written from.

B batch · T time · X numbers of a vector
"""

from dataclasses import dataclass

from torch import Tensor

from seqwright.batches import Batch


@dataclass(frozen=True)
class Described(Batch):
    """A batch of texts and their vectors. `input_BT` is what the model reads of a text, `target_BT` what should follow
    each token.
    """

    vector_BX: Tensor
    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor

    @property
    def real(self) -> None:
        """A vector has no padding."""
