"""Classifying a text: recurrent layers read it, their states become one vector, and that says the class.

B batch · T time · E embedding · D width, of both directions together · C classes
"""

from typing import Literal

import torch
from torch import Tensor

from seqwright.batches.labelled import Labelled
from seqwright.layers.scanning import RecurrentState
from seqwright.models.reading import ReadingSettings, RecurrentReader


class RecurrentClassifierSettings(ReadingSettings):
    """A classifier that reads token by token and remembers in a state of fixed size."""

    pooling: Literal["last", "mean", "max"] = "max"
    """How the states after each token become one vector: those after the last token in the direction of reading, the
    mean, or the largest value of each unit."""


class RecurrentClassifier(RecurrentReader):
    """p(class | text), from the states of recurrent layers that have read it.

        h_t = cell(e(x_t), h_{t-1})        p = softmax(W pool(h_1 … h_T) + b)

    Pooled by `last` it is the many-to-one network of the textbooks, by `max` that of Conneau et al. 2017, section 3.2.
    Values of vectors are dropped as in Gal & Ghahramani 2016, whole words as in Iyyer et al. 2015, section 2.3. Without
    `classes` it has one output, which is a rating.
    """

    def __init__(
        self,
        settings: RecurrentClassifierSettings,
        *,
        vocabulary: int | None = None,
        channels: int | None = None,
        classes: int = 1,
    ) -> None:
        super().__init__(settings, vocabulary=vocabulary, channels=channels, classes=classes)
        self.settings = settings

    def forward(self, batch: Labelled, carry: None = None) -> tuple[Tensor, None]:
        """`logits_BC`: how well each class fits each text."""
        h_BTD, state = self.read(batch.input, batch.real_BT)
        return self.output(self.dropout(self._pooled(h_BTD, state, batch.real_BT))), carry

    def _pooled(self, h_BTD: Tensor, state: RecurrentState, real_BT: Tensor) -> Tensor:
        """One vector for each text; the padding has no part in it."""
        real_BT1 = real_BT.unsqueeze(-1)
        match self.settings.pooling:
            case "last":
                return torch.cat([direction.hidden_BD for direction in state[-1]], dim=-1)
            case "mean":
                return (h_BTD * real_BT1).sum(1) / real_BT1.sum(1)
            case "max":
                return h_BTD.masked_fill(~real_BT1, float("-inf")).amax(1)
