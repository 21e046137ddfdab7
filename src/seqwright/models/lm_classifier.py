"""A language model that learnt to classify: GPT-1 (Radford et al. 2018), and an LSTM in its place.

B batch · T time · V vocabulary · D width · C classes
"""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from seqwright.batches.labelled import Labelled
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TokenVectors
from seqwright.models.gpt import GPT, GPTSettings, init_weights
from seqwright.models.rnn_lm import RecurrentLM, RecurrentLMSettings


class GPTClassifierSettings(GPTSettings):
    """A classifier whose body is a GPT."""

    has_head: ClassVar[bool] = True

    head_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of the last token's vector that is dropped, in training, before the output."""


class RecurrentLMClassifierSettings(RecurrentLMSettings):
    """A classifier whose body is an LSTM's language model."""

    has_head: ClassVar[bool] = True

    kind: Literal["lstm-lm"] = "lstm-lm"  # type: ignore[assignment]
    head_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of the last token's vector that is dropped, in training, before the output."""


BodySettings = GPTClassifierSettings | RecurrentLMClassifierSettings


class LanguageModelClassifier(nn.Module):
    """p(class | text) from what a language model makes of the text's last token (Radford et al. 2018, section 3.2).

        h = body(begin, x_1 … x_T, end)        p = softmax(W h_end + b)

    Two texts are read as one, with an end after each: `begin a end b end`. Without `classes` it has one output, which
    is a rating. Differs from the paper: `end` also stands between two texts, and pairs are read in one order.
    """

    def __init__(self, settings: BodySettings, *, vocabulary: int, classes: int = 1) -> None:
        super().__init__()
        self.settings = settings
        self.body = _language_model(settings, vocabulary)
        self.body.requires_grad_(not settings.frozen)
        self.dropout = Dropout(settings.head_dropout)
        self.head = nn.Linear(settings.width, classes)
        init_weights(self.head)

    def train(self, mode: bool = True) -> "LanguageModelClassifier":
        """Into training, or out of it; a frozen body drops nothing either."""
        super().train(mode)
        self.body.train(mode and not self.settings.frozen)
        return self

    def forward(self, batch: Labelled, carry: None = None) -> tuple[Tensor, None]:
        """`logits_BC`: how well each class fits each text."""
        return self._said(self.body.hidden(batch.input, batch.real_BT), batch), carry

    def with_words(self, batch: Labelled) -> tuple[Tensor, Tensor]:
        """`logits_BC`, and `logits_BTV`: what the language model would say after each token of the texts."""
        h_BTD = self.body.hidden(batch.input, batch.real_BT)
        return self._said(h_BTD, batch), self.body.logits(h_BTD)

    def depths(self) -> dict[str, int]:
        """Those of the body; the head lies above."""
        return {f"body.{start}": depth for start, depth in self.body.depths().items()}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """Those of the language model."""
        return self.body.token_vectors()

    def _said(self, h_BTD: Tensor, batch: Labelled) -> Tensor:
        last_B = batch.real_BT.sum(1) - 1
        row_B = torch.arange(len(last_B), device=last_B.device)
        logits_BC: Tensor = self.head(self.dropout(h_BTD[row_B, last_B]))
        return logits_BC


def _language_model(settings: BodySettings, vocabulary: int) -> GPT | RecurrentLM:
    if isinstance(settings, GPTClassifierSettings):
        return GPT(settings, vocabulary=vocabulary)
    own = settings.model_dump(include=set(RecurrentLMSettings.model_fields))
    return RecurrentLM(RecurrentLMSettings.model_validate({**own, "kind": "lstm"}), vocabulary=vocabulary)
