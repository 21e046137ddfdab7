"""From what an encoder has understood to the state in which a decoder begins.

B batch · D width · X width of the vector
"""

from typing import Any

from torch import Tensor, nn

from seqwright.layers.linear import Linear
from seqwright.layers.scanning import Recurrent, RecurrentState


class Bridge(nn.Module):
    """The first state of every layer from one vector (Cho et al. 2014, appendix A; Bahdanau et al. 2015, A.2.2).

    h_0 = tanh(A v + b), for every layer; of an LSTM the memory begins in the same way as what it shows.
    """

    def __init__(self, recurrent: Recurrent, *, inputs: int) -> None:
        super().__init__()
        self.shape = recurrent.start(0)
        self.width = recurrent.width
        self.linear = Linear(inputs, sum(len(cell) for layer in self.shape for cell in layer) * self.width)

    def forward(self, vector_BX: Tensor) -> RecurrentState:
        """The state after nothing was written."""
        first_BD = self.linear(vector_BX).tanh().to(vector_BX.dtype)  # a state stays in full precision
        parts = iter(first_BD.split(self.width, dim=1))

        def filled(cell: Any) -> Any:
            return type(cell)(*(next(parts) for _ in cell))

        return tuple(tuple(filled(cell) for cell in layer) for layer in self.shape)
