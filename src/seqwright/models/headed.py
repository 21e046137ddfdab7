"""A body with a head for a task: the settings of each pair, and three heads that stand on any body.

The settings build the body; the row of the lineage names the head.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import Field
from torch import nn

from seqwright.layers.dropout import Dropout
from seqwright.models.bert import Bert, BertSettings
from seqwright.models.cnn import CNNSettings
from seqwright.models.film_reading import FilmReadingSettings
from seqwright.models.gpt import GPTSettings, init_weights
from seqwright.models.heads import Body, Headed, Max, Mean, Pool, PooledHead, TokenHead
from seqwright.models.language_model import LanguageModel
from seqwright.models.mlp_lm import MLPLMSettings
from seqwright.models.moe_lstm import MoELSTMSettings
from seqwright.models.reading import ReadingSettings
from seqwright.models.resnet import ResNetSettings
from seqwright.models.rnn_lm import RecurrentLM, RecurrentLMSettings
from seqwright.models.vit import ViTSettings
from seqwright.setting_classes import ModelSettings

POOLS: dict[str, Callable[[], Pool]] = {"mean": Mean, "max": Max}  # any other is the body's own


class RecurrentClassifierSettings(ReadingSettings):
    """Recurrent layers that read token by token, and an output for the whole."""

    pooling: Literal["last", "mean", "max"] = "max"
    """How the states after each token become one vector: those after the last token in the direction of reading, the
    mean, or the largest value of each unit."""


class BertHeadSettings(BertSettings):
    """BERT with an output of its own for a task."""

    has_head: ClassVar[bool] = True

    head_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of the vectors that is dropped, in training, before the output."""

    def body(self, *, vocabulary: int) -> Bert:
        """Without a pooler, since nothing is said of a text as a whole."""
        return Bert(self, vocabulary=vocabulary, pooled=False)


class BertTextSettings(BertHeadSettings):
    """BERT that says something of a whole text."""

    pooling: Literal["first", "mean"] = "first"
    """What stands for the text: the vector of the first token, or the mean of all."""

    def body(self, *, vocabulary: int) -> Bert:
        """With a pooler, if the family has one and the first vector goes through it."""
        return Bert(self, vocabulary=vocabulary, pooled=self.pooling == "first")


class GPTClassifierSettings(GPTSettings):
    """A classifier whose body is a GPT: it predicts the class after the last token (Radford et al. 2018, section 3.2).

    Differs from the paper: `end` also stands between two texts, and pairs are read in one order.
    """

    has_head: ClassVar[bool] = True
    pooling: ClassVar[str] = "last"

    head_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of the last token's vector that is dropped, in training, before the output."""


class RecurrentLMClassifierSettings(RecurrentLMSettings):
    """A classifier whose body is an LSTM's language model."""

    has_head: ClassVar[bool] = True
    pooling: ClassVar[str] = "last"

    kind: Literal["lstm-lm"] = "lstm-lm"  # type: ignore[assignment]
    head_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of the last token's vector that is dropped, in training, before the output."""

    def body(self, *, vocabulary: int) -> RecurrentLM:
        """The language model."""
        own = self.model_dump(include=RecurrentLMSettings.model_fields.keys() - ModelSettings.model_fields.keys())
        return RecurrentLM(RecurrentLMSettings.model_validate({**own, "kind": "lstm"}), vocabulary=vocabulary)


class ViTClassifierSettings(ViTSettings):
    """A ViT that says something of an image (Dosovitskiy et al. 2021, section 3.1)."""

    has_head: ClassVar[bool] = True

    head_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the image's vector that is dropped, in training, before the output."""


class CNNClassifierSettings(CNNSettings):
    """A plain convolutional network that says something of an image."""

    has_head: ClassVar[bool] = True

    pooling: Literal["mean", "max"] = "mean"
    """What stands for the image: the mean over all places, or the largest value of each unit."""
    head_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the image's vector that is dropped, in training, before the output."""


class ResNetClassifierSettings(ResNetSettings):
    """A ResNet that says something of an image, by the mean over all places (He et al. 2016, table 1)."""

    has_head: ClassVar[bool] = True
    pooling: ClassVar[str] = "mean"

    head_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the image's vector that is dropped, in training, before the output."""


class FilmClassifierSettings(FilmReadingSettings):
    """Recurrent layers over a network for each frame, that say something of a film."""

    pooling: Literal["last", "mean", "max"] = "last"
    """What stands for the film: the state after the last frame (of each direction), the mean over all frames, or the
    largest value of each unit."""


TextSettings = RecurrentClassifierSettings | BertTextSettings | GPTClassifierSettings | RecurrentLMClassifierSettings
ImageSettings = ViTClassifierSettings | CNNClassifierSettings | ResNetClassifierSettings | FilmClassifierSettings
TokenSettings = ReadingSettings | BertHeadSettings
LanguageSettings = GPTSettings | RecurrentLMSettings | MLPLMSettings | MoELSTMSettings


def language_model(settings: LanguageSettings, *, vocabulary: int) -> LanguageModel:
    """p(next token | all before it); the body has an output of its own."""
    return LanguageModel(settings.body(vocabulary=vocabulary))


def pooled_model(settings: TextSettings | ImageSettings, *, classes: int = 1, **sizes: Any) -> Headed:
    """p(class | text or image), or a number for it, which is one output that nothing is done to."""
    body = settings.body(**sizes)
    pool = POOLS[settings.pooling]() if settings.pooling in POOLS else body.pool()
    return _headed(body, PooledHead(pool, _dropout(settings), width=body.width, outputs=classes), settings)


def token_model(settings: TokenSettings, *, classes: int, **sizes: Any) -> Headed:
    """p(tag | sentence) of each word, from the vector of its first token (Devlin et al. 2019, section 5.3).

    Over recurrent layers in both directions it is that of Huang et al. 2015, section 2.2.

    Differs from the papers: tags are chosen one by one and not as a sequence (no CRF).
    """
    body = settings.body(**sizes)
    return _headed(body, TokenHead(_dropout(settings), width=body.width, outputs=classes), settings)


def span_model(settings: TokenSettings, **sizes: Any) -> Headed:
    """Where the answer to a question begins and stops in a context (Devlin et al. 2019, sections 4.2 and 4.3).

    p(begins at t) = softmax(w · h_t)        p(stops at t) = softmax(w' · h_t)

    A question without an answer has it at the first token; which other places may be chosen, the batch says.
    """
    return token_model(settings, classes=2, **sizes)


def _dropout(settings: TextSettings | ImageSettings | TokenSettings) -> nn.Module:
    return nn.Dropout(settings.dropout) if isinstance(settings, ReadingSettings) else Dropout(settings.head_dropout)


def _headed(body: Body, head: nn.Module, settings: TextSettings | ImageSettings | TokenSettings) -> Headed:
    if not isinstance(settings, ReadingSettings):  # over recurrent layers a head begins as torch has it
        init_weights(head)
    return Headed(body, head, frozen=settings.frozen)
