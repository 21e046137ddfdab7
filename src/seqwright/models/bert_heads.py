"""What is said from BERT's vectors: hidden words, the class or the grade of a text, tags, answers (Devlin et al. 2019).

B batch · T time · N hidden tokens · V vocabulary · D width · C classes
"""

from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqwright.batches.labelled import Labelled
from seqwright.batches.masked import Masked
from seqwright.batches.questions import Asked
from seqwright.batches.tagged import Tagged
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TokenVectors, token_logits
from seqwright.models.bert import Bert, BertSettings
from seqwright.models.gpt import init_weights


class MaskedBertSettings(BertSettings):
    """BERT as it is pretrained."""

    head: bool = True
    """Whether it can say hidden words; an encoder that was imported without its output cannot."""


class BertHeadSettings(BertSettings):
    """BERT with an output of its own for a task."""

    has_head: ClassVar[bool] = True

    head_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of the vectors that is dropped, in training, before the output."""


class BertTextSettings(BertHeadSettings):
    """BERT that says something of a whole text."""

    pooling: Literal["first", "mean"] = "first"
    """What stands for the text: the vector of the first token, or the mean of all."""


class MaskedBert(nn.Module):
    """p(hidden token | all others), and whether the second text really follows (Devlin et al. 2019, section 3.1).

        p = softmax(e LayerNorm(GELU(W h + b)) + c)        p(follows) = softmax(W' tanh(W'' h₀))

    The matrix of the tokens' vectors is also the output's. In training only the hidden tokens go through it: with its
    many rows it would otherwise take longer than all blocks.
    """

    def __init__(self, settings: MaskedBertSettings, *, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.body = Bert(settings, vocabulary=vocabulary)
        if settings.head:
            self.transform = nn.Linear(settings.width, settings.width)
            self.transform_norm = nn.LayerNorm(settings.width, eps=settings.epsilon)
            self.bias_V = nn.Parameter(torch.zeros(vocabulary))
        self.follows = nn.Linear(settings.width, 2) if settings.head and settings.pooler else None
        init_weights(self)

    def forward(self, batch: Masked, carry: None = None) -> tuple[Tensor, None]:
        """`logits_BTV`: how well each token fits each place, hidden or not."""
        return self.lens(self.read(batch)), carry

    def both(self, batch: Masked) -> tuple[Tensor, Tensor | None]:
        """`logits_NV` of the chosen places alone, row by row, and `follows_B2`, whether the second text follows.

        That is None without a pooler.
        """
        return self.said(self.read(batch), batch)

    def said(self, h_BTD: Tensor, batch: Masked) -> tuple[Tensor, Tensor | None]:
        """The same, from what the body made of each token."""
        follows_B2 = None if self.follows is None else self.follows(self.body.pooled(h_BTD))
        return self.lens(h_BTD[batch.chosen_BT]), follows_B2

    def read(self, batch: Masked) -> Tensor:
        """`h_BTD`: what the body makes of each token."""
        h_BTD: Tensor = self.body(batch.input, batch.real_BT, batch.segment_BT)
        return h_BTD

    def lens(self, stream_BTD: Tensor) -> Tensor:
        """What a block would say at each place if it were the last."""
        assert self.settings.head, "this encoder has no output for words"
        x_BTD = self.transform_norm(F.gelu(self.transform(stream_BTD)))
        return token_logits(x_BTD, self.body.tokens.weight) + self.bias_V

    def token_vectors(self) -> dict[str, TokenVectors]:
        """The body's."""
        return self.body.token_vectors()


class BertWithHead(nn.Module):
    """A body that reads, to be followed by an output; a frozen body neither learns nor drops anything."""

    def __init__(self, settings: BertHeadSettings, *, vocabulary: int, pooled: bool = False) -> None:
        super().__init__()
        self.settings = settings
        self.body = Bert(settings, vocabulary=vocabulary, pooled=pooled)
        self.body.requires_grad_(not settings.frozen)
        self.dropout = Dropout(settings.head_dropout)

    def train(self, mode: bool = True) -> "BertWithHead":
        """Into training, or out of it."""
        super().train(mode)
        self.body.train(mode and not self.settings.frozen)
        return self

    def depths(self) -> dict[str, int]:
        """Those of the body; the output lies above, and so does the pooler."""
        return {f"body.{start}": depth for start, depth in self.body.depths().items()}

    def read(self, batch: Any) -> Tensor:
        """`h_BTD`: what the body makes of each token."""
        h_BTD: Tensor = self.body(batch.input, batch.real_BT, batch.segment_BT)
        return h_BTD

    def token_vectors(self) -> dict[str, TokenVectors]:
        """The body's."""
        return self.body.token_vectors()


class BertClassifier(BertWithHead):
    """p(class | text) from the vector that stands for the text (Devlin et al. 2019, section 4.1).

    p = softmax(W pool(h) + b)

    Without a pooler in the body there is one in the output: RoBERTa's has tanh, DistilBERT's the positive part.
    """

    def __init__(self, settings: BertTextSettings, *, vocabulary: int, classes: int) -> None:
        super().__init__(settings, vocabulary=vocabulary, pooled=settings.pooling == "first")
        own = settings.pooling == "first" and not settings.pooler
        self.pooling = settings.pooling
        self.pooler = nn.Linear(settings.width, settings.width) if own else None
        self.output = nn.Linear(settings.width, classes)
        init_weights(self)

    def forward(self, batch: Labelled, carry: None = None) -> tuple[Tensor, None]:
        """`logits_BC`: how well each class fits each text."""
        return self.output(self.dropout(self._pooled(self.read(batch), batch.real_BT))), carry

    def _pooled(self, h_BTD: Tensor, real_BT: Tensor) -> Tensor:
        if self.pooling == "mean":
            return mean_vector(h_BTD, real_BT)
        pooled_BD = self.body.pooled(h_BTD)
        if self.pooler is None:
            return pooled_BD
        x_BD: Tensor = self.pooler(pooled_BD)
        return x_BD.relu() if self.settings.kind == "distilbert" else x_BD.tanh()


class BertRater(BertClassifier):
    """A number for a text or a pair of texts: one output, which nothing is done to (Devlin et al. 2019, STS-B)."""

    def __init__(self, settings: BertTextSettings, *, vocabulary: int) -> None:
        super().__init__(settings, vocabulary=vocabulary, classes=1)


class BertTagger(BertWithHead):
    """p(tag | sentence) of each word, from the vector of its first token (Devlin et al. 2019, section 5.3)."""

    def __init__(self, settings: BertHeadSettings, *, vocabulary: int, classes: int) -> None:
        super().__init__(settings, vocabulary=vocabulary)
        self.output = nn.Linear(settings.width, classes)
        init_weights(self)

    def forward(self, batch: Tagged, carry: None = None) -> tuple[Tensor, None]:
        """`logits_BTC`: how well each tag fits at each token."""
        h_BTD = self.body(batch.input, batch.real_BT, torch.zeros_like(batch.input))
        return self.output(self.dropout(h_BTD)), carry


class BertAnswerer(BertWithHead):
    """Where the answer to a question begins and stops in a context (Devlin et al. 2019, sections 4.2 and 4.3).

    p(begins at t) = softmax(w · h_t)        p(stops at t) = softmax(w' · h_t)

    A question without an answer has it at the first token; which other places may be chosen, the batch says.
    """

    def __init__(self, settings: BertHeadSettings, *, vocabulary: int) -> None:
        super().__init__(settings, vocabulary=vocabulary)
        self.output = nn.Linear(settings.width, 2)
        init_weights(self)

    def forward(self, batch: Asked, carry: None = None) -> tuple[Tensor, None]:
        """`logits_BT2`: how well each place is the beginning, and the last one, of the answer."""
        return self.output(self.dropout(self.read(batch))), carry


def mean_vector(h_BTD: Tensor, real_BT: Tensor) -> Tensor:
    """The mean of a text's vectors, padding left out."""
    real_BT1 = real_BT.unsqueeze(-1).to(h_BTD.dtype)
    return (h_BTD * real_BT1).sum(1) / real_BT1.sum(1)
