"""Tagging the words of a sentence: recurrent layers read it, and what they say at each word says its tag.

B batch · T time · E embedding · D width, of both directions together · C classes, the tags
"""

from torch import Tensor

from seqwright.batches.tagged import Tagged
from seqwright.models.reading import ReadingSettings, RecurrentReader


class RecurrentTaggerSettings(ReadingSettings):
    """A tagger that reads token by token and remembers in a state of fixed size."""


class RecurrentTagger(RecurrentReader):
    """p(tag | sentence) of each word, from the states of recurrent layers when they read it.

        h_t = [cell(e(x_t), h_{t-1}), cell'(e(x_t), h'_{t+1})]        p_t = softmax(W h_t + b)

    In one direction it is the many-to-many network of the textbooks, a tag for each word from all before it; in both
    (Schuster & Paliwal 1997) the words after it count too, as in Huang et al. 2015, section 2.2.

    Differs from the paper: tags are chosen one by one and not as a sequence (no CRF), and there are no features beside
    the tokens.
    """

    def __init__(self, settings: RecurrentTaggerSettings, *, vocabulary: int, classes: int) -> None:
        super().__init__(settings, vocabulary=vocabulary, classes=classes)
        self.settings = settings

    def forward(self, batch: Tagged, carry: None = None) -> tuple[Tensor, None]:
        """`logits_BTC`: how well each tag fits at each token."""
        h_BTD, _ = self.read(batch.input, batch.real_BT)
        return self.output(self.dropout(h_BTD)), carry
