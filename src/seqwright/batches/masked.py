"""Batches of text with masked words.

B batch · T time · N examples, or masked words
"""

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from seqwright.batches import Batch, Derived, Rows
from seqwright.batches.masks import MaskedText, Masks
from seqwright.batches.sentences import SentenceRow


@dataclass(frozen=True)
class Masked(Batch):
    """A batch of texts some of whose words are masked.

    `input_BT` is what the model reads, `target_BT` what stood there before words were masked; `chosen_BT` is True
    where one was chosen to be found. Padding stands on the right, where `real_BT` is False. `segment_BT` is 1 in the
    second stretch of a text, 0 in the first. `next_B` is 1 where the second stretch follows the first, 0 where it does
    not, and negative where nobody asks. `row_B` numbers the rows: an example may be several, one after another.
    """

    input_BT: Tensor
    real_BT: Tensor
    segment_BT: Tensor
    chosen_BT: Tensor
    target_BT: Tensor
    next_B: Tensor
    row_B: Tensor | None = field(default=None, kw_only=True)
    counted: ClassVar[str] = "chosen_BT"

    @property
    def target_N(self) -> Tensor:
        """What stood at the chosen places, row by row."""
        return self.target_BT[self.chosen_BT]


def masked_rows(rows: Rows[SentenceRow], masks: Masks, mask: int) -> Derived[MaskedText]:
    """Rows with some words masked, drawn on from where a row was drawn.

    A row in which something is masked already, as a user writes it, is left as it is.
    """

    def hidden(row: SentenceRow, example: int) -> MaskedText:
        tokens = row.drawn.tokens
        masked_T = tokens == mask
        return MaskedText(tokens, masked_T) if masked_T.any() else masks(tokens, row.rng)

    return Derived(rows, hidden)
